"""Configures nodes once, for the kernels that this compiles: `rne warmup`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
from rne_dynamics.ros.effort_gate import EffortGateNode
from rne_dynamics.ros.gravity_compensation import GravityCompensationNode
from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.loop_interface import LocalLoop
from rne_dynamics.ros.simulator import SimulatorNode

#: Constructors of the nodes that need kernels, by the name of the executable.
NODES: dict[str, Callable[[], ArmNode]] = {
    "computed_torque_controller": lambda: ComputedTorqueController(LocalLoop()),
    "gravity_compensation": lambda: GravityCompensationNode(LocalLoop()),
    "effort_gate": EffortGateNode,
    "simulator": SimulatorNode,
}


def configure_nodes(robot: str, *, model: bool, joints: Sequence[str] = ()) -> None:
    """Configure controllers, gate and simulator as on a robot, in a namespace of their own, and activate none.

    Parameters
    ----------
    robot
        The robot's name or file.
    model
        Whether it is a model file rather than a URDF.
    joints
        The joints to drive; empty for all.

    Raises
    ------
    RneDynamicsError
        A node has refused the robot.
    """
    parameter = "model" if model else "robot_description"
    chosen = ["-p", f"joints:=[{', '.join(joints)}]"] if joints else []
    rclpy.init(
        args=["--ros-args", "--log-level", "error", "-r", "__ns:=/rne_warmup", "-p", f"{parameter}:={robot}", *chosen]
    )
    for make in NODES.values():
        configure(make, robot)
    rclpy.shutdown()


def configure(make: Callable[[], ArmNode], robot: str) -> None:
    """Make a node, configure it and destroy it; raises as `configure_nodes`."""
    node = make()
    if node.trigger_configure() != TransitionCallbackReturn.SUCCESS:
        raise RneDynamicsError(f"node {node.get_name()} has refused {robot}")
    node.destroy_node()
