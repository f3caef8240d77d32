"""References and torques of control laws."""

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


# -- torque of a control law, term by term -----------------------------------------------------------------------------


class TorqueTerms(NamedTuple):
    """Effort of each part of a law, N·m or N; each of shape (n,).

    Parameters
    ----------
    inertia
        M(q) q̈ of the desired motion.
    coriolis
        Coriolis and centrifugal torque of the measured motion.
    gravity
        Gravity torque.
    friction
        Friction compensation.
    feedback
        Response to the error: M(q)(Kd ė + Kp e + Ki ∫e) in computed torque, damping in gravity compensation.
    """

    inertia: Array
    coriolis: Array
    gravity: Array
    friction: Array
    feedback: Array

    @property
    def total(self) -> Array:
        """The sum of all terms, which is what goes to the motors; shape (n,)."""
        return self.inertia + self.coriolis + self.gravity + self.friction + self.feedback


#: Rows of the terms in an array of them, in the order of `TorqueTerms`.
INERTIA, CORIOLIS, GRAVITY, FRICTION, FEEDBACK = range(len(TorqueTerms._fields))


def named_terms(terms: TorqueTerms | Array) -> TorqueTerms:
    """Terms by name, of an array whose first rows they are: to name them takes longer than to compute them."""
    return terms if isinstance(terms, TorqueTerms) else TorqueTerms(*terms[: len(TorqueTerms._fields)])
