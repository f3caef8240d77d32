"""A simulated arm whose tool follows a pose that somebody drags: the Cartesian law along the joints' way there."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.laws.cartesian_impedance import CartesianImpedance
from rne_dynamics.control.streaming.limits import default_acceleration
from rne_dynamics.control.streaming.pose_following import PoseFollower, PoseLimits
from rne_dynamics.dynamics.kinematics.inverse_kinematics import frame_row
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Joints from which on the turn of the target counts; fewer cannot have any pose.
TURNING = 6


class FollowedTarget:
    """The law of a link of an open arm, and the reference to its target within `speed`, (n,), every `step`, s."""

    def __init__(self, robot: RobotModel, link: str, speed: Array, step: float) -> None:
        acceleration = default_acceleration(robot, speed, robot.effort_limit)
        bounds = np.array([robot.lower, robot.upper, speed, acceleration])
        self._follower = PoseFollower(robot, PoseLimits(link, turns=robot.n >= TURNING), bounds)
        self._step, self._aimed = step, False
        self.law = CartesianImpedance(robot, link, rate=1.0 / step)

    def place(self, q: Array) -> None:
        """Begin at rest at a posture, (n,), without a target."""
        self._follower.place(q, np.zeros(len(q)))
        self._aimed = False

    def aim(self, R: Array, p: Array) -> None:
        """Follow a pose of the link in the root link's frame: turn (3, 3), place (3,), m."""
        self._follower.aim(frame_row(R, p))
        self._aimed = True

    def reference(self) -> Reference:
        """The reference one step later."""
        before = self._follower.qd.copy()
        if self._aimed:
            self._follower.step(self._step)
        qd = self._follower.qd.copy()
        return Reference(self._follower.q.copy(), qd, (qd - before) / self._step)

    def text(self, q: Array) -> str:
        """How it goes with the joints at `q`, (n,): also which limits bind; empty without a target."""
        if not self._aimed:
            return ""
        return self._follower.outcome(q)[1] if self._follower.resting else "moving to the target"
