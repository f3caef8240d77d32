"""Check of vectors with one number for each joint or mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array


def finite_vector(what: str, value: ArrayLike, labels: Sequence[str], owner: str, *, broadcast: bool = False) -> Array:
    """`value` as a new array of one number for each of `labels`; with `broadcast` one number may stand for all.

    Raises
    ------
    SimulationError
        A wrong shape, names the `owner`; a number that is not finite, names its label.
    """
    array = np.array(value, dtype=np.float64)
    if broadcast and array.ndim == 0:
        array = np.full(len(labels), float(array))
    if array.shape != (len(labels),):
        raise SimulationError(f"{what} has shape {array.shape}; {owner} needs ({len(labels)},)")
    finite = np.isfinite(array)
    if not finite.all():
        k = int(np.argmin(finite))
        raise SimulationError(f"{what} of {labels[k]} is {array[k]}; it must be finite")
    return array
