"""The motion under way, the next one, how each ended; what a held arm keeps, and its start-up check."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.motion.motion import Motion, rest
from rne_dynamics.control.streaming.stream import Stream
from rne_dynamics.control.supervision.load_check import LoadCheck
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import LONGEST_GAP, NANOSECONDS
from rne_dynamics.control.trajectory import Hold, Trajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array

#: Deviation from the reference's velocity, in velocity limits, at which all feedback acts: the arm has other masses.
SLIP = 0.2


class FeedbackRamp:
    """The fraction of the feedback: it grows from nothing after every start."""

    def __init__(self) -> None:
        #: The fraction, and the stamp up to which it has grown, ns.
        self.part, self.at = 0.0, 0

    def grow(self, stamp: int, settings: Settings, qd: Array, speed: Array) -> None:
        """Let it grow until `stamp`, faster where the velocity `qd`, (n,), is off the desired `speed`, (n,)."""
        ramp, step = settings.feedback_ramp, min(max(stamp - self.at, 0) / NANOSECONDS, LONGEST_GAP)
        slip = float((np.abs(qd - speed) / settings.limits.velocity).max()) / SLIP
        self.part = min(max(self.part + step / ramp, slip), 1.0) if ramp > 0.0 else 1.0
        self.at = stamp


# -- result of the start-up check: no motion before the arm agrees with its model --------------------------------------


class StartGate:
    """Shut until the start-up check is passed; `posture` of a mechanism as in `LoadCheck`."""

    def __init__(self, settings: Settings, posture: Array | None = None) -> None:
        check = settings.check
        self._required = check.required
        #: Made where there is no check too, to be warmed up: the next activation may have one.
        self.check = LoadCheck(
            settings.robot, check.tolerance * settings.limits.effort, check.duration or 1.0, settings.compensated,
            posture, check.payload,
        )
        #: Whether the arm may move, whether the check was not passed, and what is said about it.
        self.open, self.failed = not check.duration > 0.0, False
        #: Whether states are wanted.
        self.checking = not self.open
        self.text = "" if self.open else "the start-up check is not over"

    def add(self, stamp: int, q: Array, qd: Array, reported: Array) -> bool:
        """One state while the arm is held, as for `LoadCheck.add`; whether it ended the check."""
        self.check.add(stamp, q, qd, reported)
        if self.check.finished:
            verdict = self.check.verdict()
            self.text = verdict.text
            self.open = verdict.agrees and (verdict.checked or not self._required)
            self.failed, self.checking = not self.open, False
        return self.check.finished


class Ending(Enum):
    """Endings of a motion."""

    SUCCEEDED = "succeeded"
    PATH = "path tolerance violated"
    GOAL = "goal tolerance violated"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    STOPPED = "stopped"
    SILENT = "no more setpoints"
    UNREACHED = "pose not reached"


#: Called once for each motion: how it ended, and a text for people.
OnEnd = Callable[[Ending, str], None]
_ENDINGS = {
    "succeeded": Ending.SUCCEEDED, "path": Ending.PATH, "goal": Ending.GOAL, "silent": Ending.SILENT,
    "unreached": Ending.UNREACHED,
}  # fmt: skip
#: What can be under way.
Followed = Motion | Stream


@dataclass(frozen=True, eq=False)
class _Entry:
    motion: Followed
    on_end: OnEnd


class MotionQueue:
    """The motion under way, the one that replaces it, and rest within the limits, (n,), where there is none."""

    def __init__(self, q: Array, lower: Array, upper: Array, velocity: Array, brake_time: float) -> None:
        self.lower, self.upper, self.velocity, self.brake_time = lower, upper, velocity, brake_time
        self._rest: Trajectory = Hold(q)
        #: What is followed at present; and where it rests in the end.
        self.reference = self._rested = self._rest.sample(0.0)
        self._rest_from = self._at = 0
        #: Whether a trajectory is under way or being braked.
        self.moving = False
        self._now: _Entry | None = None
        self._next: _Entry | None = None
        self._cancelled, self._called_off = "", Ending.CANCELLED

    @property
    def followed(self) -> str:
        """What is under way, for messages; empty for nothing."""
        return "" if self._now is None else self._now.motion.name

    @property
    def awaited(self) -> bool:
        """Whether a trajectory is to begin later."""
        return self._next is not None

    def anchor(self, stamp: int, now: Reference, why: str) -> None:
        """Come to rest from `now` in the brake time; what was under way is stopped, `why` says why."""
        self.drop(why)
        self._come_to_rest(stamp, now)
        self._at = stamp

    def put(self, motion: Followed, on_end: OnEnd) -> None:
        """Let `motion` begin at its start, in place of what is under way then. It checks itself when it begins."""
        self._drop_next("another trajectory came before this one began", Ending.REPLACED)
        self._next = _Entry(motion, on_end)

    def limit(self, limits: MotionLimits) -> None:
        """Let trajectories keep other limits from now on, also one that is to come."""
        if self._next is not None and isinstance(self._next.motion, Motion):
            self._next.motion.limit(limits, begun=False)
        if self._now is not None and isinstance(self._now.motion, Motion):
            try:
                self._now.motion.limit(limits, begun=True)
            except TrajectoryError as error:
                self.cancel(f"it leaves limits that were changed: {error}", Ending.STOPPED)

    def advance(self, stamp: int, speed: float, *, reckoning: bool = False) -> Reference:
        """The reference at `stamp`, ns, with path time at `speed`; in steps of any length only by `reckoning`."""
        step, self._at = (stamp - self._at) / NANOSECONDS, stamp
        if step > LONGEST_GAP and not reckoning and (self._now is not None or self.reference.qd.any()):
            self.anchor(stamp, self.reference, f"no joint state was answered for {step:.3f} s, in which the motion "
                        f"would leap; at most {LONGEST_GAP:g} s are allowed")
        if self._next is not None and stamp >= self._next.motion.start:
            self._begin(stamp, speed, self._next)
        self.reference = self._advance(stamp, speed)
        return self.reference

    def _begin(self, stamp: int, speed: float, entry: _Entry) -> None:
        """Let the motion that was awaited replace the one under way."""
        now = self._advance(stamp, speed)
        rate, slope = self.path_rate(speed)
        self._next = None
        self._end(Ending.REPLACED, "another trajectory took over")
        self._now, self._cancelled, self.moving = entry, "", True
        try:
            entry.motion.begin(stamp, now, rate=rate, slope=slope)
        except TrajectoryError as error:
            self._come_to_rest(stamp, now)
            self._end(Ending.STOPPED, f"it cannot begin from what the arm does by now: {error}")

    def path_rate(self, speed: float) -> tuple[float, float]:
        """The rate of path time now and its change, 1/s: of the motion under way, or what `speed` asks of the next."""
        return (speed, 0.0) if self._now is None else (self._now.motion.rate, self._now.motion.slope)

    def ahead(self, stamp: int) -> Reference:
        """The reference at a later `stamp`, ns, if nothing else comes; changes nothing."""
        if self._now is None:
            return self._rest.sample((stamp - self._rest_from) / NANOSECONDS)
        return self._now.motion.ahead(stamp)

    def _advance(self, stamp: int, speed: float) -> Reference:
        if self._now is None:
            t = (stamp - self._rest_from) / NANOSECONDS
            return self._rested if t > self._rest.duration else self._rest.sample(t)
        try:
            return self._now.motion.advance(stamp, speed)
        except TrajectoryError as error:
            self._come_to_rest(stamp, self.reference)
            self._end(self._called_off if self._cancelled else Ending.STOPPED, self._cancelled or
                      f"it cannot go on from what the arm does, or within limits that were changed: {error}")
            return self.reference

    def judge(self, stamp: int, q: Array, qd: Array) -> Ending | None:
        """How the motion under way has ended, reported to its sender; None while it goes on, or where there is none."""
        if self._now is None:
            return None
        if self._cancelled:
            if not (self._now.motion.stopped or self._now.motion.over):
                return None
            self._come_to_rest(stamp, self.reference)
            return self._end(self._called_off, self._cancelled)
        outcome = self._now.motion.judge(stamp, q, qd)
        if outcome is None:
            return None
        ending = _ENDINGS[outcome.status]
        off = ending is Ending.PATH
        self._come_to_rest(stamp, Reference(q.copy(), qd.copy(), np.zeros(len(q))) if off else self.reference)
        if off:
            self._drop_next("the motion before this one was aborted")
        return self._end(ending, outcome.text)

    def cancel(self, why: str, ending: Ending = Ending.CANCELLED) -> None:
        """Brake along the path and come to rest on it; what was to come is dropped."""
        self._drop_next(why)
        if self._now is not None and not self._cancelled:
            self._now.motion.brake(self.brake_time)
            self._cancelled, self._called_off = why, ending

    def drop(self, why: str) -> None:
        """Forget what is under way and what was to come, because nothing follows references any more."""
        self._drop_next(why)
        self._end(self._called_off if self._cancelled else Ending.STOPPED, self._cancelled or why)

    def _come_to_rest(self, stamp: int, now: Reference) -> None:
        self._rest, self._rest_from = rest(now, self.brake_time, self.lower, self.upper, self.velocity), stamp
        self.reference, self._rested = self._rest.sample(0.0), self._rest.sample(math.inf)

    def _drop_next(self, why: str, ending: Ending = Ending.STOPPED) -> None:
        if self._next is not None:
            entry, self._next = self._next, None
            entry.on_end(ending, why)

    def _end(self, ending: Ending, text: str) -> Ending:
        if self._now is not None:
            entry, self._now = self._now, None
            self._cancelled, self.moving = "", False
            entry.on_end(ending, text)
        return ending
