"""Pose targets as a motion: a stream whose setpoints are the steps of a `PoseFollower`."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.motion.limits import Outcome, Tolerances
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.streaming.limits import ACCELERATION, VELOCITY, StreamLimits
from rne_dynamics.control.streaming.pose_following import PoseFollower, PoseLimits
from rne_dynamics.control.streaming.stream import REST_PART, Stream
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

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
