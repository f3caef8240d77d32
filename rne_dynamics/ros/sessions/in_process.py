"""Nodes in the process of a command: `move` for `rne send`, and all of them, only configured, for `rne warmup`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter as RosParameter

from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.move import MoveNode, Say
from rne_dynamics.ros.node.process import StopSignal, run
from rne_dynamics.ros.sessions.running_nodes import RunningModel, RunningNode


def send(
    controller: RunningNode, model: RunningModel, goal: Mapping[str, float], options: Mapping[str, Any], say: Say,
    path: SampledTrajectory | None = None,
) -> int:
    """Move the arm to a `goal`, rad or m by joint, by its controller's model; 0 if it arrived.

    After a signal, KeyboardInterrupt at rest.
    """
    values = {
        **model.parameters, **options, "controller": controller.name, "goal": [float(x) for x in goal.values()],
        "goal_joints": list(goal),
    }
    overrides = [RosParameter(name, value=value) for name, value in values.items()]
    arguments = ["--ros-args", "-r", f"__ns:={controller.namespace}", "-r", f"joint_states:={controller.topic}",
                 "--log-level", "warn"]
    signals = StopSignal(restored=True)
    code = run(lambda: MoveNode(overrides, say, (model.velocity, model.effort, model.rate), path), arguments, signals)
    if signals.requested:
        raise KeyboardInterrupt
    return code


def configure_nodes(robot: str, parameter: str, joints: Sequence[str] = ()) -> None:
    """Configure controllers, gate and simulator once, for their machine code, on a robot given by a parameter."""
    # here: `rne send` needs none of them
    from rne_dynamics.ros.computed_torque_controller import ComputedTorqueController
    from rne_dynamics.ros.effort_gate import EffortGateNode
    from rne_dynamics.ros.gravity_compensation import GravityCompensationNode
    from rne_dynamics.ros.loop.process import LocalLoop
    from rne_dynamics.ros.simulator import SimulatorNode

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
