"""Columns of kernels' work arrays, which have one row a body."""

from __future__ import annotations

from itertools import accumulate


def columns(*widths: int) -> tuple[int, ...]:
    """First columns of adjacent fields of the given widths, and at the end the number of columns."""
    return tuple(accumulate(widths, initial=0))
