"""Local variables of compiled functions, and arrays: their elements, views of parts, loops over them, new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rne_dynamics.compiling.instructions import Instructions, UntranslatableError, widest
from rne_dynamics.compiling.kinds import (
    BOOL,
    ELEMENTS,
    INT,
    ArrayKind,
    Kind,
    Number,
    Scalar,
    Table,
    TableKind,
    TupleKind,
    View,
    assembled,
    joined,
    kind_of,
    registers,
)


class Arrays(Instructions):
    """Assembly for a function's operations on arrays.

    `allocates`: whether it makes arrays, so that it takes an arena (`module.ARENA`).
    """

    allocates = False

    def parts(self, value: Any, kind: Kind) -> Iterator[str]:
        """A value in registers, see `kinds.registers`."""
        if isinstance(kind, Scalar):
            yield self.register(value, kind)
        elif isinstance(kind, ArrayKind):
            yield value.data
            yield from (self.register(x, INT) for x in (*value.shape, *(self.steps(value) if kind.strided else ())))
        elif isinstance(kind, TableKind):
            yield from (value.data, self.register(value.length, INT))
        elif isinstance(kind, TupleKind):
            for item, item_kind in zip(value, kind.items, strict=True):
                yield from self.parts(item, item_kind)

    def load(self, element: str, pointer: str) -> Number:
        """An array's element at a place in memory."""
        kind, memory, size, _ = ELEMENTS[element]
        found = self.let(f"load {memory}, ptr {pointer}, align {size}")
        if kind == BOOL:
            return Number(BOOL, self.let(f"trunc i8 {found} to i1"))
        if memory == "i8":
            return Number(INT, self.let(f"zext i8 {found} to i64"))
        return Number(kind, found)

    def store(self, element: str, pointer: str, value: Any) -> None:
        """Put a number into an array's element."""
        kind, memory, size, _ = ELEMENTS[element]
        text = self.register(self.truth(value) if kind == BOOL else value, kind)
        if kind == BOOL:
            text = self.let(f"zext i1 {text} to i8")
        elif memory == "i8":
            text = self.let(f"trunc i64 {text} to i8")
        self.do(f"store {memory} {text}, ptr {pointer}, align {size}")

    def product(self, factors: Sequence[Any]) -> Any:
        """The product of integers."""
        result: Any = 1
        for factor in factors:
            result = factor if isinstance(result, int) and result == 1 else self.binary("Mult", result, factor)
        return result

    def steps(self, view: View) -> tuple[Any, ...]:
        """Elements between neighbours along each axis."""
        return view.strides or tuple(self.product(view.shape[axis + 1 :]) for axis in range(len(view.shape)))

    def moved(self, view: View, offset: Any) -> str:
        """The place of an element, so many after the first one."""
        memory = ELEMENTS[view.element].memory
        return self.let(f"getelementptr {memory}, ptr {view.data}, i64 {self.register(offset, INT)}")

    def item(self, view: View, indices: tuple[Any, ...]) -> Any:
        """The element, or the view, at indices and slices."""
        if _is_element(view, indices):
            return self.load(view.element, self.element(view, indices))
        return self.part(view, indices)

    def put_item(self, view: View, indices: tuple[Any, ...], value: Any) -> None:
        """Put a number, or an array's elements, to indices and slices."""
        if _is_element(view, indices):
            self.store(view.element, self.element(view, indices), value)
        else:
            self.fill(self.part(view, indices), value)

    def element(self, view: View, indices: tuple[Any, ...]) -> str:
        """Address of an element."""
        return self.moved(view, self._offset(view, indices))

    def _offset(self, view: View, indices: Sequence[Any]) -> Any:
        total: Any = 0
        for given, length, step in zip(indices, view.shape, self.steps(view), strict=False):
            index = given
            if isinstance(given, Number) or given < 0:
                index = self.choose(self.compare("Lt", given, 0), self.binary("Add", given, length), given)
            distance = index if isinstance(step, int) and step == 1 else self.binary("Mult", index, step)
            total = distance if isinstance(total, int) and total == 0 else self.binary("Add", total, distance)
        return total

    def part(self, view: View, indices: tuple[Any, ...]) -> View:
        """A view of a part of an array."""
        starts: list[Any] = []
        shape: list[Any] = []
        steps: list[Any] = []
        all_steps = self.steps(view)
        for axis, index in enumerate(indices):
            if not isinstance(index, slice):
                starts.append(index)
                continue
            if index.step is not None:
                raise UntranslatableError("slices have no steps")
            start, stop = index.start or 0, view.shape[axis] if index.stop is None else index.stop
            starts.append(start)
            shape.append(stop if isinstance(start, int) and start == 0 else self.binary("Sub", stop, start))
            steps.append(all_steps[axis])
        shape += view.shape[len(indices) :]
        steps += all_steps[len(indices) :]
        # it lies in one piece if all behind a first slice is whole
        slices = [k for k, index in enumerate(indices) if isinstance(index, slice)]
        behind = indices[slices[0] + 1 :] if slices else ()
        in_one = view.strides is None and all(index == slice(None) for index in behind)
        data = self.moved(view, self._offset(view, starts))
        return View(view.element, data, tuple(shape), None if in_one else tuple(steps))

    def fill(self, view: View, value: Any) -> None:
        """Put a number, or another array's elements, into an array."""
        if isinstance(value, View):
            self._check_shapes(view, value)
        if len(view.shape) > 1 and view.strides is None and not (isinstance(value, View) and value.strides):
            view = View(view.element, view.data, (self.product(view.shape),))
            value = View(value.element, value.data, view.shape) if isinstance(value, View) else value
        for k in self.counting(view.shape[0]):
            one = self.item(value, (k,)) if isinstance(value, View) else value
            self.put_item(view, (k,), one)

    def _check_shapes(self, view: View, value: View) -> None:
        """Refuse an array that is filled from one of another shape, as far as the shapes are known."""
        if len(view.shape) != len(value.shape):
            raise UntranslatableError(
                f"an array of {len(view.shape)} dimensions is filled from one of {len(value.shape)}"
            )
        for wanted, found in zip(view.shape, value.shape, strict=True):
            if not isinstance(wanted, Number) and not isinstance(found, Number) and wanted != found:
                raise UntranslatableError(f"an array of length {wanted} is filled from one of length {found}")

    def counting(self, count: Any) -> Iterator[Number]:
        """A loop around the instructions that are written meanwhile."""
        counter = self.slot("i64")
        test, body, after = (self.new("l") for _ in range(3))
        self.do(f"store i64 0, ptr {counter}")
        self.label(test)
        now = self.let(f"load i64, ptr {counter}")
        self.branch(self.let(f"icmp slt i64 {now}, {self.register(count, INT)}"), body, after)
        self.label(body)
        yield Number(INT, now)
        self.do(f"store i64 {self.let(f'add nsw i64 {now}, 1')}, ptr {counter}")
        self.go(test)
        self.label(after)

    def new_array(self, element: str, shape: tuple[Any, ...]) -> View:
        """Memory for an array."""
        return View(element, self.new_memory(self.product((*shape, ELEMENTS[element].size))), shape)

    def new_memory(self, size: Any) -> str:
        """Memory of so many bytes, the function's own until it returns."""
        self.allocates = True
        return self.let(f"call noalias ptr @allocate(ptr %arena, i64 {self.register(size, INT)})")

    def item_of_tuple(self, items: tuple[Any, ...], index: Number) -> Number:
        """An item of a tuple of numbers, at a place that is known when the function runs."""
        kind = widest(*items)
        slot = self.slot(f"[{len(items)} x {kind.register}]")
        for k, item in enumerate(items):
            place = self.let(f"getelementptr {kind.register}, ptr {slot}, i64 {k}")
            self.do(f"store {kind.register} {self.register(item, kind)}, ptr {place}")
        place = self.let(f"getelementptr {kind.register}, ptr {slot}, i64 {self.register(index, INT)}")
        return Number(kind, self.let(f"load {kind.register}, ptr {place}"))


def _is_element(view: View, indices: tuple[Any, ...]) -> bool:
    return len(indices) == len(view.shape) and not any(isinstance(x, slice) for x in indices)


class Variable(NamedTuple):
    """A variable: its kind, and the memory of its parts, which LLVM turns into registers."""

    kind: Kind
    slots: tuple[str, ...]


class Variables(Arrays):
    """The variables of a function; `scope` has them, and values that do not change, by name."""

    def __init__(self, assigned: Mapping[str, int]) -> None:
        super().__init__()
        self._assigned = assigned
        #: Kinds of tables' items, by the tables' numbers.
        self._items: dict[int, Kind] = {}
        #: Whether a table got its first item after it was made for none: the function is to be translated anew.
        self.is_outdated, self._tables = False, 0
        self.scope: dict[str, Any] = {}

    def new_variable(self, kind: Kind) -> Variable:
        """A variable without a value."""
        return Variable(kind, tuple(self.slot(part) for part in registers(kind)))

    def put(self, variable: Variable, value: Any, name: str = "a value") -> None:
        """Give it a value, of a kind that its first one holds."""
        self.check_kind(name, value, variable.kind)
        texts = self.parts(value, variable.kind)
        for part, slot, text in zip(registers(variable.kind), variable.slots, texts, strict=True):
            self.do(f"store {part} {text}, ptr {slot}")

    @staticmethod
    def check_kind(name: str, value: Any, known: Kind) -> None:
        """Refuse a value that a kind does not hold."""
        if joined(kind_of(value), known) != known:
            raise UntranslatableError(f"{name} is a {known}, and then a {kind_of(value)}")

    def get(self, variable: Variable) -> Any:
        """Its value."""
        parts = zip(registers(variable.kind), variable.slots, strict=True)
        return assembled(variable.kind, (self.let(f"load {part}, ptr {slot}") for part, slot in parts))

    def bind(self, name: str, value: Any) -> None:
        """Give a value to the variable of a name."""
        known = self.scope.get(name)
        if not isinstance(known, Variable):
            if self._assigned.get(name, 0) == 1 and not _runs(value):
                self.scope[name] = value
                return
            known = self.scope[name] = self.new_variable(kind_of(value))
        self.put(known, value, name)

    # tables

    def new_table(self, count: Any) -> Table:
        """A table for so many items; their kind is that of what is put into it."""
        self._tables += 1
        item = self._items.get(self._tables)
        size = 0 if item is None else 8 * len(registers(item))
        return Table(self.new_memory(self.binary("Mult", count, size)), count, item, self._tables)

    def item_of_table(self, table: Table, index: Any) -> Any:
        """An item of a table."""
        if table.item is None:
            raise UntranslatableError("a table is read before anything is put into it")
        parts = registers(table.item)
        places = zip(parts, self._places(table, index, len(parts)), strict=True)
        return assembled(table.item, (self.let(f"load {part}, ptr {place}") for part, place in places))

    def put_item_of_table(self, table: Table, index: Any, value: Any) -> None:
        """Put an item into a table; the first one says its kind, and that the function is to be translated anew."""
        if table.item is None:
            table.item = self._items[table.number] = kind_of(value)
            self.is_outdated = True
        self.check_kind("an item of a table", value, table.item)
        parts = registers(table.item)
        places = self._places(table, index, len(parts))
        for part, place, text in zip(parts, places, self.parts(value, table.item), strict=True):
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
