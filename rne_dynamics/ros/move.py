"""Send the arm to a position along a quintic and wait until it is there."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics import __version__
from rne_dynamics.control.guards.effort_limits import RATE_TIME
from rne_dynamics.control.motion.limited_path import leading_joints
from rne_dynamics.control.motion.limits import continuous, described_velocity, turns_off
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.control.trajectory import SampledTrajectory, quintic_duration
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.errors import ArgumentError, MissingDependencyError, RneDynamicsError, StateError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.messages.joint_states import OTHER_JOINTS, WHOLE, JointMap
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.messages.topic_wait import NEWEST, OFFERED
from rne_dynamics.ros.messages.trajectory_message import duration_message, trajectory_message
from rne_dynamics.ros.node.command_line import own_words, refuse_remappings
from rne_dynamics.ros.node.lifecycle import ArmNode
from rne_dynamics.ros.node.process import run
from rne_dynamics.ros.parameters.files import Parameter, Values

if TYPE_CHECKING:
    from rne_dynamics.control.motion.retiming import FastestMotion

#: A joint slower than this has arrived, rad/s or m/s.
AT_REST = 0.01
CHECK_PERIOD = 0.02
#: Joint states with stamps further apart do not belong to the same time base, s.
STAMP_LEAP = 5.0
#: Time for which a controller that listens has no topic of its state until it counts as one that reports none, s: this
#: node may discover the topics of one node one after the other.
UNREPORTED = 1.0
#: States of a controller in which it accepts motions.
ACCEPTING = (Mode.HOLDING.value, Mode.TRACKING.value)
#: Counts on /diagnostics of motions that did not reach their goal, and what each means.
REFUSED, REPLACED = "refused trajectories", "replaced trajectories"
ENDINGS = {
    REFUSED: "", "aborted trajectories": "the arm left its path (constraints.<joint>.trajectory) or was stopped",
    "cancelled trajectories": "it was cancelled", REPLACED: "another motion has replaced it",
}
#: Time for which the goal is commanded a second time, s: a controller may take a lone point that is due soon for one
#: setpoint of a stream.
REPEATED = 0.01
#: Longest wait for the arm to come to rest after a motion was cancelled, and least time at rest, s.
CANCELLED, RESTING = 10.0, 0.2

#: Smallest way of a joint that is retimed, rad or m.
LEAST_WAY = 1e-4

#: Reports a text to the user, and whether it is an error.
Say = Callable[[str, bool], None]

SCHEMA: tuple[Parameter, ...] = (
    Parameter("controller", "computed_torque_controller", "Name of the controller that moves the arm.", read_only=True),
    Parameter("goal", (), "Goal of the move.", "rad or m", -1e6, 1e6, kind=float, read_only=True),
    Parameter("goal_joints", (), "The joints of `goal`, the others stay; empty for all in order.", kind=str,
              read_only=True),
    Parameter("duration", 0.0, "Time of the move; 0 takes the shortest within the velocity limits.", "s", 0.0, 3600.0,
              read_only=True),
    Parameter("velocity_scale", 0.3, "Fraction of the velocity limits to use.", "", 0.01, 1.0, read_only=True),
    Parameter("fastest", False, "Take the shortest time within the limits of velocity and effort. For open arms; needs "
              "the extra `retime`, and `velocity_scale` counts without it only.", read_only=True),
    Parameter("tolerance", 0.01, "Error within which the arm has arrived.", "rad or m", 1e-9, 10.0, read_only=True),
    Parameter("timeout", 10.0, "Longest wait for joint states and the controller, and for the arm to settle.",
              "s", 0.1, 600.0, read_only=True),
)


class MoveNode(ArmNode):
    """The node `move`: one point-to-point motion, then the process ends, with 0 if the arm has arrived."""
    # limits: velocity, effort, its rate, (n,) each, infinite for none, of a controller of this package; path: followed
    # after a move to its start

    live = False

    def __init__(
        self, overrides: Sequence[RosParameter] = (), say: Say | None = None, limits: Sequence[Array] | None = None,
        path: SampledTrajectory | None = None,
    ) -> None:
        super().__init__("move", SCHEMA, overrides)
        self.exit_code = 1  # until the arm has arrived
        self._say: Say = say or (lambda text, error: self.log("error" if error else "info", text))
        self._limits, self._path = limits, path

    def build(self, robot: RigidRobot) -> None:
        """Check the goal; find states and controller."""
        self.robot = robot
        self._wanted = goal(robot, self.commanded, self.parameters.values)
        self._map, self._continuous = JointMap(robot.joint_names), continuous(robot)
        self._q, self._qd, self._seen, self._refusal = np.zeros(robot.n), np.zeros(robot.n), False, ""
        self._goal: Array | None = None
        effort = np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf)
        self._velocity, effort, rate = self._limits or (described_velocity(robot), effort, effort / RATE_TIME)
        self._fastest: FastestMotion | None = None
        if self.parameters["fastest"]:
            if self.parameters["duration"]:
                raise ArgumentError("parameter duration is for a move that is not the fastest; leave it out")
            from rne_dynamics.control.motion.retiming import FastestMotion

            self._fastest = FastestMotion(robot, self._velocity, effort, rate)
        self._time = StampClock()
        self._controller = self.topic_of("controller")
        self._trajectories = self.keep(
            self.create_publisher(JointTrajectory, f"{self._controller}/joint_trajectory", OFFERED)
        )
        self._allowed, self._report, self._counts = False, "", dict.fromkeys(ENDINGS, 0)
        self._reports, self._unreported_since = self._limits is not None, np.inf
        self._counted: dict[str, int] | None = None  # when the motion was sent
        self.keep(self.create_subscription(DiagnosticArray, "/diagnostics", self._on_report, 20))
        self.keep(self.create_subscription(JointState, "joint_states", self._on_state, NEWEST))
        self.every(CHECK_PERIOD, self._check)

    def begin(self) -> None:
        """Send the trajectory as soon as the arm's state is known."""
        self._goal = None
        self._begun = time.monotonic()

    def _on_state(self, message: JointState) -> None:
        q, qd = np.empty_like(self._q), np.empty_like(self._qd)
        try:
            reading = self._map.read(message, q, qd, np.empty_like(q))
        except StateError as error:
            self._refusal = str(error)
            return
        if reading != OTHER_JOINTS:
            self._q, self._seen = q, True
            self._time.take(stamp_of(message), time.monotonic())
            # without velocities the position alone shows whether the arm has arrived
            self._qd = qd if reading == WHOLE else np.zeros_like(qd)

    def _on_report(self, message: DiagnosticArray) -> None:
        """Note from the controller's diagnostics whether it accepts motions."""
        for status in message.status:
            values = {v.key: v.value for v in status.values}
            if status.name == self._controller and "motion locked" in values:
                self._allowed = values["state"] in ACCEPTING and not values["motion locked"]
                self._report = values["motion locked"] or status.message
                self._counts = {key: int(values.get(key, 0)) for key in ENDINGS}
                if self._goal is not None and not self.finished:
                    self._judge(values)

    def _judge(self, values: dict[str, str]) -> None:
        """End if the controller reports that it does not follow the motion to its goal."""
        new = {} if self._counted is None else {key: self._counts[key] - self._counted[key] for key in ENDINGS}
        # the first motion replaced may be the one that ours has replaced
        ended = [key for key, count in new.items() if count > (1 if key == REPLACED else 0)]
        if values["state"] not in ACCEPTING:
            self._finish(f"the controller has ended the motion: {self._report}", 1)
        elif ended:
            why = values["last refused trajectory"] if ended[0] == REFUSED else ENDINGS[ended[0]]
            what = "refuses" if ended[0] == REFUSED else "has ended"
            share = self._fastest.be_gentler() if self._fastest is not None and ended[0] == REFUSED else None
            if share is not None:
                self._say(f"the controller refuses the motion: {why}. Next: {share:.0%} of the accelerations", False)
                self._send()
                return
            self._finish(f"the controller {what} the motion: {why}", 1)

    def _check(self) -> None:
        if not self.is_active or self.finished:
            return
        now, timeout = time.monotonic(), self.parameters["timeout"]
        if self._goal is None:
            if self._seen and self._listens(now):
                self._send()
            elif now > self._begun + timeout:
                self._finish(self._what_is_missing(), 1)
            return
        if now > self._time.received_at + timeout:
            self._finish(f"no usable joint state for {timeout:g} s: the arm has not arrived", 1)
            return
        error = np.where(self._judged, np.abs(self._way(self._q, self._goal)), 0.0)
        if self._time.passed >= self._arrival and error.max() <= self.parameters["tolerance"] and (
            np.abs(self._qd).max() < AT_REST
        ):
            self._finish(f"arrived; largest error {error.max():.2e}", 0)
        elif self._time.passed > self._arrival + timeout:
            j = int(np.argmax(error))
            self._finish(
                f"joint {self.robot.joint_names[j]!r} is at {self._q[j]:.6g}, {error[j]:.3g} away from its goal: the "
                "arm has not arrived. Has another motion replaced this one? The controller's log has the reason", 1,
            )

    def _listens(self, now: float) -> bool:
        """Whether the controller runs and accepts motions, if it is one that reports that."""
        if not self._trajectories.get_subscription_count():
            return False
        self._reports = self._reports or self.count_publishers(f"{self._controller}/state") > 0
        self._unreported_since = min(self._unreported_since, now)
        return self._allowed if self._reports else now > self._unreported_since + UNREPORTED

    def _what_is_missing(self) -> str:
        refusal = f" ({self._refusal})" if self._refusal else ""
        missing = [text for wrong, text in (
            (not self._seen, f"no usable joint state on {self.resolve_topic_name('joint_states')}{refusal}"),
            (not self._trajectories.get_subscription_count(),
             f"the controller does not listen on {self._trajectories.topic_name}"),
        ) if wrong]  # fmt: skip
        if missing:
            are = "is it" if len(missing) == 1 else "are they"
            return f"{', and '.join(missing)}; {are} running, and in this namespace?"
        return f"the controller accepts no motion: {self._report or '/diagnostics has no reason'}"

    def _send(self) -> None:
        target = self._q + np.where(np.isnan(self._wanted), 0.0, self._way(self._q, self._wanted))
        listed, end = self._listed(), target
        if self._path is not None:
            listed, end = tuple(self._path.joint_names or ()), self._q.copy()
            places = [self.robot.joint_index(name) for name in listed]
            end[places] = self._path.positions[0]
            end = self._q + self._way(self._q, end)
        self._judged = np.array([name in listed for name in self.robot.joint_names])
        try:
            motion = self._path if self._fastest is None else self._retimed(self._fastest, target)
            T = 0.0 if motion is not self._path else self.parameters["duration"] or quintic_duration(
                self._q, end, self._velocity, scale=self.parameters["velocity_scale"]
            )
        except RneDynamicsError as error:
            self._finish(f"{error} (parameter {'duration' if self._fastest is None else 'fastest'})", 1)
            return
        if motion is None:
            self._trajectories.publish(quintic_message(listed, target[self._judged], T))
        else:
            self._trajectories.publish(trajectory_message(motion, T))
            T += motion.duration
        self._say(f"moving for {T:.3f} s", False)
        self._goal, self._counted = target, self._counts if self._allowed else None
        self._arrival = self._time.passed + T

    def _retimed(self, fastest: FastestMotion, target: Array) -> SampledTrajectory | None:
        """The fastest motion to the target; None where there is no toppra, which is said, or no way to go."""
        try:
            return fastest.along([self._q, target]) if np.abs(target - self._q).max() > LEAST_WAY else None
        except MissingDependencyError as error:
            self._say(f"{error}; the move is a quintic at {self.parameters['velocity_scale']:g} of the velocity", False)
            return None

    def _way(self, start: Array, end: Array) -> Array:
        """From `start` to `end`, (n,) each; of continuous joints by the nearest turn, as the controller takes it."""
        way: Array = end - start
        return np.where(self._continuous, way - 2.0 * np.pi * turns_off(end, start), way)

    def _listed(self) -> tuple[str, ...]:
        """The joints of the message: all but those of a mechanism that its loops determine and that have no goal."""
        robot, names = self.robot, self.robot.joint_names
        wanted = np.flatnonzero(~np.isnan(self._wanted)).tolist()
        mechanism = mechanism_of(robot)
        leading = range(robot.n) if mechanism is None else leading_joints(mechanism, wanted)
        return tuple(name for j, name in enumerate(names) if j in leading or j in wanted)

    def _finish(self, text: str, code: int) -> None:
        self._say(text, code != 0)
        self.exit_code, self.finished = code, True

    def end(self) -> None:
        """Cancel the motion if it has not ended, and wait until the arm is at rest; not after a second signal."""
        if self._goal is None or self.finished:
            return
        self.finished = True
        self._trajectories.publish(JointTrajectory(joint_names=list(self.robot.joint_names)))  # without points
        self._say("interrupted: the motion is cancelled, the arm is braked on its path", False)
        begun = moving = self._time.passed
        place = self._q
        give_up_at = time.monotonic() + CANCELLED
        while self._time.passed - max(moving, begun) < RESTING:
            if self.signalled_again() or time.monotonic() > give_up_at or self.executor is None:
                self._say("the arm is NOT known to be at rest: stop it by ~/stop or the emergency stop", True)
                return
            self.executor.spin_once(timeout_sec=CHECK_PERIOD)
            if np.abs(self._qd).max() >= AT_REST or np.abs(self._way(place, self._q)).max() > AT_REST * RESTING:
                moving, place = self._time.passed, self._q
        self._say("cancelled: the arm is at rest, before its goal", False)


class StampClock:
    """Time by the stamps of the joint states, which a simulation may stretch."""

    def __init__(self) -> None:
        #: Time that has passed, and the steady clock's time of the last joint state, s.
        self.passed, self.received_at = 0.0, -np.inf
        self._stamp = 0

    def take(self, stamp: int, now: float) -> None:
        """Take a joint state with a stamp, ns, 0 for none, that came at `now`, s; a jump of its clock is no time."""
        step = 1e-9 * (stamp - self._stamp)
        if stamp and self._stamp:
            self.passed += step if 0.0 < step < STAMP_LEAP else 0.0
        elif not stamp:
            self.passed += min(now - self.received_at, STAMP_LEAP)
        self._stamp, self.received_at = stamp, now


def quintic_message(joints: Sequence[str], end: Array, duration: float) -> JointTrajectory:
    """A quintic from wherever the controller holds the arm to rest at `end`, (n,), in `duration` seconds."""
    # two points and no stamp: a controller that also follows setpoints takes it for a trajectory, however short
    rest = [0.0] * len(joints)
    points = [
        JointTrajectoryPoint(
            positions=end.tolist(), velocities=rest, accelerations=rest, time_from_start=duration_message(t)
        )
        for t in (duration, duration + REPEATED)
    ]
    return JointTrajectory(joint_names=list(joints), points=points)


# -- command line ------------------------------------------------------------------------------------------------------


def goal(robot: RigidRobot, joints: Sequence[str], values: Values) -> Array:
    """The goal that the parameters name, NaN for joints that stay, rad or m; (n,). ArgumentError."""
    listed = values["goal_joints"] or joints
    given = values["goal"]
    if len(given) != len(listed):
        raise ArgumentError(f"goal has {len(given)} values for {len(listed)} joints ({', '.join(listed)})")
    target = np.full(robot.n, np.nan)
    for name, value in zip(listed, given, strict=True):
        j = robot.joint_index(name)
        if not robot.lower[j] <= value <= robot.upper[j]:
            raise ArgumentError(
                f"goal {value:g} of joint {name!r} is outside its limits [{robot.lower[j]:.6g}, {robot.upper[j]:.6g}]"
            )
        target[j] = value
    return target


def overrides(arguments: Sequence[str]) -> list[RosParameter]:
    """Parameters from the command line; exits with a usage message if it is not valid."""
    parser = argparse.ArgumentParser(
        prog="move", description="Send the arm to a position along a quintic and wait until it is there.",
        epilog="examples: move 0.5 -0.8 0.3 0 0 0    move joint2=-0.8 --duration 2    "
               "move joint1=1 --ros-args -p robot_description:=puma560",
    )
    parser.add_argument("goal", nargs="*", metavar="VALUE|JOINT=VALUE", help="rad or m")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    for name in ("duration", "velocity-scale", "tolerance", "timeout"):
        parser.add_argument(f"--{name}", type=float)
    parser.add_argument("--controller")
    parser.add_argument("--fastest", action="store_const", const=True, help="within the limits of velocity and effort")
    refuse_remappings(parser, arguments)
    given = vars(parser.parse_args([f" {a}" if a[:1] == "-" and a[1:2] in "0123456789." and a != "-" else a
                                    for a in arguments]))  # fmt: skip
    words = [w.strip() for w in given.pop("goal")]
    named = [w.partition("=") for w in words if "=" in w]
    if named and len(named) != len(words):
        parser.error("give either VALUEs for all joints or JOINT=VALUE for some")
    try:
        values = [float(value) for _, _, value in named] or [float(w) for w in words]
    except ValueError as error:
        parser.error(str(error))
    given |= {"goal": values or None, "goal_joints": [name for name, _, _ in named] or None}
    return [RosParameter(name, value=value) for name, value in given.items() if value is not None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one move; returns 0 if the arm has arrived."""
    given = overrides(own_words(argv))
    return run(lambda: MoveNode(given), argv)


if __name__ == "__main__":
    raise SystemExit(main())
