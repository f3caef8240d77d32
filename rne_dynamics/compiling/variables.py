"""Local variables of compiled functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rne_dynamics.compiling.arrays import Arrays
from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.kinds import INT, Kind, Number, Table, View, assembled, joined, kind_of, registers


class Variable(NamedTuple):
    """A variable: its kind, and the memory of its parts, which LLVM turns into registers."""

    kind: Kind
    slots: tuple[str, ...]


class JoinedError(Exception):
    """A variable takes values of several kinds: the function is to be translated anew."""


class Variables(Arrays):
    """The variables of a function; `scope` has them, and values that do not change, by name."""

    def __init__(self, assigned: Mapping[str, int]) -> None:
        super().__init__()
        self._assigned = assigned
        self._wider: dict[str, Kind] = {}
        #: Whether tables got items of other kinds than they were made for: the function is to be translated anew.
        self.is_outdated, self._tables = False, 0
        self.scope: dict[str, Any] = {}

    def new_variable(self, kind: Kind) -> Variable:
        """A variable without a value."""
        return Variable(kind, tuple(self.slot(part) for part in registers(kind)))

    def put(self, variable: Variable, value: Any) -> None:
        """Give it a value."""
        texts = self.parts(value, variable.kind)
        for part, slot, text in zip(registers(variable.kind), variable.slots, texts, strict=True):
            self.do(f"store {part} {text}, ptr {slot}")
            if part == "ptr":
                self.derive(slot, slot, text)

    def get(self, variable: Variable) -> Any:
        """Its value."""
        parts = zip(registers(variable.kind), variable.slots, strict=True)
        loads = ((self.let(f"load {part}, ptr {slot}"), slot) for part, slot in parts)
        return assembled(variable.kind, (self.derive(*load) for load in loads))

    def bind(self, name: str, value: Any) -> None:
        """Give a value to the variable of a name."""
        known = self.scope.get(name)
        if not isinstance(known, Variable):
            if self._assigned.get(name, 0) == 1 and not _runs(value):
                self.scope[name] = value
                return
            known = self.scope[name] = self.new_variable(self.joined_kind(name, kind_of(value), None))
        self.joined_kind(name, kind_of(value), known.kind)
        self.put(known, value)

    def joined_kind(self, name: str, kind: Kind, known: Kind | None) -> Kind:
        """The kind of what is given a value; `JoinedError` where it was made for a narrower one."""
        for other in (self._wider.get(name), known):
            if other is not None:
                wider = joined(kind, other)
                if wider is None:
                    raise UntranslatableError(f"{name} is a {other}, and then a {kind}")
                kind = wider
        if known is not None and kind != known:
            self._wider[name] = kind
            raise JoinedError
        return kind

    # tables

    def new_table(self, count: Any) -> Table:
        """A table for so many items; their kind is that of what is put into it."""
        self._tables += 1
        name = f"table {self._tables}"
        item = self._wider.get(name)
        size = 0 if item is None else 8 * len(registers(item))
        return Table(self.new_memory(self.binary("Mult", count, size)), count, item, name)

    def item_of_table(self, table: Table, index: Any) -> Any:
        """An item of a table."""
        if table.item is None:
            raise UntranslatableError("a table is read before anything is put into it")
        parts = registers(table.item)
        places = zip(parts, self._places(table, index, len(parts)), strict=True)
        return assembled(table.item, (self.let(f"load {part}, ptr {place}") for part, place in places))

    def put_item_of_table(self, table: Table, index: Any, value: Any) -> None:
        """Put an item into a table; where it is of another kind, the function will be translated anew."""
        kind = self.joined_kind(table.name, kind_of(value), None)
        if kind != table.item:
            table.item = self._wider[table.name] = kind if table.item is None else joined(kind, table.item) or kind
            self.is_outdated = True
        parts = registers(kind)
        places = self._places(table, index, len(parts))
        for part, place, text in zip(parts, places, self.parts(value, kind), strict=True):
            self.do(f"store {part} {text}, ptr {place}")

    def _places(self, table: Table, index: Any, count: int) -> list[str]:
        if isinstance(index, Number) or index < 0:
            index = self.choose(self.compare("Lt", index, 0), self.binary("Add", index, table.length), index)
        start = self.register(self.binary("Mult", index, 8 * count), INT)
        row = self.let(f"getelementptr i8, ptr {table.data}, i64 {start}")
        return [self.let(f"getelementptr i8, ptr {row}, i64 {8 * k}") for k in range(count)]


def _runs(value: Any) -> bool:
    """Whether a value is known only when the function runs."""
    return isinstance(value, (Number, View)) or (isinstance(value, tuple) and any(map(_runs, value)))
