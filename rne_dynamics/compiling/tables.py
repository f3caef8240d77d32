"""Tables in kernels: items of whatever kind, by number. Their translation is in `functions.py`."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def per_body(topology: NDArray[Any]) -> list[Any]:
    """A table with an item for each row, and one at −1: the base, the parent of the first body.

    What is put into it is a number or a tuple, all of one kind. It ends with the function that makes it, unless that
    returns it.
    """
    return [None] * (len(topology) + 1)


def table(count: int) -> list[Any]:
    """As `per_body`, for so many items."""
    return [None] * count
