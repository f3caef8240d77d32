"""Moves as fast as the limits of a controller allow; gentler ones where it refuses them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.motion.retiming import retimed
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.dynamics.declared.arguments import check_open_arm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel

#: Accelerations of a gentler motion, in those of the one that was refused; least part of the first one's that is tried.
GENTLER, LEAST = 0.5, 0.05


class FastestMotion:
    """Plans motions of an open arm along paths with `retimed`; limits in force, (n,), by default the robot's."""

    def __init__(
        self, robot: RigidRobot, velocity: Array | None = None, effort: Array | None = None, rate: Array | None = None
    ) -> None:
        check_open_arm(robot)
        assert isinstance(robot, RobotModel)
        self._robot = replace(
            robot, velocity_limit=robot.velocity_limit if velocity is None else velocity,
            effort_limit=robot.effort_limit if effort is None else effort,
        )
        self._rate, self._share = rate, 1.0
        self._acceleration: Array | None = None
        self._planned: SampledTrajectory | None = None

    def along(self, path: ArrayLike | SampledTrajectory) -> SampledTrajectory:
        """The fastest motion along a path, which may begin outside the position limits; errors as of `retimed`."""
        start = path.positions[0] if isinstance(path, SampledTrajectory) else np.asarray(path)[0]
        robot = self._robot
        robot = replace(robot, lower=np.minimum(robot.lower, start), upper=np.maximum(robot.upper, start))
        self._planned = retimed(robot, path, effort_rate=self._rate, acceleration=self._acceleration)
        return self._planned

    def be_gentler(self) -> float | None:
        """Let further motions have smaller accelerations than the last; their part of the first one's; None: enough."""
        self._share *= GENTLER
        if self._planned is None or self._share < LEAST:
            return None
        assert self._planned.accelerations is not None
        largest = np.abs(self._planned.accelerations).max(axis=0)
        self._acceleration = np.where(largest > 0.0, GENTLER * largest, np.inf)
        return self._share
