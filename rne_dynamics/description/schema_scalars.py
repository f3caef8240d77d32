"""Scalars of a YAML schema: numbers, names and choices."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

from yaml.nodes import Node, ScalarNode

from rne_dynamics.description.findings import Reading, error
from rne_dynamics.description.strict_numbers import LARGEST, parse_number
from rne_dynamics.description.yaml_nodes import line_of, shown


@dataclass(frozen=True)
class Marked:
    """A value that was read, and its line."""

    value: Any
    line: int


class Reader(Protocol):
    """Reads one kind of value."""

    @property
    def form(self) -> str:
        """Allowed values, for messages and documentation."""

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Yield what is wrong; return the value, or `None` if it cannot be used."""


@dataclass(frozen=True)
class Number:
    """One finite number without quotes; at least `least` if given."""

    unit: str
    least: float | None = None

    @property
    def form(self) -> str:
        """What is allowed."""
        unit = f", {self.unit}" if self.unit else ""
        return f"one finite number{unit}" + ("" if self.least is None else f", at least {self.least:g}")

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read a plain scalar; NaN and infinity are refused before bounds are checked."""
        plain = isinstance(node, ScalarNode) and node.style is None
        value = parse_number(node.value) if plain else None
        if value is None:
            yield error(line_of(node), where, f"is {shown(node)}; it must be {self.form}", "write it like 1.5 or -2e-3")
        elif abs(value) > LARGEST or (self.least is not None and value < self.least):
            fix = "give it in SI units (m, kg, s, rad)" if abs(value) > LARGEST else "correct its sign or its size"
            yield error(line_of(node), where, f"is {value:g}; it must be {self.form}, below {LARGEST:g} in size", fix)
        else:
            return Marked(value, line_of(node))
        return None


@dataclass(frozen=True)
class Whole:
    """One whole number, at least `least`."""

    least: int = 0

    @property
    def form(self) -> str:
        """What is allowed."""
        return f"one whole number, at least {self.least}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read a plain scalar."""
        read = yield from Number("", self.least).read(node, where)
        if read is None:
            return None
        if read.value != int(read.value):
            yield error(line_of(node), where, f"is {read.value:g}; it must be {self.form}", "write it like 2")
            return None
        return Marked(int(read.value), read.line)


@dataclass(frozen=True)
class Name:
    """A name, or any text of one line."""

    form: str = "a name"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read a scalar as text: a joint may be named 1, or on."""
        if not isinstance(node, ScalarNode) or not node.value.strip():
            yield error(line_of(node), where, f"is {shown(node)}; it must be {self.form}", "write one name")
            return None
        return Marked(str(node.value), line_of(node))


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def form(self) -> str:
        """What is allowed."""
        return f"one of {', '.join(self.words)}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read one of the words."""
        if isinstance(node, ScalarNode) and node.value in self.words:
            return Marked(node.value, line_of(node))
        near = get_close_matches(str(node.value), self.words, n=1) if isinstance(node, ScalarNode) else []
        fix = f"write {near[0] if near else self.words[0]}"
        yield error(line_of(node), where, f"is {shown(node)}; it must be {self.form}", fix)
        return None
