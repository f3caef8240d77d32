"""Efforts as the driver takes them, and publishers that write into memory of their own, allocated once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from operator import attrgetter
from struct import error
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout

from rne_dynamics.control.control_law import TorqueTerms
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ControlError, ParameterError, refuse
from rne_dynamics.model.inertia import Array, frozen_array
from rne_dynamics.ros.messages.cdr import (
    ENCAPSULATION,
    STAMP_SIZE,
    NumbersReader,
    PreparedMessage,
    installed_type,
    stamp_in,
    stamped_names,
)
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.parameters.files import Parameter

if TYPE_CHECKING:
    from rne_dynamics.control.supervision.output import Effort
    from rne_dynamics.ros.node.lifecycle import ArmNode


#: Values of the parameter `command_message`.
FLOATS, NAMED = "std_msgs/Float64MultiArray", "control_msgs/JointCommand"
#: The interface that such a message commands.
INTERFACE = "effort"

COMMAND_MESSAGE = Parameter(
    "command_message", FLOATS, "Type of the effort commands: numbers in the order of joints, or names and numbers with "
    "the time of sending, which receivers refuse if it is too old.", choices=(FLOATS, NAMED), read_only=True,
)


def effort_type(message: str) -> Any:
    """The type of messages of that name, `FLOATS` or `NAMED`. Raises ParameterError: it is not installed."""
    if message == FLOATS:
        return Float64MultiArray
    kind = installed_type("control_msgs/msg/JointCommand")
    if kind is None:
        raise ParameterError(
            f"parameter command_message is {message} and no control_msgs with that message is installed: install "
            f"ros-<distribution>-control-msgs, newer than version 6.8.0, or set command_message to {FLOATS}"
        )
    return kind


def prepared_effort(message: str, joints: Sequence[str]) -> PreparedMessage:
    """A message of type `message` with one effort for each of `joints`, all 0; errors as of `effort_type`."""
    kind, n = effort_type(message), len(joints)
    if message == FLOATS:
        layout = MultiArrayLayout(dim=[MultiArrayDimension(label=",".join(joints), size=n, stride=n)])
        return PreparedMessage(kind(layout=layout, data=[0.0] * n), "data")
    return PreparedMessage(kind(joint_names=list(joints), interface_name=INTERFACE, values=[0.0] * n), "values")


def effort_reader(message: str, joints: Sequence[str]) -> NumbersReader | JointCommandReader:
    """The reader of messages of type `message` for `joints`."""
    return NumbersReader() if message == FLOATS else JointCommandReader(joints)


class JointCommandReader:
    """Reads control_msgs/JointCommand messages without their Python type; names are compared once per sender."""

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        #: Time stamp of the last message, ns.
        self.stamp = 0
        self._begin = self._size = -1
        self._known = b""
        self._order: list[int] = []

    def read(self, data: bytes) -> Array:
        """Efforts in the order of the joints, (n,), unchecked; `ControlError` for other bytes, or other names."""
        before = data[:ENCAPSULATION] + data[ENCAPSULATION + STAMP_SIZE : self._begin]
        if len(data) != self._size or before != self._known:
            self._look_up(data)
        self.stamp = stamp_in(data)
        return np.frombuffer(data, np.float64, len(self._joints), self._begin)[self._order]

    def _look_up(self, data: bytes) -> None:
        """Note the offset of the numbers of such a message, and their joints."""
        try:
            walk, listed = stamped_names(data)
            names = [name.decode() for name in listed]
            interface = walk.text().decode()
            values = walk.numbers()
        except (error, UnicodeDecodeError) as cause:
            raise ControlError(f"{len(data)} bytes that are no {NAMED}") from cause
        count = (values.stop - values.start) // 8
        refuse(
            ControlError,
            (interface != INTERFACE, f"interface_name is {interface!r}; it must be {INTERFACE!r}"),
            (sorted(names) != sorted(self._joints),
             f"joint_names are {', '.join(names[:20]) or 'none'}; they must be {', '.join(self._joints)}, in any "
             "order"),
            (count != len(names), f"{count} values for {len(names)} joint_names; each needs one"),
        )
        self._order = [names.index(joint) for joint in self._joints]
        self._begin, self._size = values.start, len(data)
        self._known = data[:ENCAPSULATION] + data[ENCAPSULATION + STAMP_SIZE : values.start]


EFFORT_TOPIC = "effort_controller/commands"
#: Number of the zero efforts that release the arm, and the time between two, s.
RELEASES, RELEASE_PERIOD = 5, 0.01
#: Longest wait for reliable subscribers to have the zeros, s: longer than a busy computer stops a process.
RECEIPT = 2.0


def stamp_of(message: JointState) -> int:
    """The header's time in nanoseconds, exactly (a float of seconds would lose a quarter of a microsecond)."""
    stamp = message.header.stamp
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def write_stamp(header: Header, stamp: int) -> None:
    """Set the header's time to `stamp`, ns."""
    header.stamp.sec, header.stamp.nanosec = divmod(stamp, NANOSECONDS)


def force_message(link: str, force: Array) -> WrenchStamped:
    """A force, N, (3,), on a link's origin in its axes; without a stamp at once."""
    message = WrenchStamped()
    message.header.frame_id = link
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force.tolist()
    return message


class EffortPublisher:
    """Effort commands in the order of `joints`, each times `scale`, (n,), in the model's order; ParameterError."""

    def __init__(
        self, node: ArmNode, joints: Sequence[str], model_joints: Sequence[str], scale: Array, message: str = FLOATS
    ) -> None:
        n = len(joints)
        order = [list(model_joints).index(j) for j in joints]
        self._order = None if order == list(range(n)) else np.array(order, dtype=np.intp)
        self.scale = frozen_array(scale, (n,), "effort scale")
        self.scaled = bool((self.scale != 1.0).any())
        #: Efforts published so far.
        self.count = 0
        self._message = prepared_effort(message, joints)
        self._values = self._message.numbers[0]
        self._logger = node.get_logger()
        self._clock = node.get_clock() if message == NAMED else None
        self._publisher = node.keep(node.create_publisher(effort_type(message), EFFORT_TOPIC, OFFERED))
        #: The topic after remapping.
        self.topic = str(self._publisher.topic_name)

    def publish(self, effort: Array) -> None:
        """Send `effort`, shape (n,) in the model's order, N·m or N. It must be finite and within limits already."""
        if self.scaled:
            effort = effort * self.scale
        self._values[:] = effort if self._order is None else effort[self._order]
        self._publish()

    def release(self) -> None:
        """Send zeros, `RELEASES` times, until reliable subscribers have them, for `RECEIPT` s at most."""
        # best-effort messages may be lost; a reliable subscriber that stood still loses what it has not taken
        self._values[:] = 0.0
        for _ in range(RELEASES):
            self._publish()
            time.sleep(RELEASE_PERIOD)
        with suppress(RuntimeError):  # rclpy's RCLError: some middleware has no acknowledgements
            if not self._publisher.wait_for_all_acked(Duration(seconds=RECEIPT)):
                self._logger.error(
                    f"a reliable subscriber of {self.topic} has not taken the zeros within {RECEIPT:g} s: it "
                    "may go on with the effort before; stop the drives"
                )

    def _publish(self) -> None:
        self.count += 1
        if self._clock is not None:
            self._message.stamp(self._clock.now().nanoseconds)
        self._message.publish(self._publisher)


class EveryNth:
    """Publishes a message, whose `fields` are written in place, every `divisor`-th cycle, 0 never, if subscribed."""

    def __init__(self, node: ArmNode, topic: str, message: Any, divisor: int, *fields: str) -> None:
        self.message, self._divisor, self._count = message, divisor, 0
        self._numbers = [np.frombuffer(attrgetter(field)(message)) for field in fields]
        self._publisher: Any = node.keep(node.create_publisher(type(message), topic, OFFERED)) if divisor else None

    def due(self) -> bool:
        """Count a cycle; whether to publish in it."""
        self._count += 1
        return self._publisher is not None and not self._count % self._divisor and self.read

    @property
    def read(self) -> bool:
        """Whether there are subscribers."""
        return self._publisher is not None and self._publisher.get_subscription_count() > 0

    def publish(self, stamp: int, *values: Array) -> None:
        """Send the values of the fields, with the stamp of a joint state, ns."""
        for numbers, value in zip(self._numbers, values, strict=True):
            numbers[:] = value
        write_stamp(self.message.header, stamp)
        self._publisher.publish(self.message)


class TermsPublisher:
    """Publishes the torque term by term on ``~/torque/*`` every `divisor`-th cycle, 0 never, if subscribed."""

    def __init__(self, node: ArmNode, joints: Sequence[str], divisor: int) -> None:
        self._divisor = divisor
        self._count = 0
        names = (*TorqueTerms._fields, "command") if divisor else ()
        self._publishers = {
            name: node.keep(node.create_publisher(JointState, f"~/torque/{name}", OFFERED)) for name in names
        }
        self._message = PreparedMessage(JointState(name=list(joints), effort=[0.0] * len(joints)), "effort")

    def publish(self, stamp: int, effort: Effort) -> None:
        """Send the terms of an effort, and its command; `stamp` of the state, ns."""
        self._count += 1
        if not self._divisor or self._count % self._divisor:
            return
        terms = effort.terms
        for name, publisher in self._publishers.items():
            if not publisher.get_subscription_count():
                continue
            self._message.numbers[0][:] = effort.command if name == "command" else getattr(terms, name)
            self._message.stamp(stamp)
            self._message.publish(publisher)
