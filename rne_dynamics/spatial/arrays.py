"""Operations on whole vectors in kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper


@helper
def copy_into(target: NDArray[np.float64], source: NDArray[np.float64]) -> None:
    """target ← source, of equal length."""
    for k in range(source.shape[0]):
        target[k] = source[k]
