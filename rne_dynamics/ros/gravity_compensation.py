"""Gravity compensation over ROS 2: the arm weighs nothing, and a hand can lead it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.ros.controller_parameters import CONTROLLER, controller_settings
from rne_dynamics.ros.effort_node import EffortNode
from rne_dynamics.ros.parameters import Parameter, Values, per_joint
from rne_dynamics.ros.process import run

SCHEMA: tuple[Parameter, ...] = (
    # by the measured speed, too much friction compensation sets an arm creeping: none unless it is asked for
    *(replace(p, default=0.0) if p.name == "friction_compensation" else p for p in CONTROLLER),
    Parameter("gains.{joint}.d", 1.0, "Damping against the motion.", "N m s/rad or N s/m", 0.0, 1e4),
)


class GravityCompensationNode(EffortNode):
    """The node `gravity_compensation`: floats as soon as the start-up check is passed."""

    def __init__(self) -> None:
        super().__init__("gravity_compensation", SCHEMA)

    def settings(self, robot: Machine, values: Values) -> Settings:
        """Law, limits and stops."""
        damping = np.array(per_joint(values, "gains.{joint}.d", robot.joint_names))
        return controller_settings(robot, values, gains=None, damping=damping)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    return run(GravityCompensationNode, argv)


if __name__ == "__main__":
    raise SystemExit(main())
