"""Setpoints of a control loop: from their own topic, and from the trajectory topic through the other process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.ros.loop.clock import LoopClock
from rne_dynamics.ros.loop.node import SETPOINTS, LoopNode
from rne_dynamics.ros.messages.qos import NEWEST
from rne_dynamics.ros.messages.setpoint_reader import SetpointReader
from rne_dynamics.ros.messages.topic_wait import polled_subscription, take

#: Numbers of the sources of setpoints: their own topic, and the trajectory topic.
OWN, TRAJECTORY = 0, 1
#: Size of the sender's running number before a setpoint of the trajectory topic, bytes.
NUMBER = 8
#: Longest setpoint of the trajectory topic, bytes, and how many are taken at once at most.
LARGEST_SETPOINT, AT_ONCE = 65536, 16
#: Shortest time between two log lines about refused setpoints, s.
REFUSALS = 2.0
#: Receives one setpoint of the trajectory topic, its number before it, into memory; returns its size, 0 for none.
ReceiveLossy = Callable[[memoryview], int]


class SetpointInput:
    """Reads setpoints and hands them to the supervisor.

    `node`: the loop's node. `supervisor`: follows the setpoints; without a tracking law none is taken. `clock`: the
    loop's clock. `receive`: as `Link.receive_lossy`. `warn`: logs a text.
    """

    def __init__(
        self, node: LoopNode, supervisor: Supervisor, clock: LoopClock, receive: ReceiveLossy,
        warn: Callable[[str], None],
    ) -> None:
        self._supervisor, self._clock, self._receive, self._warn = supervisor, clock, receive, warn
        self._reader = SetpointReader(supervisor.settings.robot.joint_names)
        self._subscription = (
            polled_subscription(node, JointState, SETPOINTS, NEWEST, raw=True)
            if supervisor.settings.tracking is not None else None
        )
        self._memory = memoryview(bytearray(LARGEST_SETPOINT))
        self._refusal_at = -math.inf
        #: Setpoints taken so far, followed or not.
        self.count = 0

    def take(self) -> None:
        """Take the setpoints that have come, for the next effort."""
        if self._subscription is None:
            return
        taken = take(self._subscription, JointState, True)
        if taken is not None:
            self._read(OWN, taken[0], JointState, taken[1].get("publication_sequence_number"))
        for _ in range(AT_ONCE):
            size = self._receive(self._memory)
            if size <= NUMBER:
                return
            self.pass_on(int.from_bytes(self._memory[:NUMBER], "little"), self._memory[NUMBER:size])

    def pass_on(self, number: int, data: memoryview) -> None:
        """Take a setpoint of the trajectory topic, with the sender's running number, 0 where it is not known."""
        self._read(TRAJECTORY, data, JointTrajectory, number or None)

    def _read(self, source: int, data: bytes | memoryview, kind: type, number: int | None) -> None:
        supervisor, reader = self._supervisor, self._reader
        self.count += 1
        try:
            reader.read(data, kind)
            supervisor.setpoint(
                source, reader.q, reader.qd, self._clock.now(), stamp=reader.stamp, ahead=reader.ahead, sequence=number
            )
        except SetpointError as error:
            unread = error.problem in (SetpointProblem.UNREADABLE, SetpointProblem.WRONG_JOINTS)
            if unread and supervisor.setpoints is not None:
                supervisor.setpoints.refuse(error)
            now = time.monotonic()
            if now >= self._refusal_at:
                self._refusal_at = now + REFUSALS
                self._warn(str(error))
