"""Newton–Euler as the textbook has it (document 001, 4.3–4.6): free bodies, with all joint reactions or without.

Every body is cut free; Euler's laws hold for it under the full wrenches of its joints (6 − d components of constraint
and d of the drive, Theorem 4.17), and the joints give as many equations of motion. These differential-algebraic
equations (4.41), twice differentiated where they are algebraic (index 1), are one sparse linear system a state
(`system`). Joints that mimic share one q̈ through their gear ratios; rotor inertia is added to the drives' rows. The
equations contain no recursion over the tree. That sparse elimination from the tips inward then costs a fixed amount a
body is a property of the tree, and why document 000's recursion exists.

Ordinary differential equations (section 4.6.2, equation 4.44): the algebraic unknowns, all joint reactions, are
eliminated. The joint rows, K a = S q̈ + drift, are solved for the accelerations that each unit q̈ gives: T = K⁻¹S,
whose columns span the motions that violate no joint. Reactions do no work in them (Kᵀ F disappears from Tᵀ times the
balance), which leaves (Tᵀ 𝓜 T + J) q̈ + Tᵀ (𝓜 K⁻¹ drift − wrenches + gyroscopic terms) = τ. Nothing is taken from the
composite-body or Newton–Euler recursions, with which the outcome must agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import BaseMotion, Wrenches, bodies_wrenches, packed_base, state_arrays
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem, factorised
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


def newton_euler_dae_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows, by one sparse solve for all unknowns; `SingularInertiaError`."""
    system = MaximalSystem.of(robot)
    qdd = np.empty((q.shape[0], robot.n))
    if robot.n:
        for b in range(q.shape[0]):
            blocks = system.blocks(row_of(base, b), q[b], qd[b], row_of(wrenches, b))
            right = system.right_side(blocks.force, -blocks.drift, tau[b])
            qdd[b] = system.solve(system.matrix(blocks.transfer), right, q[b])[system.coordinate]
    return qdd


def newton_euler_dae_inverse(
    robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array
) -> Array:
    """Joint efforts (B, n) over checked rows: what the reactions leave to the drives, τ = Sᵀ F + J q̈."""
    system, force = MaximalSystem.of(robot), newton_euler_dae_reactions(robot, base, q, qd, qdd, wrenches)
    return np.asarray(force.reshape(len(force), system.force.size) @ system.axes + system.rotor * qdd)


def newton_euler_dae_reactions(
    robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array
) -> Array:
    """Wrench of each joint on its body over checked rows: (force, moment) at its origin in its axes; (B, bodies, 6).

    Constraint and drive together. With the external wrench it balances the body's rate of momentum; its part along the
    axis is the effort less what turns the rotor.
    """
    system = MaximalSystem.of(robot)
    force = np.empty((q.shape[0], robot.bodies, 6))
    for b in range(q.shape[0]):
        force[b] = _reactions(system, row_of(base, b), q[b], qd[b], qdd[b], row_of(wrenches, b))
    return force


def _reactions(system: MaximalSystem, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """F of one state with known q̈: the joint rows give a, then the balance rows, with K transposed, give F."""
    blocks = system.blocks(base, q, qd, wrenches)
    if not len(blocks.drift):
        return blocks.force
    factors = factorised(system.constraint_matrix(blocks.transfer))
    acceleration = factors.solve((system.along_axes(qdd) + blocks.drift).ravel()).reshape(-1, 6)
    needed = np.einsum("ijk,ik->ij", system.inertia, acceleration) - blocks.force
    return np.asarray(factors.solve(needed.ravel(), trans="T").reshape(-1, 6))


def row_of(rows: Array, b: int) -> Array:
    """Row b, or the only one, of rows for all states."""
    return np.asarray(rows[b if rows.shape[0] > 1 else 0])


class ReducedEquations(NamedTuple):
    """M q̈ + bias = τ, and how body accelerations follow from joint ones: a = T q̈ + drift.

    Parameters
    ----------
    mass_matrix, bias
        Shapes (…, n, n) and (…, n); bias holds Coriolis, centrifugal and gravity efforts less those of the wrenches.
    motion, drift
        T and the accelerations at q̈ = 0, less gravity: (linear, angular) of every body frame's origin in body axes;
        shapes (…, bodies, 6, n) and (…, bodies, 6).
    """

    mass_matrix: Array
    bias: Array
    motion: Array
    drift: Array


def reduced_equations(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> ReducedEquations:
    """Mass matrix and bias from the free-body equations by eliminating the joint reactions.

    Parameters
    ----------
    robot
        The model.
    q, qd
        Positions (…, nq) and velocities (…, n).
    wrenches, base_motion
        As for `inverse_dynamics`.

    Raises
    ------
    ArgumentError, ModelError
        As for `inverse_dynamics`.
    """
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    system, n, bodies = MaximalSystem.of(robot), robot.n, robot.bodies
    rows = [_reduced(system, row_of(base, b), positions[b], velocities[b], row_of(loads, b))
            for b in range(len(positions))]  # fmt: skip
    shapes = ((n, n), (n,), (bodies, 6, n), (bodies, 6))
    parts = (np.array([row[k] for row in rows]).reshape(*lead, *shape) for k, shape in enumerate(shapes))
    return ReducedEquations(*parts)


def _reduced(system: MaximalSystem, base: Array, q: Array, qd: Array, wrenches: Array) -> ReducedEquations:
    n, bodies = system.robot.n, system.robot.bodies
    if bodies == 0:
        return ReducedEquations(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 6, 0)), np.zeros((0, 6)))
    blocks = system.blocks(base, q, qd, wrenches)
    right = np.concatenate([system.along_axes(np.eye(n)), blocks.drift[:, :, None]], axis=2).reshape(6 * bodies, n + 1)
    accelerations = factorised(system.constraint_matrix(blocks.transfer)).solve(right).reshape(bodies, 6, n + 1)
    T, drift = accelerations[:, :, :n], accelerations[:, :, n]
    M = np.einsum("bin,bij,bjm->nm", T, system.inertia, T, optimize=True) + np.diag(system.rotor)
    needed = np.einsum("bij,bj->bi", system.inertia, drift) - blocks.force
    bias = np.einsum("bin,bi->n", T, needed)
    return ReducedEquations(M, bias, T, drift)
