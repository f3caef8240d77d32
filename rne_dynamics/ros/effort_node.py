"""Base of the two controllers: the node that users see; its control loop runs in a process of its own.

It receives and checks parameters, trajectories, goals and services, and publishes the reports of the loop. Decisions
about the arm are made by the `Supervisor` of the loop; see `control_loop`.
"""

from __future__ import annotations

import gc
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rclpy.clock import ClockType
from rclpy.time import Time

from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.felt_inertia import posture_inertia
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.supervision.states import DRIVING, Mode
from rne_dynamics.errors import ModelError, ParameterError, RneDynamicsError
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.loop.hot_loop import USE_SIM_TIME, NodeExecutor, end_time_source
from rne_dynamics.ros.loop.messages import Snapshot, loop_setup
from rne_dynamics.ros.loop.process import LoopEndedError, LoopProcess, LoopSilentError, Throttle
from rne_dynamics.ros.messages.publishers import EFFORT_TOPIC
from rne_dynamics.ros.node.diagnostics import ERROR, OK, WARN, TopicPeers
from rne_dynamics.ros.node.driving import DrivingNode
from rne_dynamics.ros.node.process import LIBRARIES, drop_compiler_pages
from rne_dynamics.ros.parameters.files import JOINT, Parameter, Values
from rne_dynamics.ros.parameters.table import payload

#: Time by which a stop may exceed its plan before the efforts are brought to zero at once, and time for that before the
#: loop's process is killed, s.
OVERTIME, LAST_RESORT = 2.0, 3.0
#: Longest wait for the loop to discover the nodes that this process has discovered, s.
LOOP_DISCOVERY = 1.0
#: Shortest time between two settings, or two speeds, that are sent to the loop, s.
SETTINGS_PERIOD = 0.1


class EffortNode(DrivingNode):
    """A controller that turns joint states into efforts; subclasses define `settings`.

    The last effort never stays applied: every way to end releases the arm, see `Supervisor`.
    """

    #: Name of the damping of each joint while a hand leads the arm.
    damping: str

    def __init__(self, name: str, schema: Sequence[Parameter], control: LoopProcess) -> None:
        self.control = control  # before anything raises: Kilted's rclpy also destroys nodes whose construction failed
        super().__init__(name, schema)
        self.mode, self.lost = Mode.UNCONFIGURED, False
        self._reports_wait = self.create_guard_condition(control.receive)
        # a report is a call of the method of that name, `log` among them
        control.start_listening(
            lambda name, *arguments: getattr(self, name)(*arguments), self._reports_wait.trigger
        )

    @abstractmethod
    def settings(self, robot: RigidRobot, values: Values) -> Settings:
        """Settings of the controller for a robot; raises `RneDynamicsError` to refuse."""

    def alternatives(self, robot: RigidRobot, values: Values) -> tuple[ControlLaw, ...]:
        """Laws to which the settings may change while the arm is driven."""
        return ()

    def warm_up(self, robot: RigidRobot) -> None:
        """Compile or load what this process will need with the settings in force."""

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: RigidRobot) -> None:
        """Build the loop, and everything else that can be done before the first state."""
        if not robot.n:
            raise ModelError(f"robot {robot.name!r} has no joints that move; a controller needs one at least")
        values = self.parameters
        values.declare_joints(robot.joint_names, left_out=self.locked)
        others = self.alternatives(robot, values.values)
        undamped = {self.damping.replace(JOINT, joint): 0.0 for joint in robot.joint_names}
        provisional = self.settings(robot, {**values.values, **undamped})
        self.control.send("prepare", replace(provisional, others=others))  # meanwhile damping is chosen here
        settings = self.settings(robot, values.values)
        posture_inertia(robot)  # known already, unless all damping is 0: a later change would compile
        self._warn(settings)
        self._predicts = settings.command_delay > 0.0  # its kernels must not be compiled while the arm is driven
        self.in_force, self._simulated = settings, bool(self.get_parameter(USE_SIM_TIME).value)
        if self._simulated:
            end_time_source(self)  # the loop receives the time and reports it
        self._obstacle = ""
        self.warm_up(robot)
        setup = loop_setup(self, replace(settings, others=others), self._simulated)
        self.control.call("build", setup, seconds=math.inf)
        self.mode = Mode.INACTIVE
        self._newest: Throttle[Settings] = self.throttled("adopt")
        self._peers = TopicPeers(self, EFFORT_TOPIC)
        self.open(lambda: self.mode, {
            "stop": lambda request: self.control.call("stop", "~/stop was called"),
            "recover": lambda request: self.control.call("recover"),
        }, report=self._report, changed=self._changed, follow_locked=self._follow_locked)  # fmt: skip
        self._await_loop()

    def throttled(self, command: str) -> Throttle[Any]:
        """Passes values on to the loop; in simulated time each at once, so that the next step finds it in force."""
        pass_on, period = (self.control.call, 0.0) if self._simulated else (self.control.send, SETTINGS_PERIOD)
        throttle: Throttle[Any] = Throttle(lambda newest: pass_on(command, newest), period)
        self.every(SETTINGS_PERIOD, lambda: throttle.flush(time.monotonic()))
        return throttle

    def _await_loop(self) -> None:
        """Wait until the loop has discovered the same nodes: its first messages must not be lost."""
        states, efforts = map(self.resolve_topic_name, ("joint_states", EFFORT_TOPIC))
        deadline = time.monotonic() + LOOP_DISCOVERY
        while time.monotonic() < deadline:
            if self.control.call(
                "has_discovered", {topic: self.count_publishers(topic) for topic in (states, "/clock")},
                {efforts: self.count_subscribers(efforts)},
            ):
                return
            time.sleep(0.005)

    def apply_scheduling(self) -> None:
        """The parameters are for the process of the loop; here instructions that only the start needs leave memory."""
        drop_compiler_pages(LIBRARIES)

    def begin(self) -> None:
        """Wait for the first state; the arm is then held where it is."""
        self._newest.flush(time.monotonic(), always=True)
        self.control.call("activate")

    def end(self) -> None:
        """Stop and release the arm; takes 1 to 2 s, less after a second signal."""
        if self.mode in DRIVING:
            self.get_logger().info("stopping: the arm is slowed down, held and released")
        plan, hurried = self.in_force.stop, False
        # a simulation may be slower than real time, or paused
        slowest = math.inf if self._simulated else OVERTIME
        hurry_at = time.monotonic() + plan.brake_time + plan.hold_time + plan.ramp_time + slowest
        give_up_at = hurry_at + LAST_RESORT
        self.control.send("stop", "deactivated", True)  # no answer is awaited: a loop that gives none is killed below
        while self.mode is not Mode.INACTIVE:
            time.sleep(0.005)
            self.control.receive()
            now = time.monotonic()
            if not hurried and (now > hurry_at or self.signalled_again()):
                why = "a second signal came" if self.signalled_again() else "the stop takes longer than planned"
                self.get_logger().warning(f"{why}: efforts go to zero at once")
                self.control.send("hurry", why)
                hurried, give_up_at = True, now + LAST_RESORT
            elif now > give_up_at:
                # it does not stop sending otherwise
                self.get_logger().error(f"the control loop does not end and is killed: {self.control.wait(0.0)}")
                self._lose()
                return
        self.get_logger().info("stopped: the arm is released")

    def _lose(self) -> None:
        """End this process too, after the end of the loop's."""
        self.lost = self.finished = self.failed = True
        self.mode = Mode.FAULT
        self.publish_mode(self.mode)

    def release(self) -> None:
        """As the base; the loop drops the robot too."""
        self.mode = Mode.UNCONFIGURED
        super().release()
        self.control.call("release")

    def stop(self) -> None:
        """As the base; nothing if the loop's process has ended."""
        if not self.lost:
            super().stop()

    def destroy_node(self) -> None:
        """As the base; reports of the loop are dropped."""
        self.control.stop_listening()
        super().destroy_node()

    # -- reports of the loop ----------------------------------------------------------------------------------------

    def turn(self, executor: NodeExecutor) -> None:
        """As the base, and notice the end of the loop's process; one that is silent for a while has not ended."""
        try:
            super().turn(executor)
            self.control.receive()
        except LoopSilentError as error:
            self.get_logger().error(str(error))
        except LoopEndedError as error:
            if not self.lost:
                self.get_logger().error(f"{error}; nothing is sent to the arm any more")
            self._lose()

    def entered(self, mode: Mode, cause: str, locked: bool) -> None:
        """The controller has entered a mode, or has a cause to stay in it; `locked` if its start-up check failed."""
        self.mode = mode
        self.enter(mode, cause, error=mode is Mode.FAULT, warning=mode is Mode.STOPPING or locked)

    def snapshot(self, snapshot: Snapshot) -> None:
        """Take the present motion, for feedback."""

    def serve(self, kind: type, name: str, action: Callable[[Any], object]) -> None:
        """Offer a service whose response is the mode, or the reason of a refusal."""
        self.offer(kind, name, action, lambda: self.mode.value)

    # -- joints of the robot that are not controlled ------------------------------------------------------------------

    def _follow_locked(self) -> None:
        """Lock them in the model at their measured positions."""
        why = self.relock(self.others, self.control.call("others"), self._changed)
        obstacle = why or self.others.too_fast(time.monotonic())
        if obstacle != self._obstacle:
            if obstacle and not self._obstacle:
                self.get_logger().error(f"no motion is allowed: {obstacle}")
            self._obstacle = obstacle
            self.control.send("obstruct", obstacle)

    # -- parameters and reports ---------------------------------------------------------------------------------------

    def _changed(self, values: Values) -> Callable[[], None]:
        """Prepare a change at run time; only the payload changes the model."""
        robot, before = self.bare_robot.with_payload(payload(values)), self.parameters.values
        settings = self.settings(robot, values)
        if settings.command_delay > 0.0 and not self._predicts:
            raise ParameterError(
                f"parameter command_delay is {settings.command_delay:g} s; it must stay 0 until the node is cleaned "
                "up, since prediction was not prepared at configure: deactivate it and clean it up, set the parameter, "
                "then configure and activate it again"
            )

        def adopt() -> None:
            self._warn(settings)
            self.in_force = settings
            self._newest.put(settings, time.monotonic())
            self.adopted(robot, values, before)

        return adopt

    def _warn(self, settings: Settings) -> None:
        for text in settings.warnings:
            self.get_logger().warning(text)

    def adopted(self, robot: RigidRobot, values: Values, before: Values) -> None:
        """Called with the parameters that are in force now, and the former ones."""

    def status(self) -> dict[str, object]:
        """Further values for the diagnostics."""
        return {}

    def _report(self) -> None:
        self._peers.count()
        try:
            level, message, values, stamp = self.control.call("report")
            if self._simulated:
                self.get_clock().set_ros_time_override(Time(nanoseconds=max(stamp, 0), clock_type=ClockType.ROS_TIME))
        except RneDynamicsError as error:
            level, message, values = ERROR, str(error), {}
        if level == WARN:
            self.diagnostics.warn(message)
        found, warning = self._peers.finding()
        if self.is_active and level in (OK, WARN) and warning:
            level, message = found, warning
            self.diagnostics.warn(message)
        self.diagnostics.publish(
            level, message, values | {
                "locked joints": self.others.report(time.monotonic()), "publishers of efforts": self._peers.publishers,
                "listeners to efforts": self._peers.subscribers,
            } | self.status(),
        )  # fmt: skip
        gc.collect()  # 0.03 ms, because the start's objects are frozen
