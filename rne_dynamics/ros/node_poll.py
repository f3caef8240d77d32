"""Polling a node's entities at a fraction of the cost of an executor's own poll."""

from __future__ import annotations

from typing import Any

from rclpy.event_handler import EventHandler
from rclpy.node import Node

from rne_dynamics.ros.private_parts import WAIT_SET, handle_of, missing_from_implementation, wait_set
from rne_dynamics.ros.topic_wait import ManualCallbackGroup


class NodePoll:
    """Polls all entities of a node with a wait set that is made once.

    An executor makes a new one for each poll and asks each entity several things, which takes half a period at 1 kHz.
    Guard conditions are left out, because polling one resets it. So are events of the middleware, such as warnings of
    QoS that does not match: a node has dozens, and they can wait for the executor's own poll.

    Parameters
    ----------
    node
        Its entities are read anew at each poll.
    """

    #: Whether the installed rclpy has what it takes.
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
        for subscription in subscriptions:
            prepared.add_subscription(handle_of(subscription))
        for timer in timers:
            prepared.add_timer(handle_of(timer))
        for client in clients:
            prepared.add_client(handle_of(client))
        for service in services:
            prepared.add_service(handle_of(service))
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
