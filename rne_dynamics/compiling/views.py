"""Views of arrays inside kernels, without reference counts.

A slice made by numba counts references of its base array, and a reshape calls the library. These views are three loads
and a few multiplications, and `in_place_kernel` allows them. They must not outlive the array: they never leave the
kernel that makes them. numba refuses to compile them for an array that is not C-contiguous float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import COMPILED, helper

Array = NDArray[np.float64]


class Slot(NamedTuple):
    """Index of a 64-bit integer in the head of a buffer, which is at its beginning."""

    place: int


if COMPILED:
    from numba import errors, types
    from numba.extending import intrinsic as _intrinsic

    intrinsic: Any = _intrinsic  # numba's type says that such a function never returns

    def _refuse_unless_plain(array: Any, written: bool = False) -> None:
        plain = isinstance(array, types.Array) and array.layout == "C" and array.dtype == types.float64
        if not plain or not array.aligned or (written and not array.mutable):
            raise errors.NumbaTypeError(
                f"found {array}; it must be a {'writable ' if written else ''}C-contiguous array of float64"
            )

    def _head(context: Any, builder: Any, buffer: Any) -> Any:
        return builder.bitcast(buffer.data, context.get_value_type(types.int64).as_pointer())

    def _array_at(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
        from numba.np import arrayobj  # loads numba's compiler

        library: Any = arrayobj  # numba is typed in parts
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, 8)
        strides = [size]
        for dimension in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], dimension))
        library.populate_array(array, builder.bitcast(data, array.data.type), shape, strides, size, None)
        return array._getvalue()

    def _number(_context: Any, buffer: Any, slot: Any) -> Any:
        _refuse_unless_plain(buffer)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.load(builder.gep(_head(context, builder, source), [arguments[1]]))

        return types.int64(buffer, types.intp), generate

    #: `number(buffer, slot)`: a number of the head.
    number: Callable[[Array, int], int] = intrinsic(_number)

    def part(start: Slot, *shape: int | Slot, integers: bool = False) -> Callable[[Array], Any]:
        """A function for kernels that returns a view of a part of a buffer; the head holds its start and shape.

        Parameters
        ----------
        start
            Where the head holds the index of the first element.
        shape
            The dimensions, or where the head holds them.
        integers
            Whether the elements are 64-bit integers instead of floats.
        """

        def definition(_context: Any, buffer: Any) -> Any:
            _refuse_unless_plain(buffer, written=not integers)
            kind = types.Array(types.int64 if integers else types.float64, len(shape), "C")

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                source = context.make_array(signature.args[0])(context, builder, arguments[0])
                head = _head(context, builder, source)

                def value(k: int | Slot) -> Any:
                    if not isinstance(k, Slot):
                        return context.get_constant(types.intp, int(k))
                    return builder.load(builder.gep(head, [context.get_constant(types.intp, int(k.place))]))

                return _array_at(context, builder, kind, builder.gep(source.data, [value(start)]), [*map(value, shape)])

            return kind(buffer), generate

        made: Callable[[Array], Any] = intrinsic(definition)
        return made

    def _shaped(_context: Any, array: Any, shape: Any) -> Any:
        _refuse_unless_plain(array)
        kind = types.Array(types.float64, len(shape), "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source = context.make_array(signature.args[0])(context, builder, arguments[0])
            dimensions = [
                context.cast(builder, builder.extract_value(arguments[1], k), of, types.intp)
                for k, of in enumerate(signature.args[1])
            ]
            return _array_at(context, builder, kind, source.data, dimensions)

        return kind(array, shape), generate

    #: `shaped(array, shape)`: a whole array in another shape of the same size.
    shaped: Callable[[Array, tuple[int, ...]], Array] = intrinsic(_shaped)

    def _address(written: bool) -> Callable[[Array], int]:
        def definition(_context: Any, array: Any) -> Any:
            _refuse_unless_plain(array, written)

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                source = context.make_array(signature.args[0])(context, builder, arguments[0])
                return builder.ptrtoint(source.data, context.get_value_type(types.intp))

            return types.intp(array), generate

        made: Callable[[Array], int] = intrinsic(definition)
        return made

    _place, _place_to_write = _address(written=False), _address(written=True)

    @helper
    def overlaps(out: Array, given: Array) -> bool:
        """Whether `out`, which will be written to, shares memory with `given`."""
        start, other = _place_to_write(out), _place(given)
        return start < other + 8 * given.size and other < start + 8 * out.size

else:

    def number(buffer: Array, slot: int) -> int:
        """A number of the head."""
        return int(buffer[slot : slot + 1].view(np.int64)[0])

    def part(start: Slot, *shape: int | Slot, integers: bool = False) -> Callable[[Array], Any]:
        """A function that returns a view of a part of a buffer; the head holds its start and shape."""

        def of(buffer: Array) -> Any:
            dimensions = [number(buffer, k.place) if isinstance(k, Slot) else int(k) for k in shape]
            first = number(buffer, start.place)
            flat = buffer[first : first + int(np.prod(dimensions))]
            return (flat.view(np.int64) if integers else flat).reshape(dimensions)

        return of

    def shaped(array: Array, shape: tuple[int, ...]) -> Array:
        """A whole array in another shape of the same size."""
        return array.reshape(shape)

    def overlaps(out: Array, given: Array) -> bool:
        """Whether `out`, which will be written to, shares memory with `given`."""
        return np.shares_memory(out, given)
