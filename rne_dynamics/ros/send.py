"""One motion of a running controller for `rne send`: the node `move` with the controller's own model and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.parameter import Parameter as RosParameter

from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.move import MoveNode
from rne_dynamics.ros.process import run
from rne_dynamics.ros.running_model import RunningModel
from rne_dynamics.ros.running_nodes import RunningNode
from rne_dynamics.ros.stop_signal import StopSignal

#: Reports a text; the second argument says whether it is an error.
Say = Callable[[str, bool], None]


class SendNode(MoveNode):
    """As `MoveNode`; reports by `say`, and the velocity limits are those of the controller.

    Parameters
    ----------
    model
        Of the controller.
    say
        Reports.
    overrides
        Parameters.
    """

    def __init__(self, model: RunningModel, say: Say, overrides: list[RosParameter]) -> None:
        super().__init__(overrides)
        self._model, self._say = model, say

    def velocity_limit(self) -> Array:
        """The controller's limits."""
        return self._model.velocity

    def say(self, text: str, *, error: bool = False) -> None:
        """Report to the user."""
        self._say(text, error)


def send(
    controller: RunningNode, model: RunningModel, goal: Mapping[str, float], options: Mapping[str, Any], say: Say
) -> int:
    """Move the arm; 0 if it has arrived. After SIGINT or SIGTERM, KeyboardInterrupt once the arm is at rest.

    Parameters
    ----------
    controller, model
        Who moves it.
    goal
        Positions by joint, rad or m; other joints stay.
    options
        Parameters of the node `move`: duration, velocity_scale, tolerance, timeout.
    say
        Reports.
    """
    values = {
        **model.parameters, **options, "controller": controller.name, "goal": [float(x) for x in goal.values()],
        "goal_joints": list(goal),
    }
    overrides = [RosParameter(name, value=value) for name, value in values.items()]
    arguments = ["--ros-args", "-r", f"__ns:={controller.namespace}", "-r", f"joint_states:={controller.topic}",
                 "--log-level", "warn"]
    signals = StopSignal(restored=True)
    code = run(lambda: SendNode(model, say, overrides), arguments, signals)
    if signals.requested:
        raise KeyboardInterrupt
    return code
