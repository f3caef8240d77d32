"""A simulated arm behind the topics of a real one."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from typing import get_args

import numpy as np
from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.errors import ControlError, ParameterError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.loop.hot_loop import HotLoop
from rne_dynamics.ros.messages.answers import Answers, Followers
from rne_dynamics.ros.messages.publishers import EFFORT_TOPIC, FLOATS, NAMED, effort_reader, effort_type
from rne_dynamics.ros.messages.topic_wait import LATCHED, NEWEST, OFFERED
from rne_dynamics.ros.node.command_line import read_command_line
from rne_dynamics.ros.node.diagnostics import Diagnostics
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.ros.node.process import run
from rne_dynamics.ros.node.robot import description_text
from rne_dynamics.ros.parameters.files import Parameter, per_joint
from rne_dynamics.ros.parameters.table import drive_limits, payload
from rne_dynamics.ros.simulator_report import PARAMETERS, SimulatorReport, WallTime, scene_of
from rne_dynamics.ros.simulator_topics import (
    COMMANDS,
    DRIVE_FREQUENCY,
    JOINT_STATE,
    STATES,
    AppliedWrenches,
    BaseListener,
    BasePublisher,
    DeflectionsPublisher,
    SimulatorOutputs,
    TopicBasedHardware,
)
from rne_dynamics.simulation.plant.base_motion import BaseTrajectory, SampledBase
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator, TimeoutReaction

SCHEMA: tuple[Parameter, ...] = (
    Parameter("rate", 1000.0, "Joint states per second.", "Hz", 1.0, 10000.0, read_only=True),
    Parameter("substeps", 1, "Integration steps between two joint states.", "", 1, 1000, read_only=True),
    Parameter("method", "auto", "Integrator; auto: gauss for flexible links, else rk4.",
              choices=("auto", "rk4", "gauss", "semi_implicit"), read_only=True),
    Parameter("friction", True, "Simulate joint friction.", read_only=True),
    Parameter("stops", True, "Simulate position stops.", read_only=True),
    Parameter("limit_effort", True, "Saturate efforts at the description's limits.", read_only=True),
    Parameter("command_timeout", 0.2, "Age at which a command no longer drives the arm; 0 for never.", "s", 0.0, 60.0,
              read_only=True),
    Parameter("on_command_timeout", "zero_effort", "Reaction to that: no effort (zero_effort), or brakes hold the "
              "joints until the next command (brake).", choices=get_args(TimeoutReaction), read_only=True),
    Parameter("lockstep", False, "Wait with each step until all controllers and gates in simulated time (see "
              "publish_clock) have answered the last joint state; with controllers in real time, for an effort, from "
              "the first one on.",
              read_only=True),
    Parameter("lockstep_timeout", 10.0, "Longest wait for an answer; then that sender is not waited for until it is "
              "received again.", "s", 0.01, 3600.0, read_only=True),
    Parameter("deflections_divisor", 10, "Of an arm with flexible links: joint states between two messages on "
              "~/deflections; 0 publishes none.", "", 0, 1_000_000, read_only=True),
    Parameter("base_motion.file", "", "File (.csv) with the motion of the base; what a sensor on it measures is "
              "published on base_imu. Empty for a base at rest.", read_only=True),
    Parameter("base_motion.smoothing", 0.0, "Frequency above which motion in that file counts as noise; 0 for none.",
              "Hz", 0.0, 1000.0, read_only=True),
    Parameter("base_motion.topic", "", "Instead of a file, a topic of sensor_msgs/Imu, measured at the root link, by "
              "which the base moves. Empty for none.", read_only=True),
    *PARAMETERS,
    Parameter("publish_clock", False, "Publish /clock.", read_only=True),
    Parameter("command_message", FLOATS, "Type of the commands: efforts on effort_controller/commands, in the order of "
              "joints, or by name with a stamp; or positions, velocities or efforts by name, as topic-based hardware "
              f"of ros2_control, on {COMMANDS}, with joint states on {STATES}.",
              choices=(FLOATS, NAMED, JOINT_STATE), read_only=True),
    DRIVE_FREQUENCY,
    Parameter("limits.{joint}.effort", 0.0, "Effort at which the drive saturates; 0 takes the description's, none if "
              "that is 0 too.", "N m or N", 0.0, 1e6, read_only=True),
    Parameter("initial_position.{joint}", 0.0, "Position at the start, clipped to the position limits. Default of a "
              "mechanism: the posture of its model file.", "rad or m", -1000.0, 1000.0, read_only=True),
)


#: Longest time for which a simulator that stops still serves a controller that drives it, simulated s; and longest wait
#: for that, s of the steady clock.
LONGEST_END = 4.0
#: By how much a reset sets time back, ns: a jump of positions alone is a broken encoder to a controller.
RESET_STEP = 50_000_000


class SimulatorNode(ArmNode):
    """The node `simulator`.

    Joint states are published at absolute deadlines, stamped with the time of the simulation: the time of the start
    plus the number of periods. If the computer is too slow, the simulation runs slower than the wall clock; no period
    is left out, and the diagnostics count the overruns. In real time it then catches up, see `WallTime`. In lock-step a
    joint state also waits for the replies to the one before, see `Answers`.

    Of a mechanism with closed loops all joints are published, the driven ones first; commands are for these alone.
    Of flexible links joint states have the encoders' positions; the deflections of the links' ends are published on
    ``~/deflections``, see `DeflectionsPublisher`. Brakes hold joints, not links. The motion of a moving base is
    published before each joint state, see `BasePublisher`.
    """

    live = False

    def __init__(self) -> None:
        # it publishes the clock and follows none, also if a parameter file for all nodes sets use_sim_time
        super().__init__("simulator", SCHEMA, overrides=[RosParameter("use_sim_time", value=False)])

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: RigidRobot) -> None:
        """Plant, messages, topics, services."""
        self.robot = robot
        if robot.nq != robot.n:
            raise ParameterError(f"robot {robot.name!r} has a floating joint; the simulator needs driven joints only")
        self.parameters.declare_joints(
            robot.joint_names, {"initial_position.{joint}": robot.neutral.tolist()}, left_out=self.locked
        )
        values = self.parameters
        self._rate = values["rate"]
        self._substeps = values["substeps"]
        self._period = round(NANOSECONDS / self._rate)
        simulated = self.described.with_payload(payload(values.values))  # `robot` is the rigid one of it
        scene, mismatch = scene_of(values.values)
        plant = ArmPlant(
            simulated.with_effort_limit(drive_limits(robot, values.values)),
            friction=values["friction"], stops=values["stops"],
            limit_effort=values["limit_effort"], base_motion=self._base_motion(robot.open_tree.gravity),
            surroundings=scene.surroundings,
        )
        self.simulator = Simulator(
            plant, self._start(robot), dt=1.0 / (self._rate * self._substeps),
            method=None if values["method"] == "auto" else values["method"],
            command_timeout=values["command_timeout"] or None,
            on_timeout=values["on_command_timeout"], mismatch=mismatch,
        )
        self._lockstep = values["lockstep"]
        self._order = [self.commanded.index(j) for j in robot.joint_names]
        self._hardware = TopicBasedHardware(
            simulated.rigid, self._rate, values["drive_frequency"], command_timeout=values["command_timeout"] or None,
            brake=values["on_command_timeout"] == "brake", lockstep=self._lockstep,
        ) if values["command_message"] == JOINT_STATE else None
        self._wrenches = AppliedWrenches(self, robot.open_tree)
        self._paused = self._running = False
        self._warm_up()
        self._make_interfaces(robot)

    def _start(self, robot: RigidRobot) -> Array:
        asked = per_joint(self.parameters.values, "initial_position.{joint}", robot.joint_names)
        start: Array = np.clip(asked, robot.lower, robot.upper)
        for j in np.flatnonzero(start != asked):
            self.get_logger().info(
                f"joint {robot.joint_names[j]!r} starts at {start[j]:.6g}: {asked[j]:g} is outside its limits"
            )
        return start

    def _base_motion(self, gravity: Array) -> BaseTrajectory | None:
        path, topic = self.parameters["base_motion.file"], self.topic_of("base_motion.topic")
        if path and topic:
            raise ParameterError(
                f"parameters base_motion.file is {path!r} and base_motion.topic {topic!r}; give one of them"
            )
        self._listener = BaseListener(self, topic, gravity) if topic else None
        if not path:
            return self._listener
        return SampledBase.load(path, smoothing=self.parameters["base_motion.smoothing"] or None)

    def _warm_up(self) -> None:
        if self._hardware is not None:
            self._hardware.warm_up(self.simulator)
        self.simulator.command(np.zeros(self.robot.n))
        self.simulator.advance(1, wrenches={self.robot.open_tree.link_names[-1]: np.zeros(6)})
        self.simulator.warm_up()
        self.simulator.reset()

    def _make_interfaces(self, robot: RigidRobot) -> None:
        values, plant, described = self.parameters, self.simulator.plant, self.described
        sensed = plant.base_motion if self._listener is None else None
        self._outputs = SimulatorOutputs(
            self, robot, self.locked, STATES if self._hardware is not None else "joint_states",
            publish_clock=values["publish_clock"],
            base=BasePublisher(self, sensed, plant.tree.gravity, plant.tree.tree.root) if sensed is not None else None,
            deflections=DeflectionsPublisher(self, described, values["deflections_divisor"])
            if described.kind == "flexible" else None,
        )
        # with topic-based hardware the controller manager needs the only publisher of this topic
        if self._hardware is None and described.kind == "arm":
            # Latched, for controllers and viewers without a description. Not the open tree of a mechanism: a controller
            # would drive all its joints. Nor that of a flexible arm: the model file may give the links masses that the
            # URDF lacks.
            description = self.keep(self.create_publisher(String, "robot_description", LATCHED))
            description.publish(String(data=description_text(self.model or self.description)))
        self.diagnostics = Diagnostics(self)
        self.offer(SetBool, "~/pause", self._on_pause, lambda: "paused" if self._paused else "running")
        self.offer(Trigger, "~/step", self._on_step, lambda: f"{self._periods} periods")
        self.offer(Trigger, "~/reset", self._on_reset, lambda: "at the start position, held until the next command")
        loop = self._listen(self.parameters["command_message"])
        followers = self._lockstep and bool(self._outputs.clock_topic)
        self.answers = Answers(
            self.parameters["lockstep_timeout"] if self._lockstep else None,
            Followers(self, loop.subscription.topic_name) if followers else None,
            lambda text: self.get_logger().warning(text),
        )
        self._restart()
        self.every(self.parameters["diagnostics_period"], self._publish_report)

    def _listen(self, message: str) -> HotLoop:
        """Subscribe to commands of that type, and set the deadlines."""
        kind, topic, on_command, profile = JointState, COMMANDS, self._on_joint_command, NEWEST
        if self._hardware is None:
            self._commands = effort_reader(message, self.commanded)
            kind, topic, on_command = effort_type(message), EFFORT_TOPIC, self._on_command
            # in lock-step no effort may be lost; best-effort senders are not matched then, and DDS logs that
            profile = OFFERED if self._lockstep else NEWEST
        self.loop = HotLoop(self, kind, topic, profile, on_command, 1.0 / self._rate, self._tick, raw=True)
        self.keep(self.loop.subscription)
        return self.loop

    def begin(self) -> None:
        """Start the clock of the simulation at the present time; the arm is held until the first command."""
        self._restart()
        self._running = True

    def end(self) -> None:
        """Stop once no effort drives the arm any more, after `LONGEST_END` at most: a controller still releases it."""
        first = last = self._periods
        moved = time.monotonic()
        driven = self._hardware is None  # the drives' own servo loops end with the simulation
        while driven and self._running and self.simulator.applied_effort.any() and self.loop:
            self.loop.turn()
            if self._periods != last:
                last, moved = self._periods, time.monotonic()
            if (last - first) / self._rate > LONGEST_END or time.monotonic() - moved > LONGEST_END:
                break
        self._running = False

    def _restart(self) -> None:
        self.simulator.reset()
        if self._hardware is not None:
            self._hardware.drives.reset()
        self._wrenches.clear()
        self.answers.restart()
        self._ahead, self._origin, self._periods = False, time.time_ns(), 0
        self._wall = WallTime(1.0 / self._rate)
        self.report = SimulatorReport(
            self, self.diagnostics, self.answers, self._wall, self._outputs.clock_topic, lockstep=self._lockstep,
        )

    # -- the hot path -------------------------------------------------------------------------------------------------

    def _tick(self, late: bool) -> None:
        """One period, at its deadline."""
        if self._running and not self._paused and not self.answers.wait(
            None if self.loop is None else self.loop.sequence, self._outputs.repeat
        ):
            self.report.overruns += late
            self._advance()

    def _integrate(self) -> None:
        """Compute the state at the next deadline with the latest command."""
        if self._listener is not None:
            self._listener.update()
        try:
            if self._hardware is not None:
                self._hardware.drive(self.simulator)
            wrenches = self._wrenches.at(self._origin + self._periods * self._period)
            state = self.simulator.advance(self._substeps, wrenches=wrenches)
            self._outputs.note_motion(state, self.simulator.measured())
            self._ahead = True
        except RneDynamicsError as error:
            self._running = False
            self.get_logger().error(f"the simulation has stopped: {error}. Call ~/reset to start again")

    def _advance(self) -> None:
        """Publish the state at this deadline."""
        self.answers.leave()
        if not self._ahead:
            self._integrate()
        if not self._running:
            return
        self._ahead = False
        self._periods += 1
        now = self._origin + self._periods * self._period
        sooner = self._wall.note(now, time.time_ns())
        if self.loop is not None and not self._lockstep:
            self.loop.hasten(sooner)
        self.answers.publish(now)
        self._outputs.publish(now, self.simulator.state, self.simulator.applied_effort)

    def _on_command(self, data: bytes) -> None:
        if not self._running:
            return
        try:
            effort = self._commands.read(data)
            if len(effort) != self.robot.n or not np.isfinite(effort).all():
                raise ControlError(
                    f"{effort.tolist()}; it must be {self.robot.n} finite numbers, for the joints "
                    f"{', '.join(self.commanded)}"
                )
        except ControlError as error:
            self._refuse(error)
            return
        held = not self.answers.commanded
        answers = self.answers.effort()  # the first command since the last state counts as its reply
        self.simulator.command(effort[self._order])
        if answers and not self._paused and not held:
            # this command holds for the whole period, so the integration need not wait for the deadline
            self._integrate()

    def _refuse(self, error: RneDynamicsError) -> None:
        self.report.refused += 1
        self.get_logger().warning(f"command refused: {error}", throttle_duration_sec=2.0)

    def _on_joint_command(self, data: bytes) -> None:
        """A command for drives with servo loops of their own; it is no reply to a joint state."""
        if not self._running or self._hardware is None:
            return
        try:
            self._hardware.take(data, self.simulator)
        except RneDynamicsError as error:
            self._refuse(error)

    # -- services ------------------------------------------------------------------------------------------------------

    def _on_pause(self, request: SetBool.Request) -> None:
        if self._paused and not request.data:
            if not self._outputs.clock_topic:  # no node follows our clock, so the stamps must keep up with others
                self._origin = time.time_ns() - self._periods * self._period
            self._wall.resume(self._origin + self._periods * self._period, time.time_ns())
            self.answers.resume()
        self._paused = bool(request.data)

    def _on_step(self, request: Trigger.Request) -> None:
        if not (self._paused and self._running):
            raise ControlError("not paused: call ~/pause with true first")
        self._advance()

    def _on_reset(self, request: Trigger.Request) -> None:
        """Reset to the start, held until the next command, with time set back, by which controllers recognise it."""
        last = self._origin + self._periods * self._period
        self._restart()
        self._origin = min(self._origin, last) - max(RESET_STEP, 3 * self._period)
        self._running = self.is_active

    def _publish_report(self) -> None:
        self.report.publish(
            self._periods, running=self._running, paused=self._paused,
            commanded=self.answers.commanded or bool(self._hardware and self._hardware.drives.commanded),
        )
        gc.collect()  # 0.03 ms, because the start's objects are frozen


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("simulator", __doc__, SimulatorNode.all_parameters(SCHEMA), argv)
    return run(SimulatorNode, argv)


if __name__ == "__main__":
    raise SystemExit(main())
