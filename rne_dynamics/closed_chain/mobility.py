"""Freedoms of a mechanism, by counting and by rank, compared with its actuators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.arguments import posture_rows
from rne_dynamics.closed_chain.closing import SINGULAR_BELOW
from rne_dynamics.closed_chain.coordinates import passive_singular_value
from rne_dynamics.closed_chain.generic_rank import generic_rank, matrix_rank
from rne_dynamics.closed_chain.independence import evaluated, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.refusals import loop_gaps
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.mechanism import Mechanism


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

