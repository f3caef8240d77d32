"""The control loop in the same process as its node: where nodes are only configured, or parts of the loop are timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rne_dynamics.ros.control_loop import ControlLoop


class LocalLoop:
    """As `LoopProcess` to a node, without a process."""

    def __init__(self) -> None:
        self._on_message: Callable[[Any], None] = lambda message: None
        self.loop = ControlLoop(lambda message, droppable: self._on_message(message))

    def listen(self, on_message: Callable[[Any], None], wake: Callable[[], None]) -> None:
        """Hand what the loop reports to `on_message` at once."""
        self._on_message = on_message

    def listen_no_more(self) -> None:
        """End that."""
        self._on_message = lambda message: None

    def hear(self) -> None:
        """Nothing: it has been heard."""

    def tell(self, name: str, *arguments: object) -> None:
        """Have a command done."""
        self.ask(name, *arguments)

    def ask(self, name: str, *arguments: object, seconds: float = 0.0) -> Any:
        """Have a command done; what it returns."""
        return getattr(self.loop, name)(*arguments)

    def pass_on(self, number: int, data: bytes) -> None:
        """As `ControlLoop.pass_on`."""
        self.loop.pass_on(number, memoryview(data))

    def wait(self, seconds: float = 0.0) -> str:
        """It ends with this process."""
        return "not ended"
