"""The cycle of a control loop: one joint state in, one effort out; in its pauses the watchdog and the other topics."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem
from rne_dynamics.control.supervision.output import Effort
from rne_dynamics.control.supervision.states import DRIVING, INACTIVE, STOPPING
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.control.thresholds import NANOSECONDS, ROUNDING
from rne_dynamics.errors import StateError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.loop.hot_loop import LONGEST_WAIT, HotLoop, LoopClock
from rne_dynamics.ros.loop.messages import BASE, CLOCK_SEEN, DRIVES, SETPOINTS, ContactTopics, LoopNode, Setup, Snapshot
from rne_dynamics.ros.loop.statistics import LoopStatistics
from rne_dynamics.ros.messages.answers import SeenPublisher
from rne_dynamics.ros.messages.cdr import stamp_in
from rne_dynamics.ros.messages.joint_states import Reading, StateReader, read_imu
from rne_dynamics.ros.messages.publishers import EffortPublisher, TermsPublisher
from rne_dynamics.ros.messages.topic_wait import LATCHED, NEWEST, polled_subscription, take
from rne_dynamics.ros.messages.trajectory_message import SetpointReader
from rne_dynamics.ros.node.diagnostics import ControllerState
from rne_dynamics.ros.parameters.controller import effort_scales

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
    """Reads setpoints and hands them to the supervisor; without a tracking law none is taken."""

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
            number = int.from_bytes(self._memory[:NUMBER], "little")  # the sender's, 0 where it is not known
            self._read(TRAJECTORY, self._memory[NUMBER:size], JointTrajectory, number or None)

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
            if unread and supervisor.input.setpoints is not None:
                supervisor.input.setpoints.refuse(error)
            now = time.monotonic()
            if now >= self._refusal_at:
                self._refusal_at = now + REFUSALS
                self._warn(str(error))


# -- the cycle ---------------------------------------------------------------------------------------------------------


# reading a member off its class is slow in Python 3.11
OTHER_JOINTS, NO_VELOCITY = Reading.OTHER_JOINTS, Reading.NO_VELOCITY
#: How often the watchdog checks the age of the state, s.
WATCH_PERIOD = 0.01
#: Time between two efforts of a stop by dead reckoning, s.
DEAD_RECKONING_PERIOD = 0.004
#: How often the motion of the arm is reported while it is driven, s.
SNAPSHOT_PERIOD = 0.05
#: How often garbage is collected, s: 0.03 ms, because the start's objects are frozen.
GARBAGE_PERIOD = 1.0
#: Longest time in which efforts are brought to zero after an error that leaves no other way, s.
FADE = 0.5

#: Calls a method of the controller's node in the other process: its name, its arguments, `droppable` if it may be lost.
Report = Callable[..., None]


class LoopCycle:
    """Joint states in, efforts out; `report` calls `log` and `snapshot` of the node, `receive` as `Link`'s."""

    def __init__(
        self, setup: Setup, node: LoopNode, supervisor: Supervisor, reader: StateReader, report: Report,
        receive: ReceiveLossy,
    ) -> None:
        robot, n, values = setup.settings.robot, setup.settings.robot.n, setup.values
        self.supervisor, self.reader, self._report = supervisor, reader, report
        self._q, self._qd, self._reported, self._sent = np.zeros(n), np.zeros(n), np.full(n, np.nan), np.zeros(n)
        self.efforts = EffortPublisher(
            node, setup.joints, robot.joint_names, effort_scales(robot, values), values["command_message"]
        )
        self.terms = TermsPublisher(node, robot.joint_names, values["torque_divisor"])
        divisor = values["torque_divisor"] if setup.settings.tracking is not None else 0
        self._tracking = ControllerState(node, robot.joint_names, divisor)
        contact = setup.settings.contact
        self._contact = None if contact is None else ContactTopics(
            node, contact, divisor, partial(report, "felt")
        )
        supervisor.contact.read = False  # until somebody subscribes
        self._answers_states = values["rate"] == 0.0
        self.clock, self._taken, self._stamp = LoopClock(node), 0, 0
        # before the subscription to joint states: a simulation in lock-step counts this node from the first of them on
        self._seen = SeenPublisher(node, CLOCK_SEEN, self.clock, self.efforts) if self.clock.simulated else None
        self._drives = [
            polled_subscription(node, Bool, DRIVES, profile)
            for profile in (LATCHED, NEWEST)  # matches latched and other publishers
        ] if values["drives.topic"] else []
        if self._drives:
            supervisor.drives(self.clock.now(), False)  # until the first message that they act
        self._base = [polled_subscription(node, Imu, BASE, NEWEST, raw=True)] if values["base_motion.topic"] else []
        self.setpoints = SetpointInput(node, supervisor, self.clock, receive, partial(report, "log", "warning"))
        self._snapshot_at = self._garbage_at = 0.0
        self._snapshot_stamp = 0
        self.restart()
        self.hot = HotLoop(
            node, JointState, "joint_states", NEWEST, self.on_state,
            None if self._answers_states else 1.0 / values["rate"], self._tick, raw=True,
            clock=self.clock, on_time=self._on_time,
        )

    def restart(self) -> None:
        """Reset the statistics."""
        self.statistics = LoopStatistics(time.monotonic())
        self._watch_at = 0.0

    def turn(self) -> None:
        """Wait for one state or deadline, for 10 ms at most, and answer it; check the age of the state."""
        self.hot.turn(longest=DEAD_RECKONING_PERIOD if self.supervisor.machine.dead_reckoning else LONGEST_WAIT)
        if not self.clock.simulated or self.clock.running_on:
            self._watch(self.clock.now())

    def on_state(self, data: bytes) -> None:
        """Check one serialised joint state, and answer it."""
        if self.clock.started:  # no answer without a time
            self._take_state(data)
            if self._base:
                self._sense_base(self.clock.now())  # for the next answer; this one was sent first
            self.setpoints.take()  # likewise
        self._taken += 1
        if self._seen is not None:
            self._stamp = stamp_in(data)
            self._acknowledge()

    def _on_time(self) -> None:
        """Serve a new simulated time."""
        self.setpoints.take()
        self._watch(self.clock.now())
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Acknowledge to a simulation in lock-step."""
        if self._seen is not None:
            self._seen.publish(self.supervisor.mode, self._taken, self._stamp, setpoints=self.setpoints.count)

    def _take_state(self, data: bytes) -> None:
        arrived, now = time.monotonic(), self.clock.now()
        supervisor, reader = self.supervisor, self.reader
        try:
            reading = reader.read(data, self._q, self._qd, self._reported)
        except StateError as error:
            supervisor.refuse(error)
            return
        if reading is OTHER_JOINTS:
            supervisor.counters.foreign += 1
            return
        if self.efforts.scaled:
            np.divide(self._reported, self.efforts.scale, out=self._reported)
        usable = supervisor.observe(
            reader.stamp, now, self._q, self._qd, self._reported, velocity_missing=reading is NO_VELOCITY,
            sequence=self.hot.sequence,
        )
        if usable and (self._answers_states or supervisor.mode is STOPPING):
            self._answer(supervisor.effort(supervisor.stamp, now), arrived)
        self.statistics.arrived(arrived)  # after the answer was sent

    def _tick(self, late: bool) -> None:
        """One cycle at the fixed rate: the newest state, if it is not stale."""
        supervisor = self.supervisor
        if supervisor.mode not in DRIVING:
            return
        arrived, now = time.monotonic(), self.clock.now()
        self.statistics.overruns += late
        stamp = supervisor.stamp + int((now - supervisor.machine.stream.arrival) * 1e9)
        self._answer(supervisor.effort(stamp, now), arrived)

    def _sense_base(self, now: float) -> None:
        """Take the newest motion of the base, if it is measured."""
        for subscription in self._base:
            taken = take(subscription, Imu, True)
            if taken is None:
                continue
            try:
                reading = read_imu(taken[0])
            except StateError as error:
                self.supervisor.refuse_base(error)
            else:
                self.supervisor.sense_base(reading, now)

    def _answer(self, effort: Effort | None, arrived: float) -> None:
        """Publish an effort and its terms."""
        if effort is None:
            return
        supervisor = self.supervisor
        reference, q, unwrapped = supervisor.queue.reference, supervisor.q, supervisor.unwrapped
        self.publish(effort)
        self.statistics.replied(time.monotonic(), arrived)
        supervisor.settle()
        self.terms.publish(supervisor.stamp, effort)
        watch = supervisor.contact.watch
        if self._contact is not None and watch is not None and (watch.observing or self._contact.felt):
            self._contact.publish(supervisor.stamp, watch, q)
        self._tracking.publish(
            supervisor.stamp, reference, q, supervisor.qd, effort.command, supervisor.machine.speed, unwrapped,
            following=supervisor.mode is not STOPPING,  # an arm that is released follows no reference
        )
        # simulated time may pass faster: the node must know where the arm is now, not where it was long ago
        if arrived >= self._snapshot_at or supervisor.stamp - self._snapshot_stamp >= SNAPSHOT_PERIOD * NANOSECONDS:
            self._snapshot_at, self._snapshot_stamp = arrived + SNAPSHOT_PERIOD, supervisor.stamp
            shown = reference._replace(q=reference.q - unwrapped)
            state = q - unwrapped, supervisor.qd, supervisor.machine.stream.reported
            supervisor.contact.read = self._contact is not None and self._contact.read
            self._report("snapshot", Snapshot(supervisor.stamp, shown, *state), droppable=True)
        if arrived >= self._garbage_at:
            self._garbage_at = arrived + GARBAGE_PERIOD
            gc.collect()

    def publish(self, effort: Effort) -> None:
        """Send an effort; the last one of a stop is followed by the zeros of the release."""
        self.efforts.publish(effort.command)
        self._sent = effort.command
        if effort.last and self.supervisor.mode is not INACTIVE:  # INACTIVE: done when that mode was entered
            self.release()

    def _watch(self, now: float) -> None:
        if now < self._watch_at - ROUNDING:
            return
        self._sense_base(now)
        self.setpoints.take()
        effort = self.supervisor.tick(now)
        if effort is not None:
            self.publish(effort)
            self.statistics.efforts += 1
        self._watch_at = now + (DEAD_RECKONING_PERIOD if self.supervisor.machine.dead_reckoning else WATCH_PERIOD)
        for subscription in self._drives:
            taken = take(subscription, Bool)
            if taken is not None:
                self.supervisor.drives(now, bool(taken[0].data))

    # -- zeros --------------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Send the zeros that release the arm."""
        self.efforts.release()
        self._sent = np.zeros(len(self._sent))

    def fade(self) -> None:
        """Bring the last effort to zero at the rate limit, in `FADE` at the latest."""
        step = DEAD_RECKONING_PERIOD * np.maximum(self.supervisor.settings.limits.rate, np.abs(self._sent) / FADE)
        effort: Array = self._sent
        while effort.any():
            effort = np.sign(effort) * np.maximum(np.abs(effort) - step, 0.0)
            self.efforts.publish(effort)
            time.sleep(DEAD_RECKONING_PERIOD)
