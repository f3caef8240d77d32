"""Ranks of a mechanism's constraints as they are at almost every posture of its branch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rne_dynamics.closed_chain.independence import evaluated, scaled_jacobian
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.dynamics.derivatives.regressor import regressor
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array, frozen_array
from rne_dynamics.model.layout import MASS, MOMENT
from rne_dynamics.model.mechanism import Mechanism

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
