"""Views of arrays inside kernels: parts of one buffer, other shapes of an array.

They must not outlive the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.kinds import INT, Number, View

if TYPE_CHECKING:
    from rne_dynamics.compiling.arrays import Arrays
    from rne_dynamics.compiling.expressions import Expressions

Array = NDArray[np.float64]


class Slot(NamedTuple):
    """Index of a 64-bit integer in the head of a buffer, which is at its beginning."""

    place: int


class _Number:
    """`number(buffer, slot)`: a number of the head."""

    def __call__(self, buffer: Array, slot: int) -> int:
        return int(buffer[slot : slot + 1].view(np.int64)[0])

    @staticmethod
    def in_code(code: Expressions, buffer: View, slot: Any) -> Number:
        """The number, in compiled code."""
        return code.load("<i8", code.moved(buffer, slot))


number = _Number()


class Part:
    """A function that returns a view of a part of a buffer; the head holds its start and shape.

    Parameters
    ----------
    start
        Where the head holds the index of the first element.
    shape
        The dimensions, or where the head holds them.
    integers
        Whether the elements are 64-bit integers instead of floats.
    """

    def __init__(self, start: Slot, *shape: int | Slot, integers: bool = False) -> None:
        self._start, self._shape, self._integers = start, shape, integers

    def __call__(self, buffer: Array) -> Any:
        """The view."""
        dimensions = [number(buffer, k.place) if isinstance(k, Slot) else int(k) for k in self._shape]
        first = number(buffer, self._start.place)
        flat = buffer[first : first + int(np.prod(dimensions))]
        return (flat.view(np.int64) if self._integers else flat).reshape(dimensions)

    def in_code(self, code: Expressions, buffer: View) -> View:
        """The view, in compiled code."""
        lengths = tuple(
            number.in_code(code, buffer, int(k.place)) if isinstance(k, Slot) else int(k) for k in self._shape
        )
        data = code.moved(buffer, number.in_code(code, buffer, int(self._start.place)))
        return View("<i8" if self._integers else "<f8", data, lengths)


def part(start: Slot, *shape: int | Slot, integers: bool = False) -> Callable[[Array], Any]:
    """See `Part`."""
    return Part(start, *shape, integers=integers)


class _Shaped:
    """`shaped(array, shape)`: a whole array in another shape of the same size."""

    def __call__(self, array: Array, shape: tuple[int, ...]) -> Array:
        return array.reshape(shape)

    @staticmethod
    def in_code(_code: Expressions, array: View, shape: tuple[Any, ...]) -> View:
        """The view, in compiled code."""
        return View(array.element, array.data, shape)


class _Overlaps:
    """`overlaps(out, given)`: whether `out`, which will be written to, shares memory with `given`."""

    def __call__(self, out: Array, given: Array) -> bool:
        return np.shares_memory(out, given)

    @staticmethod
    def in_code(code: Arrays, out: View, given: View) -> Any:
        """Whether they do, in compiled code."""
        ends = []
        for view in (out, given):
            start = Number(INT, code.let(f"ptrtoint ptr {view.data} to i64"))
            ends.append((start, code.binary("Add", start, code.product((8, *view.shape)))))
        (start, end), (other, other_end) = ends
        return code.both(code.compare("Lt", start, other_end), code.compare("Lt", other, end))


shaped, overlaps = _Shaped(), _Overlaps()
