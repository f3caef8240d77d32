"""Outgoing messages whose memory is made once and written in place every cycle."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension

from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.lifecycle import OFFERED, ArmNode

NANOSECONDS = 1_000_000_000
EFFORT_TOPIC = "effort_controller/commands"
#: How often, and how far apart (s), the zeros are sent that release the arm.
RELEASES, RELEASE_PERIOD = 5, 0.01


def stamp_of(message: JointState) -> int:
    """The header's time in nanoseconds, exactly (a float of seconds would lose a quarter of a microsecond)."""
    stamp = message.header.stamp
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def write_stamp(header: Header, stamp: int) -> None:
    """Set the header's time to `stamp`, ns."""
    header.stamp.sec, header.stamp.nanosec = divmod(stamp, NANOSECONDS)


class EffortPublisher:
    """Effort commands in the order of the joints.

    Parameters
    ----------
    node
        The publishing node.
    joints
        Names of the joints in the order of the command; they also label the message's one dimension.
    model_joints
        The same names in the order of the model.
    """

    def __init__(self, node: ArmNode, joints: Sequence[str], model_joints: Sequence[str]) -> None:
        self._order = np.array([list(model_joints).index(j) for j in joints], dtype=np.intp)
        self._message = Float64MultiArray(data=[0.0] * len(joints))
        self._values = np.frombuffer(self._message.data)  # the message's own memory
        self._message.layout.dim = [MultiArrayDimension(label=",".join(joints), size=len(joints), stride=len(joints))]
        self._publisher = node.keep(node.create_publisher(Float64MultiArray, EFFORT_TOPIC, OFFERED))

    def publish(self, effort: Array) -> None:
        """Send `effort`, shape (n,) in the model's order, N·m or N. It must be finite and within limits already."""
        np.take(effort, self._order, out=self._values)
        self._publisher.publish(self._message)

    def release(self) -> None:
        """Send zeros, several times over some 50 ms.

        A message may be lost on the way to a best-effort listener, and with the process that sends it; this is the one
        that must not be, since the effort before it would be left standing.
        """
        self._values[:] = 0.0
        for _ in range(RELEASES):
            self._publisher.publish(self._message)
            time.sleep(RELEASE_PERIOD)


class TermsPublisher:
    """The torque term by term on ``~/torque/*``, every `divisor`-th cycle and only where somebody listens.

    Parameters
    ----------
    node
        The publishing node.
    joints
        Names of the joints.
    divisor
        Cycles between two messages; 0 for none at all.
    """

    def __init__(self, node: ArmNode, joints: Sequence[str], divisor: int) -> None:
        self._divisor = divisor
        self._count = 0
        names = (*TorqueTerms._fields, "command") if divisor else ()
        self._publishers = {
            name: node.keep(node.create_publisher(JointState, f"~/torque/{name}", OFFERED)) for name in names
        }
        self._messages = {name: JointState(name=list(joints), effort=[0.0] * len(joints)) for name in names}
        self._views = {name: np.frombuffer(message.effort) for name, message in self._messages.items()}

    def publish(self, stamp: int, terms: TorqueTerms, command: Array) -> None:
        """Send the terms, each (n,), and the limited `command` made of them; `stamp` of the state, ns."""
        self._count += 1
        if not self._divisor or self._count % self._divisor:
            return
        for name, publisher in self._publishers.items():
            if not publisher.get_subscription_count():
                continue
            message = self._messages[name]
            self._views[name][:] = command if name == "command" else getattr(terms, name)
            write_stamp(message.header, stamp)
            publisher.publish(message)
