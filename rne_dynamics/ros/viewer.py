"""A web page with the arm as its topics report it; see docs/view.md."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.client import Client
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from rne_dynamics.control.control_law import TorqueTerms
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.joint_states import ordered
from rne_dynamics.ros.messages.publishers import force_message
from rne_dynamics.ros.messages.topic_wait import NEWEST, polled_subscription, take
from rne_dynamics.ros.node.command_line import read_command_line
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.ros.node.process import run
from rne_dynamics.ros.node.robot import description_source
from rne_dynamics.ros.parameters.files import Parameter
from rne_dynamics.viewer.controls import PushPanel
from rne_dynamics.viewer.page import FRAMES, HOST, PORT, Page

#: Age from which the page says that states or torques are missing, s.
STALE = 1.0
#: Messages that may wait for the next frame: a hand may publish its joints on the same topic.
MESSAGES_WAITING = 5

SCHEMA: tuple[Parameter, ...] = (
    Parameter("host", HOST, "Address of the page; 0.0.0.0 shows it to the whole network, without a password.",
              read_only=True),
    Parameter("port", PORT, "Port of the page; if it is in use, the next free one. The log has the URL.", "", 1, 65535,
              read_only=True),
    Parameter("rate", FRAMES, "Pictures per second.", "Hz", 1.0, FRAMES, read_only=True),
    Parameter("niceness", 10, "Niceness of the process; above 0 also SCHED_IDLE on Linux: no page on a computer that "
              "is never idle.", "", 0, 19, read_only=True),
    Parameter("controller", "computed_torque_controller", "Node whose ~/torque/* and ~/reference are shown; "
              "empty for none.", read_only=True),
    Parameter("simulator", "simulator", "Simulator that is paused, reset and pushed from the page; empty for a real "
              "arm.", read_only=True),
)  # fmt: skip


class Newest:
    """The newest message of a topic and the steady clock's time when it was taken, s."""

    def __init__(self, node: ArmNode, kind: type, topic: str, depth: int = 1) -> None:
        self._kind = kind
        self._subscription = node.keep(polled_subscription(node, kind, topic, NEWEST if depth == 1 else depth))
        self.topic = str(self._subscription.topic_name)
        self.message: Any = None
        self.at = -np.inf

    def take(self) -> bool:
        """Take the next message; whether there was one."""
        taken = take(self._subscription, self._kind)
        if taken is not None:
            self.message, self.at = taken[0], time.monotonic()
        return taken is not None

    @property
    def fresh(self) -> bool:
        """Whether it came within `STALE`."""
        return time.monotonic() - self.at < STALE


class ViewerNode(ArmNode):
    """The node `viewer`. It only listens, but for what is pressed on the page for a simulator."""

    live = False

    def __init__(self) -> None:
        super().__init__("viewer", SCHEMA)
        values = self.parameters
        niceness = values["niceness"]
        os.nice(niceness)
        if niceness > 0 and sys.platform == "linux":  # all others take the core at once; threads inherit it
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        self.page = Page(values["host"], values["port"])
        self.get_logger().info(f"the arm is shown on {self.page.url}")
        self.page.say(f"waiting for the robot description on {self.resolve_topic_name('robot_description')}")

    def build(self, robot: RigidRobot) -> None:
        """Show the robot, subscribe to its topics."""
        self.robot, page, values = robot, self.page, self.parameters
        page.clear()
        scene = page.add_robot(robot, description_source(self.model or self.description))
        for text in scene.missing[:5]:
            self.get_logger().warning(f"not shown: {text}")
        self._q, self._effort = np.array(robot.neutral, dtype=np.float64), np.full(robot.n, np.nan)
        self._states = Newest(self, JointState, "joint_states", MESSAGES_WAITING)
        controller, simulator = map(self.topic_of, ("controller", "simulator"))
        self._terms = {
            name: Newest(self, JointState, f"{controller}/torque/{name}")
            for name in (*TorqueTerms._fields, "command") if controller
        }
        self._desired = Newest(self, JointState, f"{controller}/reference") if controller else None
        if simulator:
            self._add_simulator(simulator)
        page.add_torques()
        if simulator:
            self._pushing = PushPanel(page, self._push)
        page.add_overlays()
        #: By link, the force, N, in the root link's axes, and the steady clock's time at which it ends, s.
        self._pushes: dict[str, tuple[Array, float]] = {}
        self.every(1.0 / values["rate"], self._frame)

    def release(self) -> None:
        """As the base, and empty the page."""
        super().release()
        self.page.clear()
        self.page.say("the viewer is not configured")

    # -- the picture --------------------------------------------------------------------------------------------------

    def _frame(self) -> None:
        self.page.serve()
        for _ in range(MESSAGES_WAITING):
            if not self._states.take():
                break
            self._read(self._states.message)
        for topic in (*self._terms.values(), *([self._desired] if self._desired else [])):
            topic.take()
        self._end_pushes()
        if not np.isfinite(self._states.at):
            self.page.say(
                f"waiting for joint states on {self._states.topic}: start the driver or the simulator", alarm=True
            )
            return
        joints = self.robot.joint_names
        terms = {name: ordered(t.message.name, t.message.effort, joints) for name, t in self._terms.items() if t.fresh}
        effort = terms.pop("command", self._effort)
        self.page.show(
            self._q, self._status(), effort=effort, terms=terms, reference=self._reference(),
            forces={link: force for link, (force, _) in self._pushes.items()},
        )

    def _read(self, message: JointState) -> None:
        """Take the joints that are in the message; others stay where they were."""
        joints = self.robot.joint_names
        q, effort = (ordered(message.name, values, joints) for values in (message.position, message.effort))
        self._q = np.where(np.isfinite(q), q, self._q)
        self._effort = np.where(np.isfinite(effort), effort, self._effort)

    def _reference(self) -> Array | None:
        if self._desired is None or not self._desired.fresh:
            return None
        q = ordered(self._desired.message.name, self._desired.message.position, self.robot.joint_names)
        return q if np.isfinite(q).all() else None

    def _status(self) -> str:
        silent = time.monotonic() - self._states.at
        if silent > STALE:
            return f"no joint state for {silent:.0f} s on {self._states.topic}: the arm is shown where it was"
        if self._terms and not any(topic.fresh for topic in self._terms.values()):
            return f"live; no torques of {self.parameters['controller']} are received"
        return "live"

    # -- the simulator ------------------------------------------------------------------------------------------------

    def _add_simulator(self, name: str) -> None:
        kinds = {"pause": SetBool, "step": Trigger, "reset": Trigger}
        self._requests: dict[str, Client] = {
            what: self.keep(self.create_client(kind, f"{name}/{what}")) for what, kind in kinds.items()
        }
        self._wrenches = self.keep(self.create_publisher(WrenchStamped, f"{name}/wrench", 10))
        self.page.add_buttons({
            "Pause": lambda: self._call("pause", SetBool.Request(data=True)),
            "Run": lambda: self._call("pause", SetBool.Request(data=False)),
            "Step": lambda: self._call("step", Trigger.Request()),
            "Reset": lambda: self._call("reset", Trigger.Request()),
        })  # fmt: skip

    def _call(self, what: str, request: Any) -> None:
        client = self._requests[what]
        if not client.service_is_ready():
            raise ArgumentError(f"service {client.srv_name} is not there; only a simulated arm can do that")

        def answered(future: Any) -> None:
            response = future.result()
            if not response.success:
                self.page.refuse(response.message)

        client.call_async(request).add_done_callback(answered)

    def _push(self, link: str, force: Array, seconds: float) -> None:
        if not self._wrenches.get_subscription_count():
            raise ArgumentError(f"nobody listens on {self._wrenches.topic_name}; only a simulated arm can be pushed")
        self._pushes[link] = force, time.monotonic() + seconds
        self._wrenches.publish(force_message(link, self.page.scene.poses[link][0].T @ force))

    def _end_pushes(self) -> None:
        for link in [link for link, (_, end) in self._pushes.items() if time.monotonic() > end]:
            del self._pushes[link]
            self._wrenches.publish(force_message(link, np.zeros(3)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("viewer", __doc__, ViewerNode.all_parameters(SCHEMA), argv)
    return run(ViewerNode, argv)


if __name__ == "__main__":
    raise SystemExit(main())
