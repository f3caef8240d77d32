"""Kinds of values in compiled functions, and their parts in registers.

What is known while a function is translated stays an object of Python: numbers, tuples, functions, None. What is known
only when it runs is a `Number` or a `View` of an array; tuples may hold either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class Scalar(NamedTuple):
    """A kind of number: its type in registers, and its place where kinds meet (int and float give float)."""

    register: str
    rank: int


BOOL, INT, FLOAT = Scalar("i1", 0), Scalar("i64", 1), Scalar("double", 2)


class Element(NamedTuple):
    """Element type of arrays: kind, type in memory, bytes, and NumPy's number of the type."""

    kind: Scalar
    memory: str
    size: int
    number: int


#: By NumPy's text of the type.
ELEMENTS = {
    "|b1": Element(BOOL, "i8", 1, 0), "|u1": Element(INT, "i8", 1, 2),
    "<i8": Element(INT, "i64", 8, 7), "<f8": Element(FLOAT, "double", 8, 12),
}  # fmt: skip


class ArrayKind(NamedTuple):
    """Arrays of a type (a key of `ELEMENTS`) and number of dimensions; C-contiguous, or with strides."""

    element: str
    dimensions: int
    strided: bool = False


class TableKind(NamedTuple):
    """Tables (`tables.per_body`) of items of a kind."""

    item: Any


class TupleKind(NamedTuple):
    """Tuples of a class, and the kinds of their items."""

    cls: type
    items: tuple[Any, ...]


class Fixed(NamedTuple):
    """An object that is known while a function is translated."""

    value: Any


Kind: TypeAlias = Scalar | ArrayKind | TableKind | TupleKind | Fixed


@dataclass(frozen=True)
class Number:
    """A number in a register of LLVM's."""

    kind: Scalar
    text: str


@dataclass(frozen=True)
class View:
    """An array: where it begins, its lengths, and the elements between neighbours if it is not C-contiguous."""

    element: str
    data: str
    shape: tuple[int | Number, ...]
    strides: tuple[int | Number, ...] | None = None


@dataclass(eq=False)
class Table:
    """A table: where its items begin, how many they are, and their kind, None before the first."""

    data: str
    length: int | Number
    item: Kind | None


def kind_of(value: Any) -> Kind:
    """The kind of a value of a translated function, or of an argument from Python."""
    if isinstance(value, Number):
        return value.kind
    if isinstance(value, View):
        return ArrayKind(value.element, len(value.shape), value.strides is not None)
    if isinstance(value, Table):
        return TableKind(value.item)
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, (int, np.integer)):
        return INT
    if isinstance(value, (float, np.floating)):
        return FLOAT
    if isinstance(value, np.ndarray):
        return ArrayKind(value.dtype.str, value.ndim, not value.flags.c_contiguous)
    if isinstance(value, tuple):
        return TupleKind(type(value), tuple(map(kind_of, value)))
    return Fixed(value)


def joined(a: Kind, b: Kind) -> Kind | None:
    """The kind that holds values of both; None if there is none."""
    if a == b:
        return a
    return max(a, b, key=lambda kind: kind.rank) if isinstance(a, Scalar) and isinstance(b, Scalar) else None


def registers(kind: Kind) -> list[str]:
    """LLVM's types of a kind's parts."""
    if isinstance(kind, Scalar):
        return [kind.register]
    if isinstance(kind, ArrayKind):
        return ["ptr", *["i64"] * (kind.dimensions * (1 + kind.strided))]
    if isinstance(kind, TableKind):
        return ["ptr", "i64"]
    return [part for item in kind.items for part in registers(item)] if isinstance(kind, TupleKind) else []


def assembled(kind: Kind, parts: Iterator[str]) -> Any:
    """A value of a kind from its parts."""
    if isinstance(kind, Scalar):
        return Number(kind, next(parts))
    if isinstance(kind, ArrayKind):
        data = next(parts)
        shape, strides = (
            tuple(Number(INT, next(parts)) for _ in range(kind.dimensions * wanted)) for wanted in (1, kind.strided)
        )
        return View(kind.element, data, shape, strides if kind.strided else None)
    if isinstance(kind, TableKind):
        return Table(next(parts), Number(INT, next(parts)), kind.item)
    if isinstance(kind, TupleKind):
        return made(kind.cls, [assembled(item, parts) for item in kind.items])
    return kind.value


def made(cls: type, items: list[Any]) -> Any:
    """A tuple of a class."""
    return tuple(items) if cls is tuple else cls(*items)


class Compiled(NamedTuple):
    """A function that others call: its name, its kinds, and whether it allocates. Each takes an arena first."""

    name: str
    kinds: tuple[Kind, ...]
    returned: Kind
    allocates: bool

    @property
    def result(self) -> str:
        """LLVM's type of what it returns: a structure of the parts."""
        return f"{{{', '.join(registers(self.returned))}}}"

    @property
    def parameters(self) -> str:
        """Its arguments in its definition."""
        parts = (part for kind in self.kinds for part in registers(kind))
        return ", ".join(("ptr %arena", *(f"{part} %a{k}" for k, part in enumerate(parts))))
