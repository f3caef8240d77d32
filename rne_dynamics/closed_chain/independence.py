"""Independent constraints, on the passive joints and on the actuated ones: at a posture, and at almost every one.

Redundant constraints are no error (a planar linkage modelled in space has three a loop), so independent ones are not
picked but combined, by the singular value decomposition of every cluster's passive block. Of more actuated joints than
freedoms, `independent_joints` says which determine the others. `GenericRank` has the ranks at almost every posture of
the mechanism's branch; errors for the status codes of the closed-loop kernels say where they are not reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import numpy as np

from rne_dynamics.closed_chain.closing import DEPENDENT, OVER_ACTUATED, SINGULAR, SINGULAR_BELOW
from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.dynamics.derivatives.regressor import regressor
from rne_dynamics.errors import AssemblyError, ModelError, SingularPostureError, not_a_robot
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array, frozen_array
from rne_dynamics.model.layout import MASS, MOMENT
from rne_dynamics.model.mechanism import BLOCKED, Mechanism
from rne_dynamics.model.on_tree import OnTree

#: How far given positions, in rad or lengths of the mechanism, may miss what the loops make of the independent ones.
INCONSISTENT = 1e-6
#: How much less well the others may be determined by joints that are preferred.
_PREFERRED = 0.03


def evaluated(packed: Packed, work: Work, q_tree: Array, velocity: Array | None = None) -> Work:
    """`work` with the constraints of one posture in it."""
    constraints_kernel(packed, work, q_tree, np.zeros(len(q_tree)) if velocity is None else velocity)
    return work


def scaled_jacobian(packed: Packed, work: Work) -> Array:
    """K of all constraints by all joints of the tree, lengths in the mechanism's own."""
    return np.asarray(packed.row_scale[:, None] * work.K * packed.column_scale)


def nearest_posture(mechanism: Mechanism, q_tree: Array) -> tuple[Array, Array]:
    """A posture (tree n,) with its passive joints where the loops are nearest to closed, and the residuals, m and rad.

    By Levenberg and Marquardt's method, which is slower than Newton's and keeps no branch, but does not mind a rough
    start, nor stretched loops whose joints have lost their hold.
    """
    packed = pack(mechanism)
    work = workspace(packed)
    here, passive, damping = q_tree.copy(), mechanism.passive, 1e-2
    for _ in range(200):
        scaled = packed.row_scale * evaluated(packed, work, here).residual
        K = scaled_jacobian(packed, work)[:, passive]
        step = np.linalg.solve(K.T @ K + damping * np.eye(len(passive)), K.T @ scaled)
        trial = here.copy()
        trial[passive] -= step * packed.column_scale[passive]
        better = np.linalg.norm(packed.row_scale * evaluated(packed, work, trial).residual) < np.linalg.norm(scaled)
        damping *= 0.3 if better else 10.0
        here = trial if better else here
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    return here, evaluated(packed, work, here).residual


def combinations(packed: Packed, work: Work) -> tuple[Array, Array]:
    """The constraints that count at the posture evaluated in `work`: combinations of all, one a row, (…, constraints).

    First what determines how the passive joints move: one for each, less their idle freedoms. Then what is left when
    these have done all they can, for each relation that the actuated joints must keep among themselves; none where they
    are independent.
    """
    scaled = scaled_jacobian(packed, work)
    m = len(packed.constraints)
    passive, actuated = [np.empty((0, m))], [np.empty((0, m))]
    for (p0, a0, r0), (p1, a1, r1) in zip(packed.clusters[:-1], packed.clusters[1:], strict=True):
        rows = packed.constraints[r0:r1]
        U, held, _ = np.linalg.svd(scaled[np.ix_(rows, packed.passive[p0:p1])])
        rank = int((held > SINGULAR_BELOW).sum())
        left = U[:, rank:]
        W, sizes, _ = np.linalg.svd(left.T @ scaled[np.ix_(rows, packed.actuated[packed.drivers[a0:a1]])])
        for parts, chosen in ((passive, U[:, :rank]), (actuated, left @ W[:, : int((sizes > DEPENDENT).sum())])):
            part = np.zeros((chosen.shape[1], m))
            part[:, rows] = chosen.T * packed.row_scale[rows]
            parts.append(part)
    return np.vstack(passive), np.vstack(actuated)


@lru_cache(maxsize=16)
def independent_joints(mechanism: Mechanism, preferred: tuple[int, ...] = ()) -> tuple[int, ...] | None:
    """Places of actuated joints that determine the others, `preferred` among them if they can; `None` where all do."""
    packed = pack(mechanism)
    work = evaluated(packed, workspace(packed), mechanism.posture)
    _, among_actuated = combinations(packed, work)
    relations = among_actuated @ work.K[:, mechanism.actuated]
    if not len(relations):
        return None
    # the joints that the relations determine best are left to them: Gaussian elimination with full pivoting
    rest, left = relations.copy(), list(range(mechanism.n))
    weights = np.where(np.isin(left, preferred), _PREFERRED, 1.0)
    for _ in range(len(relations)):
        row, column = np.unravel_index((weights * np.abs(rest)).argmax(), rest.shape)
        left.remove(int(column))
        pivot = rest[row] / rest[row, column]
        rest = np.delete(rest, row, axis=0)
        rest = rest - np.outer(rest[:, column], pivot)
    return tuple(left)


#: A singular value (lengths in the mechanism's own) below which a constraint says nothing new: as large as what angles
#: written with few digits make of zero.
RANK = 1e-4
#: Postures looked at besides the given one, and how far from it they are, rad or lengths of the mechanism.
_POSTURES, _AWAY = 4, 0.03
#: Way of a body's mass centre, in lengths of the mechanism for a turn of 1 rad, up to which it does not move.
_IDLE = 1e-3
assert MOMENT == MASS + 1  # as the regressor has them


@dataclass(frozen=True)
class GenericRank:
    """Ranks of the constraints' Jacobian K at almost every posture."""

    #: Independent constraints.
    total: int
    #: Passive joints that the constraints determine once the actuated ones are given.
    passive: int
    #: Freedoms of the passive joints that neither loops nor actuated joints hold: idle ones, or missing motors.
    loose: int
    #: Those of them that move no mass centre, such as the spin of a rod between two ball joints: gravity does not act
    #: on them, nor do the motors need to.
    idle: int

    @property
    def surplus(self) -> int:
        """Relations that the actuated joints have to keep among themselves."""
        return self.total - self.passive

    @property
    def coordinates(self) -> bool:
        """Whether the actuated joints are coordinates: independent, and determining all other joints."""
        return self.loose == 0 and self.surplus == 0


@lru_cache(maxsize=16)
def generic_rank(mechanism: Mechanism) -> GenericRank:
    """The largest ranks of K at closed postures around the mechanism's own.

    At single postures K may have a lower rank (a flat parallelogram). Postures that do not close may have a higher one:
    redundant constraints contradict each other there. So only closed ones count, unless none closes.
    """
    packed = pack(mechanism)
    work = workspace(packed)
    start = np.array(mechanism.posture)
    _close(packed, work, start)
    K = scaled_jacobian(packed, evaluated(packed, work, start))
    _, sizes, V = np.linalg.svd(K)
    free = V[int((sizes > RANK).sum()) :]
    ranks, at = [_ranks(mechanism, K)], start
    rng = Dice(0)  # a fixed seed: the same mechanism is judged alike every time
    for _ in range(_POSTURES if len(free) else 0):
        way = rng.normal(size=len(free)) @ free
        there = start + _AWAY * packed.column_scale * way / np.abs(way).max()
        if _close(packed, work, there):
            ranks.append(_ranks(mechanism, scaled_jacobian(packed, evaluated(packed, work, there))))
            at = there if ranks[-1][1] > max(passive for _, passive in ranks[:-1]) else at
    total, passive = (max(column) for column in zip(*ranks, strict=True))
    loose = len(mechanism.passive) - passive
    return GenericRank(total, passive, loose, loose - _felt(mechanism, at, loose) if loose else 0)


def _felt(mechanism: Mechanism, q: Array, loose: int) -> int:
    """Number of the loose freedoms that move mass centres, at a closed posture."""
    packed, robot = pack(mechanism), mechanism.robot
    K = scaled_jacobian(packed, evaluated(packed, workspace(packed), q))[:, mechanism.passive]
    free = np.linalg.svd(K)[2][-loose:] * packed.column_scale[mechanism.passive]
    weights = []
    rest, masses = np.zeros(robot.n), robot.parameters[:, MASS]
    heavy = masses > 1e-9 * masses.sum()
    for pull in np.eye(3):
        Y = regressor(replace(robot, gravity=frozen_array(pull, (3,), "gravity")), q, rest, rest)
        columns = Y.reshape(robot.n, robot.bodies, 10)[:, :, :4]
        weights.append(np.einsum("jbk,bk->jb", columns, robot.parameters[:, MASS : MASS + 4])[:, heavy] / masses[heavy])
    moved = np.hstack(weights)[mechanism.passive] / packed.length  # of each body's mass centre, along the three axes
    return int((np.linalg.svd(free @ moved, compute_uv=False) > _IDLE).sum())


def _ranks(mechanism: Mechanism, K: Array) -> tuple[int, int]:
    return matrix_rank(K), matrix_rank(K[:, mechanism.passive])


def matrix_rank(K: Array) -> int:
    """Singular values of a scaled Jacobian above `RANK`."""
    return int((np.linalg.svd(K, compute_uv=False) > RANK).sum()) if K.size else 0


def _close(packed: Packed, work: Work, q: Array) -> bool:
    """Close all loops from a posture near, in place, by the least change of all joints of the tree."""
    for _ in range(20):
        residual = packed.row_scale * evaluated(packed, work, q).residual
        step = np.linalg.lstsq(scaled_jacobian(packed, work), residual, rcond=1e-6)[0]
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
        q -= packed.column_scale * step
    return bool(np.linalg.norm(packed.row_scale * evaluated(packed, work, q).residual) < 1e-5)


def loop_gaps(mechanism: Mechanism, residual: Array) -> list[tuple[str, float, float]]:
    """Name, gap (m) and turn (rad) of every loop from the constraints' residuals."""
    gaps, k = [], 0
    for loop, row in zip(mechanism.loops, mechanism.loop_frames[:, BLOCKED:], strict=True):
        ways, turns = int(row[:3].sum()), int(row[3:].sum())
        gaps.append((loop.name, float(np.linalg.norm(residual[k : k + ways])),
                     float(np.linalg.norm(residual[k + ways : k + ways + turns]))))  # fmt: skip
        k += ways + turns
    return gaps


#: What to do about a loop whose frames are half a turn apart.
HALF_TURN = "turn one of the loop's frames by half a turn (rpy, rad): it points the other way"


def _loose_joints(mechanism: Mechanism, q_tree: Array) -> list[str]:
    """Names of the joints that move in the motion that the passive joints' constraints hold least, but idle ones."""
    packed = pack(mechanism)
    K = scaled_jacobian(packed, evaluated(packed, workspace(packed), q_tree))[:, mechanism.passive]
    if not K.size:
        return []
    part = np.abs(np.linalg.svd(K)[2][max(K.shape[1] - generic_rank(mechanism).idle - 1, 0)])
    return [mechanism.passive_names[k] for k in np.flatnonzero(part > 0.05 * part.max())]


def refusal(mechanism: Mechanism, status: int, q: Array, q_tree: Array) -> ModelError:
    """The error for a status of the kernels at actuated positions q, the tree's last posture being q_tree."""
    place = _positions(mechanism, q)
    if status == SINGULAR:
        where, fix = f"in the singular posture at {place}", "keep away from it, or drive another joint"
        if generic_rank(mechanism).loose > generic_rank(mechanism).idle:
            where, fix = "at any posture", "drive one of these joints, or lock it if it is not meant to move"
        return SingularPostureError(
            f"the actuated joints of mechanism {mechanism.name!r} do not hold the passive ones "
            f"({', '.join(_loose_joints(mechanism, q_tree))}) {where}: {fix}. Simulation, and forward dynamics by "
            "method 'tree_coordinates', take it as it is"
        )
    if status == OVER_ACTUATED:
        return ModelError(
            f"mechanism {mechanism.name!r} has more actuated joints ({', '.join(mechanism.joint_names)}) than "
            "freedoms, so they are not independent coordinates; name as many as it has freedoms (`mobility` counts "
            "them)"
        )
    nearest = q_tree.copy()
    nearest[mechanism.actuated] = q
    _, residual = nearest_posture(mechanism, nearest)
    length = pack(mechanism).length
    name, gap, turn = max(loop_gaps(mechanism, residual), key=lambda x: math.hypot(x[1] / length, x[2]))
    return AssemblyError(
        f"loop {name!r} of mechanism {mechanism.name!r} cannot close at {place}: {1e3 * gap:.4g} mm and "
        f"{math.degrees(turn):.4g} deg remain (nothing: on another branch than the start); it was followed to "
        f"{_positions(mechanism, q_tree[mechanism.actuated])}. Choose positions within reach and on this side of "
        f"singular postures, or start on another branch; if 180 deg remain, {HALF_TURN}"
    )


def _positions(mechanism: Mechanism, q: Array) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in zip(mechanism.joint_names, q, strict=True))


def as_mechanism(robot: object) -> Mechanism:
    """`robot` as a mechanism; `ModelError` for an arm with flexible links, `ArgumentError` for what is no robot."""
    if getattr(robot, "kind", "") == Mechanism.kind:
        return cast("Mechanism", robot)
    raise robot.refusal() if isinstance(robot, OnTree) else not_a_robot(robot)
