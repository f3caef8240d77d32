"""Topics of the simulator: clock, motion of the base, joint states, deflections; wrenches and a base's motion in."""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import itemgetter

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from rne_dynamics.control.guards.base_filter import BaseFilter, BaseSensor
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.dynamics.kinematics.kinematics import rotation_quaternions
from rne_dynamics.errors import (
    ControlError,
    ParameterError,
    RneDynamicsError,
    SimulationError,
    StateError,
    refuse,
)
from rne_dynamics.flexible.energy import tip_deflections
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.ros.loop.hot_loop import SERVICE_PERIOD
from rne_dynamics.ros.messages.cdr import PreparedMessage, deserialised
from rne_dynamics.ros.messages.joint_states import ordered, read_imu
from rne_dynamics.ros.messages.publishers import EveryNth, write_stamp
from rne_dynamics.ros.messages.topic_wait import NEWEST, OFFERED, polled_subscription, take
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.ros.parameters.files import Parameter
from rne_dynamics.simulation.plant.base_motion import BaseTrajectory
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.runs.simulator import ServoDrives, Simulator

# Its counterpart is the plugin `joint_state_topic_hardware_interface/JointStateTopicSystem` or its predecessor
# `topic_based_ros2_control/TopicBasedSystem`; docs/hardware.md shows the URDF for it.

#: The value of the parameter `command_message` that selects it.
JOINT_STATE = "sensor_msgs/JointState"
#: Topics; those of the plugins, if the simulator is in the root namespace.
COMMANDS, STATES = "robot_joint_commands", "robot_joint_states"
#: Default natural frequency of the servo loops: at most this, rad/s, and this fraction of the rate.
FREQUENCY, OF_THE_RATE = 100.0, 0.1
#: Highest natural frequency for each joint state a second: an effort held longer no longer damps.
HIGHEST_FREQUENCY = 0.25

DRIVE_FREQUENCY = Parameter(
    "drive_frequency", 0.0, "Natural frequency of the drives' servo loops where command_message is "
    f"{JOINT_STATE}; 0 takes {FREQUENCY:g} or, if less, 10 % of the rate.", "rad/s", 0.0, 1000.0, read_only=True,
)


class TopicBasedHardware:
    """The drives of a simulated arm, commanded by sensor_msgs/JointState. Raises ParameterError."""

    def __init__(
        self, robot: RigidRobot, rate: float, frequency: float, *, command_timeout: float | None, brake: bool,
        lockstep: bool,
    ) -> None:
        refuse(
            ParameterError,
            (lockstep,
             f"parameter lockstep is true and command_message is {JOINT_STATE}: the commands of topic-based hardware "
             "do not answer one joint state each. Set lockstep to false"),
            (frequency > HIGHEST_FREQUENCY * rate,
             f"parameter drive_frequency is {frequency:g} rad/s and rate is {rate:g} Hz; it must be at most "
             f"{HIGHEST_FREQUENCY:g} times the rate, {HIGHEST_FREQUENCY * rate:g} rad/s. Lower it, or raise the rate"),
        )
        frequency = frequency or min(FREQUENCY, OF_THE_RATE * rate)
        self.drives = ServoDrives(robot, frequency, command_timeout=command_timeout, hold_on_timeout=brake)
        self._joints, self._names = robot.joint_names, [""]

    def take(self, data: bytes, simulator: Simulator) -> None:
        """Take a serialised command; other joints are ignored. ControlError, SimulationError: the former one stays."""
        message = deserialised(data, JointState, ControlError)
        names = list(message.name)
        if names != self._names:
            self._check(names)
        state = simulator.state
        self.drives.command(state.t, state.q, *(
            self._column(label, values, names)
            for label, values in (
                ("position", message.position), ("velocity", message.velocity), ("effort", message.effort)
            )
        ))  # fmt: skip

    def _check(self, names: list[str]) -> None:
        twice = [joint for joint in self._joints if names.count(joint) > 1]
        if twice:
            raise ControlError(f"joint {twice[0]!r} is named twice; names must be unique")
        if not set(names) & set(self._joints):
            raise ControlError(
                f"none of its joints ({', '.join(names[:20]) or 'it names none'}) is simulated; simulated are "
                f"{', '.join(self._joints)}"
            )
        self._names = names

    def _column(self, label: str, values: Sequence[float], names: list[str]) -> Array:
        """The values of the simulated joints, NaN if there is none."""
        if len(values) not in (0, len(names)):
            raise ControlError(
                f"{len(values)} values of {label} for {len(names)} joints, so that their joints are unknown: give "
                f"all joints of the URDF's ros2_control tag the same command interfaces"
            )
        return ordered(names, values, self._joints)

    def drive(self, simulator: Simulator) -> None:
        """Apply the drives' efforts; brakes hold before the first command. RneDynamicsError in singular postures."""
        if self.drives.commanded:
            state = simulator.state
            simulator.command(self.drives.effort(state.t, state.q, state.qd, state.posture))

    def warm_up(self, simulator: Simulator) -> None:
        """Compile what a cycle needs."""
        state = simulator.state
        with suppress(RneDynamicsError):  # a start at a singular posture: the kernels have run
            self.drives.effort(state.t, state.q, state.qd, state.posture)


class SimulatorOutputs:
    """Publishes the state of the simulation; of a mechanism all joints, driven ones first, then `locked` ones."""

    def __init__(
        self, node: ArmNode, robot: RigidRobot, locked: Mapping[str, float], topic: str, *, publish_clock: bool,
        base: BasePublisher | None, deflections: DeflectionsPublisher | None,
    ) -> None:
        self._places = np.concatenate([robot.actuated, robot.passive])
        names = [robot.open_tree.joint_names[k] for k in self._places]
        zeros, rest = [0.0] * len(names), [0.0] * len(locked)
        self._message = PreparedMessage(
            JointState(
                name=[*names, *locked], position=[*zeros, *locked.values()], velocity=[*zeros, *rest],
                effort=[*zeros, *rest],
            ),
            "position", "velocity", "effort",
        )
        position, velocity, effort = self._message.numbers
        self._position, self._velocity = position[: len(names)], velocity[: len(names)]
        self._effort = effort[: robot.n]
        self._states = node.keep(node.create_publisher(JointState, topic, OFFERED))
        self._clock_message = Clock()
        self._clock = node.keep(node.create_publisher(Clock, "/clock", OFFERED)) if publish_clock else None
        #: The topic of the clock; empty if it is not published.
        self.clock_topic = "" if self._clock is None else str(self._clock.topic_name)
        self._base, self._deflections = base, deflections

    def note_motion(self, state: State, measured: tuple[Array, Array]) -> None:
        """Take positions and velocities of all joints, of driven ones as `measured`, to be published next."""
        self._motion = measured
        if state.posture is not None and state.tree_qd is not None:
            free = self._places[len(self._effort) :]
            self._motion = (np.concatenate([measured[0], state.posture[free]]),
                            np.concatenate([measured[1], state.tree_qd[free]]))  # fmt: skip

    def publish(self, stamp: int, state: State, effort: Array) -> None:
        """Publish the motion noted last, and the rest of the `state` of `stamp`, ns, with the `effort`, (n,)."""
        # the clock comes before the joint state, whose answer may need the time
        self._message.stamp(stamp)
        self._position[:], self._velocity[:] = self._motion
        self._effort[:] = effort
        clock = self._clock_message.clock
        clock.sec, clock.nanosec = divmod(stamp, NANOSECONDS)
        if self._clock is not None:
            self._clock.publish(self._clock_message)
        if self._base is not None:
            self._base.publish(stamp, state.t)
        self._message.publish(self._states)
        if self._deflections is not None and state.delta is not None and state.deltad is not None:
            self._deflections.publish(stamp, state.delta, state.deltad)

    def repeat(self, state: bool) -> None:
        """Publish the last time once more, and the joint state too if `state`."""
        if self._clock is not None:
            self._clock.publish(self._clock_message)
        if state:
            self._message.publish(self._states)


# -- deflections of flexible links -------------------------------------------------------------------------------------


#: Components of a deflection: displacement, m, and small rotation, rad, in the link's frame.
COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")


class DeflectionsPublisher:
    """Publishes the ends of flexible links, ``<link>/x`` and so on, every `divisor`-th period, if subscribed."""

    def __init__(self, node: ArmNode, arm: FlexibleArm, divisor: int) -> None:
        self._arm = arm
        names = [f"{link.link}/{component}" for link in arm.flexible_links for component in COMPONENTS]
        message = JointState(name=names, position=[0.0] * len(names), velocity=[0.0] * len(names))
        self._ends = EveryNth(node, "~/deflections", message, divisor, "position", "velocity")
        self._motion(np.zeros(arm.modes), np.zeros(arm.modes))  # so that the first message is as fast as the others

    def publish(self, stamp: int, delta: Array, deltad: Array) -> None:
        """Send the deflections at the modes' amplitudes and rates, (modes,) each; `stamp` of the state, ns."""
        if self._ends.due():
            self._ends.publish(stamp, *self._motion(delta, deltad))

    def _motion(self, delta: Array, deltad: Array) -> tuple[Array, Array]:
        """Deflections of the ends and their rates, link by link."""
        # deflections are quadratic in δ, so that this difference over any step is their rate exactly
        tips = tip_deflections(self._arm, np.stack([delta, delta + deltad, delta - deltad])).reshape(3, -1)
        return tips[0], 0.5 * (tips[1] - tips[2])


# -- motion of the base: published as a sensor on it measures it, or taken from a topic --------------------------------


#: The topic.
BASE_TOPIC = "base_imu"
#: Time without usable messages after which the base rests, s: constant acceleration would throw the arm.
TIMEOUT = 0.5


class BasePublisher:
    """A simulated sensor at the root link's origin, along its axes, without noise."""

    def __init__(self, node: ArmNode, trajectory: BaseTrajectory, gravity: Array, frame: str) -> None:
        self._trajectory, self._gravity = trajectory, gravity
        self._message = Imu()
        self._message.header.frame_id = frame
        self._publisher = node.keep(node.create_publisher(Imu, BASE_TOPIC, OFFERED))

    def publish(self, stamp: int, t: float) -> None:
        """Send the motion at the simulated time `t`, s, with the `stamp` of the joint state at that time, ns."""
        message, motion = self._message, self._trajectory.motion(t)
        q, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
        write_stamp(message.header, stamp)
        packed = motion.packed(self._gravity).tolist()
        q.x, q.y, q.z, q.w = rotation_quaternions(np.asarray(motion.rotation)[None])[0].tolist()
        w.x, w.y, w.z = packed[3:6]
        a.x, a.y, a.z = packed[6:9]
        self._publisher.publish(message)


class BaseListener:
    """A `BaseTrajectory` whose motion is that of the newest usable Imu; at rest before, and tilted after the last."""

    def __init__(self, node: ArmNode, topic: str, gravity: Array) -> None:
        self._node = node
        self._filter = BaseFilter(BaseSensor(timeout=TIMEOUT), gravity)
        self._motion = BaseMotion()
        self._subscription = node.keep(polled_subscription(node, Imu, topic, NEWEST, raw=True))

    def update(self) -> None:
        """Take the newest message, if any."""
        now = time.monotonic()
        taken = take(self._subscription, Imu, True)
        if taken is not None:
            try:
                self._filter.accept(read_imu(taken[0]), now)
            except StateError as error:
                self._node.get_logger().warning(f"refused: {error}", throttle_duration_sec=2.0)
        if self._filter.motion is not None:
            self._motion = self._filter.still() if self._filter.stale(now) else self._filter.motion

    def position(self, t: float) -> Array:
        """As `BaseTrajectory.position`; not known."""
        return np.zeros(3)

    def motion(self, t: float) -> BaseMotion:
        """As `BaseTrajectory.motion`: the newest."""
        return self._motion


# -- wrenches that act on links ----------------------------------------------------------------------------------------


#: Wrenches that may wait for the node, which takes all of them together: links may be pushed at once.
WRENCHES = 100
#: Largest number of wrenches that wait for their time, and how long they may have to, s.
MOST_WAITING, LONGEST_AHEAD = 1000, 60.0


class AppliedWrenches:
    """The present wrench on each link, in its frame, and those for later."""

    def __init__(self, node: ArmNode, tree: RobotModel) -> None:
        self._node, self._tree, self._now = node, tree, 0
        self._by_link: dict[str, Array] = {}
        self._later: list[tuple[int, str, Array]] = []
        self._subscription = node.keep(polled_subscription(node, WrenchStamped, "~/wrench", WRENCHES))
        node.every(SERVICE_PERIOD, self._take_waiting)

    def clear(self) -> None:
        """Remove all wrenches."""
        self._by_link.clear()
        self._later.clear()

    def at(self, now: int) -> dict[str, Array] | None:
        """The wrenches that act from a time of the simulation on, ns: N and N·m by link; None for none."""
        self._now = now
        while self._later and self._later[0][0] <= now:
            _, link, wrench = self._later.pop(0)
            if wrench.any():
                self._by_link[link] = wrench
            else:
                self._by_link.pop(link, None)
        return self._by_link or None

    def _take_waiting(self) -> None:
        for _ in range(WRENCHES):  # not endless if they come as fast as they are taken
            taken = take(self._subscription, WrenchStamped)
            if taken is None:
                return
            self._take(taken[0])

    def _take(self, message: WrenchStamped) -> None:
        """Apply a wrench to the link named by frame_id from its stamp, 0 for at once, until the next one there."""
        f, m, stamp = message.wrench.force, message.wrench.torque, message.header.stamp
        wrench = np.array([f.x, f.y, f.z, m.x, m.y, m.z])
        begin = stamp.sec * NANOSECONDS + stamp.nanosec
        ahead = (begin - self._now) / NANOSECONDS
        try:
            self._tree.link(message.header.frame_id)
            refuse(
                SimulationError,
                (not np.isfinite(wrench).all(), f"{wrench.tolist()}; it must be finite"),
                (self._now and ahead > LONGEST_AHEAD,
                 f"its stamp is {ahead:.6g} s after the last joint state; at most {LONGEST_AHEAD:g} s are allowed"),
                (len(self._later) >= MOST_WAITING, f"{MOST_WAITING} wrenches wait for their time already"),
            )
            insort(self._later, (begin, message.header.frame_id, wrench), key=itemgetter(0))
        except RneDynamicsError as error:
            self._node.get_logger().warning(f"wrench refused: {error}")
