"""Joint motion towards a pose, step by step: a filtered pose moves to the target, and the joints follow it.

- The filtered pose moves in a straight line and about one axis, within limits of speed and acceleration.
- The joints follow it by damped least squares (`dynamics.kinematics.pose_steps`), within their limits of position,
  velocity and acceleration. Where the pose leaves them free they stay near a posture.
- Where the joints lag behind, the filtered pose waits for them.
- Where the distance to the target has not shrunk for some time, the joints come to rest.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import Outcome, Tolerances
from rne_dynamics.control.parameters import check_parameters, parameter
from rne_dynamics.control.streaming.limits import ACCELERATION, VELOCITY, StreamLimits
from rne_dynamics.control.streaming.stream import REST_PART, Stream
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.dynamics.kinematics.inverse_kinematics import (
    UnreachablePoseError,
    binding_text,
    found_posture,
    limits_that_bind,
    pose_task,
)
from rne_dynamics.dynamics.kinematics.pose_steps import (
    FRAME_COLUMNS,
    PLACE,
    TURN,
    Task,
    Work,
    damped_step,
    link_placement,
    placement_kernel,
    pose_error,
    work_for,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.rows import matrix_at, product, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import Vector, add, compose, dot, rotation_of, scale, subtract

#: Natural frequency of the filtered pose, rad/s, and gain with which the joints follow it, 1/s.
POSE_FREQUENCY, POSE_GAIN = 20.0, 20.0
#: Speed at which the joints make up for a lead of the filtered pose, as a part of its largest speed.
POSE_CATCH_UP = 0.25
#: Damping: constant part, m, and part of the square of the distance to the filtered pose.
POSE_DAMPING, DISTANT = 0.003, 0.1
#: Rate at which the joints of a redundant arm return to the posture, 1/s.
RETURN = 0.5
#: Largest distance between the filtered pose and the joints', m and rad.
POSE_LEASH, POSE_TWIST = 0.05, 0.3
#: Part of acceleration limits with which stops are planned, and of the joints' limits that are used at all.
BRAKE, SHARE = 0.7, 0.9
#: Longest step, s. Longer ones are divided.
POSE_SUBSTEP = 0.004
#: Distance at which the motion ends, m and rad, and at which a target counts as reached if it does not shrink further.
POSE_END, POSE_END_TURN, POSE_NEAR, POSE_NEAR_TURN = 2e-5, 2e-4, 2e-4, 1e-3
#: Speed below which the pose is at rest, as a part of its limits.
SLOW = 1e-3
#: Part by which the distance to the target must shrink in the patience, and least distance that counts, m.
PROGRESS, LEAST_PROGRESS = 0.02, 1e-5

#: Distance of the joints from the posture of a detour below which the pose leads again, rad or m.
ARRIVED = 1e-3

#: Step and longest time of a trial, s.
TRIAL_STEP, LONGEST_WAY = 0.02, 30.0

# rows of a twist
LINEAR, ANGULAR = 0, 1


@dataclass(frozen=True)
class PoseLimits:
    """How a link moves to a pose. Raises ControlError: a number that is not above 0."""

    #: Name of the link, and of the tool: its frame (4, 4) in the link's, or a position; None for the link's frame.
    link: str
    tool: Any = None
    speed: float = parameter(0.5, "Speed of this point.", "m/s", lower=1e-3, upper=10.0)
    acceleration: float = parameter(2.0, "Its acceleration.", "m/s^2", lower=1e-2, upper=100.0)
    turn_speed: float = parameter(1.5, "Speed at which the link turns.", "rad/s", lower=1e-3, upper=20.0)
    turn_acceleration: float = parameter(6.0, "Its acceleration.", "rad/s^2", lower=1e-2, upper=200.0)
    #: Whether the link's turn is to be reached too.
    turns: bool = True
    #: Time without progress after which the target is out of reach, s.
    patience: float = 0.5

    def __post_init__(self) -> None:
        check_parameters(self, "target_pose.")


@helper
def _towards(left: Vector, v: Vector, top: float, most: float, dt: float) -> Vector:
    """The velocity after a step: critically damped near the target, as fast as it can be braked further out."""
    d = math.sqrt(dot(left, left))
    speed = min(0.5 * POSE_FREQUENCY * d, top, math.sqrt(2.0 * BRAKE * most * d))
    wanted = scale(speed / d if d > 0.0 else 0.0, left)
    a = scale(2.0 * POSE_FREQUENCY, subtract(wanted, v))
    size = math.sqrt(dot(a, a))
    return add(v, scale(dt * (most / size if size > most else 1.0), a))


@helper
def _leashed(e: Vector, v: Vector, behind: Vector, length: float) -> tuple[Vector, Vector]:
    """The lead e of the filtered pose, shortened to a length, and its velocity, which lengthens it no more."""
    d = math.sqrt(dot(e, e))
    if d <= length:
        return e, v
    outwards = max(dot(e, subtract(v, behind)), 0.0) / (d * d)
    return scale(length / d, e), subtract(v, scale(outwards, e))


@helper
def _velocity(J: Array, qd: Array, row: int) -> Vector:
    """Three rows of J q̇."""
    return product(J[row], qd), product(J[row + 1], qd), product(J[row + 2], qd)


@helper
def _catching_up(e: Vector, top: float) -> Vector:
    """The velocity, besides the filtered pose's own, that makes up for its lead e."""
    d = math.sqrt(dot(e, e))
    return scale(min(POSE_GAIN, POSE_CATCH_UP * top / d) if d > 0.0 else POSE_GAIN, e)


@kernel
def move_kernel(q: Array, qd: Array, step: Array, bounds: Array, rates: Array, speed: float, dt: float) -> None:
    """Move joints for a time with velocities near `step`, all slowed down alike, each within its limits."""
    n, slower = q.shape[0], 1.0
    for j in range(n):
        most = speed * rates[0, j]
        if abs(step[j]) > most:
            slower = min(slower, most / abs(step[j]))
    for j in range(n):
        v, change = slower * step[j], rates[1, j] * dt
        left = max(bounds[1, j] - q[j] if v > 0.0 else q[j] - bounds[0, j], 0.0)
        top = math.sqrt(2.0 * BRAKE * rates[1, j] * left) if left < 1e9 else abs(v)
        v = min(max(min(max(v, -top), top), qd[j] - change), qd[j] + change)
        before = q[j]
        q[j] = min(max(before + v * dt, bounds[0, j]), bounds[1, j])
        qd[j] = (q[j] - before) / dt


@kernel
def follow_pose_kernel(
    task: Task, pose: Array, twist: Array, joints: Array, rates: Array, limits: Array, speed: float, dt: float,
    work: Work, report: Array,
) -> None:
    """Move the filtered pose (1, FRAME_COLUMNS), its `twist` (2, 3) and the `joints`' q and qd (2, n) on by dt, s."""
    # rates (2, n): velocity and acceleration limits; limits (4,): speed, acceleration, those of turning; report (2,):
    # distance of the joints' pose from the target, m and rad
    q, qd, weight = joints[0], joints[1], task.weight
    steps = max(math.ceil(dt / POSE_SUBSTEP - 1e-6), 1)
    h = dt / steps
    for _ in range(steps):
        way, turn = pose_error(task.target, (matrix_at(pose, 0, TURN), vector_at(pose, 0, PLACE)))
        v = _towards(way, vector_at(twist, LINEAR, 0), speed * limits[0], limits[1], h)
        w = _towards(turn, vector_at(twist, ANGULAR, 0), speed * limits[2], limits[3], h)
        put(pose, 0, PLACE, add(vector_at(pose, 0, PLACE), scale(h, v)))
        put_matrix(pose, 0, TURN, compose(rotation_of(scale(h, w)), matrix_at(pose, 0, TURN)))
        here = link_placement(task.arm, task.body, task.frame, q, work.J)
        way, turn = pose_error(pose, here)
        way, v = _leashed(way, v, _velocity(work.J, qd, 0), POSE_LEASH)
        turn, w = _leashed(turn, w, _velocity(work.J, qd, 3), POSE_TWIST)
        put(pose, 0, PLACE, add(here[1], way))
        put_matrix(pose, 0, TURN, compose(rotation_of(turn), here[0]))
        put(twist, LINEAR, 0, v)
        put(twist, ANGULAR, 0, w)
        v, w = add(v, _catching_up(way, speed * limits[0])), add(w, _catching_up(turn, speed * limits[2]))
        for i in range(3):
            work.e[i], work.e[3 + i] = v[i], weight * w[i]
            for j in range(q.shape[0]):
                work.J[3 + i, j] *= weight
        for j in range(q.shape[0]):
            work.p[j] = RETURN * (task.posture[j] - q[j]) if q.shape[0] > 6 else 0.0
        distant = dot(way, way) + weight * weight * dot(turn, turn)
        damped_step(work.J, POSE_DAMPING * POSE_DAMPING + DISTANT * distant, q, task.bounds, work)
        move_kernel(q, qd, work.step, task.bounds, rates, speed, h)
    way, turn = pose_error(task.target, link_placement(task.arm, task.body, task.frame, q, work.J))
    report[0], report[1] = math.sqrt(dot(way, way)), math.sqrt(dot(turn, turn))


class PoseFollower:
    """Joint positions and velocities on the way to a pose, within bounds (4, n): positions, velocity, acceleration."""

    def __init__(self, robot: RobotModel, limits: PoseLimits, bounds: Array) -> None:
        self.robot, self.limits = robot, limits
        self._task = pose_task(robot, limits.link, np.eye(4) if limits.turns else np.zeros(3), tool=limits.tool)
        self._limits = np.array([limits.speed, limits.acceleration, limits.turn_speed, limits.turn_acceleration])
        self._work = work_for(robot.n)
        self._pose, self._twist, self._joints = np.zeros((1, FRAME_COLUMNS)), np.zeros((2, 3)), np.zeros((2, robot.n))
        #: Positions and velocities, rad or m and per s; shape (n,) each.
        self.q, self.qd = self._joints
        self._report = np.zeros(2)
        self.limit(bounds)
        #: Where the joints go first, (n,); None where the pose leads at once.
        self.detour: Array | None = None
        self.resting = False
        self._best, self._since = math.inf, 0.0

    def posture_for(self, target: Array) -> Array | None:
        """A posture, (n,), through which the joints reach a pose; None if the straight way does, or none."""
        ahead = PoseFollower(self.robot, self.limits, self._table)
        ahead.place(self.q, self.qd)
        ahead.aim(target)
        for _ in range(round(LONGEST_WAY / TRIAL_STEP)):
            ahead.step(TRIAL_STEP)
            if ahead.resting:
                break
        if ahead.reached:
            return None
        with suppress(UnreachablePoseError):
            task = self._task._replace(target=target, bounds=self._table[:2])
            return found_posture(self.robot, self.limits.link, task, self.q)
        return None

    def limit(self, bounds: Array) -> None:
        """Keep other bounds from now on; a joint that is outside them may move, but not further out."""
        self._table, self._rates = bounds, SHARE * bounds[2:4]
        np.minimum(bounds[0], self.q, out=self._task.bounds[0])
        np.maximum(bounds[1], self.q, out=self._task.bounds[1])

    def place(self, q: Array, qd: Array) -> None:
        """Begin at a state of the joints; the filtered pose moves with them."""
        self.q[:], self.qd[:] = q, qd
        self.limit(self._table)
        self._task.posture[:] = q
        J = self._work.J
        placement_kernel(self._task, self.q, J, self._pose)
        self._twist[LINEAR], self._twist[ANGULAR] = J[:3] @ qd, J[3:] @ qd

    def aim(self, target: Array, detour: Array | None = None) -> None:
        """Move to a pose (1, FRAME_COLUMNS), through a posture (n,) where one is given."""
        self._task.target[:] = target
        self.detour, self.resting, self._best, self._since = detour, False, math.inf, 0.0

    def step(self, dt: float, speed: float = 1.0) -> None:
        """Move on by dt, s; `speed` as for `follow_pose_kernel`."""
        if dt <= 0.0:
            return
        if self.resting or self.detour is not None:
            move_kernel(self.q, self.qd, self._along(speed, dt), self._task.bounds, self._rates, 1.0, dt)
            return
        follow_pose_kernel(
            self._task, self._pose, self._twist, self._joints, self._rates, self._limits, speed, dt, self._work,
            self._report,
        )
        left = math.hypot(self._report[0], self._task.weight * self._report[1])
        if left < (1.0 - PROGRESS) * self._best - LEAST_PROGRESS:
            self._best, self._since = left, 0.0
        else:
            self._since += speed * dt
        turns = self.limits.turns
        there = self._report[0] <= POSE_END and (self._report[1] <= POSE_END_TURN or not turns)
        slow = np.abs(self._twist).max(axis=1) <= SLOW * self._limits[::2]
        self.resting = (there and bool(slow[: 1 + turns].all())) or self._since > self.limits.patience

    def _along(self, speed: float, dt: float) -> Array:
        """Velocities of the joints coming to rest, or straight to the posture of a detour, all of them together."""
        if self.detour is None or self.resting:
            slower = dt / max((np.abs(self.qd) / self._rates[1]).max(), dt)
            return np.asarray((1.0 - slower) * self.qd)
        d = np.clip(self.detour, *self._task.bounds) - self.q
        left = np.abs(d)
        if left.max() < ARRIVED:
            self.detour = None
            self.place(self.q.copy(), self.qd.copy())
            return self.qd
        fastest, most = np.min(self._rates / np.maximum(left, ARRIVED), axis=1)  # of the way, per s and per s²
        return np.asarray(min(speed * fastest, math.sqrt(2.0 * BRAKE * most), 0.5 * POSE_FREQUENCY) * d)

    @property
    def reached(self) -> bool:
        """Whether the joints' pose is the target."""
        near = self._report[0] <= POSE_NEAR
        return bool(near and (self._report[1] <= POSE_NEAR_TURN or not self.limits.turns))

    def outcome(self, q: Array) -> tuple[bool, str]:
        """Whether the target is reached, and how far the link is from it with the joints at `q`, measured, (n,)."""
        here = np.empty((1, FRAME_COLUMNS))
        placement_kernel(self._task, q, self._work.J, here)
        way, turn = pose_error(self._task.target, (matrix_at(here, 0, TURN), vector_at(here, 0, PLACE)))
        off, angle = math.hypot(*way), f" and {math.hypot(*turn):.2g} rad" if self.limits.turns else ""
        if self.reached:
            return True, f"link {self.limits.link!r} is at the pose, {off:.2g} m{angle} off"
        held = limits_that_bind(self.robot, self._work.held)
        why = binding_text(self.robot, held) or "out of reach, or not on the straight way"
        return False, f"link {self.limits.link!r} has come to rest {off:.3g} m{angle} away; {why}"


#: Distance of the reference from the follower's joints at the end, rad or m.
AT_AIM = 1e-5


class PoseStream(Stream):
    """Joint motion to a pose, which other poses may replace on the way; it ends at rest, at the pose or near it."""

    name = "pose target"

    def __init__(
        self, robot: RobotModel, limits: StreamLimits, tolerances: Tolerances, pose_limits: PoseLimits
    ) -> None:
        super().__init__(limits, tolerances)
        self._follower = PoseFollower(robot, pose_limits, limits.table)

    def aim(self, target: Array, detour: Array | None = None) -> None:
        """As `PoseFollower.aim`."""
        self._follower.aim(target, detour)

    def adopt(self, limits: StreamLimits, tolerances: Tolerances) -> None:
        """As `Stream.adopt`."""
        super().adopt(limits, tolerances)
        self._follower.limit(limits.table)

    def begin(self, stamp: int, now: Reference, *, rate: float = 1.0, slope: float = 0.0) -> None:
        """Go on from the reference `now` at `stamp`, ns."""
        super().begin(stamp, now, rate=rate, slope=slope)
        self.prepare(now, stamp)
        self._received = stamp
        self._follower.place(now.q, now.qd)

    def advance(self, stamp: int, speed: float = 1.0) -> Reference:
        """As `Stream.advance`; the follower makes a step first, unless the motion is cancelled."""
        dt = (stamp - self._stamp) / NANOSECONDS
        if dt > 0.0 and not self.braking:
            self._follower.step(dt, min(max(speed, 0.0), 1.0))
            self.set(self._follower.q, self._follower.qd, stamp, stamp, dt)
        return super().advance(stamp, speed)

    def judge(self, stamp: int, q: Array, qd: Array) -> Outcome | None:
        """As `Stream.judge`, and how the motion has ended once it is at rest."""
        outcome = super().judge(stamp, q, qd)
        if outcome is not None or self.braking or not self._at_rest:
            return outcome
        reached, text = self._follower.outcome(q)
        return Outcome("succeeded" if reached else "unreached", text)

    @property
    def _at_rest(self) -> bool:
        follower, now, limits = self._follower, self.reference, REST_PART * self.limits.table
        if not follower.resting or follower.qd.any():
            return False
        slow = (np.abs(now.qd) <= limits[VELOCITY]) & (np.abs(now.qdd) <= limits[ACCELERATION])
        return bool((slow & (np.abs(now.q - follower.q) <= AT_AIM)).all())
