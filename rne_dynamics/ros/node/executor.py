"""Executor for a process with more urgent work: serves one thing at a time, polled only when due."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.context import Context
from rclpy.event_handler import EventHandler
from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.task import Task

from rne_dynamics.ros.messages.topic_wait import ManualCallbackGroup
from rne_dynamics.ros.node.private_parts import WAIT_SET, handle_of, missing_from_implementation, wait_set

#: Period at which the executor itself polls, s: for what `NodePoll` leaves out. That takes about half a period at 1
#: kHz, so an effort may be late.
EXECUTOR_PERIOD = 0.5


class NodePoll:
    """Polls all entities of a node with a wait set that is made once: an executor takes half a period at 1 kHz."""
    # without guard conditions, which polling resets, and events of the middleware, dozens that can wait

    #: Whether the installed rclpy has the parts needed.
    possible = WAIT_SET not in missing_from_implementation()

    def __init__(self, node: Node) -> None:
        self._node = node
        self._size: tuple[int, ...] = ()
        self._wait_set: Any = None

    def ready(self) -> bool:
        """Whether a message, request, answer or timer waits."""
        node = self._node
        subscriptions = [x for x in node.subscriptions if not isinstance(x.callback_group, ManualCallbackGroup)]
        timers, clients, services = list(node.timers), list(node.clients), list(node.services)
        waitables = [x for x in node.waitables if not isinstance(x, EventHandler)]
        prepared = self._cleared(subscriptions, timers, clients, services, waitables)
        for add, entities in (
            (prepared.add_subscription, subscriptions), (prepared.add_timer, timers), (prepared.add_client, clients),
            (prepared.add_service, services),
        ):  # fmt: skip
            for entity in entities:
                add(handle_of(entity))
        for waitable in waitables:
            waitable.add_to_wait_set(prepared)
        prepared.wait(0)
        if any(prepared.get_ready_entities(kind) for kind in ("subscription", "timer", "client", "service")):
            return True
        return any(waitable.is_ready(prepared) for waitable in waitables)

    def _cleared(self, *entities: list[Any]) -> Any:
        """An empty wait set with room for all of them."""
        subscriptions, timers, clients, services, waitables = entities
        counts = [waitable.get_num_entities() for waitable in waitables]
        size = (
            len(subscriptions) + sum(count.num_subscriptions for count in counts),
            sum(count.num_guard_conditions for count in counts),
            len(timers) + sum(count.num_timers for count in counts),
            len(clients) + sum(count.num_clients for count in counts),
            len(services) + sum(count.num_services for count in counts),
            sum(count.num_events for count in counts),
        )
        if size != self._size:
            self._wait_set, self._size = wait_set(self._node.context, *size), size
        self._wait_set.clear_entities()
        return self._wait_set


class NodeExecutor(SingleThreadedExecutor):  # type: ignore[misc]  # rclpy is not typed the same everywhere
    """A single-threaded executor for the pauses of a control loop."""
    # attributes with two underscores differ from those of any release of rclpy

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
        """As rclpy's; `ready` is true at once."""
        task = super().create_task(callback, *args, **kwargs)
        self.__tasks.append(task)
        return task

    def serve(self, now: float) -> bool:
        """Do one thing, if anything waits at `now`, s; whether there was one. Once begun, all that waits is served."""
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
        """As rclpy's, without events of the middleware in most polls, as in `NodePoll`."""
        return (self.__with_events or not isinstance(entity, EventHandler)) and bool(super().can_execute(entity))

    def ready(self) -> bool:
        """Whether a message, request, answer, timer or coroutine waits."""
        self.__tasks = [task for task in self.__tasks if not (task.done() or task.cancelled())]
        return bool(self.__tasks) or not NodePoll.possible or any(poll.ready() for poll in self.__polls.values())

    def step(self) -> bool:
        """Do one thing of all that is ready, with one poll; False if there is none, which `spin_once` does not say."""
        try:
            task, _, _ = self.wait_for_ready_callbacks(timeout_sec=0.0)
        except (TimeoutException, ShutdownException):
            return False
        task()
        if task.done():
            task.result()  # raises the exception of the callback
        elif task not in self.__tasks:  # a coroutine that waits for something
            self.__tasks.append(task)
        return True
