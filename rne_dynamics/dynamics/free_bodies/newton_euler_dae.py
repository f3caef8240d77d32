"""Newton–Euler as the textbook has it (document 001, sections 4.3–4.6.1): free bodies and all joint reactions at once.

Every body is cut free; Euler's laws hold for it under the full wrenches of its joints (6 − d components of constraint
and d of the drive, Theorem 4.17), and the joints give as many equations of motion. These differential-algebraic
equations (4.41), twice differentiated where they are algebraic (index 1), are one sparse linear system a state; the
pattern is in `pattern`, the blocks in `blocks`. Joints that mimic share one q̈ through their gear
ratios; rotor inertia is added to the drives' rows.

The equations contain no recursion over the tree. That sparse elimination from the tips inward then costs a fixed
amount a body is a property of the tree, and why document 000's recursion exists.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.dynamics.free_bodies.system import MaximalSystem, factorised
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


def newton_euler_dae_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows, by one sparse solve for all unknowns; `SingularInertiaError`."""
    system = MaximalSystem.of(robot)
    qdd = np.empty((q.shape[0], robot.n))
    if robot.n:
        for b in range(q.shape[0]):
            blocks = system.blocks(_row(base, b), q[b], qd[b], _row(wrenches, b))
            right = system.right_side(blocks.force, -blocks.drift, tau[b])
            qdd[b] = system.solution(system.solve(system.matrix(blocks.transfer), right, q[b])).qdd
    return qdd


def newton_euler_dae_inverse(
    robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array
) -> Array:
    """Joint efforts (B, n) over checked rows: what the reactions leave to the drives, τ = Sᵀ F + J q̈."""
    system, force = MaximalSystem.of(robot), newton_euler_dae_reactions(robot, base, q, qd, qdd, wrenches)
    return np.asarray(system.onto_axes(np.moveaxis(force, 0, -1)).T + system.rotor * qdd)


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
        force[b] = _reactions(system, _row(base, b), q[b], qd[b], qdd[b], _row(wrenches, b))
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


def _row(rows: Array, b: int) -> Array:
    return np.asarray(rows[b if rows.shape[0] > 1 else 0])
