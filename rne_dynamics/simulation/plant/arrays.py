"""A plant as the stepping kernels take it: one tuple of arrays, with loops, flexible links and the motion of its base.

A base at rest, or held for the step, has 12 numbers: v, ω, v̇ − g, ω̇ in base axes. A moving one has 36: these numbers as
quadratic polynomials of the time since the step began. They equal the given motion at the step's begin, middle and end,
the times of Runge–Kutta's stages, which keeps its fourth order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.closing import DONE, SINGULAR, assemble_kernel, motion_map_kernel, put_actuated
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.closed_chain.tree_coordinates import closed_terms_kernel
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.declared.arguments import all_finite
from rne_dynamics.flexible.inertia import flexible_terms_kernel
from rne_dynamics.flexible.packed import Packed as PackedBending
from rne_dynamics.flexible.packed import pack as pack_bending
from rne_dynamics.flexible.static import damping_matrix, elastic_matrix
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, POSITION_INDEX, VELOCITY_INDEX
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.simulation.plant.contact_law import Touch
from rne_dynamics.spatial.rows import product, slice_vector
from rne_dynamics.spatial.vector import from_quaternion, rotate

#: Loads at the bodies where there are none.
NO_WRENCH = np.zeros((0, 6))

# columns of `PlantArrays.joints`: `JointFriction.rows`, then limits
VISCOUS, FORWARD, BACKWARD, STRIBECK, FADING, LOWER, UPPER, EFFORT = range(8)
JOINT_COLUMNS = 8
#: Numbers of a base at one time.
BASE = 12
#: Rotor inertia of a joint that does not move. A power of two: products with it are exact.
LOCK = 2.0**200


@helper
def base_at(base: Array, elapsed: float, here: Array) -> None:
    """Fill `here` (12,) with the motion of the base `elapsed` seconds after the step began."""
    moves = base.shape[0] > BASE
    for k in range(BASE):
        here[k] = base[k]
        if moves:
            here[k] += elapsed * (base[BASE + k] + elapsed * base[2 * BASE + k])


@kernel
def configuration_rate(topology: NDArray[np.int64], q: Array, qd: Array, rate: Array) -> None:
    """dq/dt (nq,): the velocity itself, for floating joints R v and the quaternion's ½ Q (ω, 0)."""
    for i in range(topology.shape[0]):
        iq = topology[i, POSITION_INDEX]
        iv = topology[i, VELOCITY_INDEX]
        if topology[i, KIND] != FLOATING:
            rate[iq] = qd[iv]
            continue
        x, y, z, w = q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]
        v = rotate(from_quaternion(x, y, z, w), slice_vector(qd, iv))
        a, b, c = slice_vector(qd, iv + 3)
        rate[iq], rate[iq + 1], rate[iq + 2] = v
        rate[iq + 3] = 0.5 * (w * a + y * c - z * b)
        rate[iq + 4] = 0.5 * (w * b + z * a - x * c)
        rate[iq + 5] = 0.5 * (w * c + x * b - y * a)
        rate[iq + 6] = -0.5 * (x * a + y * b + z * c)


@kernel
def normalize_quaternions(topology: NDArray[np.int64], q: Array) -> None:
    """Give the quaternions of floating joints length 1 again."""
    for i in range(topology.shape[0]):
        if topology[i, KIND] == FLOATING:
            k = topology[i, POSITION_INDEX] + 3
            norm = np.sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
            for i4 in range(4):
                q[k + i4] /= norm


# outcomes of a step, in `Flex.status`
CONVERGED, NOT_CONVERGED, NO_INERTIA = range(3)
#: How often a step of collocation that does not converge is halved, and its largest number of parts.
HALVINGS = 6
MOST_PARTS = 2**HALVINGS


class Flex(NamedTuple):
    """An arm's flexible links for one step, in which the kernels' q and q̇ are z = [q, δ] and ż."""

    #: As the kernels of `flexible/` take it.
    packed: PackedBending
    #: Of all modes; shape (modes, modes).
    stiffness: Array
    damping: Array
    #: Whether smooth motion is stepped by Gauss–Legendre's method instead of Runge–Kutta's.
    collocation: bool
    #: Outcome of the step; shape (1,).
    status: NDArray[np.int64]

    @staticmethod
    def of(arm: FlexibleArm, collocation: bool) -> Flex:
        """For one step of an arm."""
        return Flex(pack_bending(arm), elastic_matrix(arm), damping_matrix(arm), collocation, np.array([CONVERGED]))


@helper
def flexible_mass_and_bias(
    flex: Flex, base: Array, wrenches: Array, z: Array, zd: Array, implicit: float, J: Array, factor: Array, bias: Array
) -> None:
    """J (n + modes, n + modes) and bias forces (n + modes,), gravity, elastic and damping forces among them.

    Where `implicit` is a time h above 0, the damping forces D δ̇ are left out of the bias, and h D + h² K is added to
    `factor`: with the elastic forces at δ + h δ̇ both are then implicit in the new δ̇.
    """
    apart(flexible_terms_kernel, (flex.packed, base, z, zd, wrenches, J, bias))
    if implicit > 0.0:
        n = flex.packed.joints
        for k in range(flex.stiffness.shape[0]):
            for m in range(flex.stiffness.shape[0]):
                factor[n + k, n + m] += implicit * (flex.damping[k, m] + implicit * flex.stiffness[k, m])
                bias[n + k] -= flex.damping[k, m] * zd[n + m]


class Loops(NamedTuple):
    """A mechanism's loops for one step; all arrays but those of `packed` and `viscous` are written to."""

    #: As the kernels of `closed_chain/` take them.
    packed: Packed
    work: Work
    #: Viscous friction of the tree's joints, zero where they are actuated; shape (n of the tree,).
    viscous: Array
    #: Whether any passive joint has viscous friction.
    damped: bool
    #: In: where to assemble from. Out: the posture last assembled; shape (nq of the tree,).
    posture: Array
    #: The tree's velocities by the actuated ones there; shape (n of the tree, n).
    T: Array
    #: D of the passive joints as the actuated ones feel it, Tᵀ D T; shape (n, n).
    damping: Array
    #: Outcome of the last evaluation, DONE, NOT_CLOSED, … of `closed_chain.closing`, and whether `T` is filled; shape
    #: (2,).
    status: NDArray[np.int64]
    #: A lower bound of `MotionMap.smallest` where `assemble_ahead` found the posture; shape (1,).
    distance: Array

    @staticmethod
    def of(mechanism: Mechanism, viscous: Array, posture: Array | None) -> Loops:
        """For one step of a mechanism from `posture` on, from the mechanism's own one where it is None."""
        packed, n = pack(mechanism), mechanism.n
        return Loops(
            packed,
            workspace(packed),
            viscous,
            bool(viscous.any()),
            np.array(mechanism.posture if posture is None else posture, dtype=np.float64),
            np.empty((mechanism.robot.n, n)),
            np.empty((n, n)),
            np.array([DONE, 0]),
            np.zeros(1),
        )


@helper
def _look_ahead(loops: Loops, q: Array) -> None:
    """Extrapolate `loops.posture` to q at the rates of the last evaluation, as a start for Newton's method.

    This keeps the loops on the branch on which the velocities are continuous. Where a parallelogram lies flat two
    branches cross, and the momentum of its bars takes it through on its own one.
    """
    actuated, posture, ahead = loops.packed.actuated, loops.posture, np.empty(q.shape[0])
    for k in range(q.shape[0]):
        ahead[k] = q[k] - posture[actuated[k]]
    for i in range(posture.shape[0]):
        posture[i] += product(loops.T[i], ahead)
    put_actuated(loops.packed, q, posture)


@kernel
def assemble_ahead(loops: Loops, q: Array) -> bool:
    """Bring `loops.posture`, `T` and `distance` to the actuated positions q; False where loops do not close there."""
    if loops.status[1] == 1:
        _look_ahead(loops, q)
    loops.status[0] = apart(assemble_kernel, (loops.packed, loops.work, q, loops.posture))
    if loops.status[0] != DONE:
        return False
    status, loops.distance[0] = apart(motion_map_kernel, (loops.packed, loops.work, loops.T))
    if status == SINGULAR:
        loops.status[0] = SINGULAR
    return bool(status != SINGULAR)


@helper
def closed_mass_and_bias(
    loops: Loops,
    base: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    implicit: float,
    M: Array,
    factor: Array,
    bias: Array,
) -> bool:
    """M (n, n) and bias torque (n,) at positions and velocities of the actuated joints; False: not determined.

    The passive joints' viscous friction D goes into the bias torque where `implicit` is 0; otherwise `implicit`·D is
    added to `factor`.
    """
    if not all_finite(q):  # nothing to assemble; the step's caller reports the joint
        return False
    T = loops.T
    if loops.status[1] == 1:
        _look_ahead(loops, q)
    given = (loops.packed, loops.work, base, q, qd, wrenches, loops.posture, T, M, bias)
    loops.status[0] = apart(closed_terms_kernel, given)
    if loops.status[0] != DONE:
        return False
    loops.status[1] = 1
    if not loops.damped:
        return True
    for j in range(qd.shape[0]):
        for k in range(qd.shape[0]):
            x = 0.0
            for i in range(T.shape[0]):
                x += T[i, j] * loops.viscous[i] * T[i, k]
            loops.damping[j, k] = x
            if implicit > 0.0:
                factor[j, k] += implicit * x
            else:
                bias[j] += x * qd[k]
    return True


class PlantRows(NamedTuple):
    """Open arms that are simulated together; S rows, or one for all."""

    #: Of all of them.
    topology: NDArray[np.int64]
    positions: NDArray[np.int64]
    mimic: bool
    #: As the dynamics take them; shapes (S, bodies, COLUMNS), (S, 12).
    parameters: Array
    base: Array
    #: `ArmPlant.joints`; shape (S, n, JOINT_COLUMNS).
    joints: Array


class ArmCode(NamedTuple):
    """Addresses of machine code for one state of an arm whose base is at rest, without loads; 0: none."""

    #: Forward dynamics: (q, qd, tau, lock, nothing, qdd); inertias `lock`, (n,), are added to those of the rotors. A
    #: joint with LOCK there does not move, and −LOCK times its acceleration is the torque that holds it.
    forward: int
    #: The mass matrix and inverse dynamics, as the quantities have them.
    mass_matrix: int
    inverse_dynamics: int


NO_CODE = ArmCode(0, 0, 0)


class OwnCode(NamedTuple):
    """Addresses of machine code for an arm and for the model of its controller, for bases at rest and no loads."""

    #: As `ArmCode.forward`, with numbers of `Columns.arm`: (q, qd, tau, lock, given, qdd).
    forward: int
    #: For one state, if no sample's arm differs.
    one: ArmCode
    #: Forward dynamics of one state without `lock` and `given`, 3 to 6 % faster.
    unlocked: int
    #: `rigid_terms_kernel`: (q, qd, desired, correction, given, terms).
    terms: int
    #: Whether `forward` and `terms` take several states, as `BatchCode.run` does.
    rows: bool


class PlantArrays(NamedTuple):
    """A plant during one step. Only one side of a branch on None is compiled."""

    #: The robot as the dynamics take it, and whether it has mimic joints. Of a mechanism its tree, of an arm with
    #: flexible links its bodies.
    topology: NDArray[np.int64]
    parameters: Array
    mimic: bool
    #: Motion of the base as `base_at` takes it; shape (12,) or (36,).
    base: Array
    #: As `ArmPlant` has them; shapes (n, JOINT_COLUMNS), (n,).
    joints: Array
    positions: NDArray[np.int64]
    #: Loads at the bodies; shape (bodies, 6), or (0, 6) for none. Where links touch something, of the last evaluation.
    wrenches: Array
    #: Of a mechanism that is stepped in its actuated joints; None otherwise.
    loops: Loops | None
    #: Of an arm with flexible links, whose kernels' q and q̇ are z = [q, δ] and ż; None otherwise.
    flex: Flex | None
    #: Of an open arm whose base is at rest, without loads.
    code: ArmCode
    #: What links may touch; None for nothing.
    touch: Touch | None
