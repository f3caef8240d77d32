"""Interface of a control loop for the controller's node, in another process or in its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rne_dynamics.ros.control_loop import ControlLoop


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
    """Interface of `LoopProcess` without a process."""

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
