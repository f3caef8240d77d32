"""Vectors for kernels, and operations on whole ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import in_place_helper


def writable(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """`array`, or a copy: kernels are compiled anew for arrays that are read-only or not contiguous."""
    ready = array.flags.writeable and array.flags.c_contiguous and array.dtype == np.float64
    return array if ready else np.array(array, dtype=np.float64)


@in_place_helper
def copy_into(target: NDArray[np.float64], source: NDArray[np.float64]) -> None:
    """target ← source, of equal length; `target[:] = source` takes numba seconds to compile."""
    for k in range(source.shape[0]):
        target[k] = source[k]
