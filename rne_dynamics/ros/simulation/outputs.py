"""Topics that the simulator publishes in each period: clock, motion of the base, joint states, deflections."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.cdr import PreparedMessage
from rne_dynamics.ros.messages.deflections import DeflectionsPublisher
from rne_dynamics.ros.messages.qos import OFFERED
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.ros.simulation.base import BasePublisher
from rne_dynamics.simulation.plant.state import State


class SimulatorOutputs:
    """Publishes the state of the simulation.

    `node`: the simulator. `robot`: its joints; of a mechanism all joints are published, the driven ones first.
    `locked`: positions of the joints that are locked out of the model, rad or m: viewers need them too. `topic`: of the
    joint states. `publish_clock`: whether to publish /clock. `base`, `deflections`: publishers of the motion of the
    base and of deflections, if any.
    """

    def __init__(
        self, node: ArmNode, robot: RigidRobot, locked: Mapping[str, float], topic: str, *, publish_clock: bool,
        base: BasePublisher | None, deflections: DeflectionsPublisher | None,
    ) -> None:
        self._places = np.concatenate([robot.actuated, robot.passive])
        names = [robot.open_tree.joint_names[k] for k in self._places]
        zeros, rest = [0.0] * len(names), [0.0] * len(locked)
        self._message = PreparedMessage(
            JointState(
                name=[*names, *locked], position=[*zeros, *locked.values()], velocity=[*zeros, *rest],
                effort=[*zeros, *rest],
            ),
            "position", "velocity", "effort",
        )
        position, velocity, effort = self._message.numbers
        self._position, self._velocity = position[: len(names)], velocity[: len(names)]
        self._effort = effort[: robot.n]
        self._states = node.keep(node.create_publisher(JointState, topic, OFFERED))
        self._clock_message = Clock()
        self._clock = node.keep(node.create_publisher(Clock, "/clock", OFFERED)) if publish_clock else None
        #: The topic of the clock; empty if it is not published.
        self.clock_topic = "" if self._clock is None else str(self._clock.topic_name)
        self._base, self._deflections = base, deflections

    def note_motion(self, state: State) -> None:
        """Take positions and velocities of all joints, to be published next."""
        self._motion = state.q, state.qd
        if state.posture is not None and state.tree_qd is not None:
            self._motion = state.posture[self._places], state.tree_qd[self._places]

    def publish(self, stamp: int, state: State, effort: Array) -> None:
        """Publish the motion noted last, and the rest of the `state`, with the driven joints' `effort`, (n,).

        `stamp` is the time of the state, ns. The clock comes before the joint state, whose answer may need the time.
        """
        self._message.stamp(stamp)
        self._position[:], self._velocity[:] = self._motion
        self._effort[:] = effort
        clock = self._clock_message.clock
        clock.sec, clock.nanosec = divmod(stamp, NANOSECONDS)
        if self._clock is not None:
            self._clock.publish(self._clock_message)
        if self._base is not None:
            self._base.publish(stamp, state.t)
        self._message.publish(self._states)
        if self._deflections is not None:
            assert state.delta is not None
            assert state.deltad is not None
            self._deflections.publish(stamp, state.delta, state.deltad)

    def repeat(self, state: bool) -> None:
        """Publish the last time once more, and the joint state too if `state`."""
        if self._clock is not None:
            self._clock.publish(self._clock_message)
        if state:
            self._message.publish(self._states)
