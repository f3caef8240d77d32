"""Readers of the values of a YAML schema; each yields findings, and documents what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rne_dynamics.description.lint.findings import Reading, error
from rne_dynamics.description.markup import LARGEST, parse_number
from rne_dynamics.description.yaml_nodes import entries, line_of, shown


@dataclass(frozen=True)
class Marked:
    """A value that was read, and its line."""

    value: Any
    line: int


def value_of(given: Mapping[str, Marked], key: str, otherwise: Any) -> Any:
    """The value of a key, or another one where it is not given."""
    return given[key].value if key in given else otherwise


class Reader(NamedTuple):
    """Reads one kind of value."""

    #: Allowed values, for messages and documentation.
    form: str
    #: Of a node and its name in messages: yields what is wrong; returns the value, or `None` if it cannot be used.
    read: Callable[[Node, str], Reading[Marked | None]]
    #: Whether it is a `table`.
    is_table: bool = False


def number(unit: str, least: float | None = None, *, whole: bool = False) -> Reader:
    """One finite number without quotes; at least `least` if given."""
    bound = "" if least is None else f", at least {least:g}"
    form = f"one {'whole' if whole else 'finite'} number{', ' * bool(unit)}{unit}{bound}"

    def read(node: Node, where: str) -> Reading[Marked | None]:
        plain = isinstance(node, ScalarNode) and node.style is None
        value = parse_number(node.value) if plain else None
        if value is None or (whole and value != int(value)):
            example = "2" if whole else "1.5 or -2e-3"
            yield error(line_of(node), where, f"is {shown(node)}; it must be {form}", f"write it like {example}")
            return None
        # NaN and infinity are refused above
        if abs(value) > LARGEST or (least is not None and value < least):
            fix = "give it in SI units (m, kg, s, rad)" if abs(value) > LARGEST else "correct its sign or its size"
            yield error(line_of(node), where, f"is {value:g}; it must be {form}, below {LARGEST:g} in size", fix)
            return None
        return Marked(int(value) if whole else value, line_of(node))

    return Reader(form, read)


def text(form: str = "a name") -> Reader:
    """A name, or any text of one line: a joint may be named 1, or on."""

    def read(node: Node, where: str) -> Reading[Marked | None]:
        if not isinstance(node, ScalarNode) or not node.value.strip():
            yield error(line_of(node), where, f"is {shown(node)}; it must be {form}", "write one name")
            return None
        return Marked(str(node.value), line_of(node))

    return Reader(form, read)


def choice(words: tuple[str, ...], or_else: str = "") -> Reader:
    """One of a few words; `or_else`: what else is allowed, for messages."""
    form = f"one of {', '.join(words)}{or_else}"

    def read(node: Node, where: str) -> Reading[Marked | None]:
        if isinstance(node, ScalarNode) and node.value in words:
            return Marked(node.value, line_of(node))
        near = get_close_matches(str(node.value), words, n=1) if isinstance(node, ScalarNode) else []
        yield error(
            line_of(node), where, f"is {shown(node)}; it must be {form}", f"write {near[0] if near else words[0]}"
        )
        return None

    return Reader(form, read)


#: Name of the whole document in messages.
WHOLE = "the file"


def list_of(item: Reader, singular: str, count: int | None = None, *, key: str | None = None) -> Reader:
    """A list of items of one kind, invalid if one of them is; of exactly `count` items if given.

    `key`: of records, that of their names in messages.
    """

    def place(node: Node, where: str, k: int) -> str:
        """An item's name in messages: its own, or its number."""
        if key is None:
            return f"{where}[{k}]"
        pairs = node.value if isinstance(node, MappingNode) else []
        own = [value.value for name, value in pairs if name.value == key and isinstance(value, ScalarNode)]
        return f"{singular} {own[0]!r}" if own else f"{singular} number {k + 1}"

    def read(node: Node, where: str) -> Reading[Marked | None]:
        if not isinstance(node, SequenceNode):
            yield error(
                line_of(node), where, f"is {shown(node)}; it must be a list of {singular}s", f"write [{singular}, ...]"
            )
            return None
        if count is not None and len(node.value) != count:
            yield error(
                line_of(node), where, f"holds {len(node.value)} {singular}s; it must hold {count}", f"give {count}"
            )
            return None
        values = []
        for k, part in enumerate(node.value):
            values.append((yield from item.read(part, place(part, where, k))))
        return None if any(value is None for value in values) else Marked(values, line_of(node))

    return Reader(f"a list: {item.form}" if count is None else f"[{', '.join([singular] * count)}]", read)


def numbers(unit: str, count: int | None = 3) -> Reader:
    """Numbers, read as a tuple: exactly `count`, or without it one or several along a beam, at least 0."""
    item = number(unit, None if count else 0.0)
    several = list_of(item, "number", count)
    form = f"[{', '.join(['number'] * (count or 0))}], {unit}"
    if count is None:
        form = f"one number or [number, ...]{', ' * bool(unit)}{unit}, at least 0"

    def read(node: Node, where: str) -> Reading[Marked | None]:
        if count is None and isinstance(node, ScalarNode):
            one = yield from item.read(node, where)
            return None if one is None else Marked((one.value,), one.line)
        found = yield from several.read(node, where)
        if found is not None and not found.value:
            yield error(line_of(node), where, f"is an empty list; it must be {form}", "give a number")
            return None
        return None if found is None else Marked(tuple(x.value for x in found.value), found.line)

    return Reader(form, read)


class Key(NamedTuple):
    """One key of a record."""

    reader: Reader
    doc: str
    required: bool = False


def record(keys: Mapping[str, Key]) -> Reader:
    """A mapping with known keys, read as a dict of marked values; invalid without a required one."""

    def read(node: Node, where: str) -> Reading[Marked | None]:
        found = yield from entries(node, where, tuple(keys))
        if found is None:
            return None
        values: dict[str, Marked] = {}
        usable = True
        for name, key in keys.items():
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

    return Reader("{" + ", ".join(f"{name}: ..." for name in keys) + "}", read)


def either(simple: Reader, mapping: Reader) -> Reader:
    """A record or a table, or a simple value in its place."""
    return Reader(
        f"{simple.form}, or {mapping.form}",
        lambda node, where: (mapping if isinstance(node, MappingNode) else simple).read(node, where), mapping.is_table,
    )  # fmt: skip


def table(value: Reader, singular: str) -> Reader:
    """A mapping from names, such as joints, to values of one kind; the valid entries are read as marked values."""

    def read(node: Node, where: str) -> Reading[Marked | None]:
        found = yield from entries(node, where, None)
        if found is None:
            return None
        values: dict[str, Marked] = {}
        for name, (part, line) in found.items():
            one = yield from value.read(part, f"{where} {name!r}")
            if one is not None:
                values[name] = Marked(one.value, line)
        return Marked(values, line_of(node))

    return Reader(f"{{{singular}: {value.form}, ...}}", read, is_table=True)
