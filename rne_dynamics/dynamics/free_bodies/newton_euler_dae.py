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

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem, Solution, factorised
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


def newton_euler_dae_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows, by one sparse solve for all unknowns; `SingularInertiaError`."""
    system = MaximalSystem.of(robot)
    qdd = np.empty((q.shape[0], robot.n))
    if robot.n:
        for b in range(q.shape[0]):
            qdd[b] = solved_state(system, _row(base, b), q[b], qd[b], tau[b], _row(wrenches, b)).qdd
    return qdd


def newton_euler_dae_inverse(
    robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array
) -> Array:
    """Joint efforts (B, n) over checked rows: what the reactions leave to the drives, τ = Sᵀ F + J q̈."""
    system, force = MaximalSystem.of(robot), newton_euler_dae_reactions(robot, base, q, qd, qdd, wrenches)
    tau: Array = system.onto_axes(np.moveaxis(force, 0, -1)).T + system.rotor * qdd
    return tau


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


def solved_state(system: MaximalSystem, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Solution:
    """All reactions and accelerations of one state: base (12,), q (nq,), qd, tau (n,), wrenches (bodies or 0, 6)."""
    blocks = system.blocks(base, q, qd, wrenches)
    right = system.right_side(blocks.force, -blocks.drift, tau)
    return system.solution(system.solve(system.matrix(blocks.transfer), right, q))


def _reactions(system: MaximalSystem, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """F of one state with known q̈: the joint rows give a, then the balance rows, with K transposed, give F."""
    blocks = system.blocks(base, q, qd, wrenches)
    if not len(blocks.drift):
        return blocks.force
    factors = factorised(system.constraint_matrix(blocks.transfer))
    acceleration = factors.solve((system.along_axes(qdd) + blocks.drift).ravel()).reshape(-1, 6)
    needed = np.einsum("ijk,ik->ij", system.inertia, acceleration) - blocks.force
    force: Array = factors.solve(needed.ravel(), trans="T").reshape(-1, 6)
    return force


def _row(rows: Array, b: int) -> Array:
    row: Array = rows[b if rows.shape[0] > 1 else 0]
    return row


class SparseOperations(NamedTuple):
    """Numbers of floating-point operations; additions hold subtractions."""

    multiplications: int
    additions: int
    divisions: int


def sparse_solve_operations(robot: RobotModel, q: ArrayLike, *, refined: bool = False) -> SparseOperations:
    """Operations to factorise the system of `newton_euler_dae_forward` at `q` and solve it for one right side.

    With l_k entries of L below the diagonal in column k and u_k entries of U right of it in row k, elimination of
    unknown k takes one division (SuperLU multiplies by the pivot's reciprocal), l_k + l_k·u_k multiplications and
    l_k·u_k additions; the triangular solves then one multiplication and one addition for every such entry and one
    division for every row. Setting up the matrix is not in these numbers (run `joint_motion_kernel` and
    `free_body_kernel` on counting numbers for that), nor the probe for singular inertia.

    `robot`: the model. `q`: positions, shape (nq,). The count is the same wherever no entry happens to vanish: take a
    random q. `refined`: whether to add the step of iterative refinement: the residual and a second pair of triangular
    solves. Raises ArgumentError: a wrong shape, NaN or infinity. SingularInertiaError: a joint that moves no inertia;
    names it.
    """
    _, (positions,) = state_arrays(robot, q=q)
    if robot.bodies == 0:
        return SparseOperations(0, 0, 0)
    system = MaximalSystem.of(robot)
    blocks = system.blocks(robot.base_at_rest, positions[0], np.zeros(robot.n), np.empty((0, 6)))
    matrix = system.matrix(blocks.transfer)
    factors = system.factorised(matrix)
    below = np.diff(factors.L.indptr) - 1
    right = np.diff(factors.U.tocsr().indptr) - 1
    inner, left, triangles, size = int(below @ right), int(below.sum()), int((below + right).sum()), len(below)
    solves = 2 if refined else 1
    stored = int(np.count_nonzero(matrix.data)) if refined else 0
    return SparseOperations(
        multiplications=left + inner + solves * triangles + stored,
        additions=inner + solves * triangles + stored + (size if refined else 0),
        divisions=(1 + solves) * size,
    )


def reaction_operations(robot: RobotModel) -> SparseOperations:
    """Operations of `newton_euler_dae_inverse` outside the kernels: accelerations by K, reactions by Kᵀ.

    K is unit triangular with 27 entries for each child off its diagonal: scaled once in the factors, then used in two
    triangular solves, each with a division for every row. 𝓜 a is counted by dense 6×6 blocks, as it is run.
    """
    system = MaximalSystem.of(robot)
    bodies, axes, n = robot.bodies, len(system.gear), robot.n
    entries = 27 * len(system.pattern.children)
    return SparseOperations(
        multiplications=3 * entries + 36 * bodies + 2 * axes + n,
        additions=2 * entries + 30 * bodies + 12 * bodies + axes + n,
        divisions=3 * 6 * bodies,
    )
