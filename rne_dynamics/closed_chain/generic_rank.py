"""Ranks of a mechanism's constraints as they are at almost every posture of its branch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rne_dynamics.closed_chain.independence import evaluated, scaled_jacobian
from rne_dynamics.closed_chain.packed import Packed, Work, pack, workspace
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: A singular value (lengths in the mechanism's own) below which a constraint says nothing new: as large as what angles
#: written with few digits make of zero.
RANK = 1e-4
#: Postures looked at besides the given one, and how far from it they are, rad or lengths of the mechanism.
_POSTURES, _AWAY = 4, 0.03


@dataclass(frozen=True)
class GenericRank:
    """Ranks of the constraints' Jacobian K at almost every posture.

    Parameters
    ----------
    total
        Independent constraints.
    passive
        Passive joints that the constraints determine once the actuated ones are given.
    loose
        Freedoms of the passive joints that neither loops nor actuated joints hold: idle ones, or missing motors.
    """

    total: int
    passive: int
    loose: int

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
    ranks = [_ranks(mechanism, K)]
    rng = np.random.default_rng(0)  # a fixed seed: the same mechanism is judged alike every time
    for _ in range(_POSTURES if len(free) else 0):
        way = rng.normal(size=len(free)) @ free
        there = start + _AWAY * packed.column_scale * way / np.abs(way).max()
        if _close(packed, work, there):
            ranks.append(_ranks(mechanism, scaled_jacobian(packed, evaluated(packed, work, there))))
    total, passive = (max(column) for column in zip(*ranks, strict=True))
    return GenericRank(total, passive, len(mechanism.passive) - passive)


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
