"""Moves of `rne simulate` for arms with flexible links: gentle ones, shaped where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rne_dynamics.cli import demo_flexible
from rne_dynamics.cli.demo_moves import plan_moves
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


def planned_moves(arm: FlexibleArm, seconds: float | None) -> tuple[Quintic, ...]:
    """Three moves there and back that bend the links little, as the demo makes them."""
    seconds = demo_flexible.lively(arm) if seconds is None else seconds
    return plan_moves(arm.robot, seconds, demo_flexible.bends_little(arm)).moves


def one_after_the_other(
    arm: FlexibleArm, moves: tuple[Quintic, ...], shaper: str | None, modes: int, bandwidth: float
) -> SampledTrajectory:
    """The moves, each shaped for the vibrations under a controller where it ends, as one trajectory."""
    (programme,) = demo_flexible.programmes(arm, moves, shaper, modes, bandwidth, compare=False)
    times: list[Array] = []
    references: list[Reference] = []
    begin = 0.0
    for move in programme.moves:
        knots = np.array([0.0, move.duration]) if isinstance(move, Quintic) else move.times
        knots = knots[1:] if times else knots  # every move starts where the last one ended
        times.append(begin + knots)
        references += [move.sample(t) for t in knots.tolist()]
        begin += move.duration
    q, qd, qdd = (np.array(part) for part in zip(*references, strict=True))
    return SampledTrajectory(np.concatenate(times), q, qd, qdd, arm.joint_names)


def seconds_after(arm: FlexibleArm, ends: Sequence[Quintic]) -> float:
    """How long to look at the arm after the last move, s."""
    return demo_flexible.look(arm, tuple(ends[-1:]))
