"""Local variables of compiled functions, and arrays: their elements, views of parts, loops over them, new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from rne_dynamics.compiling.instructions import Instructions, UntranslatableError, widest
from rne_dynamics.compiling.kinds import (
    BOOL,
    ELEMENTS,
    INT,
    ArrayKind,
    Compiled,
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
            if kind.item is None:
                raise UntranslatableError("a table is passed on before anything is put into it")
            yield from (value.data, self.register(value.length, INT))
        elif isinstance(kind, TupleKind):
            for item, item_kind in zip(value, kind.items, strict=True):
                yield from self.parts(item, item_kind)

    def load(self, element: str, pointer: str) -> Number:
        """An array's element at a place in memory."""
        kind, memory, size, _ = ELEMENTS[element]
        found = self.let(f"load {memory}, ptr {pointer}, align {size}")
        if memory != kind.register:
            conversion = "trunc" if kind == BOOL else "zext"
            found = self.let(f"{conversion} {memory} {found} to {kind.register}")
        return Number(kind, found)

    def store(self, element: str, pointer: str, value: Any) -> None:
        """Put a number into an array's element."""
        kind, memory, size, _ = ELEMENTS[element]
        text = self.register(self.truth(value) if kind == BOOL else value, kind)
        if memory != kind.register:
            conversion = "zext" if kind == BOOL else "trunc"
            text = self.let(f"{conversion} {kind.register} {text} to {memory}")
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
            index = self._from_begin(given, length)
            distance = index if isinstance(step, int) and step == 1 else self.binary("Mult", index, step)
            total = distance if isinstance(total, int) and total == 0 else self.binary("Add", total, distance)
        return total

    def _from_begin(self, index: Any, length: Any) -> Any:
        """An index, counted from the end where it is negative, as counted from the first element."""
        if isinstance(index, Number) or index < 0:
            return self.choose(self.compare("Lt", index, 0), self.binary("Add", index, length), index)
        return index

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
        for k, _, _ in self.counting(0, view.shape[0], 1):
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

    def counting(self, start: Any, stop: Any, step: Any) -> Iterator[tuple[Number, str, str]]:
        """A loop around the instructions that are written meanwhile: counter, and labels of the next round and the end.

        Steps that are not known lead upwards.
        """
        counter, end = self.slot("i64"), self.register(stop, INT)
        test, body, again, after = (self.new("l") for _ in range(4))
        order = "sgt" if isinstance(step, int) and step < 0 else "slt"
        self.do(f"store i64 {self.register(start, INT)}, ptr {counter}")
        self.label(test)
        now = self.let(f"load i64, ptr {counter}")
        self.branch(self.let(f"icmp {order} i64 {now}, {end}"), body, after)
        self.label(body)
        yield Number(INT, now), again, after
        self.label(again)
        self.do(f"store i64 {self.let(f'add nsw i64 {now}, {self.register(step, INT)}')}, ptr {counter}")
        self.go(test)
        self.label(after)

    def new_array(self, element: str, shape: tuple[Any, ...]) -> View:
        """Memory for an array."""
        return View(element, self.new_memory(self.product((*shape, ELEMENTS[element].size))), shape)

    def new_memory(self, size: Any) -> str:
        """Memory of so many bytes, the function's own until it returns."""
        self.allocates = True
        return self.let(f"call noalias ptr @allocate(ptr %arena, i64 {self.register(size, INT)})")

    def result(self, function: Compiled, arguments: Sequence[Any]) -> Any:
        """Result of a compiled function."""
        given = [
            f"{part} {text}" for value, kind in zip(arguments, function.kinds, strict=True)
            for part, text in zip(registers(kind), self.parts(value, kind), strict=True)
        ]  # fmt: skip
        self.allocates |= function.allocates
        answer = self.let(f"call {function.result} @{function.name}({', '.join(('ptr %arena', *given))})")
        parts = (self.let(f"extractvalue {function.result} {answer}, {k}") for k in count())
        return assembled(function.returned, parts)

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
        #: Tables that the function makes, by the registers with the sizes of their items.
        self.tables: dict[str, Table] = {}
        self.scope: dict[str, Any] = {}

    def new_variable(self, kind: Kind) -> Variable:
        """A variable without a value."""
        return Variable(kind, tuple(self.slot(part) for part in registers(kind)))

    def put(self, variable: Variable, value: Any, name: str = "a value") -> None:
        """Give it a value, of a kind that its first one holds."""
        if joined(kind_of(value), variable.kind) != variable.kind:
            raise UntranslatableError(f"{name} is a {variable.kind}, and then a {kind_of(value)}")
        texts = self.parts(value, variable.kind)
        for part, slot, text in zip(registers(variable.kind), variable.slots, texts, strict=True):
            self.do(f"store {part} {text}, ptr {slot}")

    def get(self, variable: Variable) -> Any:
        """Its value."""
        parts = zip(registers(variable.kind), variable.slots, strict=True)
        return assembled(variable.kind, (self.let(f"load {part}, ptr {slot}") for part, slot in parts))

    def bind(self, name: str, value: Any) -> None:
        """Give a value to the variable of a name."""
        known, count = self.scope.get(name), self._assigned.get(name, 0)
        if not isinstance(known, Variable):
            if count == 0 or (count == 1 and not _runs(value)):
                self.scope[name] = value
                return
            known = self.scope[name] = self.new_variable(kind_of(value))
        self.put(known, value, name)

    # tables

    def new_table(self, count: Any) -> Table:
        """A table for so many items; their kind is that of what is put into it first, and so is their size."""
        size = f"%size{len(self.tables)}"
        memory = self.new_memory(self.binary("Mult", count, Number(INT, size)))
        table = self.tables[size] = Table(memory, count, None)
        return table

    def item_of_table(self, table: Table, index: Any) -> Any:
        """An item of a table."""
        if table.item is None:
            raise UntranslatableError("a table is read before anything is put into it")
        return self.get(self._item(table, table.item, index))

    def put_item_of_table(self, table: Table, index: Any, value: Any) -> None:
        """Put an item into a table; the first one says its kind."""
        if table.item is None:
            table.item = kind_of(value)
        self.put(self._item(table, table.item, index), value, "an item of a table")

    def _item(self, table: Table, kind: Kind, index: Any) -> Variable:
        count, place = len(registers(kind)), self._from_begin(index, table.length)
        start = self.register(self.binary("Mult", place, 8 * count), INT)
        row = self.let(f"getelementptr i8, ptr {table.data}, i64 {start}")
        return Variable(kind, tuple(self.let(f"getelementptr i8, ptr {row}, i64 {8 * k}") for k in range(count)))


def _runs(value: Any) -> bool:
    """Whether a value is known only when the function runs."""
    return isinstance(value, (Number, View)) or (isinstance(value, tuple) and any(map(_runs, value)))
