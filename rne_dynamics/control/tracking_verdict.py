"""Whether an arm tracked its reference, and if not, why: from positions, errors and efforts that a run measured.

A joint's feedback answers an error e with the effort K e, in which K is its stiffness: p of PD plus gravity, and p
times the inertia of the joint under computed torque. Its reach is K times the tolerance. An effort that the law does
not know (friction, a load, late replies) and that is larger than the reach keeps the joint beyond the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.guards.felt_inertia import joint_inertia
from rne_dynamics.errors import ControlError, ModelError, SingularInertiaError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Part of its limit from which on an effort counts as saturated, and share of the time from which on that explains
#: errors.
_AT_LIMIT, _SATURATED_TIME = 0.999, 0.005
#: Share of missed replies that explains errors.
_MANY_MISSED = 0.02
#: Speed below which a joint counts as stuck, rad/s or m/s, and distance from a position limit that counts as at it.
_STUCK, _TOUCHING = 1e-3, 1e-6
#: Share of the time of large errors for which a joint that friction holds is stuck.
_STUCK_TIME = 0.3


class Cause(Enum):
    """Why a joint does not track."""

    SATURATED = "its effort was at its limit"
    OTHER_SATURATED = "another joint's effort was at its limit"
    POSITION_LIMIT = "it was at its position limit"
    FRICTION = "its friction is larger than the reach of its gain"
    NO_FEEDFORWARD = "its law has no feedforward"
    LATE = "replies were late"
    UNKNOWN_EFFORT = "its model lacks an effort"


@dataclass(frozen=True, eq=False)
class Run:
    """What a run measured, row by row.

    Parameters
    ----------
    time
        s; shape (rows,).
    q, error, effort
        Position, desired less measured position, applied effort; rad or m, N·m or N; shape (rows, n).
    rms
        Root mean square of the error, as the caller counts it; shape (n,).
    effort_limit
        Infinite where there is none; shape (n,).
    missed
        Share of replies that were missed, 0 to 1.
    """

    time: Array
    q: Array
    error: Array
    effort: Array
    rms: Array
    effort_limit: Array
    missed: float = 0.0


@dataclass(frozen=True)
class TrackingVerdict:
    """Whether all joints tracked; of the joint with the largest RMS error, the figures that explain it.

    Parameters
    ----------
    tracked
        Whether every RMS error is below `tolerance`.
    joint
        Index of the joint with the largest RMS error.
    error, tolerance
        Its RMS error, and the largest allowed, rad or m.
    cause
        None if it tracked.
    reach
        Effort of its feedback at the tolerance, N·m or N.
    effort
        The effort behind the cause: the limit, the friction, or what the law does not know; N·m or N.
    at
        Position limit that it met, rad or m.
    share
        Share of time at the effort limit, or of missed replies.
    saturated
        Index of the joint that was at its effort limit for the longest time; -1 if none was.
    """

    tracked: bool
    joint: int
    error: float
    tolerance: float
    cause: Cause | None = None
    reach: float = 0.0
    effort: float = 0.0
    at: float = 0.0
    share: float = 0.0
    saturated: int = -1


def judge(
    robot: RigidRobot, gains: Gains, run: Run, tolerance: float, *, compensated: float = 1.0, friction: bool = True,
    feedforward: bool = True,
) -> TrackingVerdict:
    """The verdict on a run.

    Parameters
    ----------
    robot, gains
        The controller's model and gains: of accelerations, or without feedforward of efforts.
    run
        What was measured.
    tolerance
        Largest RMS error, rad or m.
    compensated
        Fraction of the modelled friction that the law compensates.
    friction
        Whether the arm has its friction.
    feedforward
        Whether the law is computed torque.
    """
    j = int(np.argmax(np.where(np.isnan(run.rms), np.inf, run.rms)))
    error = float(run.rms[j])
    shares = (np.abs(run.effort) >= _AT_LIMIT * run.effort_limit).mean(axis=0)
    busiest = int(np.argmax(shares))
    saturated = busiest if shares[busiest] > 0.0 else -1
    if bool((run.rms < tolerance).all()):
        share = float(shares[busiest])
        return TrackingVerdict(True, j, error, tolerance, share=share, saturated=saturated)

    def because(cause: Cause, **figures: float) -> TrackingVerdict:
        return TrackingVerdict(False, j, error, tolerance, cause, saturated=saturated, reach=stiffness * tolerance,
                               **figures)  # fmt: skip

    stiffness = _stiffness(robot, gains, run, j, feedforward=feedforward)
    if shares[j] > _SATURATED_TIME:
        return because(Cause.SATURATED, effort=float(run.effort_limit[j]), share=float(shares[j]))
    if shares[busiest] > _SATURATED_TIME:
        return because(
            Cause.OTHER_SATURATED, effort=float(run.effort_limit[busiest]), share=float(shares[busiest])
        )
    large = np.abs(run.error[:, j]) > tolerance
    for limit, beyond in ((robot.lower[j], -1.0), (robot.upper[j], 1.0)):
        if (large & (beyond * (run.q[:, j] - limit) >= -_TOUCHING) & (beyond * run.error[:, j] > 0.0)).any():
            return because(Cause.POSITION_LIMIT, at=float(limit))
    coulomb = _coulomb(robot, j) if friction else 0.0
    stuck = large & (np.abs(np.gradient(run.q[:, j], run.time)) < _STUCK)
    if coulomb > stiffness * tolerance and (
        (1.0 - compensated) * coulomb > stiffness * tolerance or stuck.sum() > _STUCK_TIME * large.sum()
    ):
        return because(Cause.FRICTION, effort=coulomb)
    if not feedforward:
        return because(Cause.NO_FEEDFORWARD)
    if run.missed > _MANY_MISSED:
        return because(Cause.LATE, share=run.missed)
    return because(Cause.UNKNOWN_EFFORT, effort=stiffness * error)


def _stiffness(robot: RigidRobot, gains: Gains, run: Run, j: int, *, feedforward: bool) -> float:
    """Effort of a joint's feedback for an error, N·m/rad or N/m, at the posture of its largest error."""
    p = float(gains.p[j])
    if not feedforward:
        return p
    try:
        return p * float(joint_inertia(robot, run.q[int(np.argmax(np.abs(run.error[:, j])))]).held[j])
    except (ControlError, ModelError, SingularInertiaError):  # a posture where loops do not close
        return p * float(joint_inertia(robot, run.q[0]).held[j])


def _coulomb(robot: RigidRobot, j: int) -> float:
    friction = joint_friction(robot)
    return float(max(friction.coulomb_forward[j], friction.coulomb_backward[j]))
