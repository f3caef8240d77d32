"""Inertia that a joint feels, for its soft wall and its overspeed damper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.closed_chain.generic_rank import generic_rank
from rne_dynamics.closed_chain.mass_matrix import closed_mass_matrix
from rne_dynamics.closed_chain.motor_inertia import motor_inertia
from rne_dynamics.closed_chain.tree_motion import nearest_state
from rne_dynamics.control.checks import joint_name
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


class JointInertia(NamedTuple):
    """Inertia of a robot's joints in one posture."""

    #: M(q)⁻¹, or what takes its place where there is none: accelerations of the joints for unit efforts, which damping
    #: has to be stable with. 1/(kg·m²) or 1/kg; shape (n, n).
    inverse: Array
    #: What each joint feels while all others are held, as far as they can be; kg·m² or kg, shape (n,).
    held: Array
    #: Projection of efforts on their part that moves the robot: the identity but for more motors than freedoms; shape
    #: (n, n).
    moving: Array

    @property
    def felt(self) -> Array:
        """What each joint feels between two extremes, for `EffortLimiter.update_inertia`, kg·m² or kg; shape (n,).

        Pushed while all others are held a joint feels M_jj, pushed while they yield 1 / (M⁻¹)_jj, on redundant arms up
        to 30 times less. Walls tuned to the first oscillate and, with a late state, throw the joint back; walls tuned
        to the second hardly stop an arm with stiff feedback. The geometric mean is off by the same factor both ways,
        and frequency and damping of the wall by its root.
        """
        felt: Array = np.sqrt(self.held / np.diag(self.inverse))
        return felt


def joint_inertia(robot: RigidRobot, q: Array, posture: Array | None = None) -> JointInertia:
    """The inertia of the joints at `q`, (n,).

    `robot`, `q`: the model and a position. More motors than freedoms, and idle freedoms, are no exception; see
    `motor_inertia`. `posture`: of a mechanism all joints of its tree, (tree n,), from which its loops are closed; its
    own by default. Raises ControlError: a motion without inertia, or a joint that the loops hold still; AssemblyError,
    SingularPostureError: of a mechanism whose loops do not close at `q`, or whose motors do not hold it;
    SingularInertiaError: of a mechanism a motion without inertia.
    """
    mechanism = mechanism_of(robot)
    if mechanism is None:
        return of_mass_matrix(mass_matrix(robot.open_tree, q))
    if generic_rank(mechanism).coordinates:
        return of_mass_matrix(closed_mass_matrix(mechanism, q, start=posture))
    start = mechanism.posture if posture is None else posture
    closed, _ = nearest_state(mechanism, start, q, np.zeros(robot.n))
    found = motor_inertia(mechanism, closed)
    still = ~np.isfinite(found.held)
    if still.any():
        raise ControlError(
            f"{joint_name(int(np.argmax(still)), robot.joint_names)} cannot be driven: the loops of mechanism "
            f"{robot.name!r} hold it still; leave it out of `actuated`, or cut the loop that holds it"
        )
    return JointInertia(*found)


def of_mass_matrix(mass: Array) -> JointInertia:
    """The inertia of independent joints from M(q), (n, n); `ControlError` where that is not positive definite."""
    held = np.diag(mass)
    try:
        inverse = np.asarray(np.linalg.inv(mass), dtype=np.float64)
    except np.linalg.LinAlgError:
        inverse = np.zeros_like(mass)
    if not ((held > 0.0) & (np.diag(inverse) > 0.0)).all():
        raise ControlError("the mass matrix is not positive definite: some motion of the arm carries no inertia")
    return JointInertia(inverse, held, np.eye(len(held)))


def felt_inertia(mass_matrix: Array) -> Array:
    """`JointInertia.felt` from M(q), (n, n), with the errors of `of_mass_matrix`; shape (n,)."""
    return of_mass_matrix(mass_matrix).felt
