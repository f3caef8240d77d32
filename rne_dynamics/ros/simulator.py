"""A virtual arm behind the topics of a real one."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from rne_dynamics.errors import ControlError, ParameterError, RneDynamicsError
from rne_dynamics.model.flexible.arm import FlexibleArm, rigid
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine, Mechanism, open_tree
from rne_dynamics.ros.answers import Answers
from rne_dynamics.ros.base_listener import BaseListener
from rne_dynamics.ros.base_publisher import BasePublisher
from rne_dynamics.ros.cdr import NANOSECONDS, PreparedMessage
from rne_dynamics.ros.command_line import read_command_line
from rne_dynamics.ros.deflections import BendingWatch, DeflectionsPublisher
from rne_dynamics.ros.described_robot import driven_first, loaded, with_effort_limit
from rne_dynamics.ros.description import description_text
from rne_dynamics.ros.diagnostics import ERROR, OK, WARN, Diagnostics
from rne_dynamics.ros.effort_limits import drive_limits
from rne_dynamics.ros.effort_message import FLOATS, NAMED, effort_reader, effort_type
from rne_dynamics.ros.followers import Followers
from rne_dynamics.ros.histogram import Recent, percentile
from rne_dynamics.ros.hot_loop import HotLoop
from rne_dynamics.ros.lifecycle import LATCHED, NEWEST, OFFERED, ArmNode, payload
from rne_dynamics.ros.messages import EFFORT_TOPIC
from rne_dynamics.ros.parameters import Parameter, per_joint
from rne_dynamics.ros.process import run
from rne_dynamics.ros.topic_based import COMMANDS, DRIVE_FREQUENCY, JOINT_STATE, STATES, TopicBasedHardware
from rne_dynamics.ros.wall_time import NOTABLE, WallTime
from rne_dynamics.simulation.plant.base_trajectory import BaseTrajectory
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.sampled_base import SampledBase
from rne_dynamics.simulation.runs.simulator import Simulator, TimeoutReaction
from rne_dynamics.simulation.stepping.stepping import StepMethod

#: Longest time a simulator that is told to stop still answers a controller that drives it, simulated s; as many s of
#: the steady clock it waits for that.
FAREWELL = 4.0
#: Wrenches that may wait until they are served: 20 times a second, and different links may be pushed at once.
WRENCHES = 100
#: In lock-step no effort may be lost; senders that are only best-effort are not heard then, and DDS logs that.
EVERY_ANSWER = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
#: Reactions to a command that is too old, by the parameter's value.
REACTIONS: dict[str, TimeoutReaction] = {"zero_effort": "zero_effort", "brake": "brake"}

SCHEMA: tuple[Parameter, ...] = (
    Parameter("rate", 1000.0, "Joint states per second.", "Hz", 1.0, 10000.0, read_only=True),
    Parameter("substeps", 1, "Integration steps between two joint states.", "", 1, 1000, read_only=True),
    Parameter("method", "auto", "Integrator; auto: gauss for flexible links, else rk4.",
              choices=("auto", "rk4", "gauss", "semi_implicit"), read_only=True),
    Parameter("friction", True, "Simulate joint friction.", read_only=True),
    Parameter("stops", True, "Simulate position stops.", read_only=True),
    Parameter("limit_effort", True, "Saturate efforts at the description's limits.", read_only=True),
    Parameter("command_timeout", 0.2, "Age at which a command no longer drives the arm; 0 never.", "s", 0.0, 60.0,
              read_only=True),
    Parameter("on_command_timeout", "zero_effort", "What then acts: no effort (zero_effort), or brakes that hold the "
              "joints until the next command (brake).", choices=tuple(REACTIONS), read_only=True),
    Parameter("lockstep", False, "Wait with each step until all controllers and gates in simulated time (see "
              "publish_clock) have dealt with the last joint state and the effort has come that answers it, so that a "
              "pause of any process slows everything down and changes nothing else. For controllers in real time: wait "
              "for an effort, from the first one on.", read_only=True),
    Parameter("lockstep_timeout", 10.0, "Longest wait for an answer; then the simulation goes on without waiting until "
              "it hears of that sender again.", "s", 0.01, 3600.0, read_only=True),
    Parameter("deflections_divisor", 10, "Of an arm with flexible links: joint states between two messages on "
              "~/deflections; 0 publishes none.", "", 0, 1_000_000, read_only=True),
    Parameter("base_motion.file", "", "File that says how the base moves, .csv with the columns time, x, y, z, qx, qy, "
              "qz, qw or .npz with time, position, quaternion; what a sensor on it measures goes out on base_imu. "
              "Empty for a base at rest.", read_only=True),
    Parameter("base_motion.smoothing", 0.0, "Frequency above which motion in that file counts as noise; 0 takes all of "
              "it.", "Hz", 0.0, 1000.0, read_only=True),
    Parameter("base_motion.topic", "", "Instead of a file, a topic of sensor_msgs/Imu: the base moves as a sensor at "
              "the root link measures. Empty for none.", read_only=True),
    Parameter("publish_clock", False, "Publish /clock.", read_only=True),
    Parameter("command_message", FLOATS, "Type of the commands. Efforts on effort_controller/commands: in the order of "
              f"joints ({FLOATS}) or by name, with a stamp ({NAMED}). {JOINT_STATE}: positions, velocities or efforts "
              f"by name on {COMMANDS}, joint states on {STATES}, as topic-based hardware of ros2_control.",
              choices=(FLOATS, NAMED, JOINT_STATE), read_only=True),
    DRIVE_FREQUENCY,
    Parameter("limits.{joint}.effort", 0.0, "Effort at which the drive saturates; 0 takes the description's, none if "
              "that is 0 too.", "N m or N", 0.0, 1e6, read_only=True),
    Parameter("initial_position.{joint}", 0.0, "Where the arm starts; moved inside the position limits. A mechanism "
              "starts in the posture of its model file by default.", "rad or m", -1000.0, 1000.0, read_only=True),
)


#: Integrators by the parameter's value.
METHODS: dict[str, StepMethod | None] = {"auto": None, "rk4": "rk4", "gauss": "gauss", "semi_implicit": "semi_implicit"}


class SimulatorNode(ArmNode):
    """The node `simulator`.

    Joint states go out at absolute deadlines and carry the time of the simulation: the time of the start plus the
    number of periods. Where the machine is too slow, the simulation runs slower than the clock on the wall; no period
    is left out, and the diagnostics count the overruns. In real time it catches up then, see `WallTime`. In lock-step a
    joint state also waits for the answers to the one before, see `Answers`.

    Of a mechanism with closed loops all joints are published, the driven ones first; commands are for these alone.
    Flexible links bend: joint states hold what encoders see, and how far the links' ends are from where stiff ones
    would have them goes out on ``~/deflections``, see `DeflectionsPublisher`. Brakes hold joints, not links. The
    motion of a moving base goes out before each joint state, see `BasePublisher`.
    """

    live = False

    def __init__(self) -> None:
        # it is the clock and follows none, whatever a parameter file for all nodes says
        super().__init__("simulator", SCHEMA, overrides=[RosParameter("use_sim_time", value=False)])

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def build(self, robot: Machine) -> None:
        """Plant, messages, topics, services."""
        self.robot = robot
        start = robot.neutral if isinstance(robot, Mechanism) else np.zeros(robot.n)
        self.parameters.declare_joints(
            robot.joint_names, {"initial_position.{joint}": start.tolist()}, left_out=self.locked
        )
        values = self.parameters
        self._rate = values.number("rate")
        self._substeps = int(values.number("substeps"))
        self._period = round(NANOSECONDS / self._rate)
        machine = loaded(self.described, payload(values.values))  # of which `robot` may be but the rigid shadow
        plant = ArmPlant(
            with_effort_limit(machine, drive_limits(robot, values.values)),
            friction=values.flag("friction"), stops=values.flag("stops"),
            limit_effort=values.flag("limit_effort"), base_motion=self._base_motion(open_tree(robot).gravity),
        )
        self.simulator = Simulator(
            plant, self._start(robot), dt=1.0 / (self._rate * self._substeps),
            method=METHODS[values.text("method")],
            command_timeout=values.number("command_timeout") or None,
            on_timeout=REACTIONS[values.text("on_command_timeout")],
        )
        self._lockstep = values.flag("lockstep")
        self._order = [self.commanded.index(j) for j in robot.joint_names]
        self._hardware = self._topic_based(rigid(machine)) if values.text("command_message") == JOINT_STATE else None
        self._names, self._places = driven_first(robot)
        self._warm_up()
        self._wrenches: dict[str, Array] = {}
        self._paused = self._running = False
        self._make_interfaces(robot)

    def _start(self, robot: Machine) -> Array:
        asked = np.array(per_joint(self.parameters.values, "initial_position.{joint}", robot.joint_names))
        if robot.nq != robot.n:
            raise ParameterError(f"robot {robot.name!r} has a floating joint; the simulator needs driven joints only")
        start: Array = np.clip(asked, robot.lower, robot.upper)
        for j in np.flatnonzero(start != asked):
            self.get_logger().info(
                f"joint {robot.joint_names[j]!r} starts at {start[j]:.6g}: {asked[j]:g} is outside its limits"
            )
        return start

    def _base_motion(self, gravity: Array) -> BaseTrajectory | None:
        path, topic = self.parameters.text("base_motion.file"), self.parameters.text("base_motion.topic")
        if path and topic:
            raise ParameterError(
                f"parameters base_motion.file is {path!r} and base_motion.topic {topic!r}; give one of them"
            )
        self._listener = BaseListener(self, topic, gravity) if topic else None
        if not path:
            return self._listener
        return SampledBase.load(path, smoothing=self.parameters.number("base_motion.smoothing") or None)

    def _topic_based(self, robot: Machine) -> TopicBasedHardware:
        values = self.parameters
        return TopicBasedHardware(
            robot, values.number("rate"), values.number("drive_frequency"),
            command_timeout=values.number("command_timeout") or None,
            brake=values.text("on_command_timeout") == "brake", lockstep=values.flag("lockstep"),
        )

    def _warm_up(self) -> None:
        if self._hardware is not None:
            self._hardware.warm_up(self.simulator)
        self.simulator.command(np.zeros(self.robot.n))
        self.simulator.advance(1, wrenches={open_tree(self.robot).link_names[-1]: np.zeros(6)})
        self._note_motion()
        if isinstance(self.robot, Mechanism):  # near singular postures it is stepped otherwise
            self.simulator.warm_up()
        self.simulator.reset()

    def _make_interfaces(self, robot: Machine) -> None:
        # joints that are locked out of the model are shown too, at zero, so that viewers know every frame
        zeros = [0.0] * len(self._names)
        rest = [0.0] * len(self.locked)
        message = JointState(
            name=[*self._names, *self.locked], position=[*zeros, *self.locked.values()], velocity=[*zeros, *rest],
            effort=[*zeros, *rest],
        )
        self._message = PreparedMessage(message, "position", "velocity", "effort")
        position, velocity, effort = self._message.numbers
        self._position, self._velocity = position[: len(self._names)], velocity[: len(self._names)]
        self._effort = effort[: robot.n]
        self._states = self.keep(self.create_publisher(
            JointState, STATES if self._hardware is not None else "joint_states", OFFERED
        ))  # fmt: skip
        # topic-based hardware has a controller manager before it, which needs the only publisher of this topic
        if self._hardware is None and not isinstance(self.described, (Mechanism, FlexibleArm)):
            # Latched, so that controllers and viewers started without a description find it. Not the open tree of a
            # mechanism: a controller would take all its joints for driven. Nor what a model file makes flexible: it may
            # give the links masses that the URDF lacks.
            description = self.keep(self.create_publisher(String, "robot_description", LATCHED))
            description.publish(String(data=description_text(self.model or self.description)))
        self._clock_message = ClockMessage()
        self._clocks = None
        if self.parameters.flag("publish_clock"):
            self._clocks = self.keep(self.create_publisher(ClockMessage, "/clock", OFFERED))
        plant = self.simulator.plant
        self._base = None
        if plant.base_motion is not None and self._listener is None:
            self._base = BasePublisher(self, plant.base_motion, plant.tree.gravity, plant.tree.tree.root)
        self._deflections = (
            DeflectionsPublisher(self, self.described, int(self.parameters.number("deflections_divisor")))
            if isinstance(self.described, FlexibleArm) else None
        )
        self._bending = BendingWatch(self.described) if isinstance(self.described, FlexibleArm) else None
        self.diagnostics = Diagnostics(self)
        self.keep(self.create_service(SetBool, "~/pause", self._on_pause))
        self.keep(self.create_service(Trigger, "~/step", self._on_step))
        self.keep(self.create_service(Trigger, "~/reset", self._on_reset))
        loop = self._listen(self.parameters.text("command_message"))
        followers = self._lockstep and self._clocks is not None
        self.answers = Answers(
            self.parameters.number("lockstep_timeout") if self._lockstep else None,
            Followers(self, loop.subscription.topic_name) if followers else None,
            lambda text: self.get_logger().warning(text),
        )
        self._restart()
        self.keep(loop.beside(self, WrenchStamped, "~/wrench", WRENCHES, self._on_wrench))
        self.every(self.parameters.number("diagnostics_period"), self._report)

    def _listen(self, message: str) -> HotLoop:
        """Commands of that type, and the deadlines."""
        if self._hardware is not None:
            return self.listen(JointState, COMMANDS, self._on_joint_command, 1.0 / self._rate, self._tick, raw=True)
        self._commands = effort_reader(message, self.commanded)
        return self.listen(
            effort_type(message), EFFORT_TOPIC, self._on_command, 1.0 / self._rate, self._tick, raw=True,
            profile=EVERY_ANSWER if self._lockstep else NEWEST,
        )

    def begin(self) -> None:
        """Start the clock of the simulation at the present time; the arm is held until the first command."""
        self._restart()
        self._running = True

    def end(self) -> None:
        """Stop, once no effort drives the arm any more, at most after `FAREWELL`.

        Who stops everything at once still sees the controller set the arm down, as on hardware.
        """
        first = last = self._periods
        moved = time.monotonic()
        driven = self._hardware is None  # servo loops of drives end with the simulation
        while driven and self._running and self.simulator.applied_effort.any() and self.loop:
            self.loop.turn()
            if self._periods != last:
                last, moved = self._periods, time.monotonic()
            if (last - first) / self._rate > FAREWELL or time.monotonic() - moved > FAREWELL:
                break
        self._running = False

    def _restart(self) -> None:
        self.simulator.reset()
        if self._hardware is not None:
            self._hardware.drives.reset()
        self._wrenches.clear()
        self.answers.restart()
        self._ahead = False
        self._origin, self._periods = time.time_ns(), 0
        self._wall, self._lag = WallTime(1.0 / self._rate), 0.0
        self.refused = self.overruns = 0
        self._recent = Recent(self.answers.latency)

    # -- the hot path -------------------------------------------------------------------------------------------------

    def _tick(self, late: bool) -> None:
        """One period, at its deadline."""
        if self._running and not self._paused and not self._waits():
            self.overruns += late
            self._advance()

    def _integrate(self) -> None:
        """Work out the state at the next deadline with the latest command."""
        if self._listener is not None:
            self._listener.update()
        try:
            if self._hardware is not None:
                self._hardware.drive(self.simulator)
            state = self.simulator.advance(self._substeps, wrenches=self._wrenches or None)
            self._note_motion()
            if self._bending is not None:
                self._bending.look(state)
            self._ahead = True
        except RneDynamicsError as error:
            self._running = False
            self.get_logger().error(f"the simulation has stopped: {error}. Call ~/reset to start again")

    def _note_motion(self) -> None:
        """Positions and velocities of all joints, as they will be published."""
        state = self.simulator.state
        self._motion = state.q, state.qd
        if state.posture is not None and state.tree_qd is not None:
            self._motion = state.posture[self._places], state.tree_qd[self._places]

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
        self._message.stamp(now)
        self._position[:], self._velocity[:] = self._motion
        self._effort[:] = self.simulator.applied_effort
        clock = self._clock_message.clock
        clock.sec, clock.nanosec = divmod(now, NANOSECONDS)
        self.answers.publish(now)
        if self._clocks is not None:  # before the state, whose answer may need the time
            self._clocks.publish(self._clock_message)
        if self._base is not None:
            self._base.publish(now, self.simulator.state.t)
        self._message.publish(self._states)
        if self._deflections is not None:
            state = self.simulator.state
            assert state.delta is not None
            assert state.deltad is not None
            self._deflections.publish(now, state.delta, state.deltad)

    def _waits(self) -> bool:
        return self.answers.wait(None if self.loop is None else self.loop.sequence, self._repeat)

    def _repeat(self, state: bool) -> None:
        """The last time once more, and the joint state if it was lost."""
        if self._clocks is not None:
            self._clocks.publish(self._clock_message)
        if state:
            self._message.publish(self._states)

    def _on_command(self, data: bytes) -> None:
        if not self._running:
            return
        try:
            effort = self._commands.read(data)
        except ControlError as error:
            self._refuse(str(error))
            return
        if len(effort) != self.robot.n or not np.isfinite(effort).all():
            self._refuse(
                f"{effort.tolist()}; it must be {self.robot.n} finite numbers, for the joints "
                f"{', '.join(self.commanded)}"
            )
            return
        held = not self.answers.commanded
        answers = self.answers.effort()  # the first command since the state went out counts as its answer
        self.simulator.command(effort[self._order])
        if answers and not self._paused and not held:
            # this command is good for the whole period, so the work need not wait for the deadline
            self._integrate()

    def _refuse(self, why: str) -> None:
        self.refused += 1
        self.get_logger().warning(f"command refused: {why}", throttle_duration_sec=2.0)

    def _on_joint_command(self, data: bytes) -> None:
        """A command for drives with servo loops of their own; it answers no joint state."""
        if not self._running or self._hardware is None:
            return
        try:
            self._hardware.take(data, self.simulator)
        except RneDynamicsError as error:
            self._refuse(str(error))

    # -- what one does to the arm -------------------------------------------------------------------------------------

    def _on_wrench(self, message: WrenchStamped) -> None:
        """Push on the link named by frame_id, in its frame, until the next message for that link."""
        f, m = message.wrench.force, message.wrench.torque
        wrench = np.array([f.x, f.y, f.z, m.x, m.y, m.z])
        try:
            open_tree(self.robot).link(message.header.frame_id)
        except RneDynamicsError as error:
            self.get_logger().warning(f"wrench refused: {error}")
            return
        if not np.isfinite(wrench).all():
            self.get_logger().warning(f"wrench refused: {wrench.tolist()}; it must be finite")
        elif wrench.any():
            self._wrenches[message.header.frame_id] = wrench
        else:
            self._wrenches.pop(message.header.frame_id, None)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._paused and not request.data:
            if self._clocks is None:  # nobody follows our clock, so the stamps must not fall behind the others'
                self._origin = time.time_ns() - self._periods * self._period
            self._wall.resume(self._origin + self._periods * self._period, time.time_ns())
            self.answers.resume()
        self._paused = bool(request.data)
        response.success, response.message = True, "paused" if self._paused else "running"
        return response

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not (self._paused and self._running):
            response.success, response.message = False, "not paused: call ~/pause with true first"
            return response
        self._advance()
        response.success, response.message = True, f"{self._periods} periods"
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Back to the start, held until the next command. Stamps go on: time never runs backwards."""
        ahead = self._origin + self._periods * self._period
        self._restart()
        self._origin = max(self._origin, ahead)
        self._running = self.is_active
        response.success, response.message = True, "at the start position, held until the next command"
        return response

    def _real_time(self, message: str) -> tuple[bytes, str]:
        """Level and message in real time: `message` if the stamps are those of the wall clock."""
        lag = self._wall.lag
        if lag < NOTABLE:
            return OK, message
        way = "and catching up" if lag < self._lag else (
            "and not catching up: the computer is too slow or too busy; lower rate, or set lockstep and publish_clock"
        )
        message = f"{lag:.2f} s behind the wall clock {way}"
        self.diagnostics.warn(message)
        return WARN, message

    def _report(self) -> None:
        level, message = OK, "paused" if self._paused else "running"
        if not (self.answers.commanded or (self._hardware is not None and self._hardware.drives.commanded)):
            message = "holding the arm until the first command"
        if not self._running:
            level, message = WARN, "stopped"
        elif self._clocks is not None and self.count_publishers(self._clocks.topic_name) > 1:
            level, message = ERROR, (
                f"{self.count_publishers(self._clocks.topic_name)} nodes publish {self._clocks.topic_name}, so that "
                "whoever follows it gets the times of both in turn: give each simulated arm a clock of its own (for "
                "all its nodes -r /clock:=clock, in its namespace), or set publish_clock to false in all but one"
            )
            self.diagnostics.warn(message)
        elif self._bending is not None:
            findings = self._bending.findings(self.simulator.state)
            for finding in findings:
                self.get_logger().warning(finding, throttle_duration_sec=5.0)
            if findings:
                level, message = WARN, findings[0]
        if self._running and not (self._lockstep or self._paused) and level == OK:
            level, message = self._real_time(message)
        self._lag = self._wall.lag
        recent, answers = self._recent.next(), self.answers
        self.diagnostics.publish(level, message, {
            "periods": self._periods, "behind the wall clock (s)": self._lag,
            "overruns": self.overruns, "answered states": answers.latency.count,
            "missed replies": answers.missed, "periods waited": answers.waits, "refused commands": self.refused,
            "reply latency p50 (ms)": 1e3 * answers.latency.percentile(50.0),
            "reply latency p99 (ms)": 1e3 * answers.latency.percentile(99.0),
            "recent reply latency p50 (ms)": 1e3 * percentile(recent, 50.0),
            "recent reply latency p99 (ms)": 1e3 * percentile(recent, 99.0),
        })
        self.collect_garbage()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("simulator", __doc__, SimulatorNode.all_parameters(SCHEMA), argv)
    return run(SimulatorNode, argv)


if __name__ == "__main__":
    raise SystemExit(main())
