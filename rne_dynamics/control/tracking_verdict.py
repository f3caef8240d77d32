"""Whether an arm moved as asked and tracked its reference, and if not, why: from what a run measured and reported.

A cause is named only where the run shows it:

- The controller reports it: a stop, a refused or aborted trajectory, limited efforts.
- The simulated arm differs from its model on purpose, and tracks where it does not.
- It was measured: an effort at its limit, a joint at its position limit, replies that were missed.
- It makes up the feedback. A joint's feedback f answers an error; an effort x that the rest of the law lacks explains
  the error if f follows it: x·f / f·f of at least `_EXPLAINED` over the rows with large errors. The rest of the law
  lacks friction that is not compensated, loads that the model does not have, or, of PD plus gravity, inertia.
- A joint at rest has Coulomb friction above its reach, the effort of its feedback at the tolerance.

Otherwise the cause is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.felt_inertia import joint_inertia
from rne_dynamics.control.gains import Gains
from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import ControlError, ModelError, SingularInertiaError
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


class Cause(Enum):
    """Why a joint does not move or track."""

    STOPPED = "the controller stopped the arm"
    ABORTED = "the controller aborted a trajectory"
    REFUSED = "the controller refused a trajectory"
    PAUSED = "the speed scaling was 0"
    MISMATCH = "the arm differs from its model on purpose"
    SATURATED = "its effort was at its limit"
    OTHER_SATURATED = "another joint's effort was at its limit"
    POSITION_LIMIT = "it was at its position limit"
    LIMITED = "the controller limited efforts"
    FRICTION = "its friction is larger than the reach of its gain"
    UNKNOWN_EFFORT = "its model lacks an effort"
    NO_FEEDFORWARD = "its law has no feedforward"
    LATE = "replies were late"
    GOAL_MISSED = "the controller reports a missed goal, and nothing that was measured shows why"
    UNKNOWN = "nothing that was measured or reported shows why"


@dataclass(frozen=True)
class Reports:
    """Reports of a controller about the motion."""

    #: Its own words on the first stop or fault, and on the first trajectory that it aborted, that it refused, or whose
    #: goal was missed; empty for none.
    stopped: str = ""
    aborted: str = ""
    refused: str = ""
    missed: str = ""
    #: Number of efforts that it limited, and its words on the last one.
    limited: int = 0
    limit: str = ""
    #: Speed scaling, 0 to 1.
    speed: float = 1.0

    @property
    def failure(self) -> tuple[Cause, str] | None:
        """Why the motion was not followed to its end, and the controller's words; None if it was."""
        given = (Cause.STOPPED, self.stopped), (Cause.ABORTED, self.aborted), (Cause.REFUSED, self.refused)
        found = next(((cause, words) for cause, words in given if words), None)
        return (Cause.PAUSED, "") if found is None and self.speed == 0.0 else found


@dataclass(frozen=True, eq=False)
class Run:
    """Measured rows of a run."""

    #: s; shape (rows,).
    time: Array
    #: Position, velocity, desired less measured position, applied effort; rad or m, per s, N·m or N; shape (rows, n).
    q: Array
    qd: Array
    error: Array
    effort: Array
    #: Root mean square of the error, as the caller counts it; shape (n,).
    rms: Array
    #: Travel of the motion as it was sent, largest less smallest position; shape (n,).
    asked: Array
    #: Infinite where there is none; shape (n,).
    effort_limit: Array
    #: The law's torque terms by name, at the same rows: "feedback", "friction" and "gravity" are used.
    terms: Mapping[str, Array] = field(default_factory=dict)
    #: Share of replies that were missed, 0 to 1.
    missed: float = 0.0
    #: Of the controller.
    reports: Reports = field(default_factory=Reports)
    #: How the arm differs from its model on purpose, where the same motion without that is tracked.
    mismatch: str = ""

    @property
    def made(self) -> Array:
        """Travel that was made, largest less smallest position, rad or m; shape (n,)."""
        return np.asarray(np.ptp(self.q, axis=0))


# -- whether an arm moved as asked and tracked its reference, and if not, why ------------------------------------------


#: Part of its limit from which on an effort counts as saturated, and share of the time from which on that, or limits
#: of the controller, explain errors.
_AT_LIMIT, _SATURATED_TIME = 0.999, 0.005
#: Share of missed replies that explains errors.
_MANY_MISSED = 0.02
#: Speed below which a joint counts as stuck, rad/s or m/s, and distance from a position limit that counts as at it.
_STUCK, _TOUCHING = 1e-3, 1e-6
#: Share of the time of large errors for which a joint that friction holds is stuck.
_STUCK_TIME = 0.3
#: Share of the feedback that an effort must make up to explain the error; rows to compare, at least and at most; part
#: of the whole effort from which on what is left of it is more than sampling leaves.
_EXPLAINED, _FEWEST, _MOST, _NOTICEABLE = 0.5, 5, 300, 0.02
#: Part of the travel asked for below which a joint has moved less than asked, and below which it has not moved.
_ALL, _NONE = 0.95, 0.05
#: Travel below which the tolerance shrinks in proportion, rad or m: 1 % of the travel at a tolerance of 1e-3.
SMALL_TRAVEL = 0.1


class Outcome(Enum):
    """Verdict on a motion."""

    TRACKED = "tracked"
    NOT_MOVED = "did not move"
    LESS_TRAVEL = "moved less than asked"
    NOT_TRACKED = "did not track"


@dataclass(frozen=True)
class TrackingVerdict:
    """Verdict on a motion, with the figures of the worst joint that explain it."""

    #: What came of it.
    outcome: Outcome
    #: Index of the joint with the smallest part of its travel if it moved less than asked, else of the one whose RMS
    #: error is the largest part of its tolerance.
    joint: int
    #: Travel that was asked of it, and that it made, rad or m.
    asked: float
    made: float
    #: Its RMS error, and the largest allowed, rad or m.
    error: float
    tolerance: float
    #: None if it tracked.
    cause: Cause | None = None
    #: The controller's words, where it reported the cause.
    reported: str = ""
    #: Effort of its feedback at the tolerance, N·m or N.
    reach: float = 0.0
    #: The effort behind the cause: the limit, the friction, or what the law lacks; N·m or N.
    effort: float = 0.0
    #: Of a joint at its effort limit: its friction and the largest gravity torque there, N·m or N.
    resting: float = 0.0
    #: Position limit that it met, rad or m.
    at: float = 0.0
    #: Share of time at the effort limit, of missed replies, or of efforts that the controller limited.
    share: float = 0.0
    #: Index of the joint that was at its effort limit for the longest time; -1 if none was.
    saturated: int = -1
    #: Speed scaling that the controller reported.
    speed: float = 1.0
    #: Fraction of the modelled friction that the law compensates.
    compensated: float = 1.0

    @property
    def tracked(self) -> bool:
        """Whether all joints moved as asked, within the tolerance."""
        return self.outcome is Outcome.TRACKED


def judge(
    robot: RigidRobot, gains: Gains, run: Run, tolerance: float, *, relative: bool = True, compensated: float = 1.0,
    friction: bool = True, feedforward: bool = True, goals: bool = True,
) -> TrackingVerdict:
    """The verdict on a run with the controller's model and gains: every RMS error within `tolerance`, or why not."""
    # relative: it shrinks for travel below `SMALL_TRAVEL`; goals: whether a missed one counts, flexible links miss some
    asked, made = run.asked, run.made
    scale = np.minimum(1.0, asked / SMALL_TRAVEL) if relative else np.ones(robot.n)
    allowed = tolerance * np.where(asked > 0.0, scale, 1.0)
    error = np.where(np.isnan(run.rms), np.inf, run.rms)
    part = np.divide(made, asked, out=np.full(robot.n, np.inf), where=asked > 0.0)
    shares = (np.abs(run.effort) >= _AT_LIMIT * run.effort_limit).mean(axis=0)
    busiest = int(np.argmax(shares))
    failure = run.reports.failure
    outcome = Outcome.TRACKED
    if (part < _ALL).any():
        outcome = Outcome.NOT_MOVED if (part[asked > 0.0] < _NONE).all() else Outcome.LESS_TRAVEL
    elif failure is not None or (goals and run.reports.missed) or not (error < allowed).all():
        outcome = Outcome.NOT_TRACKED
    moved = outcome in (Outcome.TRACKED, Outcome.NOT_TRACKED)
    j = int(np.argmax(error / allowed) if moved else np.argmin(part))
    pressing = _pressing(robot, run, allowed)
    if failure is None and pressing.any():
        j = int(np.argmax(pressing))  # it throws the others
    def reach(joint: int) -> float:
        return _stiffness(robot, gains, run, joint, feedforward=feedforward) * float(allowed[joint])

    def because(
        cause: Cause | None, joint: int = j, *, reported: str = run.reports.missed, effort: float = 0.0,
        resting: float = 0.0, at: float = 0.0, share: float = float(shares[busiest]),
    ) -> TrackingVerdict:
        return TrackingVerdict(
            outcome, joint, float(asked[joint]), float(made[joint]), float(run.rms[joint]), float(allowed[joint]),
            cause, reported, reach(joint), effort, resting, at, share, busiest if shares[busiest] > 0.0 else -1,
            run.reports.speed, compensated,
        )

    if outcome is Outcome.TRACKED:
        return because(None)
    if failure is not None:
        return because(failure[0], reported=failure[1])
    if run.mismatch:
        return because(Cause.MISMATCH, reported=run.mismatch)
    if pressing.any():
        limit = robot.upper if run.q[:, j].max() >= robot.upper[j] - _TOUCHING else robot.lower
        return because(Cause.POSITION_LIMIT, at=float(limit[j]))
    if shares[busiest] > _SATURATED_TIME:
        own = shares[j] > _SATURATED_TIME
        k = j if own else busiest
        return because(
            Cause.SATURATED if own else Cause.OTHER_SATURATED, effort=float(run.effort_limit[k]),
            resting=_resting(robot, run, k, friction=friction), share=float(shares[k]),
        )
    if run.reports.limited > _SATURATED_TIME * len(run.time):
        return because(Cause.LIMITED, reported=run.reports.limit, share=run.reports.limited / len(run.time))
    large = np.abs(run.error) > allowed
    stuck = large & (np.abs(run.qd) < _STUCK)
    for k in np.argsort(-error / allowed)[: int((error >= allowed).sum())].tolist():  # an effort moves other joints too
        lacking = _lacking(
            robot, run, k, large[:, k] & ~stuck[:, k], reach(k), friction=friction, feedforward=feedforward
        )
        if lacking is not None:
            return because(lacking[0], k, effort=lacking[1])
    coulomb = float(joint_friction(robot).static[j]) if friction else 0.0
    if coulomb > reach(j) and stuck[:, j].sum() > _STUCK_TIME * max(large[:, j].sum(), 1):
        return because(Cause.FRICTION, effort=coulomb)
    if run.missed > _MANY_MISSED:
        return because(Cause.LATE, share=run.missed)
    return because(Cause.GOAL_MISSED if run.reports.missed else Cause.UNKNOWN)


def _pressing(robot: RigidRobot, run: Run, allowed: Array) -> NDArray[np.bool_]:
    """Joints at a position limit from which their reference lies further out than `allowed`, (n,)."""
    above = (run.q >= robot.upper - _TOUCHING) & (run.error > allowed)
    below = (run.q <= robot.lower + _TOUCHING) & (run.error < -allowed)
    return np.asarray(np.any(above | below, axis=0))


def _lacking(
    robot: RigidRobot, run: Run, j: int, rows: NDArray[np.bool_], reach: float, *, friction: bool, feedforward: bool
) -> tuple[Cause, float] | None:
    """The cause whose effort the feedback of joint j makes up, and that effort's RMS, N·m or N; None for none."""
    at = np.flatnonzero(rows)
    if len(at) < _FEWEST or "feedback" not in run.terms:
        return None
    at = at[:: -(-len(at) // _MOST)]
    feedback = run.terms["feedback"][at, j]
    qdd = np.gradient(run.qd, run.time, axis=0)[at]
    try:
        rigid = inverse_dynamics(robot, run.q[at], run.qd[at], qdd)[:, j]
    except ModelError:  # a posture where loops do not close
        return None
    resisting = friction_torque(robot, run.qd[at])[:, j] if friction else np.zeros(len(at))
    lacks = {
        Cause.FRICTION: resisting - run.terms["friction"][at, j],
        Cause.UNKNOWN_EFFORT: run.effort[at, j] - rigid - resisting,
    }
    if not feedforward:
        lacks[Cause.NO_FEEDFORWARD] = rigid - run.terms["gravity"][at, j]
    answered, least = float(feedback @ feedback), max(reach, _NOTICEABLE * (_rms(rigid) + _rms(resisting)))
    for cause, effort in lacks.items():
        if float(effort @ feedback) >= _EXPLAINED * answered > 0.0 and _rms(effort) > least:
            return cause, _rms(effort)
    return None


def _resting(robot: RigidRobot, run: Run, j: int, *, friction: bool) -> float:
    """Effort that friction and gravity alone take of a joint at its effort limit, at most, N·m or N."""
    rows = np.flatnonzero(np.abs(run.effort[:, j]) >= _AT_LIMIT * run.effort_limit[j])
    try:
        gravity = np.abs(gravity_torque(robot, run.q[rows[:: -(-len(rows) // _MOST)]])[:, j]).max()
    except ModelError:  # a posture where loops do not close
        gravity = 0.0
    return float(gravity) + (float(joint_friction(robot).static[j]) if friction else 0.0)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _stiffness(robot: RigidRobot, gains: Gains, run: Run, j: int, *, feedforward: bool) -> float:
    """Effort of a joint's feedback for an error, N·m/rad or N/m, at the posture of its largest error."""
    p = float(gains.p[j])
    if not feedforward:
        return p
    try:
        return p * float(joint_inertia(robot, run.q[int(np.argmax(np.abs(run.error[:, j])))]).held[j])
    except (ControlError, ModelError, SingularInertiaError):  # a posture where loops do not close
        return p * float(joint_inertia(robot, run.q[0]).held[j])
