"""Parts of one array as arrays of their own, inside kernels, without a reference count.

A slice that numba makes holds the array it came from, and counts it atomically up and down: five of them cost half as
much as the recursion over a six-joint arm. These views do not. They must not outlive the array, so they never leave the
kernel that makes them, and whoever makes one has checked that it lies inside. numba refuses to compile them for arrays
that are not C-contiguous float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.spatial.jit import COMPILED, helper

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

if COMPILED:
    from rne_dynamics.spatial.jit import address, address_to_write, array_at

    @helper
    def vector(buffer: Array, start: int, count: int) -> Array:
        """Elements from `start` on as an array (count,), to read."""
        view: Array = array_at(address(buffer, start), (count,), np.float64)
        return view

    @helper
    def integers(buffer: Array, start: int, rows: int, columns: int) -> Integers:
        """Elements from `start` on, which hold 64-bit integers, as an array (rows, columns), to read."""
        view: Integers = array_at(address(buffer, start), (rows, columns), np.int64)
        return view

    @helper
    def matrix(buffer: Array, start: int, rows: int, columns: int) -> Array:
        """Elements from `start` on as an array (rows, columns)."""
        view: Array = array_at(address_to_write(buffer, start), (rows, columns), np.float64)
        return view

    @helper
    def matrices(buffer: Array, count: int, rows: int, columns: int) -> Array:
        """A whole array as an array (count, rows, columns)."""
        view: Array = array_at(address_to_write(buffer, 0), (count, rows, columns), np.float64)
        return view

    @helper
    def rows_of(buffer: Array, rows: int, columns: int) -> Array:
        """A whole array as an array (rows, columns)."""
        view: Array = array_at(address_to_write(buffer, 0), (rows, columns), np.float64)
        return view

    @helper
    def parts(buffer: Array) -> Array:
        """An array (p, m, n) as an array (p, 1, m, n)."""
        p, m, n = buffer.shape
        view: Array = array_at(address_to_write(buffer, 0), (p, 1, m, n), np.float64)
        return view

    @helper
    def one_row(buffer: Array) -> Array:
        """A vector as an array of one row, to read."""
        view: Array = array_at(address(buffer, 0), (1, buffer.shape[0]), np.float64)
        return view

    @helper
    def overlaps(out: Array, given: Array) -> bool:
        """Whether the memory of `out`, which will be written to, is shared with `given`."""
        address_to_write(out, 0), address(given, 0)  # refuses, on compiling, what raw views cannot be taken of
        start, other = out.ctypes.data, given.ctypes.data
        return bool(start < other + 8 * given.size and other < start + 8 * out.size)

else:

    def vector(buffer: Array, start: int, count: int) -> Array:
        """Elements from `start` on as an array (count,), to read."""
        return buffer[start : start + count]

    def integers(buffer: Array, start: int, rows: int, columns: int) -> Integers:
        """Elements from `start` on, which hold 64-bit integers, as an array (rows, columns), to read."""
        return buffer[start : start + rows * columns].view(np.int64).reshape(rows, columns)

    def matrix(buffer: Array, start: int, rows: int, columns: int) -> Array:
        """Elements from `start` on as an array (rows, columns)."""
        return buffer[start : start + rows * columns].reshape(rows, columns)

    def matrices(buffer: Array, count: int, rows: int, columns: int) -> Array:
        """A whole array as an array (count, rows, columns)."""
        return buffer.reshape(count, rows, columns)

    def parts(buffer: Array) -> Array:
        """An array (p, m, n) as an array (p, 1, m, n)."""
        return buffer[:, None]

    def rows_of(buffer: Array, rows: int, columns: int) -> Array:
        """A whole array as an array (rows, columns)."""
        return buffer.reshape(rows, columns)

    def one_row(buffer: Array) -> Array:
        """A vector as an array of one row, to read."""
        return buffer.reshape(1, -1)

    def overlaps(out: Array, given: Array) -> bool:
        """Whether the memory of `out`, which will be written to, is shared with `given`."""
        return np.shares_memory(out, given)
