"""The rigid-body terms of every law in one compiled call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.addresses import call
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.closed_terms import closed_holding_terms
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.declared.inertia_code import inertia_of, shared_code
from rne_dynamics.dynamics.declared.specialised import efforts_parameters, sample_of
from rne_dynamics.dynamics.newton_euler.gravity import gravity_torque, gravity_torque_kernel
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics, inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.status import VALID

if TYPE_CHECKING:
    from rne_dynamics.straight_line.state_code import StateCode


@kernel
def rigid_terms_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    q: Array,
    qd: Array,
    desired: Array,
    correction: Array,
    terms: Array,
) -> None:
    """The first rows of `terms`, shape (4 or 5, n): M·desired, c(q, q̇), g(q), M·correction.

    Other arguments as in the dynamics. Of a moving base, c holds what its turning takes, g what its linear acceleration
    and gravity take.

    Inverse dynamics is linear in the acceleration, so the rows add up to the one call
    ID(q, q̇, desired + correction).
    """
    n = qd.shape[0]
    none = np.zeros((0, 6))
    weightless, turning = np.zeros(12), np.zeros(12)
    for k in range(3):
        turning[3 + k], turning[9 + k] = base[3 + k], base[9 + k]
    rest = np.zeros(n)
    weightless_arm = Arm(topology, parameters, weightless, none)
    inverse_dynamics_kernel(weightless_arm, q, rest, desired, terms[0])
    inverse_dynamics_kernel(Arm(topology, parameters, turning, none), q, qd, rest, terms[1])
    gravity_torque_kernel(Arm(topology, parameters, base, none), q, terms[2])
    inverse_dynamics_kernel(weightless_arm, q, rest, correction, terms[3])


class OwnTerms(NamedTuple):
    """Machine code of the rigid-body terms of models that differ in their payload, for one of them.

    Parameters
    ----------
    address
        Of ``i32 (q, qd, desired, correction, base, inertia, terms)``, as `rigid_terms_kernel`; (1,).
    base
        Motion of the base, (12,).
    inertia
        As `inertia_of` gives it.
    """

    address: NDArray[np.int64]
    base: Array
    inertia: Array


@helper
def rigid_terms(arm: Any, q: Array, qd: Array, desired: Array, correction: Array, terms: Array) -> None:
    """As `rigid_terms_kernel`, of an `Arm`, or by machine code of `OwnTerms`; NaN for a state that this refuses.

    It refuses NaN, infinity and angles beyond 2³⁰ rad, all of which joint states are checked for before.
    """
    if len(arm) == len(Arm._fields):
        topology, parameters, base, _ = arm
        rigid_terms_kernel(topology, parameters, base, q, qd, desired, correction, terms)
    else:
        address, base, inertia = arm
        if call(address[0], (q, qd, desired, correction, base, inertia, terms)) != VALID:
            for j in range(qd.shape[0]):
                for row in range(4):
                    terms[row, j] = np.nan


def own_terms(robot: RobotModel) -> OwnTerms | None:
    """The terms' machine code for a model that shares it (`RobotModel.with_shared_code`); None where there is none."""
    code = _terms_code(robot)
    return None if code is None else OwnTerms(np.array([code.address]), robot.base_at_rest, *code.constant)


def _terms_code(robot: RobotModel) -> StateCode | None:
    if not robot.shares_code:
        return None

    def recipe() -> Recipe:
        sample = *sample_of(robot, ("q", "qd", "qdd", "qdd")), np.random.default_rng(2).normal(size=12)
        model = (Arm(robot.topology, efforts_parameters(robot), None, None),)
        return Recipe("control terms", robot.name, _terms_rows, model, (), sample, (4, robot.n))

    code = shared_code(robot, "control terms", recipe, moves_masses=True)
    return None if code is None else replace(code, constant=(inertia_of(robot, moves_masses=True),))


def _terms_rows(
    arm: Arm, q: Array, qd: Array, desired: Array, correction: Array, base: Array, out: Array
) -> None:
    """The rows of `rigid_terms_kernel` of each state, (B, 4, n); base motions (B, 12)."""
    for b in range(q.shape[0]):
        rigid_terms_kernel(arm.topology, arm.parameters, base[b], q[b], qd[b], desired[b], correction[b], out[b])


@kernel
def gravity_only_kernel(topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, tau: Array) -> None:
    """g(q) into `tau`, shape (n,)."""
    gravity_torque_kernel(Arm(topology, parameters, base, None), q, tau)


def gravity_on_bases(robot: RobotModel, q: Array, bases: Array) -> Array:
    """g(q) on each of several bases, whose motions are the rows of `bases`, (B, 12); shape (B, n)."""
    count, n, code = len(bases), robot.n, _terms_code(robot)
    if code is not None:
        still = np.zeros((count, n))
        terms, refused = code.rows((np.tile(q, (count, 1)), still, still, still, bases), (4, n))
        if not refused.any():
            return terms[:, 2]
    rows = np.zeros((count, n))
    for base, row in zip(bases, rows, strict=True):
        gravity_only_kernel(robot.topology, robot.parameters, base, q, row)
    return rows


def holding_terms(
    robot: RigidRobot, q: Array, qd: Array, posture: Array | None = None, base_motion: BaseMotion | None = None
) -> Array:
    """(g(q), viscous torque of passive joints), N·m or N; shape (2, n). An open arm has no passive joints.

    Arguments as `measured` gives them; `posture` and `base_motion` as for `ComputedTorque.law`. On a moving base g(q)
    is what holds the joints still on it.
    """
    if (mechanism := mechanism_of(robot)) is not None:
        return closed_holding_terms(mechanism, q, qd, posture, base_motion)
    arm = robot.open_tree
    if base_motion is not None:
        still = np.zeros(robot.n)
        if not np.isfinite(q).all():  # as of a base at rest: the effort limiter refuses it
            return np.full((2, robot.n), np.nan)
        return np.array([inverse_dynamics(arm, q, still, still, base_motion=base_motion), still])
    terms = np.zeros((2, robot.n))
    if arm.shares_code:
        terms[0] = gravity_torque(arm, q) if np.isfinite(q).all() else np.nan
        return terms
    gravity_only_kernel(arm.topology, arm.parameters, arm.base_at_rest, q, terms[0])
    return terms
