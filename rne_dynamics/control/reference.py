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


class RowsReference(Reference):
    """A reference in rows of one array of float64 that can be written to: compiled functions take them as they are."""

    __slots__ = ()


def rows_reference(rows: Array) -> RowsReference:
    """The three rows of a new array, shape (3, n), C-contiguous."""
    return _new(RowsReference, (rows[0], rows[1], rows[2]))  # half the time of RowsReference(…)
