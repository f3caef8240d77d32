"""The controller under test: its process, services and diagnostics."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from faults.driver import RATE
from faults.reaction import ReactionError
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue, SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter as NodeParameter
from rclpy.parameter import parameter_value_to_python
from support.forked import ForkedNode

from rne_dynamics.ros.messages.topic_wait import polled_subscription, take

#: Longest wait for responses that should come at once, s.
PATIENCE = 60.0
#: A service may receive a request before it discovers the client; its answer is lost then: s until the next request.
ANSWER = 3.0
#: Longest wait for a first start, which compiles kernels, s.
START = 180.0
#: Time after which a request that is not answered may need simulated time to pass, s.
STILL = 10.0
#: Time after which the answer to a request that is sent once may have been lost, s.
LOST = 20.0
#: Turns between two polls for an answer that needs simulated time.
TURNS = 4
#: State after a transition.
AFTER = {
    Transition.TRANSITION_CONFIGURE: "inactive", Transition.TRANSITION_CLEANUP: "unconfigured",
    Transition.TRANSITION_ACTIVATE: "active", Transition.TRANSITION_DEACTIVATE: "inactive",
}
#: Called repeatedly while an answer is waited for.
Turn = Callable[[], None]


class Controller:
    """A controller process in a namespace of its own.

    Parameters
    ----------
    node
        The campaign's node in that namespace; no executor may spin it.
    module
        Name of the controller, and of its module.
    parameters
        Of the controller, as in YAML.
    turn
        Advances the arm by one period.
    """

    def __init__(self, node: Node, module: str, parameters: Mapping[str, Any], turn: Turn) -> None:
        self.module, self.name = module, f"{node.get_namespace()}/{module}"
        self.states: list[str] = []
        self.report: dict[str, str] = {}
        self.reports = 0
        self.message, self.warns = "", False
        self._turn, self._ready, self._orphan = turn, False, 0
        self._before: dict[str, ParameterValue] = {}
        self._stack = contextlib.ExitStack()
        self.caller = rclpy.create_node("caller", namespace=node.get_namespace(), context=node.context)
        self._stack.callback(self.caller.destroy_node)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._stack.callback(self._executor.shutdown)
        self._executor.add_node(self.caller)
        self._clients: dict[str, Client] = {}
        self._diagnostics = polled_subscription(node, DiagnosticArray, "diagnostics", 100)
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "parameters.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}), encoding="utf-8")
        arguments = [
            "--ros-args", "--params-file", str(file), "-r", f"__ns:={node.get_namespace()}",
            "-r", f"/clock:={node.get_namespace()}/clock", "-r", f"/diagnostics:={node.get_namespace()}/diagnostics",
        ]
        self.process = self._stack.enter_context(ForkedNode(module, arguments))

    def close(self) -> None:
        """End it, not by its own stop, which takes seconds without a clock."""
        self.process.signal(signal.SIGKILL)
        self._stack.close()

    # -- diagnostics --------------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Take the diagnostics received since the last call."""
        while (taken := take(self._diagnostics, DiagnosticArray)) is not None:
            for status in taken[0].status:
                if status.name == self.name:
                    self.report = {pair.key: pair.value for pair in status.values}
                    self.message, self.warns = status.message, status.level != DiagnosticStatus.OK
                    self.reports += 1

    @property
    def lives(self) -> bool:
        """Whether its node runs, or, where that alone was killed, the process of its loop."""
        return self.process.exit_code is None or (self._orphan != 0 and _state(self._orphan) not in ("", "Z"))

    @property
    def frozen(self) -> bool:
        """Whether a signal has stopped the process of its node, and that of its loop."""
        return _state(self.process.pid) == _state(self._loop()) == "T"

    def _loop(self) -> int:
        """Number of the loop's process."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii"))

    def kill_node(self) -> None:
        """End the node's own process by SIGKILL; that of its loop goes on."""
        self._orphan = self._loop()
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    @property
    def state(self) -> str:
        """Its last acknowledged mode."""
        return self.states[-1] if self.states else "unknown"

    # -- requests -----------------------------------------------------------------------------------------------------

    def call(
        self, kind: type, name: str, request: Any, *, seconds: float = PATIENCE, again: bool = True, still: bool = True
    ) -> Any:
        """The response of a service of the controller.

        Simulated time stands still until it comes, so that its delay does not matter; for `STILL` at most, and only
        with `still`: a controller answers some requests only after a stop. From then on `seconds` are simulated ones.

        Raises
        ------
        ReactionError
            None came in time.
        """
        client = self.client(kind, name)
        began, turns = time.monotonic(), 0
        seconds = seconds if self._ready else max(seconds, START)  # a new process may still compile
        deadline, futures = began + seconds, []
        while (left := deadline - time.monotonic()) > 0.0:
            futures.append(client.call_async(request))
            patience = time.monotonic() + (min(ANSWER, left) if again else left)
            while not any(future.done() for future in futures) and time.monotonic() < patience:
                if (not still or time.monotonic() > began + STILL) and turns < seconds * RATE:
                    turned = time.monotonic()
                    for _ in range(TURNS):
                        self._turn()
                    self._executor.spin_once(timeout_sec=0.0)
                    turns, lasted = turns + TURNS, time.monotonic() - turned
                    deadline += lasted  # a slow computer needs longer
                    patience += 0.0 if again else lasted
                else:
                    self._executor.spin_once(timeout_sec=0.01)
            for future in futures:  # on a busy machine the answer to an earlier request may come first
                if future.done():
                    self._ready = True
                    return future.result()
        for future in futures:
            client.remove_pending_request(future)
        last = (self.process.output().splitlines() or ["nothing"])[-1]
        raise ReactionError(f"no answer from ~/{name} within {seconds:g} s; the last line of its log: {last}")

    def spin(self) -> None:
        """Take one answer, if there is any."""
        self._executor.spin_once(timeout_sec=0.0)

    def answered(self, futures: Iterable[Any]) -> bool:
        """Take one answer; whether all of these have come."""
        self.spin()
        return all(future.done() for future in futures)

    def client(self, kind: type, name: str) -> Client:
        """A client of one of the controller's services, which is there."""
        if name not in self._clients:
            self._clients[name] = self.caller.create_client(kind, f"{self.module}/{name}")
        deadline = time.monotonic() + (PATIENCE if self._ready else START)
        while not self._clients[name].service_is_ready():
            self.process.check()
            time.sleep(0.002)
            if time.monotonic() > deadline:
                raise ReactionError(f"there is no service ~/{name}")
        return self._clients[name]

    def transition(self, number: int, *, seconds: float = PATIENCE, still: bool = True) -> bool:
        """Ask for a lifecycle transition; whether it was made. For `still` see `call`."""
        self.client(ChangeState, "change_state")
        self.lifecycle_state()  # answers only once both sides know each other
        request = ChangeState.Request(transition=Transition(id=number))
        call = partial(self.call, ChangeState, "change_state", request, again=False, still=still)
        try:
            return bool(call(seconds=min(seconds, LOST)).success)
        except ReactionError:  # it may not know this client yet, and then sends no answer
            state = self.call(GetState, "get_state", GetState.Request(), seconds=seconds, still=still).current_state
            return state.label == AFTER.get(number) or bool(call(seconds=seconds).success)

    def lifecycle_state(self) -> str:
        """Its lifecycle state, such as ``active``."""
        return str(self.call(GetState, "get_state", GetState.Request()).current_state.label)

    def set(self, values: Mapping[str, object]) -> SetParametersResult:
        """Set parameters, all at once; `set_back` restores them."""
        unknown = [name for name in values if name not in self._before]
        if unknown:
            answer = self.call(GetParameters, "get_parameters", GetParameters.Request(names=unknown))
            self._before.update(zip(unknown, answer.values, strict=False))  # none if a name is unknown
        return self._set({n: NodeParameter(n, value=v).get_parameter_value() for n, v in values.items()})

    def get(self, name: str) -> object:
        """The value of a parameter; a list as a tuple."""
        value = self.call(GetParameters, "get_parameters", GetParameters.Request(names=[name])).values[0]
        return parameter_value_to_python(value)

    def set_back(self) -> None:
        """Restore every parameter that `set` has changed."""
        if self._before:
            self._set({n: v for n, v in self._before.items() if v.type != ParameterType.PARAMETER_NOT_SET})
            self._before.clear()

    @property
    def changed(self) -> bool:
        """Whether parameters have been set and not set back."""
        return bool(self._before)

    def _set(self, values: Mapping[str, ParameterValue]) -> SetParametersResult:
        parameters = [Parameter(name=name, value=value) for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        return self.call(SetParametersAtomically, "set_parameters_atomically", request).result


def _state(process: int) -> str:
    """The kernel's letter for the state of a process: Z for a zombie, T for one that is stopped; none if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return ""
