"""The undocumented parts of rclpy that this package uses: their purpose, and the cost of a release without them.

Nothing else in this package reads rclpy's implementation module, the handles of its entities or an attribute of its
objects whose name begins with an underscore; `test/ros/test_private_parts.py` checks that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription

if TYPE_CHECKING:
    from rclpy.node import Node


try:
    from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
except ImportError:
    _rclpy = None


class PrivatePart(NamedTuple):
    """One undocumented part of rclpy."""

    #: Of the part, as rclpy spells it.
    name: str
    #: Its attributes that are used.
    members: tuple[str, ...]
    #: Its purpose.
    use: str
    #: The replacement without it, and its cost.
    without: str


WAIT_SET = PrivatePart(
    "rclpy_implementation.WaitSet",
    ("add_client", "add_service", "add_subscription", "add_timer", "clear_entities", "get_ready_entities", "wait"),
    "a wait set that is made once and serves every message",
    "an executor of rclpy waits for each message: about 0.1 ms more CPU time per message",
)
TAKE = PrivatePart(
    "rclpy_implementation.Subscription",
    ("take_message",),
    "taking a message from the middleware where it is needed, as bytes, without an executor",
    "an executor of rclpy takes each message: about 0.1 ms more CPU time per message",
)
OVERRIDES = PrivatePart(
    "Node._parameter_overrides",
    (),
    "the settings that a node was given, to refuse those that no parameter takes",
    "a second node of the same name, made and destroyed at start, reads them",
)
PARTS = (WAIT_SET, TAKE, OVERRIDES)


@cache
def missing_from_implementation() -> frozenset[PrivatePart]:
    """Parts of rclpy's implementation module that the installed release does not have."""
    return frozenset(
        part for part in (WAIT_SET, TAKE)
        if not all(hasattr(getattr(_rclpy, part.name.partition(".")[2], None), member) for member in part.members)
    )  # fmt: skip


def report_missing(node: Node) -> None:
    """Log one warning for each part that the installed release does not have."""
    for part in (
        *sorted(missing_from_implementation()), *([] if hasattr(node, "_parameter_overrides") else [OVERRIDES])
    ):
        node.get_logger().warning(
            f"rclpy has no {part.name}{''.join(f'.{member}' for member in part.members[:1])} as this package uses it, "
            f"for {part.use}. Without it {part.without}. Report it to the maintainers of rne_dynamics with the version "
            "of rclpy"
        )


def wait_set(context: Context, *sizes: int) -> Any:
    """A wait set for so many subscriptions, guard conditions, timers, clients, services and events."""
    return _rclpy.WaitSet(*sizes, context.handle)


def handle_of(entity: Any) -> Any:
    """The handle of a subscription, timer, client or service for a wait set."""
    return entity.handle


def take_message(subscription: Subscription, kind: type, raw: bool) -> tuple[Any, Mapping[str, Any]] | None:
    """The oldest waiting message, serialised if `raw`, and its information from the middleware; None if none waits."""
    handle = subscription.handle
    with handle:  # so that it is not destroyed meanwhile
        taken: tuple[Any, Mapping[str, Any]] | None = handle.take_message(kind, raw)
    return taken


def given_parameters(node: Node) -> Mapping[str, Parameter] | None:
    """Parameters of `node` from command line, files and its constructor; None if rclpy does not keep them."""
    return getattr(node, "_parameter_overrides", None)
