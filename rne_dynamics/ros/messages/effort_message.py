"""The two types of effort messages: a list in a fixed order, or names with a time stamp."""

from __future__ import annotations

from collections.abc import Sequence
from struct import error
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from rne_dynamics.errors import ControlError, ParameterError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.cdr import (
    ENCAPSULATION,
    STAMP_SIZE,
    NumbersReader,
    PreparedMessage,
    stamp_in,
    stamped_names,
)
from rne_dynamics.ros.parameters.schema import Parameter

try:  # not among the wheels on PyPI; part of every ROS 2 installation that has controllers
    import control_msgs.msg as control_messages
except ImportError:
    control_messages = None

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
    if control_messages is None:
        raise ParameterError(
            f"parameter command_message is {message} and control_msgs is not installed: install "
            f"ros-<distribution>-control-msgs, or set command_message to {FLOATS}"
        )
    if not hasattr(control_messages, "JointCommand"):
        raise ParameterError(
            f"parameter command_message is {message} and the control_msgs that is installed has no such message, "
            f"which came after version 6.8.0: install a newer one, or set command_message to {FLOATS}"
        )
    return control_messages.JointCommand


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
        begin = self._begin
        if len(data) != self._size or data[:ENCAPSULATION] + data[ENCAPSULATION + STAMP_SIZE : begin] != self._known:
            begin = self._look_up(data)
        self.stamp = stamp_in(data)
        return np.frombuffer(data, np.float64, len(self._joints), begin)[self._order]

    def _look_up(self, data: bytes) -> int:
        """Note the offset of the numbers of such a message, and their joints."""
        try:
            walk, listed = stamped_names(data)
            names = [name.decode() for name in listed]
            interface = walk.text().decode()
            values = walk.numbers()
        except (error, UnicodeDecodeError) as cause:
            raise ControlError(f"{len(data)} bytes that are no {NAMED}") from cause
        if interface != INTERFACE:
            raise ControlError(f"interface_name is {interface!r}; it must be {INTERFACE!r}")
        if sorted(names) != sorted(self._joints):
            raise ControlError(
                f"joint_names are {', '.join(names[:20]) or 'none'}; they must be {', '.join(self._joints)}, in any "
                "order"
            )
        count = (values.stop - values.start) // 8
        if count != len(names):
            raise ControlError(f"{count} values for {len(names)} joint_names; each needs one")
        self._order = [names.index(joint) for joint in self._joints]
        self._begin, self._size = values.start, len(data)
        self._known = data[:ENCAPSULATION] + data[ENCAPSULATION + STAMP_SIZE : values.start]
        return self._begin
