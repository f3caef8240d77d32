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

import numpy as np

from rne_dynamics.dynamics.block_operators.blocks import (
    inward,
    joint_map,
    outward,
    transfer_kernel,
    velocity_terms_kernel,
)
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale, solved_accelerations
from rne_dynamics.model.generalized_inertia import generalized_inertia, rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PARENT
from rne_dynamics.model.robot import RobotModel

#: Largest number of floats in one array of Γ⁻¹ H; the mass matrices of larger batches are made piece by piece.
_CHUNK = 1 << 21


@dataclass(frozen=True, eq=False)
class OperatorForm:
    """The blocks of equations 4.71 to 4.73 over B states."""

    #: The model.
    robot: RobotModel
    #: X, the blocks of Γ, shape (B, bodies, 6, 6). Bodies on the base have one too; it is no part of Γ.
    transfer: Array
    #: V, shape (B, bodies, 6).
    velocity: Array
    #: α and the base's share, the right side of 4.72 without H q̈, shape (B, bodies, 6).
    acceleration: Array
    #: β − W, the right side of 4.73 without 𝓜 A, shape (B, bodies, 6).
    force: Array

    def reactions(self, qdd: Array) -> Array:
        """F, the reaction of every joint (4.75) under accelerations (B, n): shape (B, bodies, 6), body axes."""
        parents = self.robot.topology[:, PARENT]
        moved = (qdd @ joint_map(self.robot).T).reshape(self.acceleration.shape) + self.acceleration
        A = outward(parents, self.transfer, moved[..., None])
        loaded = generalized_inertia(self.robot) @ A + self.force[..., None]
        return inward(parents, self.transfer, loaded)[..., 0]

    @property
    def bias(self) -> Array:
        """Hᵀ F without accelerations: velocity, gravity, base and loads; shape (B, n)."""
        return self.efforts(np.zeros((len(self.transfer), self.robot.n)))

    def efforts(self, qdd: Array) -> Array:
        """τ = Hᵀ F + I_rotor q̈ (4.78); shapes (B, n)."""
        F = self.reactions(qdd)
        return np.asarray(F.reshape(len(F), 6 * F.shape[1]) @ joint_map(self.robot) + rotor_inertia(self.robot) * qdd)

    @property
    def mass_matrix(self) -> Array:
        """Hᵀ Γ⁻ᵀ 𝓜 Γ⁻¹ H + I_rotor; shape (B, n, n)."""
        bodies, n, parents = self.robot.bodies, self.robot.n, self.robot.topology[:, PARENT]
        H, inertia = joint_map(self.robot), generalized_inertia(self.robot)
        unit = H.reshape(bodies, 6, n)
        M = np.empty((len(self.transfer), n, n))
        step = max(1, _CHUNK // max(1, unit.size))
        for first in range(0, len(M), step):
            transfer = self.transfer[first : first + step]
            # how every coordinate moves every body, and the force that this asks of every joint
            moves = outward(parents, transfer, np.broadcast_to(unit, (len(transfer), *unit.shape)))
            forces = inward(parents, transfer, inertia @ moves)
            M[first : first + step] = H.T @ forces.reshape(len(transfer), 6 * bodies, n)
        M[:, np.arange(n), np.arange(n)] += rotor_inertia(self.robot)
        return M


def operator_form(robot: RobotModel, base: Array, q: Array, qd: Array, wrenches: Array) -> OperatorForm:
    """The operator form over checked rows, shapes as for the engines: base (1 or B, 12), wrenches (1 or B, …, 6)."""
    rows, bodies = q.shape[0], robot.bodies
    transfer, arm = np.empty((rows, bodies, 6, 6)), np.empty((rows, bodies, 3))
    for b in range(rows):
        transfer_kernel(robot.topology, robot.parameters, q[b], transfer[b], arm[b])
    parents = robot.topology[:, PARENT]
    on_base = parents < 0
    right = (qd @ joint_map(robot).T).reshape(rows, bodies, 6)
    right[:, on_base] += (transfer[:, on_base] @ base[:, None, :6, None])[..., 0]
    velocity = np.ascontiguousarray(outward(parents, transfer, right[..., None])[..., 0])
    acceleration, force = np.empty((rows, bodies, 6)), np.empty((rows, bodies, 6))
    for b in range(rows):
        velocity_terms_kernel(
            robot.topology, robot.parameters, base[b if base.shape[0] > 1 else 0], qd[b], transfer[b], arm[b],
            velocity[b], acceleration[b], force[b],
        )
    acceleration[:, on_base] += (transfer[:, on_base] @ base[:, None, 6:, None])[..., 0]
    if wrenches.shape[1] > 0:
        force -= wrenches
    return OperatorForm(robot, transfer, velocity, acceleration, force)


def operator_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows; `SingularInertiaError` names a joint that moves no inertia."""
    form = operator_form(robot, base, q, qd, wrenches)
    scale = inertia_scale(robot, q)
    return solved_accelerations(form.mass_matrix, tau - form.bias, scale, robot.name, robot.joint_names)


def operator_inverse(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Joint efforts (B, n) over checked rows."""
    return operator_form(robot, base, q, qd, wrenches).efforts(qdd)


def operator_reactions(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Wrench of the parent on every body through its joint, at its origin in its axes; shape (B, bodies, 6)."""
    return operator_form(robot, base, q, qd, wrenches).reactions(qdd)
