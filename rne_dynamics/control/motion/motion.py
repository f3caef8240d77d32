"""A trajectory under way: takeover without a jump, speed scaling, braking along its path or to rest, tolerances."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import MotionLimits, Outcome, Tolerances
from rne_dynamics.control.motion.path import DIP, Path, PathRate, distinct
from rne_dynamics.control.motion.takeover import BlendedPath, PathCheck, check_start, in_path_time, takeover
from rne_dynamics.control.parameters import check_number
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array


class Motion:
    """A trajectory that is followed.

    Path time s runs at a rate r = ds/dt from 0 to 1, and the reference is q(s), q'(s) r, q''(s) r² + q'(s) dr/dt:
    scaled in speed the arm runs through the same positions. What is followed is what was checked: the path when it was
    accepted, the way onto it when it begins. A pickle takes along the arrays of the path only.
    """

    #: What the controller follows, for messages.
    name = "a trajectory"

    def __init__(
        self, trajectory: SampledTrajectory | Path, start: int, tolerances: Tolerances, *, blend_time: float,
        limits: MotionLimits | None = None,
    ) -> None:
        check_number(blend_time, "the blend time", unit=" s")
        base = trajectory if isinstance(trajectory, Path) else trajectory.path
        if len(tolerances.joints) != base.coefficients.shape[2]:
            raise ControlError(
                f"the tolerances are for {len(tolerances.joints)} joints, the trajectory has "
                f"{base.coefficients.shape[2]}; they must agree"
            )
        self.start, self.tolerances, self.limits = start, tolerances, limits
        self._blend_time, self._base = blend_time, base
        #: What is followed, in path time: the trajectory with the blend from what was followed before.
        self.path = BlendedPath(base, base.begin, np.zeros((0, *base.coefficients.shape[1:])), np.zeros(0))
        self._check: PathCheck | None = None
        self._limited, self._fastest = False, 1.0  # whether the limits have changed, and the rate that keeps them
        self._rate = PathRate(start, 0.0, 1.0)
        #: Whether it was braked and has come to rest.
        self.stopped = False
        self._stamp, self._s, self._braking = start, 0.0, False
        #: What was last advanced to.
        self.reference = self._base.sample(0.0)
        self._due: float | None = None  # stamp by which the goal must be reached; None before the end
        self._largest = np.zeros(1)  # error of a position while it was judged

    def begin(self, stamp: int, now: Reference, *, rate: float = 1.0, slope: float = 0.0) -> None:
        """Take over at `stamp`, ns, from `now` without a jump; `TrajectoryError` where it must not be followed."""
        self._take_over(stamp, (stamp - self.start) / NANOSECONDS, now, rate, slope)

    def _take_over(self, stamp: int, begin: float, now: Reference, rate: float, slope: float) -> None:
        """`begin` at a path time."""
        if self.limits is not None:
            check_start(self._base.sample(begin).q, now.q, self.limits)
        moving, rate, slope = in_path_time(now, rate, slope)
        self.path, self._fastest = takeover(self._base, begin, moving, self._blend_time), 1.0
        if self.limits is not None:
            new = self._limited
            now = now._replace(qd=np.zeros_like(now.qd)) if new else now  # it may be too fast for them by now
            self._check = PathCheck(self.path, now, self.limits, self._blend_time, rest_known=not new, slows=new)
            self._check.cycle(begin)
            self._fastest = self._check.rate
            rate = rate if moving.qd.any() else min(rate, self._fastest)
        self._rate = PathRate(stamp, begin, rate, slope)
        self._stamp, self._s, self._braking, self.stopped, self._due = stamp, begin, False, False, None
        self._largest = np.zeros(1)
        self.reference = self.path.sample(begin, rate, slope)

    def advance(self, stamp: int, speed: float = 1.0) -> Reference:
        """The reference at `stamp`, ns; the rate follows `speed`, 0 to 1. Raises TrajectoryError off the limits."""
        stamp = max(stamp, self._stamp)
        speed = min(speed, self._fastest)
        if not self._braking and speed != self._rate.target:
            self._rate.follow(stamp, min(speed, 1.0) if speed > 0.0 else 0.0)
        self._stamp = stamp
        s, rate, slope = self._rate.at(stamp)
        if self._check is not None:
            self._check.cycle(s)
            self._fastest = self._check.rate
            if self._check.over:
                self._check = None
        self._s = s
        self.stopped = self._braking and rate == 0.0
        self.reference = self.path.sample(self._s, rate, slope)
        if self._due is None and self._s >= self.path.duration:
            self._due = stamp + self.tolerances.goal_time * NANOSECONDS
        return self.reference

    def ahead(self, stamp: int) -> Reference:
        """The reference at a later `stamp`, ns, if the speed stays; changes nothing."""
        s, rate, slope = self._rate.at(max(stamp, self._stamp))
        return self.path.sample(s, rate, slope)

    def limit(self, limits: MotionLimits, *, begun: bool) -> None:
        """Keep other limits, slower along the path where too fast; `TrajectoryError` if it has `begun` and cannot."""
        if not begun and self.limits is not None:
            limits = replace(limits, start=self.limits.start)
        self.limits, self._limited = limits, True
        if begun and not (self._braking or self.over):
            self._take_over(self._stamp, self._s, self.reference, self.rate, self.slope)

    def brake(self, duration: float) -> None:
        """Come to rest on the path within `duration`, s, and stay there: the rate falls and never rises again."""
        self._rate.brake(self._stamp, duration)
        self._braking = True

    @property
    def rate(self) -> float:
        """Rate of path time at the stamp last advanced to, 0 to 1."""
        return self._rate.at(self._stamp)[1]

    @property
    def slope(self) -> float:
        """Its change, 1/s."""
        return self._rate.at(self._stamp)[2]

    @property
    def over(self) -> bool:
        """Whether the path's end is reached: the reference rests in the trajectory's last point."""
        return self._s >= self.path.duration

    def judge(self, stamp: int, q: Array, qd: Array) -> Outcome | None:
        """Whether the motion has ended with the arm at `q`, `qd`, each (n,), at `stamp`, ns; None while it goes on."""
        reference, tolerances = self.reference, self.tolerances
        j = _beyond(q, qd, reference.q, reference.qd, tolerances.path, tolerances.path_velocity, self._largest)
        if j >= 0:
            return Outcome("path", f"{self._text(j, q, qd, 'path')}. The motion is aborted")
        if self._due is None or self._braking:
            return None
        j = _beyond(q, qd, reference.q, reference.qd, tolerances.goal, tolerances.goal_velocity, self._largest)
        speed = np.abs(qd)
        if j < 0 and bool((speed <= tolerances.stopped_velocity).all()):
            error = np.abs(reference.q - q).max()
            return Outcome("succeeded", f"goal reached; error {error:.2e}, largest on the way {self._largest[0]:.2e}")
        if stamp < self._due:
            return None
        after = f"{tolerances.goal_time:g} s after the end (goal_time)"
        if j >= 0:
            return Outcome("goal", f"goal missed: {self._text(j, q, qd, 'goal')}, {after}")
        k = int(np.argmax(speed))
        return Outcome(
            "goal",
            f"goal missed: joint {tolerances.joints[k]!r} still moves at {qd[k]:.4g} per second; allowed is "
            f"{tolerances.stopped_velocity:g} (constraints.stopped_velocity), {after}",
        )

    def _text(self, j: int, q: Array, qd: Array, what: Literal["path", "goal"]) -> str:
        """Which joint is off what, by how much, and what is allowed."""
        tolerances, reference, on_path = self.tolerances, self.reference, what == "path"
        aim = "trajectory" if on_path else "goal"
        position, velocity = (
            (tolerances.path, tolerances.path_velocity) if on_path else (tolerances.goal, tolerances.goal_velocity)
        )
        off, fast = reference.q[j] - q[j], reference.qd[j] - qd[j]
        if abs(off) <= position[j]:
            error = f"{fast:.4g} per second off the velocity of its {aim}; allowed is {velocity[j]:g} (of the request)"
        else:
            error = (
                f"{off:.4g} off its {aim}; allowed is {position[j]:g} (constraints.{tolerances.joints[j]}.{aim}, or of "
                "the request)"
            )
        return f"joint {tolerances.joints[j]!r} is {error}"


def warm_up(n: int) -> None:
    """Compile what a motion of `n` joints needs, so that the first one is as fast as the others."""
    rest = Reference(np.zeros(n), np.zeros(n), np.zeros(n))
    trajectory = SampledTrajectory(np.array([0.0, 1.0]), np.zeros((2, n)))
    joints, free = tuple(str(j) for j in range(n)), np.full(n, np.inf)
    limits = MotionLimits(joints, -free, free, free, 1.0)
    motion = Motion(trajectory, 0, Tolerances(joints), blend_time=0.1, limits=limits)
    motion.begin(0, rest._replace(q=np.full(n, 0.1)))
    motion.advance(1)
    motion.judge(1, rest.q, rest.qd)
    trajectory.sample(trajectory.duration)  # of its last piece: the rest after a motion ends with it


@kernel
def _beyond(q: Array, qd: Array, aim_q: Array, aim_qd: Array, position: Array, velocity: Array, largest: Array) -> int:
    """The joint furthest beyond its tolerance, −1 for none; `largest`, (1,): raised to the largest position error."""
    worst, which = 0.0, -1
    for j in range(len(q)):
        e, v = abs(aim_q[j] - q[j]), abs(aim_qd[j] - qd[j])
        largest[0] = max(largest[0], e)
        if e <= position[j] and v <= velocity[j]:
            continue
        off = max(e / position[j], v / velocity[j])
        if which < 0 or off > worst:
            worst, which = off, j
    return which


# -- deceleration from a motion to rest, within the limits of position and velocity ------------------------------------


#: Joints near a limit come to rest sooner: in so many sixteenths of the time. A joint that would pass its limit even in
#: one begins more slowly: the feedback brakes an arm that is faster harder than a reference could.
SIXTEENTHS = 16


def rest(now: Reference, duration: float, lower: Array, upper: Array, velocity: Array) -> SampledTrajectory:
    """Bring every joint from `now` to rest in `duration`, s, within the limits, (n,); one outside passes no further."""
    # Each joint's position is the polynomial of degree four from its state to rest. Where that would pass a limit, the
    # joint comes to rest sooner. A measured arm may be faster than allowed: its reference is not.
    down, up = (2.0 * SIXTEENTHS / duration * np.maximum(way, 0.0) for way in (now.q - lower, upper - now.q))
    qd = np.clip(now.qd, -np.minimum(down, velocity), np.minimum(up, velocity))
    slack, gain = np.minimum(velocity + qd, velocity), DIP * duration
    now = Reference(now.q, qd, np.clip(now.qdd, -slack / gain, np.minimum(velocity - qd, velocity) / gain))
    if not (now.qd.any() or now.qdd.any()):
        return SampledTrajectory(np.zeros(1), now.q[None].copy())
    times = np.full(len(now.q), duration)
    for step in range(SIXTEENTHS - 1, 0, -1):
        end = now.q + times * (now.qd / 2.0 + times * now.qdd / 12.0)
        times = np.where(end != _within(end, now.q, lower, upper), step * duration / SIXTEENTHS, times)
    knots = distinct(np.append(0.0, times))
    x = np.minimum(knots[:, None], times)
    slow = np.minimum(x / times, 1.0)
    u, a, T = now.qd, now.qdd, times
    # velocity u H0(slow) + a T H1(slow), Hermite's cubics from there to rest
    speed = u * (1.0 - slow) ** 2 * (1.0 + 2.0 * slow) + a * T * slow * (1.0 - slow) ** 2
    acceleration = (u * -6.0 * slow * (1.0 - slow)) / T + a * (1.0 - slow) * (1.0 - 3.0 * slow)
    position = now.q + u * T * (slow - slow**3 + slow**4 / 2.0) + a * T**2 * slow**2 * (
        1.0 / 2.0 - 2.0 * slow / 3.0 + slow**2 / 4.0
    )
    speed[x == T], acceleration[x == T] = 0.0, 0.0
    return SampledTrajectory(knots, position, speed, acceleration)


def halt(q: Array, qd: Array, duration: float, lower: Array, upper: Array) -> Array:
    """Positions at which joints come to rest from a steady motion in `duration`, within the limits; (n,)."""
    return _within(q + 0.5 * duration * qd, q, lower, upper)


def _within(end: Array, q: Array, lower: Array, upper: Array) -> Array:
    """`end` within limits, widened to where the joint is already."""
    return np.clip(end, np.minimum(lower, q), np.maximum(upper, q))
