"""Ellipsoids that show inertia: the uniform ellipsoid with a link's mass and principal moments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.principal import principal_axes

#: Least half axis over the largest: a rod would otherwise be invisible.
THINNEST = 0.02


class Ellipsoid(NamedTuple):
    """Centre (3,) and axes as columns (3, 3) in the link's frame, half axes (3,), m."""

    centre: Array
    axes: Array
    half_axes: Array


def equivalent_ellipsoid(body: Inertia) -> Ellipsoid | None:
    """The uniform ellipsoid of the same mass, mass centre and moments; `None` without mass.

    Of half axes a, b, c the moments are m (b² + c²)/5, m (a² + c²)/5, m (a² + b²)/5, so that
    a² = 5 (I_b + I_c − I_a) / (2 m). Where moments contradict the triangle inequality, a² is taken as 0.
    """
    if not body.mass > 0.0:
        return None
    principal = principal_axes(body.inertia)
    squares = 2.5 / body.mass * (principal.moments.sum() - 2.0 * principal.moments)
    half_axes = np.sqrt(np.maximum(squares, 0.0))
    return Ellipsoid(body.com, principal.axes, np.maximum(half_axes, THINNEST * max(half_axes.max(), 1e-3)))
