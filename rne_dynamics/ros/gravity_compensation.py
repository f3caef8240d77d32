"""Gravity compensation over ROS 2: the arm weighs nothing, and a hand can lead it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rne_dynamics.control.gravity_compensation import GravityCompensation
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.ros.computed_torque_controller import friction_compensation
from rne_dynamics.ros.effort_node import CONTROLLER, EffortNode
from rne_dynamics.ros.parameters import Parameter, Values, per_joint
from rne_dynamics.ros.process import run

SCHEMA: tuple[Parameter, ...] = (
    # by the measured speed, too much friction compensation sets an arm creeping: none unless it is asked for
    *(replace(p, default=0.0) if p.name == "friction_compensation" else p for p in CONTROLLER),
    Parameter("gains.{joint}.d", 1.0, "Damping against the motion.", "N m s/rad or N s/m", 0.0, 1e4),
)


class GravityCompensationNode(EffortNode):
    """The node `gravity_compensation`."""

    def __init__(self) -> None:
        super().__init__("gravity_compensation", SCHEMA)

    def settings(self, robot: Machine, values: Values) -> Callable[[], None]:
        """The law."""
        damping = np.array(per_joint(values, "gains.{joint}.d", robot.joint_names))
        law = GravityCompensation(robot, damping, friction_compensation(values))

        def swap() -> None:
            self._law = law

        return swap

    def law(self, stamp: int, q: Array, qd: Array) -> TorqueTerms:
        """Gravity, damping and friction compensation at the measured state."""
        return self._law.law(q, qd, posture=self.posture)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    return run(GravityCompensationNode, argv)


if __name__ == "__main__":
    raise SystemExit(main())
