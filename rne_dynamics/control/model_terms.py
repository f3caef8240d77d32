"""The model's terms of every law, each in one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.assembly import nearest_state
from rne_dynamics.closed_chain.closing import DONE, assemble_kernel, motion_map_kernel
from rne_dynamics.closed_chain.independence import generic_rank, refusal
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.closed_chain.tree_coordinates import closed_terms_kernel
from rne_dynamics.closed_chain.tree_dynamics import tree_terms
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import call
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, arm_of
from rne_dynamics.dynamics.declared.specialised import efforts_parameters, sample_of, shared_code
from rne_dynamics.dynamics.newton_euler.newton_euler import (
    gravity_torque,
    gravity_torque_kernel,
    inverse_dynamics,
    inverse_dynamics_kernel,
)
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.friction import passive_viscous
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.rows import matrix_times, product, transposed_times
from rne_dynamics.straight_line.recipe import VALID, Recipe


@helper
def _projected_gravity(packed: Packed, base: Array, posture: Array, T: Array, out: Array) -> None:
    """out = Tᵀ g of the tree."""
    tau = np.empty(T.shape[0])
    apart(gravity_torque_kernel, (Arm(packed.topology, packed.parameters, base, None), posture, tau))
    transposed_times(T, tau, out)


@helper
def _projected_friction(viscous: Array, T: Array, qd: Array, out: Array) -> None:
    """out = Tᵀ D T q̇, with D the passive joints' viscous friction."""
    tau = np.empty(T.shape[0])
    for i in range(T.shape[0]):
        tau[i] = viscous[i] * product(T[i], qd)
    transposed_times(T, tau, out)


@helper
def _finite(q: Array, terms: Array) -> bool:
    """Whether all positions are numbers; where not, there is nothing to assemble and no term is a number."""
    for j in range(q.shape[0]):
        if not np.isfinite(q[j]):
            terms[:, :] = np.nan
            return False
    return True


@kernel
def closed_law_kernel(
    packed: Packed, work: Work, viscous: Array, base: Array, q: Array, qd: Array, accelerations: Array, speeds: Array,
    posture: Array, terms: Array,
) -> int:
    """Rows of `terms`, (6, n): M·desired, c, g, M·correction, viscous torques at each of `speeds`; a status."""
    if not _finite(q, terms):
        return DONE
    n = qd.shape[0]
    T, M = np.empty((posture.shape[0], n)), np.empty((n, n))
    # without gravity, so that nothing small is left of the difference of large torques
    turning, unloaded = np.zeros(12), np.zeros((0, 6))
    for k in range(3):
        turning[3 + k], turning[9 + k] = base[3 + k], base[9 + k]
    status = apart(closed_terms_kernel, (packed, work, turning, q, qd, unloaded, posture, T, M, terms[1]))
    if status != DONE:
        return status
    _projected_gravity(packed, base, posture, T, terms[2])
    for row in range(2):
        _projected_friction(viscous, T, speeds[row], terms[4 + row])
    matrix_times(M, accelerations[0], terms[0])
    matrix_times(M, accelerations[1], terms[3])
    return status


@kernel
def closed_holding_kernel(
    packed: Packed, work: Work, viscous: Array, base: Array, q: Array, qd: Array, posture: Array, terms: Array
) -> int:
    """Rows of `terms`, (2, n): g(q) and the passive joints' viscous torque; otherwise as `closed_law_kernel`."""
    if not _finite(q, terms):
        return DONE
    status = apart(assemble_kernel, (packed, work, q, posture))
    if status != DONE:
        return status
    T = np.empty((posture.shape[0], qd.shape[0]))
    status, _ = apart(motion_map_kernel, (packed, work, T))
    if status != DONE:
        return status
    _projected_gravity(packed, base, posture, T, terms[0])
    _projected_friction(viscous, T, qd, terms[1])
    return status


@lru_cache(maxsize=16)
def _constants(mechanism: Mechanism) -> tuple[Packed, Array, Array]:
    """What the kernels take of a mechanism, kept for the last few mechanisms."""
    return pack(mechanism), passive_viscous(mechanism), mechanism.robot.base_at_rest


def closed_terms(
    mechanism: Mechanism, q: Array, qd: Array, desired: Array, correction: Array, posture: Array | None,
    base_motion: BaseMotion | None = None, speeds: Array | None = None,
) -> Array:
    """(M·desired, c(q, q̇), g(q), M·correction, viscous torques of passive joints at two `speeds`), (6, n)."""
    # AssemblyError, SingularPostureError, ModelError where the loops do not close, or the motors do not hold them
    packed, viscous, base = _constants(mechanism)
    if base_motion is not None:
        base = base_motion.packed(mechanism.robot.gravity)
    terms = np.empty((6, mechanism.n))
    speeds = np.zeros((2, mechanism.n)) if speeds is None else speeds
    start, accelerations = _start(mechanism, posture), np.array([desired, correction])
    if not generic_rank(mechanism).coordinates:
        if not np.isfinite(q).all():
            return np.full_like(terms, np.nan)
        state = nearest_state(mechanism, start, q, qd)
        (terms[0], terms[3]), terms[1], terms[2], terms[4:] = tree_terms(
            mechanism, viscous, base, *state, accelerations, speeds
        )
        return terms
    status = closed_law_kernel(
        packed, workspace(packed), viscous, base, q, qd, accelerations, speeds, start, terms
    )
    return _good(mechanism, status, q, start, terms)


def closed_holding_terms(
    mechanism: Mechanism, q: Array, qd: Array, posture: Array | None, base_motion: BaseMotion | None = None
) -> Array:
    """`holding_terms` of a mechanism; shape (2, n). Errors as for `closed_terms`."""
    if base_motion is None and generic_rank(mechanism).coordinates:
        (packed, viscous, base), start = _constants(mechanism), _start(mechanism, posture)
        terms = np.empty((2, mechanism.n))
        status = closed_holding_kernel(packed, workspace(packed), viscous, base, q, qd, start, terms)
        return _good(mechanism, status, q, start, terms)
    still = np.zeros(mechanism.n)
    _, turning, gravity, _, passive, _ = closed_terms(
        mechanism, q, still, still, still, posture, base_motion, np.array([qd, still])
    )
    return np.array([turning + gravity, passive])


def _start(mechanism: Mechanism, posture: Array | None) -> Array:
    return np.array(mechanism.posture if posture is None else posture, dtype=np.float64)


def _good(mechanism: Mechanism, status: int, q: Array, posture: Array, terms: Array) -> Array:
    if status != DONE:
        raise refusal(mechanism, status, q, posture)
    return terms


# -- the rigid-body terms of every law in one compiled call ------------------------------------------------------------


@kernel
def rigid_terms_kernel(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, desired: Array, correction: Array,
    terms: Array,
) -> None:
    """The first rows of `terms`, shape (4 or 5, n): M·desired, c(q, q̇), g(q), M·correction."""
    # Inverse dynamics is linear in the acceleration: the rows add up to ID(q, q̇, desired + correction). Of a moving
    # base, c holds what its turning takes, g what its linear acceleration and gravity take.
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
    """Machine code of a law's terms of models that differ in their payload, for one of them."""

    #: Of ``i32 (inputs, base, inertia, terms)``; (1,).
    address: NDArray[np.int64]
    #: Motion of the base, (12,).
    base: Array
    #: As `inertia_of` gives it.
    inertia: Array


@helper
def rigid_terms(arm: Any, q: Array, qd: Array, desired: Array, correction: Array, terms: Array) -> None:
    """As `rigid_terms_kernel`, of an `Arm`, or by machine code of `OwnTerms`, which makes NaN of NaN and 2³⁰ rad."""
    if len(arm) == len(Arm._fields):
        rigid_terms_kernel(arm.topology, arm.parameters, arm.base, q, qd, desired, correction, terms)
    elif call(arm.address[0], (q, qd, desired, correction, arm.base, arm.inertia, terms)) != VALID:
        terms[:4, :] = np.nan


def shared_terms(
    robot: RobotModel, name: str, kernel: Callable[..., None], inputs: tuple[str, ...], shape: tuple[int, ...],
    model: tuple[int, ...] = (), more: tuple[Array, ...] = (),
) -> OwnTerms | None:
    """Machine code of a kernel of inputs, base and `more` for a model that shares it; None where there is none."""
    if not robot.shares_code:
        return None

    def recipe() -> Recipe:
        sample = *sample_of(robot, inputs), Dice(2).normal(size=12), *more
        arm = Arm(robot.topology, efforts_parameters(robot), None, None)
        return Recipe(name, robot.name, kernel, (arm, *model), sample, shape)

    code = shared_code(robot, (name, *model), recipe, moves_masses=True)
    return None if code is None else OwnTerms(np.array([code.address]), robot.base_at_rest, *code.constant)


def own_terms(robot: RobotModel) -> OwnTerms | None:
    """The terms' machine code for a model that shares it (`RobotModel.with_shared_code`); None where there is none."""
    return shared_terms(robot, "control terms", _terms_rows, ("q", "qd", "qdd", "qdd"), (4, robot.n))


def open_terms(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """(M·q̈, c(q, q̇), g(q)) of an open arm whose `base` moves as `BaseMotion.packed` gives it, (12,); (3, n)."""
    model, terms = own_terms(robot) or arm_of(robot), np.empty((4, robot.n))
    # copied: a kernel would be compiled anew for a base that is read-only
    rigid_terms(model._replace(base=np.array(base)), q, qd, qdd, np.zeros(robot.n), terms)
    return terms[:3]


def _terms_rows(arm: Arm, q: Array, qd: Array, desired: Array, correction: Array, base: Array, out: Array) -> None:
    """The rows of `rigid_terms_kernel` of each state, (B, 4, n); base motions (B, 12)."""
    for b in range(q.shape[0]):
        rigid_terms_kernel(arm.topology, arm.parameters, base[b], q[b], qd[b], desired[b], correction[b], out[b])


def holding_terms(
    robot: RigidRobot, q: Array, qd: Array, posture: Array | None = None, base_motion: BaseMotion | None = None
) -> Array:
    """(g(q), viscous torque of passive joints), (2, n), N·m or N; on a moving base g holds joints still on it."""
    if (mechanism := mechanism_of(robot)) is not None:
        return closed_holding_terms(mechanism, q, qd, posture, base_motion)
    if not np.isfinite(q).all():  # the effort limiter refuses it
        return np.full((2, robot.n), np.nan)
    arm, still = robot.open_tree, np.zeros(robot.n)
    if base_motion is None:
        return np.array([gravity_torque(arm, q), still])
    return np.array([inverse_dynamics(arm, q, still, still, base_motion=base_motion), still])


@kernel
def inertia_terms_kernel(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, terms: Array
) -> None:
    """Rows of `terms`, (n + 2, n): M, c(q, q̇), g(q); a moving base as in `rigid_terms_kernel`."""
    n = qd.shape[0]
    none, rest, turning = np.zeros((0, 6)), np.zeros(n), np.zeros(12)
    for k in range(3):
        turning[3 + k], turning[9 + k] = base[3 + k], base[9 + k]
    mass_matrix_kernel(Arm(topology, parameters, base, none), q, terms[:n])
    inverse_dynamics_kernel(Arm(topology, parameters, turning, none), q, qd, rest, terms[n])
    gravity_torque_kernel(Arm(topology, parameters, base, none), q, terms[n + 1])


@helper
def inertia_terms(arm: Any, q: Array, qd: Array, terms: Array) -> None:
    """As `inertia_terms_kernel`, of an `Arm` or by `OwnTerms`; NaN for a state that this refuses."""
    if len(arm) == len(Arm._fields):
        inertia_terms_kernel(arm.topology, arm.parameters, arm.base, q, qd, terms)
    elif call(arm.address[0], (q, qd, arm.base, arm.inertia, terms)) != VALID:
        terms[:, :] = np.nan


def inertia_model(robot: RobotModel) -> Arm | OwnTerms:
    """What `inertia_terms` takes of an open arm with its base at rest; compiles where machine code is to be made."""
    return shared_terms(robot, "inertia terms", _rows, ("q", "qd"), (robot.n + 2, robot.n)) or arm_of(robot)


def _rows(arm: Arm, q: Array, qd: Array, base: Array, out: Array) -> None:
    """Of each state, (B, n + 2, n); base motions (B, 12)."""
    for b in range(q.shape[0]):
        inertia_terms_kernel(arm.topology, arm.parameters, base[b], q[b], qd[b], out[b])
