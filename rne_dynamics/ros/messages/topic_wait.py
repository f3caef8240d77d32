"""Wait for messages of a few topics, and take them, without the cost of an executor for each message.

Where the installed rclpy lacks what that takes (see `node/private_parts.py`), an executor does both, through rclpy's
documented interface alone: it serves nothing but these topics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from rne_dynamics.ros.node.private_parts import handle_of, missing_from_implementation, take_message, wait_set

#: The description is latched: whoever comes late still receives it.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
#: The same for a topic with several publishers, such as /tf_static.
LATCHED_MANY = QoSProfile(depth=100, durability=LATCHED.durability, reliability=LATCHED.reliability)
#: Only the newest message matters, and waiting for a lost one would only make it older. Matches any publisher.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: Reliable, so that best-effort and reliable subscribers can both listen.
OFFERED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


#: Whether an executor has to wait for messages and take them.
BY_EXECUTOR = bool(missing_from_implementation())


class ManualCallbackGroup(CallbackGroup):  # type: ignore[misc]  # rclpy is not typed the same everywhere
    """For subscriptions whose messages are taken by `take`, and by no executor that spins their node."""

    def __init__(self, context: Context | None = None) -> None:
        super().__init__()
        self._context = context
        #: Whether executors may serve the subscriptions now.
        self.open = False

    def can_execute(self, entity: object) -> bool:
        """Not by executors that spin the node."""
        return self.open

    def beginning_execution(self, entity: object) -> bool:
        """As `can_execute`."""
        return self.open

    def ending_execution(self, entity: object) -> None:
        """Nothing to do."""

    @cached_property
    def executor(self) -> SingleThreadedExecutor:
        """An executor for these subscriptions alone; made when it is first needed."""
        return SingleThreadedExecutor(context=self._context)


def polled_subscription(
    node: Node, kind: type, topic: str, profile: QoSProfile | int, *, raw: bool = False
) -> Subscription:
    """A subscription in a `ManualCallbackGroup` of its own: messages of type `kind`, or their bytes if `raw`."""
    return node.create_subscription(
        kind, topic, _Mailbox(), profile, callback_group=ManualCallbackGroup(node.context), raw=raw
    )


class TopicWait:
    """Waits for a message of any of a few subscriptions, all `ManualCallbackGroup`."""

    def __init__(self, node: Node, *subscriptions: Subscription) -> None:
        self._subscriptions = subscriptions
        self._handles = () if BY_EXECUTOR else tuple(map(handle_of, subscriptions))
        self._wait_set = None if BY_EXECUTOR else wait_set(node.context, len(subscriptions), 0, 0, 0, 0, 0)

    def wait(self, longest: float) -> None:
        """Wait for a message, at most `longest` seconds."""
        if self._wait_set is None:
            if not any(subscription.callback for subscription in self._subscriptions):
                _fill_mailboxes(self._subscriptions, longest)
            return
        self._wait_set.clear_entities()
        for handle in self._handles:
            self._wait_set.add_subscription(handle)
        self._wait_set.wait(max(int(longest * 1e9), 0))


def take(subscription: Subscription, kind: type, raw: bool = False) -> tuple[Any, Mapping[str, Any]] | None:
    """The waiting message, if any, serialised if `raw`, and its information from the middleware."""
    if not BY_EXECUTOR:
        return take_message(subscription, kind, raw)
    mailbox = subscription.callback
    if not mailbox:
        _fill_mailboxes((subscription,), 0.0)
    return mailbox.popleft() if mailbox else None


# -- by an executor ---------------------------------------------------------------------------------------------------


class _Mailbox(deque[tuple[Any, Mapping[str, Any]]]):
    """The messages of a topic that an executor has taken; the callback of its subscription."""

    def __call__(self, message: Any, info: Mapping[str, Any]) -> None:
        self.append((message, info))


def _fill_mailboxes(subscriptions: Sequence[Subscription], longest: float) -> None:
    """Wait for one message, and put it in its mailbox."""
    executor = subscriptions[0].callback_group.executor
    # the attributes of a node that an executor reads, with these entities only
    node = SimpleNamespace(subscriptions=subscriptions, timers=(), clients=(), services=(), guards=(), waitables=())
    for subscription in subscriptions:
        subscription.callback_group.open = True
    try:
        task, _, _ = executor.wait_for_ready_callbacks(timeout_sec=max(longest, 0.0), nodes=[node])
        task()
        task.result()
    except (TimeoutException, ShutdownException):
        return
    finally:
        for subscription in subscriptions:
            subscription.callback_group.open = False
