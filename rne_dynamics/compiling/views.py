"""An array in another shape, inside kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.kinds import View

if TYPE_CHECKING:
    from rne_dynamics.compiling.expressions import Expressions

Array = NDArray[np.float64]


class _Shaped:
    """`shaped(array, shape)`: a whole array in another shape of the same size; must not outlive the array."""

    def __call__(self, array: Array, shape: tuple[int, ...]) -> Array:
        return array.reshape(shape)

    @staticmethod
    def in_code(_code: Expressions, array: View, shape: tuple[Any, ...]) -> View:
        """The view, in compiled code."""
        return View(array.element, array.data, shape)


shaped = _Shaped()
