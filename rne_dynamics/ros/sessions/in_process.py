"""The node `move` in the process of `rne send`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.parameter import Parameter as RosParameter

from rne_dynamics.control.trajectory import SampledTrajectory
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
