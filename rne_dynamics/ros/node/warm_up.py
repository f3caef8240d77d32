"""Configures nodes once, for the machine code that they need: `rne warmup`."""

from __future__ import annotations

from collections.abc import Sequence

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
from rne_dynamics.ros.effort_gate import EffortGateNode
from rne_dynamics.ros.gravity_compensation import GravityCompensationNode
from rne_dynamics.ros.loop.process import LocalLoop
from rne_dynamics.ros.simulator import SimulatorNode


def configure_nodes(robot: str, parameter: str, joints: Sequence[str] = ()) -> None:
    """Configure controllers, gate and simulator as on a robot, given by a parameter, and activate none."""
    chosen = ["-p", f"joints:=[{', '.join(joints)}]"] if joints else []
    rclpy.init(
        args=["--ros-args", "--log-level", "error", "-r", "__ns:=/rne_warmup", "-p", f"{parameter}:={robot}", *chosen]
    )
    for make in (
        lambda: ComputedTorqueController(LocalLoop()), lambda: GravityCompensationNode(LocalLoop()),
        EffortGateNode, SimulatorNode,
    ):  # fmt: skip
        node = make()
        if node.trigger_configure() != TransitionCallbackReturn.SUCCESS:
            raise RneDynamicsError(f"node {node.get_name()} has refused {robot}")
        node.destroy_node()
    rclpy.shutdown()
