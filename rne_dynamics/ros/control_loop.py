"""The control loop of a controller: joint states in, efforts out, and nothing that other nodes can make slow.

It runs in a process of its own (`loop_process`), whose only inputs from other nodes are the joint states and, where
there is one, the topic that says whether the drives act. Everything else comes from the controller's own node in the
other process, checked, one command at a time.
"""

from __future__ import annotations

import gc
import math
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.compiling.progress import Compiling, watch_compiling
from rne_dynamics.control.locked_joints import Measured
from rne_dynamics.control.streaming.problems import SetpointError, SetpointProblem
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.output import Effort
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import DRIVING, INACTIVE, SILENT, STOPPING, Mode
from rne_dynamics.control.supervision.supervisor import Supervisor
from rne_dynamics.errors import ControlError, RneDynamicsError, StateError
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.base_imu import read_imu
from rne_dynamics.ros.cdr import stamp_in
from rne_dynamics.ros.clock_seen import MODES, ClockSeen, SeenPublisher, number_of
from rne_dynamics.ros.controller_report import ControllerReport, setpoint_values
from rne_dynamics.ros.controller_state import ControllerState
from rne_dynamics.ros.diagnostics import WARN
from rne_dynamics.ros.hot_loop import LONGEST_WAIT, HotLoop
from rne_dynamics.ros.joint_map import Reading
from rne_dynamics.ros.lifecycle import LATCHED, NEWEST
from rne_dynamics.ros.loop_clock import USE_SIM_TIME, LoopClock
from rne_dynamics.ros.loop_messages import Answer, Command, Ended, Entered, Follow, Present, Said, Setup, Snapshot
from rne_dynamics.ros.loop_statistics import LoopStatistics
from rne_dynamics.ros.messages import EffortPublisher, TermsPublisher
from rne_dynamics.ros.scheduling import settle
from rne_dynamics.ros.setpoint_reader import SetpointReader
from rne_dynamics.ros.state_reader import StateReader
from rne_dynamics.ros.topic_wait import polled_subscription, take

# reading a member off its class is slow in Python 3.11
FOREIGN, NO_VELOCITY = Reading.FOREIGN, Reading.NO_VELOCITY
#: How often the watchdog checks the age of the state, s.
WATCH_PERIOD = 0.01
#: Time between two efforts of a stop without states, s.
BLIND_PERIOD = 0.004
#: How often what the arm does is reported while it is driven, s.
SNAPSHOT_PERIOD = 0.05
#: How often garbage is collected, s: 0.03 ms, because the start's objects are frozen.
GARBAGE_PERIOD = 1.0
#: Age from which the check of a trajectory does not count any more, s.
OLD = 5.0
#: Longest time in which efforts are brought to zero after an error that leaves no other way, s.
FADE = 0.5
#: Round-off of times that are compared, s.
ROUNDING = 1e-9
#: Silence of /clock after which a controller that needs it says so, s.
CLOCK_SILENCE = 5.0
#: Name of the topic that says whether the drives act, in `Setup.topics`.
DRIVES = "drives"
#: Name of the topic that says how the base moves, likewise.
BASE = "base"
#: Name of the topic that `SeenPublisher` publishes on, likewise.
CLOCK_SEEN = "clock_seen"
#: Topic of setpoints.
SETPOINTS = "~/setpoints"
#: Numbers of the sources of setpoints: that topic, and the trajectory topic.
OWN, TRAJECTORY = 0, 1
#: Bytes of the sender's running number before a setpoint of the trajectory topic; longest such setpoint, bytes; and how
#: many are taken at once at most.
NUMBER, LARGEST, AT_ONCE = 8, 65536, 16
#: Shortest time between two lines of log on setpoints that are refused, s.
REFUSALS = 2.0

Entity = TypeVar("Entity")
#: Sends a message to the other process; those that are not needed (second argument) may be lost.
Send = Callable[[object, bool], None]


class LoopNode(Node):  # type: ignore[misc]  # rclpy may be absent where types are checked
    """The loop's node: no parameters, no services, topics as the controller's own node names them."""

    def __init__(self, setup: Setup) -> None:
        self._topics = setup.topics
        super().__init__(
            setup.name, namespace=setup.namespace, use_global_arguments=False, enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[
                Parameter("start_type_description_service", value=False),
                Parameter(USE_SIM_TIME, value=setup.simulated),
            ],
        )

    def keep(self, entity: Entity) -> Entity:
        """All entities last as long as the node."""
        return entity

    def create_publisher(self, kind: type, topic: str, *arguments: Any, **options: Any) -> Any:
        """As `Node`, with the topic's full name."""
        return super().create_publisher(kind, self._topics.get(topic, topic), *arguments, **options)

    def create_subscription(self, kind: type, topic: str, *arguments: Any, **options: Any) -> Any:
        """As `Node`, with the topic's full name."""
        return super().create_subscription(kind, self._topics.get(topic, topic), *arguments, **options)


class ControlLoop:
    """One controller's loop. Its public methods are the commands that it takes.

    Parameters
    ----------
    send
        Takes what is to be reported: `Entered`, `Ended`, `Said`, `Snapshot`.
    settled
        Called once the loop is built, before the first state: what the process has to do for real time.
    catch
        As `Link.catch`: setpoints of the trajectory topic, each with its number before it.
    """

    def __init__(
        self, send: Send, settled: Callable[[], None] = lambda: None,
        catch: Callable[[memoryview], int] = lambda memory: 0,
    ) -> None:
        self._send, self._settled, self._catch = send, settled, catch
        self._caught = memoryview(bytearray(LARGEST))
        self._node: LoopNode | None = None
        self.hot: HotLoop | None = None
        self._watch_at = self._snapshot_at = self._garbage_at = 0.0

    # -- commands: its life -------------------------------------------------------------------------------------------

    def build(self, setup: Setup) -> None:
        """Everything that can be done once, before the first state."""
        self.release()
        robot = setup.settings.robot
        n = robot.n
        with watch_compiling(self._compiling):
            self.supervisor = Supervisor(setup.settings, self._entered)
            self.supervisor.warm_up()
            self.reader = StateReader(robot.joint_names, setup.others)
        self._q, self._qd, self._reported, self._sent = np.zeros(n), np.zeros(n), np.full(n, np.nan), np.zeros(n)
        self._account = ControllerReport(self.supervisor)
        node = self._node = LoopNode(setup)
        self.efforts = EffortPublisher(node, setup.joints, robot.joint_names, setup.scale, setup.message)
        self.terms = TermsPublisher(node, robot.joint_names, setup.torque_divisor)
        self._tracking = ControllerState(
            node, robot.joint_names, setup.torque_divisor if setup.settings.tracking is not None else 0
        )
        self.statistics = LoopStatistics(time.monotonic())
        self._answers_states = setup.rate == 0.0
        self.clock, self._taken, self._stamp, self._setpoints_taken = LoopClock(node), 0, 0, 0
        # before the subscription to joint states: a simulation in lock-step must know of this node by the first of them
        self._seen = SeenPublisher(node, CLOCK_SEEN) if self.clock.simulated else None
        self._target = number_of(self.efforts.topic)
        self._drives = [
            polled_subscription(node, Bool, DRIVES, profile)
            for profile in (LATCHED, NEWEST)  # a latched publisher's last message, and publishers that latch nothing
        ] if setup.drives else []
        if self._drives:
            self.supervisor.drives(self.clock.now(), False)  # until they say that they do
        self._base = [polled_subscription(node, Imu, BASE, NEWEST, raw=True)] if setup.base else []
        self._setpoints = [
            polled_subscription(node, JointState, SETPOINTS, NEWEST, raw=True)
        ] if setup.settings.tracking is not None else []
        self._setpoint_reader, self._refusal_at = SetpointReader(robot.joint_names), -math.inf
        self.hot = HotLoop(
            node, JointState, "joint_states", NEWEST, self.on_state,
            None if self._answers_states else 1.0 / setup.rate, self._tick, raw=True,
            clock=self.clock, on_time=self._on_time,
        )
        for refusal in settle(setup.priority, setup.cpus, setup.lock_memory):
            self._say("warning", refusal)
        self._settled()

    def release(self) -> None:
        """Forget the robot."""
        self.hot = None
        if self._node is not None:
            self._node.destroy_node()
            self._node = None

    def knows(self, publishers: dict[str, int], subscribers: dict[str, int]) -> bool:
        """Whether the loop has found as many publishers and subscribers of topics, by full name, as are given."""
        node = self._node
        assert node is not None
        return all(node.count_publishers(topic) >= count for topic, count in publishers.items()) and all(
            node.count_subscribers(topic) >= count for topic, count in subscribers.items()
        )

    def activate(self) -> None:
        """Wait for the first state; the arm stays where that one finds it."""
        self.statistics = LoopStatistics(time.monotonic())
        self._watch_at = 0.0
        self.supervisor.activate(self.clock.now())

    # -- commands: the arm --------------------------------------------------------------------------------------------

    def stop(self, why: str, ending: bool = False) -> None:
        """As `Supervisor.stop`; `Entered` reports its end, after the zeros of the release."""
        self.clock.ending = self.clock.ending or ending
        self.supervisor.stop(self.clock.now(), why, ending=ending)

    def hurry(self, why: str) -> None:
        """As `Supervisor.hurry`."""
        self.supervisor.hurry(self.clock.now(), why)

    def recover(self) -> None:
        """As `Supervisor.recover`."""
        self.supervisor.recover(self.clock.now())

    def cancel(self, why: str) -> None:
        """As `Supervisor.cancel`."""
        self.supervisor.cancel(why)

    def hand_guide(self, on: bool) -> None:
        """As `Supervisor.hand_guide`."""
        self.supervisor.hand_guide(on)

    def scale_speed(self, speed: float) -> None:
        """As `Supervisor.scale_speed`."""
        self.supervisor.scale_speed(speed)

    def adopt(self, settings: Settings) -> None:
        """As `Supervisor.adopt`."""
        self.supervisor.adopt(settings)

    def present(self, start: int) -> Present:
        """What a trajectory that begins at the stamp `start`, ns, or now, is checked against; refuses as `follow`."""
        supervisor = self.supervisor
        supervisor.ready()
        queue, stamp = supervisor.queue, supervisor.stamp
        return Present(
            stamp, self.clock.now(), queue.ahead(max(start, stamp)), *queue.path_rate(supervisor.speed),
            supervisor.posture,
        )

    def follow(self, wanted: Follow) -> None:
        """Follow a trajectory; `Ended` reports how it ended.

        Raises
        ------
        ControlError
            The controller accepts no motion now, or the check is too long ago.
        """
        age = self.clock.now() - wanted.checked_at  # in simulated time too: that is how far the arm may have moved
        if age > OLD:
            raise ControlError(f"its check took {age:.1f} s; at most {OLD:g} s are allowed: send fewer points")
        if wanted.at_once:
            wanted.motion.start = self.supervisor.stamp

        def ended(ending: Ending, text: str) -> None:
            self._send(Ended(wanted.number, ending, text), False)

        self.supervisor.follow(wanted.motion, ended)

    def obstruct(self, why: str) -> None:
        """As `Supervisor.obstruct`."""
        self.supervisor.obstruct(why)

    # -- commands: what is reported -----------------------------------------------------------------------------------

    def report(self) -> tuple[bytes, str, dict[str, object], int]:
        """Level, message and values for the diagnostics; simulated time, ns."""
        level, message, values = self._account.next()
        supervisor, clock = self.supervisor, self.clock
        if clock.silence > CLOCK_SILENCE and (not clock.started or supervisor.mode not in SILENT):
            level, message = WARN, (
                f"use_sim_time is set and nothing has come on /clock for {clock.silence:.0f} s: the controller waits; "
                "start or continue the simulation, or set use_sim_time to false"
            )
        error = np.abs(supervisor.queue.reference.q - supervisor.q)
        tracking: dict[str, object] = {} if supervisor.settings.tracking is None else {
            "tracking": supervisor.queue.moving, "speed scaling": supervisor.speed,
            "largest present error": float(np.max(error, initial=0.0)),
        }
        return (
            level, message, values | self.statistics.report(time.monotonic()) | tracking | setpoint_values(supervisor),
            clock.stamp,
        )

    def others(self) -> dict[str, Measured]:
        """As `StateReader.others`."""
        return self.reader.others()

    # -- the hot path -------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Wait for one state or deadline, for 10 ms at most, and answer it; check the age of the state."""
        assert self.hot is not None
        self.hot.turn(longest=BLIND_PERIOD if self.supervisor.dead_reckoning else LONGEST_WAIT)
        if not self.clock.simulated or self.clock.running_on:
            self._watch(self.clock.now())

    def on_state(self, data: bytes) -> None:
        """One joint state as it came: check it, and answer it."""
        if self.clock.started:  # nothing can be answered without a time
            self._take_state(data)
            if self._base:
                self._sense_base(self.clock.now())  # for the next answer; this one must not wait
            self._take_setpoints()  # likewise
        self._taken += 1
        if self._seen is not None:
            self._stamp = stamp_in(data)
            self._acknowledge()

    def _on_time(self) -> None:
        """A simulated time has come."""
        self._take_setpoints()
        self._watch(self.clock.now())
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Report to a simulation in lock-step what has been dealt with."""
        if self._seen is not None:
            self._seen.publish(ClockSeen(
                self._seen.node, self.clock.stamp, self._taken, self.efforts.count,
                MODES.index(self.supervisor.mode.value), self._stamp, self._target,
                setpoints=self._setpoints_taken,
            ))

    def _take_state(self, data: bytes) -> None:
        arrived, now = time.monotonic(), self.clock.now()
        supervisor, reader = self.supervisor, self.reader
        try:
            reading = reader.read(data, self._q, self._qd, self._reported)
        except StateError as error:
            supervisor.refuse(error)
            return
        if reading is FOREIGN:
            supervisor.counters.foreign += 1
            return
        if self.efforts.scaled:
            np.divide(self._reported, self.efforts.scale, out=self._reported)
        usable = supervisor.observe(
            reader.stamp, now, self._q, self._qd, self._reported, velocity_missing=reading is NO_VELOCITY,
            sequence=None if self.hot is None else self.hot.sequence,
        )
        if usable and (self._answers_states or supervisor.mode is STOPPING):
            self._answer(supervisor.effort(supervisor.stamp, now), arrived)
        self.statistics.arrived(arrived)  # after the answer, which must not wait for it

    def _tick(self, late: bool) -> None:
        """One cycle at the fixed rate: the newest state, if it is not stale."""
        supervisor = self.supervisor
        if supervisor.mode not in DRIVING:
            return
        arrived, now = time.monotonic(), self.clock.now()
        if late:
            self.statistics.overrun()
        self._answer(supervisor.effort(supervisor.stamp + int((now - supervisor.arrival) * 1e9), now), arrived)

    def _sense_base(self, now: float) -> None:
        """Take what has come on the motion of the base, if that is measured."""
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

    def _take_setpoints(self) -> None:
        """Take the setpoints that have come, for the next answer."""
        if not self._setpoints:
            return
        taken = take(self._setpoints[0], JointState, True)
        if taken is not None:
            self._take_setpoint(OWN, taken[0], JointState, taken[1].get("publication_sequence_number"))
        for _ in range(AT_ONCE):
            size = self._catch(self._caught)
            if size <= NUMBER:
                return
            self.pass_on(int.from_bytes(self._caught[:NUMBER], "little"), self._caught[NUMBER:size])

    def pass_on(self, number: int, data: memoryview) -> None:
        """Take a setpoint of the trajectory topic, with the sender's running number, 0 where it is not known."""
        self._take_setpoint(TRAJECTORY, data, JointTrajectory, number or None)

    def _take_setpoint(self, source: int, data: bytes | memoryview, kind: type, number: int | None) -> None:
        supervisor, reader = self.supervisor, self._setpoint_reader
        self._setpoints_taken += 1
        try:
            reader.read(data, kind)
            supervisor.setpoint(
                source, reader.q, reader.qd, self.clock.now(), stamp=reader.stamp, ahead=reader.ahead, sequence=number
            )
        except SetpointError as error:
            if error.problem in (SetpointProblem.UNREADABLE, SetpointProblem.WRONG_JOINTS):
                supervisor.refuse_setpoint(error)
            now = time.monotonic()
            if now >= self._refusal_at:
                self._refusal_at = now + REFUSALS
                self._say("warning", str(error))

    def _answer(self, effort: Effort | None, arrived: float) -> None:
        """Publish an effort and what it is made of."""
        if effort is None:
            return
        supervisor = self.supervisor
        self._publish(effort)
        self.statistics.replied(time.monotonic(), arrived)
        self.terms.publish(supervisor.stamp, effort.terms, effort.command)
        self._tracking.publish(
            supervisor.stamp, supervisor.queue.reference, supervisor.q, supervisor.qd, effort.command, supervisor.speed
        )
        if arrived >= self._snapshot_at:
            self._snapshot_at = arrived + SNAPSHOT_PERIOD
            self._send(
                Snapshot(supervisor.stamp, supervisor.queue.reference, supervisor.q, supervisor.qd, supervisor.speed),
                True,
            )
        if arrived >= self._garbage_at:
            self._garbage_at = arrived + GARBAGE_PERIOD
            gc.collect()

    def _publish(self, effort: Effort) -> None:
        self.efforts.publish(effort.command)
        self._sent = effort.command
        if effort.last and self.supervisor.mode is not INACTIVE:  # else it has happened on the way into that mode
            self._let_go()

    def _watch(self, now: float) -> None:
        if now < self._watch_at - ROUNDING:
            return
        self._sense_base(now)
        self._take_setpoints()
        effort = self.supervisor.tick(now)
        if effort is not None:
            self._publish(effort)
            self.statistics.sent()
        self._watch_at = now + (BLIND_PERIOD if self.supervisor.dead_reckoning else WATCH_PERIOD)
        for subscription in self._drives:
            taken = take(subscription, Bool)
            if taken is not None:
                self.supervisor.drives(now, bool(taken[0].data))

    # -- ends ---------------------------------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether nothing is sent and nothing will be."""
        return self.hot is None or self.supervisor.mode is INACTIVE

    def _let_go(self) -> None:
        self.efforts.release()
        self._sent = np.zeros(len(self._sent))

    def rescue(self, why: str) -> None:
        """After an error that should not be: stop without states if that still works, then zeros.

        Parameters
        ----------
        why
            For the log.
        """
        if self.over:
            return
        ahead = self.clock.now() - time.monotonic()  # a simulated clock is not waited for
        try:
            supervisor = self.supervisor
            supervisor.fail(time.monotonic() + ahead, why)
            while supervisor.mode is STOPPING:
                effort = supervisor.tick(time.monotonic() + ahead)
                if effort is not None:
                    self._publish(effort)
                time.sleep(BLIND_PERIOD)
        except Exception:  # noqa: BLE001 logged, and the arm is stopped
            self._say("error", f"the stop without states fails too, efforts go to zero: {traceback.format_exc()}")
            self._fade()
        self._let_go()

    def _fade(self) -> None:
        """The last effort to zero at the rate limit, in `FADE` at the latest."""
        step = BLIND_PERIOD * np.maximum(self.supervisor.settings.limits.rate, np.abs(self._sent) / FADE)
        effort: Array = self._sent
        while effort.any():
            effort = np.sign(effort) * np.maximum(np.abs(effort) - step, 0.0)
            self.efforts.publish(effort)
            time.sleep(BLIND_PERIOD)

    # -- towards the other process ------------------------------------------------------------------------------------

    def execute(self, command: Command) -> Answer:
        """Do what a command says."""
        try:
            return Answer(command.number, getattr(self, command.name)(*command.arguments))
        except RneDynamicsError as error:
            return Answer(command.number, None, str(error))
        except Exception as error:  # noqa: BLE001 logged, and the arm is stopped
            return Answer(command.number, None, f"{type(error).__name__}: {error}", traceback.format_exc())

    def _entered(self, mode: Mode, cause: str) -> None:
        """The supervisor has entered a mode, or found a cause to stay in it."""
        if mode is INACTIVE:
            self.clock.ending = False
            self._let_go()
        self._send(Entered(mode, cause, self.supervisor.gate.failed), False)

    def _compiling(self, now: Compiling) -> None:
        self._send(now, True)

    def _say(self, level: str, text: str) -> None:
        self._send(Said(level, text), False)
