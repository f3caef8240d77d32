"""Computed torque over ROS 2: joint states and trajectories in, efforts out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.computed_torque import ComputedTorque
from rne_dynamics.control.friction_compensation import FrictionCompensation
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.integral import integrate_error
from rne_dynamics.control.loop_limits import check_loops
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.control.trajectory import Hold, SampledTrajectory, Trajectory
from rne_dynamics.errors import RneDynamicsError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine, Mechanism
from rne_dynamics.ros.effort_node import CONTROLLER, EffortNode, Mode
from rne_dynamics.ros.messages import NANOSECONDS
from rne_dynamics.ros.parameters import Parameter, Values, number, per_joint
from rne_dynamics.ros.process import run
from rne_dynamics.ros.trajectory_message import MotionLimits, check_limits, check_start, read_trajectory

#: A header stamp further than this from the joint states' clock means two clocks, s.
CLOCKS_APART = 600.0
#: Time granted to the arm after the end of a trajectory before its distance from the goal is judged, s.
SETTLING = 0.1
NEVER = 2**63

SCHEMA: tuple[Parameter, ...] = (
    *CONTROLLER,
    Parameter("gains.{joint}.p", 400.0, "Position gain.", "1/s^2", 0.0, 1e6),
    Parameter("gains.{joint}.i", 0.0, "Integral gain.", "1/s^3", 0.0, 1e8),
    Parameter("gains.{joint}.d", 40.0, "Velocity gain.", "1/s", 0.0, 1e4),
    Parameter("gains.{joint}.i_clamp", 10.0, "Largest acceleration the integral may ask for.", "rad/s^2 or m/s^2",
              0.0, 1e6),
    Parameter("constraints.start", 0.05, "How far a trajectory may start from where the arm is.", "rad or m",
              0.0, 10.0),
    Parameter("constraints.{joint}.trajectory", 0.0, "Tracking error at which a trajectory is aborted; 0 never.",
              "rad or m", 0.0, 10.0),
    Parameter("constraints.{joint}.goal", 0.01, "Error within which the goal counts as reached, judged "
              f"{SETTLING:g} s after the trajectory's end; 0 any.", "rad or m", 0.0, 10.0),
    Parameter("limits.{joint}.velocity", 0.0, "Largest speed of a trajectory; 0 takes the description's.",
              "rad/s or m/s", 0.0, 1e4),
    Parameter("limits.{joint}.position_margin", 0.0, "Distance trajectories keep from the position limits.",
              "rad or m", 0.0, 10.0),
    Parameter("stop.brake_time", 0.3, "Time in which a motion that is called off comes to rest.", "s", 0.01, 10.0),
)


@dataclass(frozen=True, eq=False)
class Plan:
    """A trajectory, when it starts and when the goal is judged, in ns of the joint states' clock."""

    trajectory: Trajectory
    start: int
    judged: int = NEVER

    def sample(self, stamp: int) -> Reference:
        """The reference at `stamp`, ns."""
        return self.trajectory.sample((stamp - self.start) / NANOSECONDS)

    def over(self, stamp: int) -> bool:
        """Whether the trajectory has ended at `stamp`, ns."""
        return stamp - self.start >= self.trajectory.duration * NANOSECONDS


class ComputedTorqueController(EffortNode):
    """The node `computed_torque_controller`.

    Time is the stamp of the joint states, so that the reference belongs to the instant at which the arm was measured
    whatever the way here took. On activation the arm stays where it is.
    """

    def __init__(self) -> None:
        super().__init__("computed_torque_controller", SCHEMA)

    def build(self, robot: Machine) -> None:
        """As the base, and listen for trajectories."""
        self._integral = np.zeros(robot.n)
        self._error = np.zeros(robot.n)
        self._last = 0
        self._plan = Plan(Hold(robot.neutral), 0)
        self._next: Plan | None = None
        self._aborted = self._reached = self._missed = 0
        super().build(robot)
        self.keep(self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, 1))

    # -- control ------------------------------------------------------------------------------------------------------

    def settings(self, robot: Machine, values: Values) -> Callable[[], None]:
        """Law, tolerances and motion limits."""
        joints = robot.joint_names

        def column(pattern: str) -> Array:
            return np.array(per_joint(values, pattern, joints))

        gains = Gains(
            column("gains.{joint}.p"), column("gains.{joint}.i"), column("gains.{joint}.d"),
            column("gains.{joint}.i_clamp"), joints,
        )
        law = ComputedTorque(robot, gains, friction_compensation(values))
        tolerance, goal = column("constraints.{joint}.trajectory"), column("constraints.{joint}.goal")
        limits = motion_limits(robot, values)

        def swap() -> None:
            self._law, self._limits, self._brake_time = law, limits, number(values, "stop.brake_time")
            self._tolerance = np.where(tolerance > 0.0, tolerance, np.inf)
            self._goal_tolerance = np.where(goal > 0.0, goal, np.inf)

        return swap

    def anchor(self, stamp: int, q: Array, qd: Array) -> None:
        """Stay here: from the measured speed to rest in the brake time."""
        self._integral = np.zeros(len(q))
        self._last, self._next = stamp, None
        self._plan = Plan(self._rest(Reference(q, qd, np.zeros(len(q)))), stamp)

    def law(self, stamp: int, q: Array, qd: Array) -> TorqueTerms:
        """Computed torque along the trajectory in force."""
        if self._next is not None and stamp >= self._next.start:
            self._plan, self._next = self._next, None
        reference = self._plan.sample(stamp)
        self._error = reference.q - q
        if (np.abs(self._error) > self._tolerance).any() and not self._plan.over(stamp):
            self._abort(stamp, q, qd)
            reference = self._plan.sample(stamp)
        if stamp >= self._plan.judged:
            self._judge()
        integral = self._integral if self._law.gains.integrates else None
        return self._law.law(q, qd, reference, integral, posture=self.posture)

    def after_effort(self, stamp: int, clamped: NDArray[np.bool_]) -> None:
        """Integrate the error where there is an integral gain."""
        if self._law.gains.integrates:
            dt = min(max(stamp - self._last, 0) / NANOSECONDS, 0.1)
            self._integral = integrate_error(self._law.gains, self._integral, self._error, dt, clamped)
        self._last = stamp

    def brake(self) -> float:
        """Bring the reference to rest."""
        self._call_off()
        return self._brake_time

    def _rest(self, now: Reference) -> Trajectory:
        """From a reference in motion to rest in the brake time, without leaving the position limits."""
        if not now.qd.any():
            return Hold(now.q.copy())
        T = self._brake_time
        low, high = np.minimum(self._limits.lower, now.q), np.maximum(self._limits.upper, now.q)
        end = np.clip(now.q + 0.5 * T * now.qd, low, high)
        return SampledTrajectory(
            np.array([0.0, T]), np.stack([now.q, end]), np.stack([now.qd, np.zeros(len(end))]),
            joint_names=self._limits.joints,
        )

    def _call_off(self) -> None:
        """Give up the motion in force and come to rest from its present reference."""
        self._next = None
        self._plan = Plan(self._rest(self._plan.sample(self._stamp)), self._stamp)

    def _abort(self, stamp: int, q: Array, qd: Array) -> None:
        j = int(np.argmax(np.abs(self._error) / self._tolerance))
        self._aborted += 1
        self.get_logger().error(
            f"joint {self._limits.joints[j]!r} is {self._error[j]:.4g} off its trajectory; allowed is "
            f"{self._tolerance[j]:g} (constraints.{self._limits.joints[j]}.trajectory). The motion is aborted"
        )
        self._next = None
        self._plan = Plan(self._rest(Reference(q, qd, np.zeros(len(q)))), stamp)

    def _judge(self) -> None:
        """Say whether the trajectory in force has led to its goal; a motion that was called off is not judged."""
        self._plan = replace(self._plan, judged=NEVER)
        error, joints = np.abs(self._error), self._limits.joints
        j = int(np.argmax(error / self._goal_tolerance))
        if error[j] <= self._goal_tolerance[j]:
            self._reached += 1
            self.get_logger().info(f"goal reached; largest error {error.max():.2e}")
            return
        self._missed += 1
        self.get_logger().warning(
            f"goal missed: joint {joints[j]!r} is {self._error[j]:.4g} away from it {SETTLING:g} s after the "
            f"trajectory's end; allowed is {self._goal_tolerance[j]:g} (constraints.{joints[j]}.goal)"
        )

    # -- trajectories -------------------------------------------------------------------------------------------------

    def _on_trajectory(self, message: JointTrajectory) -> None:
        """A trajectory from the topic: accepted whole or refused whole."""
        try:
            self.accept(message)
        except RneDynamicsError as error:
            self.get_logger().error(f"trajectory refused: {error}")

    def accept(self, message: JointTrajectory) -> None:
        """Follow `message` from its header's stamp, or at once where that is zero; without points: come to rest.

        Raises
        ------
        TrajectoryError
            The controller is not running, or the trajectory is not acceptable: see `read_trajectory`, `check_start`,
            `check_limits` and, of a mechanism, `check_loops`.
        """
        if self.mode is not Mode.RUNNING:
            raise TrajectoryError(f"the controller is not running ({self.mode.value})")
        if not message.points:
            self._call_off()
            return
        stamp = message.header.stamp
        start = int(stamp.sec) * NANOSECONDS + int(stamp.nanosec) or self._stamp
        if abs(start - self._stamp) > CLOCKS_APART * NANOSECONDS:
            raise TrajectoryError(
                f"its start is {(start - self._stamp) / NANOSECONDS:.0f} s away from the joint states' time; "
                "leave the header's stamp zero to start at once"
            )
        trajectory = read_trajectory(message, self._limits.joints)
        begin = max(start, self._stamp)
        if begin - start > trajectory.duration * NANOSECONDS:
            raise TrajectoryError("it has ended already: its header's stamp lies in the past")
        now = self._plan.sample(begin)
        if trajectory.times[0] > 0.0:
            trajectory = trajectory.starting_at(now.q, now.qd, now.qdd)
        check_start(trajectory.sample((begin - start) / NANOSECONDS), now, self._limits)
        check_limits(trajectory, now, self._limits)
        if isinstance(self.robot, Mechanism) and self.posture is not None:
            check_loops(trajectory, self.robot, self.posture, (begin - start) / NANOSECONDS)
        self._next = Plan(trajectory, start, start + int((trajectory.duration + SETTLING) * NANOSECONDS))
        self.get_logger().info(f"following a trajectory of {len(message.points)} points, {trajectory.duration:.3f} s")

    def status(self) -> dict[str, object]:
        """Tracking, for the diagnostics."""
        return {
            "tracking": not self._plan.over(self._stamp),
            "largest present error": float(np.max(np.abs(self._error), initial=0.0)),
            "aborted trajectories": self._aborted,
            "goals reached": self._reached,
            "goals missed": self._missed,
        }


def friction_compensation(values: Values) -> FrictionCompensation | None:
    """The friction compensation that the parameters ask for; None for none."""
    scale = number(values, "friction_compensation")
    return FrictionCompensation(scale, number(values, "friction_velocity_threshold")) if scale > 0.0 else None


def motion_limits(robot: Machine, values: Values) -> MotionLimits:
    """Where trajectories may lie: the description's limits, narrowed by the parameters."""
    joints = robot.joint_names
    margin = np.array(per_joint(values, "limits.{joint}.position_margin", joints))
    speed = np.array(per_joint(values, "limits.{joint}.velocity", joints))
    described = np.where(robot.velocity_limit > 0.0, robot.velocity_limit, np.inf)
    lower, upper = robot.lower + margin, robot.upper - margin
    if (lower > upper).any():
        j = int(np.argmax(lower > upper))
        raise TrajectoryError(
            f"limits.{joints[j]}.position_margin is {margin[j]:g}, more than half the range "
            f"[{robot.lower[j]:g}, {robot.upper[j]:g}] of the joint"
        )
    return MotionLimits(
        joints, lower, upper, np.minimum(np.where(speed > 0.0, speed, np.inf), described),
        number(values, "constraints.start"),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    return run(ComputedTorqueController, argv)


if __name__ == "__main__":
    raise SystemExit(main())
