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
    """A reference whose arrays are the rows of one, ``q.base``, contiguous and writable: compiled code takes that."""

    __slots__ = ()


def rows_reference(rows: Array) -> RowsReference:
    """The three rows of an array as `np.empty((3, n))` makes it."""
    return _new(RowsReference, (rows[0], rows[1], rows[2]))  # half the time of RowsReference(…)
