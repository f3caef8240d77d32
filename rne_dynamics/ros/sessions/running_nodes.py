"""Nodes that run: found and listened to by a command; the robot of a running controller."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.srv import GetParameters, ListParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rne_dynamics.control.guards.effort_limits import RATE_TIME
from rne_dynamics.errors import ArgumentError, ControlError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.answers import LOOP
from rne_dynamics.ros.messages.topic_wait import LATCHED, NEWEST
from rne_dynamics.ros.node.command_line import own_context
from rne_dynamics.ros.node.robot import load_robot
from rne_dynamics.ros.parameters.table import payload, smaller_limit

#: Longest search, s.
DISCOVERY = 8.0
#: Longest wait for the topics of a node that is known, which a busy computer discovers late, s.
INTERFACES = 20.0
#: Time without a change of the graph after which no further node is expected, s: DDS announces a process every 3 s, and
#: the four processes of two arms were seen to be discovered over 3.4 s.
QUIET = 3.2
#: A service may receive a request before it discovers the client; its answer is lost then. Attempts, and s for each.
ATTEMPTS, ANSWER = 4, 1.0
TRIGGER, JOINT_STATE = "std_srvs/srv/Trigger", "sensor_msgs/msg/JointState"
EFFORTS = ("std_msgs/msg/Float64MultiArray", "control_msgs/msg/JointCommand")


class RunningNode:
    """One node by its full name, a "controller", "gate" or "simulator", with what it has published so far."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        #: / for the root.
        self.namespace = name.rpartition("/")[0] or "/"
        #: On ~/state; empty before the first message, and of a simulator.
        self.mode = ""
        #: Last status on /diagnostics, and its values.
        self.status: DiagnosticStatus | None = None
        self.values: dict[str, str] = {}
        #: Its joints, empty until it has answered for them.
        self.controlled: frozenset[str] = frozenset()
        #: Topic of its joint states, the last one of its joints, and when it came by the steady clock, s.
        self.topic = ""
        self.joints: JointState | None = None
        self.received_at = 0.0
        #: Its age when messages were last received, s; None before the first one. A later pause of this process does
        #: not count.
        self.age: float | None = None

    def note_age(self, now: float) -> None:
        """Note how old the last joint state is, after messages were received."""
        self.age = now - self.received_at if self.joints is not None else None


class Request:
    """A request that is sent again until a response comes, at most `ATTEMPTS` times; may be served more than once."""

    LONGEST = (ATTEMPTS + 1) * ANSWER

    def __init__(self, client: Any, request: Any) -> None:
        self._client, self._request = client, request
        self._futures: list[Any] = []
        self._again_at, self._give_up_at = 0.0, time.monotonic() + self.LONGEST
        self.over()

    @property
    def response(self) -> Any | None:
        """The response; None before there is one."""
        return next((future.result() for future in self._futures if future.done()), None)

    def over(self) -> bool:
        """Whether there is a response, or none will come; sends the request again when that is due."""
        now = time.monotonic()
        if self.response is not None or now >= self._give_up_at:
            return True
        if now >= self._again_at and len(self._futures) < ATTEMPTS and self._client.service_is_ready():
            self._futures.append(self._client.call_async(self._request))
            self._again_at = now + ANSWER
        return False


class RunningNodes(AbstractContextManager["RunningNodes"]):
    """The nodes that are found; a context that ends the listening."""

    def __init__(self) -> None:
        self._context = own_context()
        self._node: Node = rclpy.create_node("rne", context=self._context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        #: Those that run now, and all that were found.
        self.by_name: dict[str, RunningNode] = {}
        self.known: dict[str, RunningNode] = {}
        self._client = cache(self._node.create_client)
        self._lists: dict[str, Request] = {}
        self._graph: frozenset[object] = frozenset()
        self._changed_at = time.monotonic()
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 20)

    def __exit__(self, *exception: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    # -- what runs ----------------------------------------------------------------------------------------------------

    def of(self, kind: str) -> list[RunningNode]:
        """The nodes of one kind that are known, by name."""
        return [node for _, node in sorted(self.by_name.items()) if node.kind == kind]

    def look(self) -> None:
        """Listen to nodes that have come; forget those that have gone."""
        services, names = dict(self._node.get_service_names_and_types()), self._node.get_node_names_and_namespaces()
        graph: frozenset[object] = frozenset((*services, *names))
        if graph != self._graph:
            self._graph, self._changed_at = graph, time.monotonic()
        triggers = {name for name, kinds in services.items() if TRIGGER in kinds}
        found = {name.removesuffix("/stop"): "controller" for name in triggers
                 if name.endswith("/stop") and name.removesuffix("stop") + "recover" in triggers}
        found |= {name.removesuffix("/step"): "simulator" for name in triggers
                  if name.endswith("/step") and name.removesuffix("step") + "pause" in services}
        for name in self.by_name.keys() - found.keys():
            del self.by_name[name]
        for name, kind in found.items():
            if name not in self.by_name:
                self._listen(name, kind)
            self._follow(self.by_name[name])

    @property
    def complete(self) -> bool:
        """Whether nodes are found, and nothing of any node has been discovered for a while since."""
        return bool(self.by_name) and time.monotonic() - self._changed_at > QUIET

    def find(self, wanted: str | None, seconds: float = DISCOVERY) -> None:
        """Look until there is the `wanted` node, or a controller where all are found."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.spin(0.05)
            self.look()
            if wanted in self.by_name or (wanted is None and self.complete and self.of("controller")):
                return

    def controller(self, wanted: str | None) -> RunningNode:
        """The controller to command; `ControlError` where there is none, `ArgumentError` where several run."""
        self.find(wanted)
        controllers = self.of("controller")
        names = ", ".join(node.name for node in controllers) or "none"
        if wanted is not None:
            found = self.by_name.get(wanted)
            if found is None or found.kind != "controller":
                raise ControlError(f"no controller {wanted} answers; running controllers: {names}")
            return found
        if not controllers:
            raise ControlError(
                "no controller runs in this ROS domain; start one, or set ROS_DOMAIN_ID to the domain of the arm"
            )
        if len(controllers) > 1:
            raise ArgumentError(f"{len(controllers)} controllers run; choose one by --node: {names}")
        return controllers[0]

    # -- messages -----------------------------------------------------------------------------------------------------

    def spin(self, seconds: float, until: Callable[[], object] = lambda: False) -> bool:
        """Receive for so long, or until a condition holds; whether it does."""
        deadline = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            for node in self.known.values():
                node.note_age(now)
            if until():
                return True
            if now >= deadline:
                return False
            self._executor.spin_once(timeout_sec=min(deadline - now, 0.05))

    def ask(self, kind: type, name: str, request: Any) -> Request:
        """Send a request to a service; does not wait."""
        return Request(self._client(kind, name), request)

    def call(self, kind: type, name: str, request: Any) -> Any | None:
        """Call a service; its response, None if there is no answer."""
        asked = self.ask(kind, name, request)
        self.spin(Request.LONGEST, asked.over)
        return asked.response

    def trigger(self, node: RunningNode, service: str) -> Request:
        """Send a request to a Trigger service of a node; does not wait."""
        return self.ask(Trigger, f"{node.name}/{service}", Trigger.Request())

    def await_interfaces(self, node: RunningNode, seconds: float = INTERFACES) -> None:
        """Wait until state and joint states of a controller are discovered."""
        def known() -> bool:
            self.look()
            return bool(node.mode and node.topic)

        self.spin(seconds, known)

    def latched_text(self, topic: str, seconds: float) -> str:
        """The text on a latched topic; empty if none comes."""
        texts: list[String] = []
        subscription = self._node.create_subscription(String, topic, texts.append, LATCHED)
        self.spin(seconds, lambda: texts)
        self._node.destroy_subscription(subscription)
        return texts[-1].data if texts else ""

    def _listen(self, name: str, kind: str) -> None:
        node = self.by_name[name] = self.known[name] = RunningNode(name, kind)
        if kind == "simulator":
            return

        def on_mode(message: String) -> None:
            node.mode = message.data

        self._node.create_subscription(String, f"{name}/state", on_mode, LATCHED)

    def _follow(self, node: RunningNode) -> None:
        """Listen to the joint states that a node receives, once they are known."""
        if node.kind == "simulator":
            return
        namespace, _, own = node.name.rpartition("/")
        if any(set(kinds) & set(EFFORTS) for kinds in self._subscriptions(own, namespace).values()):
            node.kind = "gate"  # controllers publish efforts, gates receive them too
        if not node.controlled:
            self._ask_for_joints(node)
        if node.topic:
            return
        taken = self._subscriptions(own, namespace) | self._subscriptions(f"{own}{LOOP}", namespace)
        topics = [name for name, kinds in taken.items() if JOINT_STATE in kinds and name != f"{node.name}/setpoints"]
        usual = [name for name in topics if name.endswith("/joint_states")]
        if not usual and time.monotonic() - self._changed_at > QUIET:
            usual = topics  # under another name; while topics are discovered it may be that of setpoints
        if len(usual) == 1:
            (node.topic,) = usual

        def on_joints(message: JointState) -> None:
            ours = node.controlled and node.controlled.issubset(message.name)  # grippers and others share the topic
            if ours and len(message.position) == len(message.name):
                node.joints, node.received_at = message, time.monotonic()

        if node.topic:
            self._node.create_subscription(JointState, node.topic, on_joints, NEWEST)

    def _ask_for_joints(self, node: RunningNode) -> None:
        """Ask a node which joints it has limits of, again where no answer came."""
        asked = self._lists.get(node.name)
        if asked is not None and asked.response is not None:
            names = asked.response.result.names
            node.controlled = frozenset(name.split(".", 1)[1].rpartition(".")[0] for name in names) - {""}
        elif asked is None or asked.over():
            self._lists[node.name] = self.ask(
                ListParameters, f"{node.name}/list_parameters", ListParameters.Request(prefixes=["limits"])
            )

    def _subscriptions(self, name: str, namespace: str) -> dict[str, list[str]]:
        """Topics that a node subscribes to, with their types; none if it is not discovered yet."""
        try:
            return dict(self._node.get_subscriber_names_and_types_by_node(name, namespace or "/"))
        except NodeNameNonExistentError:
            return {}

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            node = self.by_name.get(status.name)
            if node is not None:
                node.status, node.values = status, {v.key: v.value for v in status.values}


# -- the robot of a running controller, and its limits, read from the controller's parameters --------------------------


#: Longest wait for a description on its topic, s.
DESCRIPTION = 3.0
PAYLOAD = tuple(f"payload.{part}" for part in ("link", "mass", "com", "inertia"))


@dataclass(frozen=True, eq=False)
class RunningModel:
    """Model and limits of a running controller."""

    #: The model, with payload.
    robot: RigidRobot
    #: The parameters that describe it to another node.
    parameters: dict[str, Any]
    #: Limits in force, infinite for none; (n,), rad or m, rad/s or m/s, N·m or N, and that per second.
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    rate: Array

    @property
    def home(self) -> Array:
        """The zero position, or the nearest one inside the limits; of a mechanism its posture; (n,)."""
        return np.clip(self.robot.neutral, self.lower, self.upper)


def read_model(nodes: RunningNodes, controller: RunningNode) -> RunningModel:
    """The model of a controller; `ControlError` where it does not answer, or cannot be read here."""
    model, description, joints, gravity = read_parameters(nodes, controller, "model", "robot_description", "joints",
                                                      "gravity")
    if not (model or description):
        topic = f"{controller.namespace.rstrip('/')}/robot_description"
        description = nodes.latched_text(topic, DESCRIPTION)
        if not description:
            raise ControlError(
                f"the description of {controller.name} is not known: its parameters name none, and nothing comes on "
                f"{topic}"
            )
    try:
        robot = load_robot(model or "", description or "", tuple(joints or ()), tuple(gravity or ())).robot.rigid
    except RneDynamicsError as error:
        raise ControlError(
            f"the description of {controller.name} cannot be read here: {error}. If it is a relative path, go to the "
            "folder in which the controller was started"
        ) from None
    load = dict(zip(PAYLOAD, read_parameters(nodes, controller, *PAYLOAD), strict=True))
    margin, velocity, effort, rate = (
        np.array(
            read_parameters(nodes, controller, *(f"limits.{name}.{key}" for name in robot.joint_names)), dtype=float
        )
        for key in ("position_margin", "velocity", "effort", "effort_rate")
    )
    named = {"model": model} if model else {"robot_description": description}
    named |= ({"gravity": list(gravity)} if gravity else {}) | (load if load["payload.link"] else {})
    effort = smaller_limit(effort, robot.effort_limit)
    return RunningModel(
        robot.with_payload(payload(load)), {**named, "joints": list(robot.joint_names)}, robot.lower + margin,
        robot.upper - margin, smaller_limit(velocity, robot.velocity_limit), effort,
        np.where(rate > 0.0, rate, effort / RATE_TIME),
    )


def path_tolerances(nodes: RunningNodes, controller: RunningNode, joints: Iterable[str]) -> dict[str, float]:
    """The parameters of a controller's path tolerances, rad or m, as they are."""
    names = [f"constraints.{name}.trajectory" for name in joints]
    return dict(zip(names, read_parameters(nodes, controller, *names), strict=True))


def set_parameters(nodes: RunningNodes, controller: RunningNode, values: Mapping[str, float]) -> None:
    """Set parameters of a controller; `ControlError` if it refuses."""
    request = SetParametersAtomically.Request(
        parameters=[RosParameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    )
    response = nodes.call(SetParametersAtomically, f"{controller.name}/set_parameters_atomically", request)
    if response is None or not response.result.successful:
        name, value = next(iter(values.items()))
        why = "it does not answer" if response is None else response.result.reason
        raise ControlError(f"{controller.name} does not take {name} = {value:g}: {why}")


def follows_trajectories(nodes: RunningNodes, controller: RunningNode) -> bool:
    """Whether a controller has a law for references; asked, since a topic may not be discovered yet."""
    return bool(_values(nodes, controller, "law"))


def read_parameters(nodes: RunningNodes, controller: RunningNode, *names: str) -> list[Any]:
    """Values of parameters, in their order."""
    values = _values(nodes, controller, *names)
    if len(values) != len(names):
        raise ControlError(f"{controller.name} has not all of the parameters {', '.join(names)}")
    return values


def _values(nodes: RunningNodes, controller: RunningNode, *names: str) -> list[Any]:
    """Values of parameters, in their order; none where one is not declared."""
    response = nodes.call(
        GetParameters, f"{controller.name}/get_parameters", GetParameters.Request(names=list(names))
    )
    if response is None:
        raise ControlError(f"{controller.name} does not answer for its parameters ({names[0]}, …)")
    return [parameter_value_to_python(value) for value in response.values]
