"""Reference of a trajectory at one instant."""

from __future__ import annotations

from typing import NamedTuple

from rne_dynamics.model.inertia import Array


class Reference(NamedTuple):
    """Desired motion.

    Parameters
    ----------
    q, qd, qdd
        Position, velocity and acceleration of every joint, rad or m and their rates; each of shape (n,).
    """

    q: Array
    qd: Array
    qdd: Array
