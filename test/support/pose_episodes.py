"""Random episodes as `support.episodes` with pose targets, in and out of reach, single and as streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.episodes import Episode
from support.happenings import Happenings
from support.robots import deepest

import rne_dynamics as rne
from rne_dynamics.control.streaming.limits import StreamLimits, default_acceleration
from rne_dynamics.control.streaming.pose_following import PoseLimits
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.dynamics.kinematics.inverse_kinematics import pose_task


class PoseTargets(Happenings):
    """A pose target may happen; `link` moves to it."""

    link = ""
    targets = 0

    def does_pose(self) -> None:
        """A target, or a burst of targets along a line."""
        rng, robot = self.rng, self.robot
        pose = rne.forward_kinematics(robot, rne.random_configuration(robot, rng))[self.link]
        pose[:3, 3] *= float(rng.choice([1.0, 1.0, 2.0]))
        detour = rne.random_configuration(robot, rng) if rng.random() < 0.3 else None
        here = rne.forward_kinematics(robot, self.rig.supervisor.queue.reference.q)[self.link]
        for part in np.linspace(0.1, 1.0, int(rng.choice([1, 20]))):
            aim = pose.copy()
            aim[:3, 3] = (1.0 - part) * here[:3, 3] + part * pose[:3, 3]
            target = pose_task(robot, self.link, aim).target
            self.rig.supervisor.poses.aim(target, detour, lambda ending, text: self._say(f"{ending.value}: {text}"))
            self.targets += 1
            self.rig.run(0.02 if part < 1.0 else 0.0, corrupt=self._state, command=self.command)


class PoseEpisode(PoseTargets, Episode):
    """Half of what happens is a pose target."""

    def new_settings(self) -> Settings:
        made, robot = super().new_settings(), self.robot
        self.link, self.targets = deepest(robot), 0
        acceleration = default_acceleration(robot, robot.velocity_limit, robot.effort_limit)
        stream = StreamLimits(
            robot.joint_names, robot.lower, robot.upper, robot.velocity_limit, acceleration=acceleration
        )
        return replace(made, stream=stream, pose=PoseLimits(self.link, speed=float(self.rng.choice([0.2, 1.0]))))

    def happenings(self) -> list:
        others = super().happenings()
        return [*others, *([self.does_pose] * len(others))]
