"""Interface of a control loop for the controller's node, a loop in the node's own process, and a throttle for both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from rne_dynamics.ros.control_loop import ControlLoop

T = TypeVar("T")


class Loop(Protocol):
    """Interface of a control loop; see `LoopProcess`."""

    def start_listening(self, on_message: Callable[[Any], None], wake: Callable[[], None]) -> None:
        """Call `on_message` with each report, from `receive`; call `wake` in a thread when reports wait."""

    def stop_listening(self) -> None:
        """Drop reports from now on."""

    def receive(self) -> None:
        """Take all reports of the loop."""

    def send(self, name: str, *arguments: object) -> None:
        """Send a command, without an answer."""

    def call(self, name: str, *arguments: object, seconds: float = ...) -> Any:
        """Send a command and wait for its result."""

    def pass_on(self, number: int, data: bytes) -> None:
        """Pass on a setpoint from the trajectory topic, with the sender's running number."""

    def wait(self, seconds: float = ...) -> str:
        """Wait for the end of the loop, kill it after `seconds`; how it ended."""


class LocalLoop:
    """The loop in the process of its node: for nodes that are only configured, and for timing parts of the loop."""

    def __init__(self) -> None:
        self._on_message: Callable[[Any], None] = lambda message: None
        self.loop = ControlLoop(lambda message, droppable: self._on_message(message))

    def start_listening(self, on_message: Callable[[Any], None], wake: Callable[[], None]) -> None:
        """Call `on_message` with each report of the loop at once."""
        self._on_message = on_message

    def stop_listening(self) -> None:
        """Drop reports from now on."""
        self._on_message = lambda message: None

    def receive(self) -> None:
        """Nothing to do: reports are passed on at once."""

    def send(self, name: str, *arguments: object) -> None:
        """Execute a command."""
        self.call(name, *arguments)

    def call(self, name: str, *arguments: object, seconds: float = 0.0) -> Any:
        """Execute a command; its result."""
        return self.loop.call(name, *arguments)

    def pass_on(self, number: int, data: bytes) -> None:
        """As `ControlLoop.pass_on`."""
        self.loop.pass_on(number, memoryview(data))

    def wait(self, seconds: float = 0.0) -> str:
        """Nothing to wait for: the loop ends with this process."""
        return "not ended"


class Throttle(Generic[T]):
    """Passes a value on at once; of those that come within `period` after it, only the newest, at its end.

    Parameters
    ----------
    pass_on
        Called with a value.
    period
        Shortest time between two calls, s.
    """

    def __init__(self, pass_on: Callable[[T], None], period: float) -> None:
        self._pass_on, self._period = pass_on, period
        self._newest: list[T] = []
        self._at = -math.inf

    def put(self, value: T, now: float) -> None:
        """A new value at monotonic time `now`, s."""
        self._newest = [value]
        self.flush(now)

    def flush(self, now: float, *, always: bool = False) -> None:
        """Pass on the waiting value, if the period is over or `always`."""
        if self._newest and (always or now - self._at >= self._period):
            (value,), self._newest, self._at = self._newest, [], now
            self._pass_on(value)
