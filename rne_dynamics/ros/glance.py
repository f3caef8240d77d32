"""Whether the executor would have anything to do, at a fraction of the price of asking it."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import EventHandler
from rclpy.executors import Executor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node


class TakenByHand(CallbackGroup):  # type: ignore[misc]  # rclpy is not typed the same everywhere
    """Entities that no executor may serve."""

    def can_execute(self, entity: object) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: object) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: object) -> None:
        """Nothing to do."""


class Glance:
    """One look at all that waits for a node, with a wait set that is made once.

    The executor makes a new one for each look and asks each entity several things, which takes half a period at 1 kHz.
    Guard conditions are left out: to look at one is to take it. So are events of the middleware, such as warnings of
    QoS that does not match: a node has dozens, and they can wait for the executor's own look.

    Parameters
    ----------
    node
        Whose entities are looked at, as they are at each look.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._size: tuple[int, ...] = ()
        self._wait_set: Any = None

    def anything(self, executor: Executor) -> bool:
        """Whether a message, request, answer or timer waits, or a coroutine is under way."""
        tasks = getattr(executor, "_tasks", None)  # rclpy keeps them to itself
        if tasks is None or any(not task[0].done() for task in tasks):
            return True
        node = self._node
        subscriptions = [x for x in node.subscriptions if not isinstance(x.callback_group, TakenByHand)]
        timers, clients, services = list(node.timers), list(node.clients), list(node.services)
        waitables = [x for x in node.waitables if not isinstance(x, EventHandler)]
        wait_set = self._cleared(subscriptions, timers, clients, services, waitables)
        for subscription in subscriptions:
            wait_set.add_subscription(subscription.handle)
        for timer in timers:
            wait_set.add_timer(timer.handle)
        for client in clients:
            wait_set.add_client(client.handle)
        for service in services:
            wait_set.add_service(service.handle)
        for waitable in waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(0)
        if any(wait_set.get_ready_entities(kind) for kind in ("subscription", "timer", "client", "service")):
            return True
        return any(waitable.is_ready(wait_set) for waitable in waitables)

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
            self._wait_set, self._size = rclpy_implementation.WaitSet(*size, self._node.context.handle), size
        self._wait_set.clear_entities()
        return self._wait_set
