"""Velocity map from actuated to tree joints, distance to the nearest singular posture, freedoms of a mechanism.

K_p q̇_p = −K_a q̇_a gives the passive joints' velocities; with them all velocities of the tree are T q̇_a. It does not
exist where K_p loses rank: a singular posture, in which the actuated joints do not hold the mechanism. The distance to
it is the smallest singular value of K_p, lengths measured in the mechanism's own (packed.py), so that it is a plain
number: 1 / smallest bounds the turn of a passive joint, in rad, for a closure error of 1 rad or 1 length. Freedoms are
found by counting and by rank, and compared with the actuators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.closing import SINGULAR_BELOW
from rne_dynamics.closed_chain.independence import (
    evaluated,
    generic_rank,
    loop_gaps,
    matrix_rank,
    scaled_jacobian,
)
from rne_dynamics.closed_chain.packed import Work, pack, workspace
from rne_dynamics.closed_chain.rows import MOVE, posture_rows, run, tree_vectors
from rne_dynamics.dynamics.declared.arguments import as_rows, state_arrays
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: `MotionMap.smallest` below which a posture is near a singular one: some passive joint may move 30 times as far
#: as the closure error. Controllers should slow down here; below `closing.SINGULAR_BELOW` postures are refused.
NEAR_SINGULAR = 0.03


class MotionMap(NamedTuple):
    """Velocity map from actuated to tree joints, at one posture or many."""

    #: Velocities of all joints of the tree are T · velocities of the actuated ones; shape (…, tree n, n).
    T: Array
    #: Distance to the nearest singular posture: the smallest singular value of K_p, lengths in the mechanism's own;
    #: shape (…). Round-off leaves a relative error of about 5e-15 / smallest² in accelerations.
    smallest: Array


def motion_map(mechanism: Mechanism, q_tree: ArrayLike) -> MotionMap:
    """Velocity map from actuated to tree joints at closed positions of the tree, (…, tree n); `SingularPostureError`.

    Where the actuated joints are more than the freedoms, T is right for velocities that the loops allow.
    """
    lead, (rows,) = as_rows({"q_tree": tree_vectors(mechanism, "q_tree", q_tree)})
    T = run(mechanism, MOVE, rows[:, mechanism.actuated], postures=rows).T
    work = workspace(pack(mechanism))
    smallest = np.array([passive_singular_value(mechanism, work, row) for row in rows])
    return MotionMap(T.reshape((*lead, *T.shape[1:])), smallest.reshape(lead))


def passive_singular_value(mechanism: Mechanism, work: Work, q_tree: Array) -> float:
    """The smallest singular value by which the loops hold the passive joints at one posture.

    Loose freedoms, which they hold at no posture, do not count; infinite where nothing else is passive.
    """
    held = generic_rank(mechanism).passive
    if held == 0:
        return np.inf
    K = scaled_jacobian(pack(mechanism), evaluated(pack(mechanism), work, q_tree))
    return float(np.linalg.svd(K[:, mechanism.passive], compute_uv=False)[held - 1])


def tree_velocity(mechanism: Mechanism, q_tree: ArrayLike, qd: ArrayLike) -> Array:
    """Velocities of all joints of the tree, (…, tree n), for those of the actuated ones, (…, n); as `motion_map`."""
    joints, (rates,) = state_arrays(mechanism, qd=qd)
    lead, (postures, velocities) = as_rows(
        {"q_tree": tree_vectors(mechanism, "q_tree", q_tree), "qd": rates.reshape((*joints, mechanism.n))}
    )
    moved = run(mechanism, MOVE, postures[:, mechanism.actuated], velocities, postures=postures)
    return moved.velocity.reshape((*lead, postures.shape[1]))


@dataclass(frozen=True, eq=False)
class Mobility:
    """The freedoms of a mechanism at one posture."""

    #: Joints of the open tree.
    joints: int
    #: Directions blocked by all loops.
    constraints: int
    #: Independent ones among them, at this posture.
    rank: int
    #: Passive joints whose motion the constraints determine once the actuated ones are given.
    passive_rank: int
    #: Numbers of passive and actuated joints.
    passive: int
    actuated: int
    #: `MotionMap.smallest` at this posture, loose freedoms left out.
    distance: float
    #: Freedoms that neither loops nor actuated joints hold at almost any posture, and those of them that are idle: they
    #: move no mass centre, and need no motor.
    loose: int
    idle: int
    #: Name, gap (m) and turn (rad) of every loop at this posture.
    gaps: tuple[tuple[str, float, float], ...]

    @property
    def gruebler(self) -> int:
        """Freedoms by counting: joints less blocked directions; too few where constraints are redundant."""
        return self.joints - self.constraints

    @property
    def freedoms(self) -> int:
        """Freedoms that the mechanism has at this posture, by numerical rank."""
        return self.joints - self.rank

    @property
    def redundant(self) -> int:
        """Redundant constraints: they follow from the others."""
        return self.constraints - self.rank

    @property
    def missing_actuators(self) -> int:
        """Freedoms that neither loops nor actuators hold, at this posture and those near it; idle ones are none."""
        return self.loose - self.idle

    @property
    def surplus_actuators(self) -> int:
        """Actuated joints beyond the freedoms: relations that they have to keep among themselves."""
        return max(0, self.rank - self.passive_rank)

    @property
    def singular(self) -> bool:
        """Whether the posture, and not the choice of actuators, is singular."""
        return self.distance < SINGULAR_BELOW


def mobility(mechanism: Mechanism, q_tree: ArrayLike | None = None) -> Mobility:
    """The freedoms of a mechanism at positions of the tree, (tree n,), its posture by default."""
    posture = mechanism.posture if q_tree is None else q_tree
    if np.ndim(posture) != 1:
        raise ArgumentError(f"q_tree has shape {np.shape(posture)}; it must be one posture ({mechanism.robot.nq},)")
    row = posture_rows(mechanism, posture)[0]
    packed = pack(mechanism)
    work = workspace(packed)
    K = scaled_jacobian(packed, evaluated(packed, work, row))
    gaps = tuple(loop_gaps(mechanism, work.residual))
    ranks = generic_rank(mechanism)
    return Mobility(
        joints=mechanism.robot.n,
        constraints=mechanism.constraints,
        rank=matrix_rank(K),
        passive_rank=matrix_rank(K[:, mechanism.passive]),
        passive=len(mechanism.passive),
        actuated=mechanism.n,
        distance=passive_singular_value(mechanism, work, row),
        loose=ranks.loose,
        idle=ranks.idle,
        gaps=gaps,
    )
