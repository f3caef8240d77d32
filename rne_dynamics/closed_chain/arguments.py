"""Checks of the arguments that the functions of mechanisms share."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import vectors
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: Where assembly starts: a posture of all joints of the tree, (…, tree n); ``"previous"``: every row from the row
#: before, the first from the mechanism's posture; `None`: every row from the mechanism's posture.
Start = ArrayLike | Literal["previous"] | None


def _postures(mechanism: Mechanism, name: str, value: ArrayLike) -> Array:
    width = mechanism.robot.nq
    return vectors(name, value, width, f"it must be (..., {width}), all joints of {mechanism.name!r}'s tree")


def broadcast_rows(array: Array, lead: tuple[int, ...]) -> Array:
    """An array (…, n) broadcast to leading dimensions, as rows."""
    rows = np.broadcast_to(array, (*lead, array.shape[-1])).reshape(math.prod(lead), array.shape[-1])
    return np.array(rows, dtype=np.float64, order="C")


def posture_rows(mechanism: Mechanism, q_tree: ArrayLike, lead: tuple[int, ...] | None = None) -> Array:
    """Positions of all joints of the tree, (…, tree n), as rows; `lead` as they are to be broadcast to."""
    array = _postures(mechanism, "q_tree", q_tree)
    return broadcast_rows(array, array.shape[:-1] if lead is None else lead)


def start_rows(mechanism: Mechanism, start: Start, lead: tuple[int, ...]) -> tuple[Array, bool]:
    """Rows from which assembly starts, 1 or batch, and whether each row follows the one before."""
    if isinstance(start, str):
        if start != "previous":
            raise ArgumentError(f"start is {start!r}; it must be 'previous', None, or a posture of all joints")
        return mechanism.posture.reshape(1, -1).copy(), True
    if start is None:
        return mechanism.posture.reshape(1, -1).copy(), False
    array = _postures(mechanism, "start", start)
    if array.ndim == 1:
        return array.reshape(1, -1).copy(), False
    try:
        return broadcast_rows(array, lead), False
    except ValueError:
        raise ArgumentError(f"start has shape {array.shape}; its rows do not broadcast to {lead}") from None
