"""The executor of a node whose process has more urgent work: one thing at a time, polled only when due."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.context import Context
from rclpy.event_handler import EventHandler
from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.task import Task

from rne_dynamics.ros.node_poll import NodePoll

#: How often the executor itself polls, s: for what `NodePoll` leaves out. That takes about half a period at 1 kHz, so a
#: reply may be late.
EXECUTOR_PERIOD = 0.5


class NodeExecutor(SingleThreadedExecutor):  # type: ignore[misc]  # rclpy is not typed the same everywhere
    """A single-threaded executor for the pauses of a control loop.

    Its own attributes have two underscores before their names, so that no release of rclpy has one of the same name.

    Parameters
    ----------
    context
        Of its nodes; rclpy's own by default.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self.__polls: dict[Node, NodePoll] = {}
        self.__tasks: list[Task] = []
        self.__serving, self.__poll_at, self.__with_events = False, 0.0, True

    def add_node(self, node: Node) -> bool:
        """As rclpy's."""
        self.__polls[node] = NodePoll(node)
        return bool(super().add_node(node))

    def remove_node(self, node: Node) -> None:
        """As rclpy's."""
        self.__polls.pop(node, None)
        super().remove_node(node)

    def create_task(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Task:
        """As rclpy's; it is noticed at once."""
        task = super().create_task(callback, *args, **kwargs)
        self.__tasks.append(task)
        return task

    def serve(self, now: float) -> bool:
        """Do one thing, if there is any; whether there was. Once begun, it goes on to the end.

        Parameters
        ----------
        now
            Monotonic time, s.
        """
        if not self.__serving:
            due = now >= self.__poll_at
            if not due and not self.ready():
                return False
            self.__with_events = due or NodePoll.possible
        self.__serving = self.step()
        if not self.__serving and self.__with_events:
            self.__poll_at = now + EXECUTOR_PERIOD
        return self.__serving

    def can_execute(self, entity: object) -> bool:
        """As rclpy's; where each poll is the executor's own, most leave out what `NodePoll` leaves out."""
        return (self.__with_events or not isinstance(entity, EventHandler)) and bool(super().can_execute(entity))

    def ready(self) -> bool:
        """Whether a message, request, answer, timer or coroutine waits."""
        self.__tasks = [task for task in self.__tasks if not (task.done() or task.cancelled())]
        return bool(self.__tasks) or not NodePoll.possible or any(poll.ready() for poll in self.__polls.values())

    def step(self) -> bool:
        """Do one thing of all that is ready; False after the last.

        What `spin_once` does, which does not return whether there was one: so that all that waits is done within some
        messages, one thing in the pause after each, and with one poll of all entities.
        """
        try:
            task, _, _ = self.wait_for_ready_callbacks(timeout_sec=0.0)
        except (TimeoutException, ShutdownException):
            return False
        task()
        if task.done():
            task.result()  # raises what the callback has raised
        elif task not in self.__tasks:  # a coroutine that waits for something
            self.__tasks.append(task)
        return True
