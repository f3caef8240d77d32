"""The equations of motion in operator form (document 001, section 4.8, equations 4.71 to 4.78).

Write the velocities of all bodies, (v, ω) each at its own joint in its own axes, one below the other in V, the
accelerations A (gravity taken off) and the joints' forces and moments F likewise. One block matrix then relates bodies
to their parents: Γ is the identity less a block X_i in row i and column λ(i) that carries a velocity from the parent's
joint to body i's,

    X_i = [Rᵀ  −Rᵀ p̃]
          [0    Rᵀ   ],

and with the constant joint map H (a column for every coordinate), the block-diagonal generalized inertia 𝓜, the
velocity terms α of the accelerations, β of Euler's laws, and the loads W

    Γ V  = H q̇ + (base)            (4.71)
    Γ A  = H q̈ + α + (base)        (4.72)
    Γᵀ F = 𝓜 A + β − W             (4.73)
    τ    = Hᵀ F + I_rotor q̈        (4.78)

The same Γ carries velocities outward and, transposed, forces inward. Eliminating A and F (4.76) leaves

    M = Hᵀ Γ⁻ᵀ 𝓜 Γ⁻¹ H + I_rotor,   bias = Hᵀ Γ⁻ᵀ (𝓜 Γ⁻¹ (α + base) + β − W).

The document has a chain of one-axis joints; here rows have their parent's block in its column (trees), a floating
joint has six columns in H, and joints that mimic share a column, their multipliers in it. Γ is unit lower triangular
with one block a row, so solving with it is substitution along the tree: `outward` and `inward`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale, solved_accelerations
from rne_dynamics.dynamics.declared.arguments import BaseMotion, Wrenches, bodies_wrenches, packed_base, state_arrays
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, joint_placement, joint_speed
from rne_dynamics.errors import ArgumentError, refuse
from rne_dynamics.model.body_inertia import generalized_inertia, rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import gyroscopic, put_pair
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import add, cross, rotate_back

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@kernel
def transfer_kernel(topology: NDArray[np.int64], parameters: Array, q: Array, transfer: Array, arm: Array) -> None:
    """Fill the blocks X_i of one state, (bodies, 6, 6), and p of every body in its parent's axes, (bodies, 3)."""
    for i in range(topology.shape[0]):
        R, p = joint_placement(topology, parameters, i, q)
        for row in range(3):
            axis = (R[row], R[row + 3], R[row + 6])  # a row of Rᵀ
            swing = cross(p, axis)  # the same row of −Rᵀ p̃
            arm[i, row] = p[row]
            for k in range(3):
                transfer[i, row, k] = axis[k]
                transfer[i, row, k + 3] = swing[k]
                transfer[i, row + 3, k] = 0.0
                transfer[i, row + 3, k + 3] = axis[k]


@kernel
def velocity_terms_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    qd: Array,
    transfer: Array,
    arm: Array,
    velocity: Array,
    acceleration: Array,
    force: Array,
) -> None:
    """Velocity terms: α of the accelerations, β of the forces, (bodies, 6) each; both are filled.

    From the base's motion (12,), q̇ (n,), X (bodies, 6, 6), p (bodies, 3) and the bodies' velocities V (bodies, 6).
    """
    for i in range(topology.shape[0]):
        parent, X = topology[i, PARENT], transfer[i]
        Rt = (X[0, 0], X[1, 0], X[2, 0], X[0, 1], X[1, 1], X[2, 1], X[0, 2], X[1, 2], X[2, 2])
        w_parent = slice_vector(base, 3) if parent < 0 else slice_vector(velocity[parent], 3)
        w = slice_vector(velocity[i], 3)
        # of a one-axis joint the components of ω across its axis count, which are the same before and behind it
        before = rotate_back(Rt, w_parent) if topology[i, KIND] == FLOATING else w
        _, (dv, dw) = joint_speed(topology, parameters, i, qd, before)
        a = rotate_back(Rt, cross(w_parent, cross(w_parent, slice_vector(arm[i], 0))))
        put_pair(acceleration, i, 0, (add(a, dv), dw))
        put_pair(force, i, 0, gyroscopic(inertia_of(parameters, i), w))


def outward(parents: NDArray[np.int64], transfer: Array, right: Array) -> Array:
    """Solve Γ Z = Y from the base to the tips, for X (B, bodies, 6, 6) and Y (B, bodies, 6, columns)."""
    solution = np.empty_like(right)
    for i, parent in enumerate(parents.tolist()):
        solution[:, i] = right[:, i] if parent < 0 else right[:, i] + transfer[:, i] @ solution[:, parent]
    return solution


def inward(parents: NDArray[np.int64], transfer: Array, right: Array) -> Array:
    """Solve Γᵀ Z = Y from the tips to the base, by the same blocks transposed; shapes as for `outward`."""
    solution: Array = right.copy()
    for i, parent in reversed(list(enumerate(parents.tolist()))):
        if parent >= 0:
            solution[:, parent] += transfer[:, i].transpose(0, 2, 1) @ solution[:, i]
    return solution


def joint_map(robot: RobotModel) -> Array:
    """H, (6·bodies, n), a constant of the robot, because each body's axes hold its joint's axis still.

    1 for each of a floating joint's six, the multiplier for the one axis of others; joints that mimic share a column.
    """
    H = np.zeros((6 * robot.bodies, robot.n))
    for i, (_, kind, _, iv) in enumerate(robot.topology.tolist()):
        if kind == FLOATING:
            H[6 * i : 6 * i + 6, iv : iv + 6] = np.eye(6)
        else:
            H[6 * i + (2 if kind == PRISMATIC else 5), iv] = robot.parameters[i, MULTIPLIER]
    return H


class OperatorForm:
    """The blocks of equations 4.71 to 4.73 over B checked states, shapes as for engines.

    `base` (1 or B, 12), `q` (B, nq), `qd` (B, n), `wrenches` (1 or B, bodies or 0, 6).
    """

    def __init__(self, robot: RobotModel, base: Array, q: Array, qd: Array, wrenches: Array) -> None:
        rows, bodies, arm = q.shape[0], robot.bodies, np.empty((q.shape[0], robot.bodies, 3))
        self.robot = robot
        #: X, the blocks of Γ, shape (B, bodies, 6, 6). Bodies on the base have one too; it is no part of Γ.
        self.transfer = np.empty((rows, bodies, 6, 6))
        for b in range(rows):
            transfer_kernel(robot.topology, robot.parameters, q[b], self.transfer[b], arm[b])
        parents = robot.topology[:, PARENT]
        from_base = self.transfer[:, parents < 0]
        right = (qd @ joint_map(robot).T).reshape(rows, bodies, 6)
        right[:, parents < 0] += (from_base @ base[:, None, :6, None])[..., 0]
        velocity = np.ascontiguousarray(outward(parents, self.transfer, right[..., None])[..., 0])
        #: α and the base's share, the right side of 4.72 without H q̈, shape (B, bodies, 6).
        self.acceleration = np.empty((rows, bodies, 6))
        #: β − W, the right side of 4.73 without 𝓜 A, shape (B, bodies, 6).
        self.force = np.empty((rows, bodies, 6))
        for b in range(rows):
            velocity_terms_kernel(
                robot.topology, robot.parameters, base[b if base.shape[0] > 1 else 0], qd[b], self.transfer[b], arm[b],
                velocity[b], self.acceleration[b], self.force[b],
            )
        self.acceleration[:, parents < 0] += (from_base @ base[:, None, 6:, None])[..., 0]
        if wrenches.shape[1] > 0:
            self.force -= wrenches

    def reactions(self, qdd: Array) -> Array:
        """F, the reaction of every joint (4.75) under accelerations (B, n): shape (B, bodies, 6), body axes."""
        parents = self.robot.topology[:, PARENT]
        moved = (qdd @ joint_map(self.robot).T).reshape(self.acceleration.shape) + self.acceleration
        A = outward(parents, self.transfer, moved[..., None])
        loaded = generalized_inertia(self.robot) @ A + self.force[..., None]
        return inward(parents, self.transfer, loaded)[..., 0]

    def efforts(self, qdd: Array) -> Array:
        """τ = Hᵀ F + I_rotor q̈ (4.78); shapes (B, n)."""
        F = self.reactions(qdd)
        return np.asarray(F.reshape(len(F), 6 * F.shape[1]) @ joint_map(self.robot) + rotor_inertia(self.robot) * qdd)

    @property
    def mass_matrix(self) -> Array:
        """Hᵀ Γ⁻ᵀ 𝓜 Γ⁻¹ H + I_rotor; shape (B, n, n)."""
        rows, bodies, n, parents = len(self.transfer), self.robot.bodies, self.robot.n, self.robot.topology[:, PARENT]
        H = joint_map(self.robot)
        # how every coordinate moves every body, and the force that this asks of every joint
        moves = outward(parents, self.transfer, np.broadcast_to(H.reshape(bodies, 6, n), (rows, bodies, 6, n)))
        forces = inward(parents, self.transfer, generalized_inertia(self.robot) @ moves)
        return np.asarray(H.T @ forces.reshape(rows, 6 * bodies, n) + np.diag(rotor_inertia(self.robot)))


def operator_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows; `SingularInertiaError` names a joint that moves no inertia."""
    form, scale = OperatorForm(robot, base, q, qd, wrenches), inertia_scale(robot, q)
    left = tau - form.efforts(np.zeros_like(tau))
    return solved_accelerations(form.mass_matrix, left, scale, robot.name, robot.joint_names)


def operator_inverse(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Joint efforts (B, n) over checked rows."""
    return OperatorForm(robot, base, q, qd, wrenches).efforts(qdd)


def operator_reactions(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Wrench of the parent on every body through its joint, at its origin in its axes; shape (B, bodies, 6)."""
    return OperatorForm(robot, base, q, qd, wrenches).reactions(qdd)


@dataclass(frozen=True, eq=False)
class OperatorMatrices:
    """The matrices of document 001, section 4.8, for one state; sparse ones are SciPy's.

    With V, A and F the velocities, accelerations less gravity and joint forces of all bodies, one below the other, each
    (linear, angular) or (force, moment) at the body's joint in its axes,

        Γ V  = H q̇ + velocity_of_base       (4.71)
        Γ A  = H q̈ + acceleration           (4.72)
        Γᵀ F = 𝓜 A + force                  (4.73)
        τ    = Hᵀ F + rotor · q̈             (4.78)

    Parameters
    ----------
    gamma
        Γ, sparse (6·bodies, 6·bodies), unit lower triangular: (4.71).
    joint_map
        H, sparse (6·bodies, n): the axes of the joints, (4.71).
    inertia
        𝓜, sparse block-diagonal (6·bodies, 6·bodies), kg, kg·m, kg·m²: (4.73).
    rotor
        Rotor inertia by coordinate, shape (n,), kg·m² or kg.
    velocity_of_base
        What a moving base gives to V in (4.71), (6·bodies,); m/s, rad/s.
    acceleration
        Velocity terms, and the base's share with gravity, in (4.72), (6·bodies,); m/s², rad/s².
    force
        Velocity terms less external loads in (4.73), (6·bodies,); N, N·m.
    """

    gamma: csr_array
    joint_map: csr_array
    inertia: csr_array
    rotor: Array
    velocity_of_base: Array
    acceleration: Array
    force: Array

    @cached_property
    def _substitution(self) -> Any:
        # SuperLU without reordering or pivoting finds L = Γ, U = 1: what is left is substitution. (SciPy's
        # spsolve_triangular gives NaN for the transpose of a unit triangular matrix in version 1.17.)
        from scipy.sparse.linalg import splu  # here: importing the package must not load SciPy

        return splu(self.gamma.tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0)

    def outward(self, right: Array) -> Array:
        """Γ⁻¹ y, which solves (4.71) and (4.72) from the base to the tips; y (6·bodies,) or (6·bodies, columns)."""
        return np.asarray(self._substitution.solve(right))

    def inward(self, right: Array) -> Array:
        """Γ⁻ᵀ y, which solves (4.73) from the tips to the base; shapes as for `outward`."""
        return np.asarray(self._substitution.solve(right, "T"))

    @property
    def mass_matrix(self) -> Array:
        """M = Hᵀ Γ⁻ᵀ 𝓜 Γ⁻¹ H + rotor, by (4.76) in (4.78), kg·m² or kg; shape (n, n)."""
        forces = self.inward(self.inertia @ self.outward(self.joint_map.toarray()))
        return np.asarray(self.joint_map.T @ forces + np.diag(self.rotor))

    @property
    def bias(self) -> Array:
        """Hᵀ Γ⁻ᵀ (𝓜 Γ⁻¹ acceleration + force): τ without q̈, by (4.76) in (4.78), N·m or N; shape (n,)."""
        return np.asarray(self.joint_map.T @ self.inward(self.inertia @ self.outward(self.acceleration) + self.force))


def operator_matrices(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> OperatorMatrices:
    """The equations of motion of one state as the block matrices of document 001, (4.71) to (4.78). Needs SciPy.

    Parameters
    ----------
    robot
        An open arm or tree, with at least one joint that moves.
    q, qd
        Positions (nq,), rad or m, and velocities (n,), rad/s or m/s.
    wrenches, base_motion
        As for `inverse_dynamics`.

    Returns
    -------
    OperatorMatrices
        Γ, H, 𝓜 and the right sides, in SI units.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, more than one state, or a robot without joints that move.
    ModelError
        An unknown link in `wrenches`.
    """
    from scipy.sparse import bsr_array, csr_array  # here: importing the package must not load SciPy

    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    refuse(
        ArgumentError,
        (lead, f"q and qd hold states of shape {lead}; operator_matrices takes one: (nq,) and (n,)"),
        (robot.bodies == 0, f"robot {robot.name!r} has no joint that moves, so it has no operator form"),
    )
    base = packed_base(robot, base_motion, lead)
    form = OperatorForm(robot, base, positions, velocities, bodies_wrenches(robot, wrenches, lead))
    bodies, size = robot.bodies, 6 * robot.bodies
    parents = robot.topology[:, PARENT]
    on_base = parents < 0
    start = np.cumsum([0, *~on_base])
    X = csr_array(bsr_array((form.transfer[0, ~on_base], parents[~on_base], start), shape=(size, size)))
    gamma = csr_array((np.ones(size), np.arange(size), np.arange(size + 1))) - X
    gamma.eliminate_zeros()
    of_base = np.zeros((bodies, 6))
    of_base[on_base] = form.transfer[0, on_base] @ base[0, :6]
    return OperatorMatrices(
        gamma=gamma,
        joint_map=csr_array(joint_map(robot)),
        inertia=csr_array(bsr_array((generalized_inertia(robot), np.arange(bodies), np.arange(bodies + 1)))),
        rotor=rotor_inertia(robot),
        velocity_of_base=of_base.ravel(),
        acceleration=form.acceleration.ravel(),
        force=form.force.ravel(),
    )
