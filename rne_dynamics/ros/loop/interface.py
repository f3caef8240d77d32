"""A control loop as the controller's node has it: in another process or in its own; and a throttle for both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rne_dynamics.ros.loop.control_loop import ControlLoop
from rne_dynamics.ros.loop.process import LoopProcess

T = TypeVar("T")


class LocalLoop:
    """As `LoopProcess`, in the node's own process: for nodes that are only configured, and for timing its parts."""

    def __init__(self) -> None:
        self._on_report: Callable[..., None] = lambda name, *arguments: None
        self.loop = ControlLoop(
            lambda name, *arguments, droppable=False: self._on_report(name, *arguments)  # noqa: PLW0108 it is set later
        )

    def start_listening(self, on_report: Callable[..., None], wake: Callable[[], None]) -> None:
        """Call `on_report` with the name and arguments of each report of the loop at once."""
        self._on_report = on_report

    def stop_listening(self) -> None:
        """Drop reports from now on."""
        self._on_report = lambda name, *arguments: None

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


#: What a controller's node has.
Loop = LoopProcess | LocalLoop


class Throttle(Generic[T]):
    """Passes a value on at once; of those that come within `period`, s, after it, only the newest, at its end."""

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
