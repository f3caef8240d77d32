"""Reference of a trajectory at one instant."""

from __future__ import annotations

from typing import NamedTuple

from rne_dynamics.model.inertia import Array

_new = tuple.__new__


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


def rows_reference(rows: Array) -> Reference:
    """The three rows of an array as `np.empty((3, n))` makes it."""
    return _new(Reference, (rows[0], rows[1], rows[2]))  # a quarter of the time of Reference(*rows)
