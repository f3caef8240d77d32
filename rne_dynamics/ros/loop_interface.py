"""Interface of a control loop for the controller's node, in another process or in its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


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
