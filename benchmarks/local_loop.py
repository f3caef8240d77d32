"""The control loop of a controller in the node's own process, to time its parts and to test what it configures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rne_dynamics.ros.loop.control_loop import ControlLoop
from rne_dynamics.ros.loop.process import LoopProcess


class LocalLoop(LoopProcess):
    """As `LoopProcess`, without a process: commands are executed, and reports passed on, at once; no setpoints are."""

    def __init__(self) -> None:
        self._on_report: Callable[..., None] = lambda name, *arguments: None
        self.loop = ControlLoop(
            lambda name, *arguments, droppable=False: self._on_report(name, *arguments),  # noqa: PLW0108 it is set later
            settled=lambda: None, receive=lambda memory: 0,
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

    def wait(self, seconds: float = 0.0) -> str:
        """Nothing to wait for: the loop ends with this process."""
        return "not ended"
