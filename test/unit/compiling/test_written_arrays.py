"""What fills an array in a kernel is as long as it."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.jit import COMPILED, UNCOMPILED, kernel

if not COMPILED:
    pytest.skip(UNCOMPILED, allow_module_level=True)


@kernel
def of_other_dimensions(a: np.ndarray, out: np.ndarray) -> None:
    out[:] = a


@kernel
def of_other_known_length(out: np.ndarray) -> None:
    out[:] = np.zeros(4)
    out[:2] = np.zeros(3)


def test_what_can_never_fill_an_array_is_not_translated():
    with pytest.raises(UntranslatableError, match=r"2 dimensions.*1"):
        of_other_dimensions(np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(UntranslatableError, match=r"length 2.*length 3"):
        of_other_known_length(np.zeros(4))
