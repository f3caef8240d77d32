"""Base of the two controllers: the node that users see, in front of a control loop in a process of its own.

Here parameters, trajectories, goals and services are received and checked, and what the loop reports is published. What
is decided about the arm is decided by the `Supervisor` of the loop; see `control_loop`.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rclpy.clock import ClockType
from rclpy.publisher import Publisher
from rclpy.time import Time
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rne_dynamics.compiling.progress import Compiling
from rne_dynamics.control.locked_joints import PERIOD, LockedJoints
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import DRIVING, Mode
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.errors import ModelError, RneDynamicsError
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.ros.clock_seen import LOOP, seen_topic
from rne_dynamics.ros.control_loop import BASE, CLOCK_SEEN, DRIVES, SETPOINTS
from rne_dynamics.ros.controller_parameters import effort_scales
from rne_dynamics.ros.described_robot import endless, loaded, relocked
from rne_dynamics.ros.diagnostics import ERROR, OK, WARN, Diagnostics
from rne_dynamics.ros.effort_message import effort_type
from rne_dynamics.ros.lifecycle import LATCHED, ArmNode, payload
from rne_dynamics.ros.loop_clock import USE_SIM_TIME, end_time_source
from rne_dynamics.ros.loop_messages import Entered, Said, Setup
from rne_dynamics.ros.loop_process import LoopEndedError
from rne_dynamics.ros.messages import EFFORT_TOPIC
from rne_dynamics.ros.node_executor import NodeExecutor
from rne_dynamics.ros.parameters import Parameter, Values, numbers
from rne_dynamics.ros.throttle import Throttle
from rne_dynamics.ros.topic_peers import TopicPeers

#: How long a stop may take beyond its plan before the efforts are brought to zero at once, and how long that may take
#: before the loop's process is killed, s.
OVERTIME, LAST = 2.0, 3.0
#: Longest wait for the loop to find the nodes that this process has found, s.
DISCOVERY = 1.0
#: Shortest time between two settings, or two speeds, that are handed to the loop, s.
SETTINGS_PERIOD = 0.1


class Loop(Protocol):
    """What a controller needs of its control loop; see `LoopProcess`."""

    def listen(self, on_message: Callable[[Any], None], wake: Callable[[], None]) -> None:
        """Hand what the loop reports to `on_message`, from `hear`; call `wake` in a thread when there is something."""

    def listen_no_more(self) -> None:
        """End what `listen` has begun."""

    def hear(self) -> None:
        """Take everything that the loop has reported."""

    def tell(self, name: str, *arguments: object) -> None:
        """Have a command done, without an answer."""

    def ask(self, name: str, *arguments: object, seconds: float = ...) -> Any:
        """Have a command done; what it returns."""

    def pass_on(self, number: int, data: bytes) -> None:
        """Hand on a setpoint that came on the trajectory topic, with the sender's running number."""

    def wait(self, seconds: float = ...) -> str:
        """How the loop has ended; it is killed if it has not within `seconds`."""


class EffortNode(ArmNode):
    """A controller that turns joint states into efforts.

    Subclasses give `settings`. Of a mechanism with closed loops the states of the driven joints are read, no others.

    The last effort never stays standing: see `Supervisor` for how every way to end releases the arm.

    Parameters
    ----------
    name, schema
        As for `ArmNode`.
    control
        The control loop.
    """

    _modes: Publisher | None = None

    def __init__(self, name: str, schema: Sequence[Parameter], control: Loop) -> None:
        self.control = control  # before what may raise: Kilted's rclpy destroys nodes that were begun, too
        super().__init__(name, schema)
        self.mode, self._locked, self.lost = Mode.UNCONFIGURED, False, False
        self._heard = self.create_guard_condition(self._hear)
        control.listen(self.heard, self._heard.trigger)

    @abstractmethod
    def settings(self, robot: Machine, values: Values) -> Settings:
        """What the parameters make of a robot; raises to refuse."""

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: Machine) -> None:
        """Have the loop do everything that can be done once, before the first state."""
        if not robot.n:
            raise ModelError(f"robot {robot.name!r} has no joints that move; a controller needs one at least")
        values = self.parameters
        values.declare_joints(robot.joint_names, left_out=self.locked)
        settings = self.settings(robot, values.values)
        self._warn(settings)
        self.in_force, self._simulated = settings, bool(self.get_parameter(USE_SIM_TIME).value)
        if self._simulated:
            end_time_source(self)  # the loop takes the time, and reports it
        self._others, self._obstacle = LockedJoints(self.locked, endless(self.found.free)), ""
        self.control.ask("build", self._setup(robot, settings), seconds=math.inf)
        self.mode, self._locked = Mode.INACTIVE, False
        self._newest: Throttle[Settings] = Throttle(lambda newest: self.control.tell("adopt", newest), SETTINGS_PERIOD)
        self._modes = self.keep(self.create_publisher(String, "~/state", LATCHED))
        self.diagnostics = Diagnostics(self)
        self._peers = TopicPeers(self, EFFORT_TOPIC)
        for name, action in (("stop", self._on_stop), ("recover", self._on_recover)):
            self.keep(self.create_service(Trigger, f"~/{name}", action))
        if self.locked:
            self.every(PERIOD, self._follow_locked)
        self.every(values.number("diagnostics_period"), self._report)
        self.every(SETTINGS_PERIOD, self._hand_on)
        values.enable_changes(self._changed)
        self._say(self.mode)
        self._await_loop()

    def _await_loop(self) -> None:
        """Wait until the loop has found whom this node has found: what is sent once it is active must not be lost."""
        hears, speaks = map(self.resolve_topic_name, ("joint_states", EFFORT_TOPIC))
        deadline = time.monotonic() + DISCOVERY
        while time.monotonic() < deadline:
            if self.control.ask(
                "knows", {topic: self.count_publishers(topic) for topic in (hears, "/clock")},
                {speaks: self.count_subscribers(speaks)},
            ):
                return
            time.sleep(0.005)

    def _setup(self, robot: Machine, settings: Settings) -> Setup:
        values = self.parameters
        drives, base = values.text("drives.topic"), values.text("base_motion.topic")
        message = values.text("command_message")
        effort_type(message)  # refuses what is not installed before the loop does
        topics = ["/clock", "joint_states", EFFORT_TOPIC, "~/controller_state", "~/torque/command"]
        topics += [SETPOINTS, *(f"~/torque/{term}" for term in TorqueTerms._fields)]
        return Setup(
            settings, f"{self.get_name()}{LOOP}", self.get_namespace(),
            {name: self.resolve_topic_name(name) for name in topics} | {CLOCK_SEEN: seen_topic(self)}
            | ({DRIVES: self.resolve_topic_name(drives)} if drives else {})
            | ({BASE: self.resolve_topic_name(base)} if base else {}),
            self.commanded, tuple(self.locked), effort_scales(robot, values.values), message, values.number("rate"),
            int(values.number("torque_divisor")), bool(drives), bool(base), self._simulated,
            int(values.number("realtime_priority")), tuple(map(int, numbers(values.values, "cpu_affinity"))),
            values.flag("lock_memory"),
        )

    def settle(self) -> None:
        """Nothing: the loop's process is the one that the operating system has to treat as the parameters say."""

    def begin(self) -> None:
        """Wait for the first state; the arm stays where that one finds it."""
        self._newest.flush(time.monotonic(), always=True)
        self.control.ask("activate")

    def end(self) -> None:
        """Stop and release the arm; takes a second or two, less after a second signal."""
        if self.mode in DRIVING:
            self.get_logger().info("stopping: the arm is slowed down, held and released")
        plan, hurried = self.in_force.stop, False
        # a simulation may be slower than its clock says, or stand still
        slowest = math.inf if self._simulated else OVERTIME
        hurry_at = time.monotonic() + plan.brake_time + plan.hold_time + plan.ramp_time + slowest
        give_up_at = hurry_at + LAST
        self.control.ask("stop", "deactivated", True)
        while self.mode is not Mode.INACTIVE:
            time.sleep(0.005)
            self.control.hear()
            now = time.monotonic()
            if not hurried and (now > hurry_at or self.pressed()):
                why = "a second signal came" if self.pressed() else "the stop takes longer than planned"
                self.get_logger().warning(f"{why}: efforts go to zero at once")
                self.control.tell("hurry", why)
                hurried, give_up_at = True, now + LAST
            elif now > give_up_at:
                self._abandon()
                return
        self.get_logger().info("stopped: the arm is released")

    def _abandon(self) -> None:
        """Nothing but the end of its process stops the loop from sending."""
        self.get_logger().error(f"the control loop does not come to an end and is killed: {self.control.wait(0.0)}")
        self._lose()

    def _lose(self) -> None:
        """The loop's process has ended, and this one follows."""
        self.lost = self.finished = self.failed = True
        self.mode = Mode.FAULT
        self._say(self.mode)

    def release(self) -> None:
        """As the base; ~/state reports it."""
        self.mode = Mode.UNCONFIGURED
        self._say(self.mode)
        self._modes = None
        super().release()
        self.control.ask("release")

    def stop(self) -> None:
        """As the base; nothing where the loop's process has ended."""
        if not self.lost:
            super().stop()

    def destroy_node(self) -> None:
        """As the base; the loop is not listened to any more."""
        self.control.listen_no_more()
        super().destroy_node()

    # -- what the loop reports ----------------------------------------------------------------------------------------

    def turn(self, executor: NodeExecutor) -> None:
        """As the base, and note where the loop's process has ended."""
        super().turn(executor)
        self._hear()

    def _hear(self) -> None:
        try:
            self.control.hear()
        except LoopEndedError as error:
            if not self.lost:
                self.get_logger().error(f"{error}; nothing is sent to the arm any more")
            self._lose()

    def heard(self, message: Any) -> None:
        """Take one message of the loop."""
        if isinstance(message, Entered):
            self._entered(message)
        elif isinstance(message, Said):
            log = self.get_logger()  # one line for each severity: rclpy tells calls apart by their place
            if message.level == "error":
                log.error(message.text)
            elif message.level == "warning":
                log.warning(message.text)
            else:
                log.info(message.text)
        elif isinstance(message, Compiling):
            self.first_start.note(message)

    def _entered(self, message: Entered) -> None:
        self.mode, cause, self._locked = message
        text = f"{self.mode.value}: {cause}" if cause else self.mode.value
        if self.mode is Mode.FAULT:
            self.get_logger().error(text)
        elif self.mode is Mode.STOPPING or self._locked:
            self.get_logger().warning(text)
        else:
            self.get_logger().info(text)
        self._say(self.mode)

    def _say(self, mode: Mode) -> None:
        if self._modes is not None:
            self._modes.publish(String(data=mode.value))

    # -- services -----------------------------------------------------------------------------------------------------

    def asked(self, response: Trigger.Response, what: Callable[[], object]) -> Trigger.Response:
        """Do what a service asks; a refusal is its answer."""
        try:
            what()
            response.success, response.message = True, self.mode.value
        except RneDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self.asked(response, lambda: self.control.ask("stop", "~/stop was called"))

    def _on_recover(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self.asked(response, lambda: self.control.ask("recover"))

    # -- joints of the robot that are not controlled ------------------------------------------------------------------

    def _follow_locked(self) -> None:
        """Lock them in the model where they are."""
        now = time.monotonic()
        positions = self._others.update(now, self.control.ask("others"))
        obstacle = self._others.too_fast(now)
        if positions:
            try:
                self.take(relocked(self.found, positions))
                self._changed(self.parameters.values)()
            except RneDynamicsError as error:
                obstacle = f"no model with {self._others.report(now)}: {error}"
        if obstacle != self._obstacle:
            if obstacle and not self._obstacle:
                self.get_logger().error(f"no motion is allowed: {obstacle}")
            self._obstacle = obstacle
            self.control.tell("obstruct", obstacle)

    # -- parameters and reports ---------------------------------------------------------------------------------------

    def _changed(self, values: Values) -> Callable[[], None]:
        """A change at run time; the payload is the one change that makes a new model."""
        robot, before = loaded(self.bare_robot, payload(values)), self.parameters.values
        settings = self.settings(robot, values)

        def adopt() -> None:
            self._warn(settings)
            self.in_force = settings
            self._newest.put(settings, time.monotonic())
            self.adopted(robot, values, before)

        return adopt

    def _warn(self, settings: Settings) -> None:
        for text in settings.warnings:
            self.get_logger().warning(text)

    def adopted(self, robot: Machine, values: Values, before: Values) -> None:
        """Called with the parameters that are in force now, and those that were before."""

    def _hand_on(self) -> None:
        """Hand on what came too soon after the one before."""
        self._newest.flush(time.monotonic())

    def status(self) -> dict[str, object]:
        """Further values for the diagnostics."""
        return {}

    def _report(self) -> None:
        self._peers.count()
        try:
            level, message, values, stamp = self.control.ask("report")
            if self._simulated:
                self.get_clock().set_ros_time_override(Time(nanoseconds=max(stamp, 0), clock_type=ClockType.ROS_TIME))
        except RneDynamicsError as error:
            level, message, values = ERROR, str(error), {}
        if level == WARN:
            self.diagnostics.warn(message)
        if self.is_active and level in (OK, WARN) and self._peers.warning:
            level, message = self._peers.level, self._peers.warning
            self.diagnostics.warn(message)
        self.diagnostics.publish(
            level, message, values | {"locked joints": self._others.report(time.monotonic())}
            | self._peers.values() | self.status(),
        )
        self.collect_garbage()
