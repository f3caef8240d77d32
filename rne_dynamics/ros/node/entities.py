"""A lifecycle node whose topics, services and timers live from configure to cleanup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rclpy.client import Client
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.publisher import Publisher
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.loop.hot_loop import HotLoop

Entity = TypeVar("Entity")


class EntityNode(LifecycleNode):  # type: ignore[misc]  # rclpy may be absent where types are checked
    """A lifecycle node that notes its entities, so that `release` destroys them; parameters as rclpy's."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._entities: list[Any] = []
        #: The topic and the period that drive this node, if any.
        self.loop: HotLoop | None = None

    def keep(self, entity: Entity) -> Entity:
        """Note a publisher, subscription, service, client or timer for `release`; returns it."""
        self._entities.append(entity)
        return entity

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Call back every `period` seconds of the steady clock, independently of /clock and the wall clock."""
        self.keep(self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME)))

    def offer(self, kind: type, name: str, action: Callable[[Any], object], message: Callable[[], str]) -> None:
        """Offer a service of std_srvs: it carries out `action`.

        `kind`, `name`: type and name of the service. `action`: called with each request; may raise `RneDynamicsError`,
        whose text is then the response. `message`: text of the response otherwise.
        """
        def answer(request: Any, response: Any) -> Any:
            try:
                action(request)
                response.success, response.message = True, message()
            except RneDynamicsError as error:
                response.success, response.message = False, str(error)
            return response

        self.keep(self.create_service(kind, name, answer))

    def log(self, level: str, text: str) -> None:
        """Log a text as "info", "warning" or "error"."""
        log = self.get_logger()  # one line for each severity: rclpy identifies calls by their line
        if level == "error":
            log.error(text)
        elif level == "warning":
            log.warning(text)
        else:
            log.info(text)

    def release(self) -> None:
        """Destroy what was kept."""
        destroy: dict[type, Callable[[Any], bool]] = {
            Publisher: self.destroy_publisher, Subscription: self.destroy_subscription,
            Service: self.destroy_service, Timer: self.destroy_timer, Client: self.destroy_client,
        }
        for entity in reversed(self._entities):
            next(how for kind, how in destroy.items() if isinstance(entity, kind))(entity)
        self._entities.clear()
        self.loop = None
