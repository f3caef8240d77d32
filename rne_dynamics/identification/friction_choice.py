"""The form of each joint's friction, chosen by its prediction of blocks of the recording that it was not fitted to."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.identification.columns import THRESHOLDS, Friction
from rne_dynamics.identification.triangles import Triangles
from rne_dynamics.model.inertia import Array

#: The form that is taken unless another one predicts much better: one recording often has few speeds.
USUAL = Friction(0.05)
#: Error of another threshold, and with friction that is larger at low speed, over that of the usual form, to be taken.
_OTHER, _STRIBECK = 0.7, 0.5
#: Least part of the largest singular value of a joint's own columns.
_SINGULAR = 1e-9


def chosen_friction(triangles: Triangles, links: Array, *, stribeck: bool = True) -> tuple[Friction, ...]:
    """The form of every joint's friction, for given parameters of the links: the usual one or a much better one."""
    layout = triangles.layout
    found = []
    for j in range(layout.robot.n):
        grams = np.array([_gram(parts[j], links) for parts in triangles.blocks])
        errors = {form: _left_out(grams, layout.own_columns(form)) for form in _forms(stribeck=stribeck)}
        part = {form: errors[form] / ((_STRIBECK if form.stribeck else _OTHER) * errors[USUAL]) for form in errors}
        best = min(part, key=part.__getitem__)
        found.append(best if part[best] < 1.0 else USUAL)
    return tuple(found)


def _forms(*, stribeck: bool) -> list[Friction]:
    return [Friction(*form) for form in product(THRESHOLDS, (False, True) if stribeck else (False,))]


def _gram(R: Array, links: Array) -> Array:
    """Products of a joint's own columns and of what its effort has besides the links' part; (own + 1, own + 1)."""
    own = np.c_[R[:, len(links) : -1], R[:, -1] - R[:, : len(links)] @ links]
    return np.asarray(own.T @ own)


def _left_out(grams: Array, columns: NDArray[np.int64]) -> float:
    """Sum of the squared errors in every block of the fit to all others."""
    total, error = grams.sum(axis=0), 0.0
    for gram in grams:
        rest = total - gram
        x = np.linalg.pinv(rest[np.ix_(columns, columns)], rcond=_SINGULAR, hermitian=True) @ rest[columns, -1]
        error += x @ gram[np.ix_(columns, columns)] @ x - 2.0 * x @ gram[columns, -1] + gram[-1, -1]
    return float(error)
