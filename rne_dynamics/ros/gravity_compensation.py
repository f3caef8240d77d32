"""Gravity compensation over ROS 2: the arm floats and can be guided by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.effort_node import EffortNode
from rne_dynamics.ros.loop.process import LoopProcess, control_process
from rne_dynamics.ros.node.command_line import read_command_line
from rne_dynamics.ros.node.process import run
from rne_dynamics.ros.parameters.controller import CONTROLLER, controller_settings, damping_parameter
from rne_dynamics.ros.parameters.files import Parameter, Values

DAMPING = "gains.{joint}.d"
#: Friction is compensated by the measured speed, which has noise; too much of it makes an arm creep: none by default.
_DEFAULTS = {"friction_compensation": 0.0, "friction_velocity_threshold": 0.01}

SCHEMA: tuple[Parameter, ...] = (
    *(replace(p, default=_DEFAULTS.get(p.name, p.default)) for p in CONTROLLER),
    damping_parameter(DAMPING, "Damping against the motion."),
)


class GravityCompensationNode(EffortNode):
    """The node `gravity_compensation`: the arm floats as soon as the start-up check is passed."""

    damping = DAMPING

    def __init__(self, control: LoopProcess) -> None:
        super().__init__("gravity_compensation", SCHEMA, control)

    def settings(self, robot: RigidRobot, values: Values) -> Settings:
        """Law, limits and stops."""
        return controller_settings(robot, values, law=None, damping=self.damping)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("gravity_compensation", __doc__, GravityCompensationNode.all_parameters(SCHEMA), argv)
    with control_process(argv) as control:
        return run(lambda: GravityCompensationNode(control), argv)


if __name__ == "__main__":
    raise SystemExit(main())
