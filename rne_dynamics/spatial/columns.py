"""Columns of kernels' work arrays, which have one row a body."""

from __future__ import annotations

from itertools import accumulate
from typing import cast

import numpy as np


def columns(*widths: int) -> tuple[int, ...]:
    """First columns of adjacent fields of the given widths, and at the end the number of columns.

    NumPy integers, because numba compiles a helper anew for every plain integer constant it is called with.
    """
    return tuple(cast("int", np.int64(start)) for start in accumulate(widths, initial=0))
