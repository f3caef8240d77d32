"""Scalars, lists and mappings of a YAML schema; each reads a value, yields findings, and documents what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rne_dynamics.description.lint.findings import Reading, error
from rne_dynamics.description.markup import LARGEST, parse_number
from rne_dynamics.description.yaml_nodes import entries, line_of, shown


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
    whole: bool = False

    @property
    def form(self) -> str:
        """What is allowed."""
        unit = f", {self.unit}" if self.unit else ""
        least = "" if self.least is None else f", at least {self.least:g}"
        return f"one {'whole' if self.whole else 'finite'} number{unit}{least}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read a plain scalar; NaN and infinity are refused before bounds are checked."""
        plain = isinstance(node, ScalarNode) and node.style is None
        value = parse_number(node.value) if plain else None
        if value is None or (self.whole and value != int(value)):
            example = "2" if self.whole else "1.5 or -2e-3"
            yield error(line_of(node), where, f"is {shown(node)}; it must be {self.form}", f"write it like {example}")
            return None
        if abs(value) > LARGEST or (self.least is not None and value < self.least):
            fix = "give it in SI units (m, kg, s, rad)" if abs(value) > LARGEST else "correct its sign or its size"
            yield error(line_of(node), where, f"is {value:g}; it must be {self.form}, below {LARGEST:g} in size", fix)
            return None
        return Marked(int(value) if self.whole else value, line_of(node))


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
    #: What else is allowed, for messages.
    or_else: str = ""

    @property
    def form(self) -> str:
        """What is allowed."""
        return f"one of {', '.join(self.words)}{self.or_else}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read one of the words."""
        if isinstance(node, ScalarNode) and node.value in self.words:
            return Marked(node.value, line_of(node))
        near = get_close_matches(str(node.value), self.words, n=1) if isinstance(node, ScalarNode) else []
        fix = f"write {near[0] if near else self.words[0]}"
        yield error(line_of(node), where, f"is {shown(node)}; it must be {self.form}", fix)
        return None


#: Name of the whole document in messages.
WHOLE = "the file"


@dataclass(frozen=True)
class ListOf:
    """A list of items of one kind; of exactly `count` items if given."""

    item: Reader
    singular: str
    count: int | None = None
    #: Key of a record whose value is its name in messages.
    key: str = "name"

    @property
    def form(self) -> str:
        """What is allowed."""
        if self.count is not None:
            return f"[{', '.join([self.singular] * self.count)}]"
        return f"a list: {self.item.form}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read the items; the list is invalid if one of them is."""
        if not isinstance(node, SequenceNode):
            fix = f"write [{self.singular}, ...]"
            yield error(line_of(node), where, f"is {shown(node)}; it must be a list of {self.singular}s", fix)
            return None
        if self.count is not None and len(node.value) != self.count:
            message = f"holds {len(node.value)} {self.singular}s; it must hold {self.count}"
            yield error(line_of(node), where, message, f"give {self.count}")
            return None
        values = []
        for k, part in enumerate(node.value):
            values.append((yield from self.item.read(part, self._place(part, where, k))))
        return None if any(value is None for value in values) else Marked(values, line_of(node))

    def _place(self, node: Node, where: str, k: int) -> str:
        """An item's name in messages: its own, or its number."""
        if isinstance(self.item, Record):
            for key, value in node.value if isinstance(node, MappingNode) else []:
                if key.value == self.key and isinstance(value, ScalarNode):
                    return f"{self.singular} {value.value!r}"
            return f"{self.singular} number {k + 1}"
        return f"{where}[{k}]"


@dataclass(frozen=True)
class Numbers:
    """Numbers, read as a tuple: exactly `count`, or without it one or several along a beam, at least 0."""

    unit: str
    count: int | None = 3

    @property
    def form(self) -> str:
        """What is allowed."""
        if self.count is None:
            return f"one number or [number, ...]{', ' * bool(self.unit)}{self.unit}, at least 0"
        return f"[{', '.join(['number'] * self.count)}], {self.unit}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read the numbers; invalid if one of them is."""
        item = Number(self.unit, None if self.count else 0.0)
        if self.count is None and isinstance(node, ScalarNode):
            read = yield from item.read(node, where)
            return None if read is None else Marked((read.value,), read.line)
        read = yield from ListOf(item, "number", self.count).read(node, where)
        if read is not None and not read.value:
            yield error(line_of(node), where, f"is an empty list; it must be {self.form}", "give a number")
            return None
        return None if read is None else Marked(tuple(x.value for x in read.value), read.line)


@dataclass(frozen=True)
class Key:
    """One key of a record."""

    reader: Reader
    doc: str
    required: bool = False


@dataclass(frozen=True)
class Record:
    """A mapping with known keys."""

    keys: Mapping[str, Key]

    @property
    def form(self) -> str:
        """What is allowed."""
        return "{" + ", ".join(f"{name}: ..." for name in self.keys) + "}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read the known keys as a dict of marked values; invalid without a required one."""
        found = yield from entries(node, where, tuple(self.keys))
        if found is None:
            return None
        values: dict[str, Marked] = {}
        usable = True
        for name, key in self.keys.items():
            if name in found:
                value = yield from key.reader.read(found[name][0], name if where == WHOLE else f"{where} {name}")
                if value is not None:
                    values[name] = value
                else:
                    usable = False
            elif key.required:
                usable = False
                yield error(line_of(node), where, f"{name} is missing: {key.doc}", f"write `{name}: ...`")
        return Marked(values, line_of(node)) if usable else None


@dataclass(frozen=True)
class Either:
    """A record or a table, or a simple value in its place."""

    simple: Reader
    mapping: Reader

    @property
    def form(self) -> str:
        """What is allowed."""
        return f"{self.simple.form}, or {self.mapping.form}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read a mapping as a dict of marked values, and anything else as the simple value."""
        return (yield from (self.mapping if isinstance(node, MappingNode) else self.simple).read(node, where))


@dataclass(frozen=True)
class Table:
    """A mapping from names, such as joints, to values of one kind."""

    value: Reader
    singular: str

    @property
    def form(self) -> str:
        """What is allowed."""
        return f"{{{self.singular}: {self.value.form}, ...}}"

    def read(self, node: Node, where: str) -> Reading[Marked | None]:
        """Read the valid entries as a dict of marked values."""
        found = yield from entries(node, where, None)
        if found is None:
            return None
        values: dict[str, Marked] = {}
        for name, (part, line) in found.items():
            value = yield from self.value.read(part, f"{where} {name!r}")
            if value is not None:
                values[name] = Marked(value.value, line)
        return Marked(values, line_of(node))
