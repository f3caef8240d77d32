"""The matrices of the operator form (document 001, section 4.8) of one state, for users; see `operator_form`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.block_operators.blocks import joint_map
from rne_dynamics.dynamics.block_operators.operator_form import operator_form
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.generalized_inertia import generalized_inertia, rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PARENT
from rne_dynamics.model.robot import RobotModel

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
    if lead:
        raise ArgumentError(f"q and qd hold states of shape {lead}; operator_matrices takes one: (nq,) and (n,)")
    if robot.bodies == 0:
        raise ArgumentError(f"robot {robot.name!r} has no joint that moves, so it has no operator form")
    base = packed_base(robot, base_motion, lead)
    form = operator_form(robot, base, positions, velocities, bodies_wrenches(robot, wrenches, lead))
    bodies, size = robot.bodies, 6 * robot.bodies
    blocks, columns, start = [], [], [0]
    for i, parent in enumerate(robot.topology[:, PARENT].tolist()):
        if parent >= 0:
            blocks.append(-form.transfer[0, i])
            columns.append(parent)
        blocks.append(np.eye(6))
        columns.append(i)
        start.append(len(columns))
    gamma = csr_array(bsr_array((np.array(blocks), columns, start), shape=(size, size)))
    gamma.eliminate_zeros()
    on_base = robot.topology[:, PARENT] < 0
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
