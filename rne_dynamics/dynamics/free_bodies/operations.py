"""Operations of the sparse solve of the differential-algebraic equations, counted on its actual factors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem
from rne_dynamics.model.robot import RobotModel


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
