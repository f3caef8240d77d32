"""The test's side of a node's topics: what publishes joint states, records efforts and calls services."""

from __future__ import annotations

import itertools
import math
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from faults.lockstep import Lockstep
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.ros.messages.publishers import write_stamp
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import LATCHED, OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

#: Longest wait for something that must come, s: no verdict on its speed, and only a test that fails takes so long.
PATIENCE = 180.0
#: The same for a node's start, s.
START = PATIENCE
#: Longest wait for the end of a node that nobody watches, s, before it is killed.
HURRIED = 5.0
#: Time after which a service is called again, s.
AGAIN = 5.0
#: Time between two joint states, s.
STEP = 0.01
#: Parameters of a controller that answers in full from the first state on, for tests about something else.
AT_ONCE: dict[str, object] = {"startup_check": {"duration": 0.0}, "start": {"ramp_time": 0.0}}
#: Parameters of a simulator whose time waits for the controller, and of the controller that follows it.
IN_STEP: dict[str, object] = {"publish_clock": True, "lockstep": True, "lockstep_timeout": 60.0}
FOLLOWING: dict[str, object] = {"use_sim_time": True}
#: Of a controller that goes on by itself after a gap in the states.
SEES_AGAIN: dict[str, object] = {**AT_ONCE, "recover_automatically": True}

#: Numbers of nodes and namespaces, none used twice.
NUMBERS = itertools.count()


def end_together(processes: Sequence[NodeProcess]) -> None:
    """End nodes whose stop nobody watches: a second signal cuts the release of the arm short."""
    for number in (signal.SIGINT, signal.SIGTERM):
        for process in processes:
            process.signal(number)
    for process in processes:
        with process:
            pass


class Peer:
    """The other side: publishes joint states, records commands, calls services.

    Commands are taken by hand, so no executor may spin `node`; services go through `caller`.
    """

    #: Efforts in the states that are published; none by default.
    reported: Sequence[float] = ()

    def __init__(self, namespace: str, joints: Sequence[str]) -> None:
        self.joints = list(joints)
        number = next(NUMBERS)
        self.node = rclpy.create_node(f"peer{number}", namespace=namespace)
        self.caller = rclpy.create_node(f"caller{number}", namespace=namespace)
        self.clients: dict[str, Client] = {}
        self.modes: dict[str, list[String]] = {}
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.caller)
        self.states = self.node.create_publisher(JointState, "joint_states", OFFERED)
        self.commands = TopicRecorder(self.node, Float64MultiArray, "effort_controller/commands", reliable=True)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.caller.destroy_node()

    def connect(self, process: NodeProcess, *, states: bool = True) -> None:
        """Wait until the node listens to our states and speaks to us."""
        wait_until(
            lambda: (self.states.get_subscription_count() or not states)
            and self.node.count_publishers(self.commands.topic),
            START, "the node's topics", [process],
        )

    def state(
        self, q: Sequence[float], qd: Sequence[float] | None = None, names: Sequence[str] | None = None,
        stamp: int | None = None,
    ) -> None:
        """Publish one joint state."""
        message = JointState(
            name=list(self.joints if names is None else names), position=list(map(float, q)),
            velocity=[0.0] * len(q) if qd is None else list(map(float, qd)), effort=list(map(float, self.reported)),
        )
        now = self.now() if stamp is None else stamp
        write_stamp(message.header, now)
        self._send(message)

    def _send(self, message: JointState) -> None:
        self.states.publish(message)

    def now(self) -> int:
        """The time of the arm's clock, ns."""
        return time.time_ns()

    def pass_time(self, seconds: float) -> None:
        """Let the arm's time pass, without joint states."""
        time.sleep(seconds)

    def efforts(self) -> list[list[float]]:
        """Commands that have come since the last call, in their order."""
        self.commands.drain()
        samples, self.commands.samples = self.commands.samples, []
        return [list(self.commands.decode(s).data) for s in samples]

    def quiet(self) -> None:
        """Wait for the answer to former messages; with a time limit, since efforts may come without a request."""
        for _ in range(10):
            self.efforts()
            time.sleep(0.02)
            if not self.efforts():
                return

    def answer(
        self, q: Sequence[float], qd: Sequence[float] | None = None, names: Sequence[str] | None = None,
        seconds: float = PATIENCE,
    ) -> list[float]:
        """The effort that answers a state; the state is repeated every `STEP` until then."""
        self.quiet()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.state(q, qd, names)
            self.pass_time(STEP)
            if got := self.efforts():
                return got[-1]
        raise AssertionError("no effort came")

    def lead(self, start: Sequence[float], end: Sequence[float], step: float = 0.005) -> list[list[float]]:
        """Publish states on the way from one place to another, at most `step` apart; the efforts that came."""
        self.quiet()
        efforts = []
        for q in np.linspace(start, end, 1 + math.ceil(np.abs(np.subtract(end, start)).max() / step)):
            self.state(q)
            self.pass_time(STEP)
            efforts += self.efforts()
        return efforts

    def stream(
        self, q: Sequence[float], seconds: float, until: Callable[[], object] = lambda: False
    ) -> list[list[float]]:
        """Publish a state again and again for so long of the arm's time; the efforts that came."""
        efforts, end = [], self.now() + round(seconds * 1e9)
        while self.now() < end and not until():
            self.state(q)
            self.pass_time(STEP)
            efforts += self.efforts()
        return efforts

    def silence(
        self, q: Sequence[float], qd: Sequence[float] | None = None, names: Sequence[str] | None = None
    ) -> None:
        """Publish a state some times and see that no effort answers."""
        self.quiet()
        for _ in range(4):
            self.state(q, qd, names)
            self.pass_time(STEP)
        assert self.efforts() == []

    def mode(self, node: str) -> str:
        """The newest published state of a controller; empty before the first one."""
        if node not in self.modes:
            self.modes[node] = []
            self.caller.create_subscription(String, f"{node}/state", self.modes[node].append, LATCHED)
        self.executor.spin_once(0.01)
        return self.modes[node][-1].data if self.modes[node] else ""

    def await_release(self, node: str, mode: str = "fault") -> None:
        """Wait until a controller has released the arm and is silent."""
        self.until(lambda: self.mode(node) == mode, f"the end of a stop of {node}")
        self.pass_time(0.15)  # its zeros go out several times, over 50 ms

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the arm's time pass, without joint states, until a condition holds."""
        wait_until(condition, PATIENCE, what)

    def end(self, process: NodeProcess) -> int:
        """The exit code of a process that is about to end; the arm's time passes until then."""
        return process.wait(PATIENCE)

    def client(self, kind: type, name: str) -> Client:
        """A client whose service is there; made once."""
        if name not in self.clients:
            self.clients[name] = self.caller.create_client(kind, name)
        assert self.clients[name].wait_for_service(PATIENCE), f"no service {name}"
        return self.clients[name]

    def call(self, kind: type, name: str, request: object, *, once: bool = False) -> object:
        """Call a service of this namespace.

        A server may be seen before it sees the client, and its answer is lost then (a known race of ROS 2 services):
        what may be asked twice is asked again.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            future = self.client(kind, name).call_async(request)
            self._spin(future, PATIENCE if once else AGAIN)
            if future.done():
                return future.result()
        raise AssertionError(f"no answer from {name}")

    def _spin(self, future: Future, seconds: float) -> None:
        self.executor.spin_until_future_complete(future, seconds)

    def transition(self, node: str, number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        self.client(ChangeState, f"{node}/change_state")
        self.lifecycle_state(node)  # answers only once both sides know each other
        return self.call(ChangeState, f"{node}/change_state", request, once=True).success

    def recover(self, node: str) -> None:
        """End the lock of a fault; not called twice, as a second call finds nothing to recover from."""
        self.client(Trigger, f"{node}/recover")
        self.lifecycle_state(node)  # as above
        answer = self.call(Trigger, f"{node}/recover", Trigger.Request(), once=True)
        assert answer.success, answer.message

    def lifecycle_state(self, node: str) -> str:
        return self.call(GetState, f"{node}/get_state", GetState.Request()).current_state.label

    def set_parameters(self, node: str, **values: object) -> SetParametersResult:
        """Set several parameters at once; `__` in a name stands for a dot."""
        parameters = [Parameter(n.replace("__", "."), value=v).to_parameter_msg() for n, v in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        return self.call(SetParametersAtomically, f"{node}/set_parameters_atomically", request).result

    def get_double(self, node: str, name: str) -> float:
        answer = self.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=[name]))
        return answer.values[0].double_value


class SteppedPeer(Peer):
    """The other side of a controller in simulated time, which advances in lock-step with the controller.

    Each state and each `STEP` of time is processed, and the efforts sent meanwhile are received, before the next one;
    services are answered while time stands still.
    """

    def __init__(self, namespace: str, joints: Sequence[str], module: str) -> None:
        super().__init__(namespace, joints)
        self.node.destroy_publisher(self.states)
        self.lockstep = Lockstep(self.node, module)
        self.states = self.lockstep.states
        self.lockstep.watch, self.lockstep.on_mode = self._watch, self._entered
        self.lockstep.on_effort = lambda number, effort: self._received.append(effort)
        self._received: list[list[float]] = []
        self._mode, self._still, self._process = "", True, None

    def connect(self, process: NodeProcess, *, states: bool = True) -> None:
        super().connect(process, states=states)
        self._process = process
        self.lockstep.link()

    def _watch(self) -> None:
        if self._process.exit_code is not None:
            self.lockstep.unlink()

    def _entered(self, mode: str) -> None:
        self._mode = mode

    def mode(self, node: str) -> str:
        return self._mode

    def _send(self, message: JointState) -> None:
        self.lockstep.publish(self.states, message)

    def now(self) -> int:
        return self.lockstep.stamp

    def pass_time(self, seconds: float) -> None:
        steps = max(1, round(seconds / STEP))
        for _ in range(steps):
            self.lockstep.stamp += round(seconds / steps * 1e9)
            self.lockstep.publish_time()

    def efforts(self) -> list[list[float]]:
        self.lockstep.listen()
        received, self._received = self._received, []
        return received

    def quiet(self) -> None:
        self.efforts()

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = self.now() + 10_000_000_000
        while not condition():
            assert self.now() < end, f"waited 10 s for {what}"
            self.pass_time(STEP)

    def end(self, process: NodeProcess) -> int:
        self._await_end(process, START)
        return process.wait(0.1)

    def _await_end(self, process: NodeProcess, seconds: float) -> None:
        """Let time pass until a process has ended, which itself takes its own time."""
        deadline = time.monotonic() + seconds
        while process.exit_code is None and time.monotonic() < deadline:
            self.pass_time(STEP)
            time.sleep(0.001)

    def hurry(self) -> None:
        """End the node without the release of its arm, for which simulated time must pass."""
        if self._process is None or self._process.exit_code is not None:
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            self._process.signal(number)
        self._await_end(self._process, HURRIED)

    def transition(self, node: str, number: int) -> bool:
        if number == Transition.TRANSITION_CLEANUP:
            self.lockstep.unlink()
        self._still = number not in {Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVE_SHUTDOWN}
        try:
            return super().transition(node, number)
        finally:
            self._still = True

    def _spin(self, future: Future, seconds: float) -> None:
        if self._still:
            super()._spin(future, seconds)
        deadline = time.monotonic() + seconds
        while not future.done() and time.monotonic() < deadline:
            self.pass_time(STEP)
            self.executor.spin_once(0.0)


def account(peer: Peer) -> dict[str, str]:
    """Wait for the simulator's next report; its values."""
    reports: list[DiagnosticArray] = []
    subscription = peer.caller.create_subscription(DiagnosticArray, "/diagnostics", reports.append, 10)
    name = f"{peer.node.get_namespace()}/simulator"

    def of_simulator() -> list[DiagnosticArray]:
        peer.executor.spin_once(0.05)
        return [r for r in reports if r.status[0].name == name]

    wait_until(of_simulator, PATIENCE, "the simulator's report")
    peer.caller.destroy_subscription(subscription)
    return {v.key: v.value for v in of_simulator()[-1].status[0].values}


def seen(texts: TopicRecorder) -> list[str]:
    """The texts that a topic has brought so far."""
    texts.drain()
    return [texts.decode(sample).data for sample in texts.samples]


def fresh(recorder: TopicRecorder, processes: Sequence[NodeProcess]) -> Any:
    """A message that comes after this call."""
    recorder.drain()
    recorder.samples.clear()
    wait_until(lambda: recorder.latest() is not None, PATIENCE, f"a message on {recorder.topic}", processes)
    return recorder.latest()


def through(joints: Sequence[str], *points: tuple[float, Iterable[float]], begin: int = 0) -> JointTrajectory:
    """A trajectory through (time, s, positions), at rest at each, that begins at the stamp `begin`, ns."""
    message, zero = JointTrajectory(joint_names=list(joints)), [0.0] * len(joints)
    write_stamp(message.header, begin)
    message.points = [
        JointTrajectoryPoint(
            positions=list(map(float, q)), velocities=zero, accelerations=zero, time_from_start=duration_message(t)
        )
        for t, q in points
    ]
    return message
