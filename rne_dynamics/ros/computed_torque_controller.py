"""Computed torque over ROS 2: joint states and trajectories in, efforts out."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.loop_limits import check_loops
from rne_dynamics.control.motion.acceptance import CurrentMotion, Rules
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.loop_path import leading_path
from rne_dynamics.control.motion.points import nanoseconds
from rne_dynamics.control.motion.tolerances import Tolerances
from rne_dynamics.control.prediction import LONGEST_DELAY
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.streaming.limits import (
    ACCELERATION_TIME,
    EFFORT_SHARE,
    JERK_TIME,
    StreamLimits,
    default_acceleration,
)
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.errors import ControlError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine, Mechanism
from rne_dynamics.ros.cdr import NANOSECONDS, one_point_layout, time_at
from rne_dynamics.ros.command_line import read_command_line
from rne_dynamics.ros.control_loop import SNAPSHOT_PERIOD
from rne_dynamics.ros.controller_parameters import (
    CONTROLLER,
    controller_settings,
    damping_parameter,
    velocity_limits,
)
from rne_dynamics.ros.effort_node import SETTINGS_PERIOD, EffortNode, Loop
from rne_dynamics.ros.follow_action import Begin, FollowAction, follow_action
from rne_dynamics.ros.jtc_aliases import JTC
from rne_dynamics.ros.lifecycle import NEWEST
from rne_dynamics.ros.loop_messages import Ended, Follow, Present, Snapshot
from rne_dynamics.ros.loop_process import control_process
from rne_dynamics.ros.parameters import Parameter, Values, number, per_joint
from rne_dynamics.ros.process import run
from rne_dynamics.ros.speed_unit import FULL_SPEED, SpeedUnit
from rne_dynamics.ros.throttle import Throttle
from rne_dynamics.ros.trajectory_message import (
    MotionLimits,
    accept,
    duration_message,
    last_setpoint,
    read_trajectory,
)

#: How far the first setpoint may be from the arm where constraints.start is 0, rad or m.
SMALLEST_START = 1e-6

SCHEMA: tuple[Parameter, ...] = (
    *CONTROLLER,
    Parameter("gains.{joint}.p", 400.0, "Position gain.", "1/s^2", 0.0, 1e6),
    Parameter("gains.{joint}.i", 0.0, "Integral gain.", "1/s^3", 0.0, 1e8),
    Parameter("gains.{joint}.d", 40.0, "Velocity gain.", "1/s", 0.0, 1e4),
    Parameter("gains.{joint}.i_clamp", 10.0, "Largest acceleration the integral may ask for.", "rad/s^2 or m/s^2",
              0.0, 1e6),
    damping_parameter("hand_guiding.{joint}.damping", "Damping while a hand leads the arm."),
    Parameter("speed_scaling", 1.0, "Speed of trajectories, as a fraction of what they ask for; ~/speed_scaling "
              "changes it too.", "", 0.0, 1.0),
    Parameter("speed_scaling_unit", "fraction", "What ~/speed_scaling holds: 0 to 1 (fraction), or 0 to 100 (percent) "
              "as the speed_scaling_state_broadcaster of ur_robot_driver publishes.", choices=tuple(FULL_SPEED),
              read_only=True),
    Parameter("command_delay", 0.0, "Time from a joint state's stamp until the effort that answers it acts; the law "
              "then answers for the state at that time. 0 for none; open arms only.", "s", 0.0, LONGEST_DELAY),
    Parameter("allow_nonzero_velocity_at_trajectory_end", False, "Whether the last point of a trajectory may have a "
              "velocity; the arm then comes to rest behind it, within constraints.blend_time."),
    Parameter("constraints.start", 0.05, "How far a trajectory may start from where the arm is.", "rad or m",
              0.0, 10.0),
    Parameter("constraints.blend_time", 0.3, "Time in which the difference dies out between a trajectory and the "
              "motion that it replaces.", "s", 0.01, 10.0),
    Parameter("constraints.goal_time", 0.1, "How long after its end a trajectory may take to come within the goal's "
              "tolerances; 0 waits without end.", "s", 0.0, 3600.0),
    Parameter("constraints.stopped_velocity", 0.01, "Speed below which the arm counts as standing at its goal.",
              "rad/s or m/s", 1e-6, 10.0),
    Parameter("setpoints.timeout", 0.1, "Time without a setpoint after which a stream has ended and the arm comes to "
              "rest on its path. A trajectory of one point that is due no later is a setpoint.", "s", 0.005, 1.0),
    Parameter("setpoints.smoothing", 0.02, "Shortest time in which a deviation from the setpoints dies out; two of "
              "their periods where that is longer.", "s", 0.004, 0.1),
    Parameter("limits.{joint}.acceleration", 0.0, "Largest acceleration while setpoints are followed; 0 takes what "
              f"reaches the velocity limit in {ACCELERATION_TIME:g} s, less where that takes more than "
              f"{EFFORT_SHARE:.0%} of the effort limit.", "rad/s^2 or m/s^2", 0.0, 1e5),
    Parameter("limits.{joint}.jerk", 0.0, "Largest jerk while setpoints are followed; 0 takes what reaches the "
              f"acceleration limit in {JERK_TIME:g} s.", "rad/s^3 or m/s^3", 0.0, 1e7),
    Parameter("constraints.{joint}.trajectory", 0.0, "Tracking error at which a trajectory is aborted; 0 never.",
              "rad or m", 0.0, 10.0),
    Parameter("constraints.{joint}.goal", 0.01, "Error within which the goal counts as reached; 0 any.", "rad or m",
              0.0, 10.0),
)


class ComputedTorqueController(EffortNode):
    """The node `computed_torque_controller`.

    Time is the stamp of the joint states, so that the reference belongs to the instant at which the arm was measured
    whatever the way here took. On activation the arm stays where it is.
    """

    _action: FollowAction | None = None
    _snapshot: Snapshot | None = None
    aliases = JTC

    def __init__(self, control: Loop) -> None:
        super().__init__("computed_torque_controller", SCHEMA, control)

    def build(self, robot: Machine) -> None:
        """As the base, and listen for trajectories."""
        super().build(robot)
        values = self.parameters.values
        self._endings: Counter[Ending] = Counter()
        self._refused, self._refusal = 0, ""
        self._followed: dict[int, OnEnd] = {}
        self._numbers = itertools.count(1)
        self._speeds: Throttle[float] = Throttle(lambda speed: self.control.tell("scale_speed", speed), SETTINGS_PERIOD)
        self._speed, self._unit = number(values, "speed_scaling"), SpeedUnit(str(values["speed_scaling_unit"]))
        self.adopted(robot, values, {})
        self.keep(self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, 1, raw=True))
        self.keep(self.create_subscription(Float64, "~/speed_scaling", self._on_speed, NEWEST))
        self.keep(self.create_service(Trigger, "~/cancel", self._on_cancel))
        self.keep(self.create_service(SetBool, "~/hand_guide", self._on_hand_guide))
        if self._action is not None:
            self._action.server.destroy()
        self._action = follow_action(self, robot.joint_names)
        self._warm_up(robot)

    # -- parameters ---------------------------------------------------------------------------------------------------

    def settings(self, robot: Machine, values: Values) -> Settings:
        """Law, limits and stops."""

        def column(pattern: str) -> Array:
            return np.array(per_joint(values, pattern, robot.joint_names))

        gains = Gains(
            column("gains.{joint}.p"), column("gains.{joint}.i"), column("gains.{joint}.d"),
            column("gains.{joint}.i_clamp"), robot.joint_names,
        )
        self._tolerances_of(robot, values)  # refuses what does not fit before anything is swapped in
        plain = controller_settings(robot, values, gains=gains, damping="hand_guiding.{joint}.damping")
        stream, why_not = stream_limits(robot, values, plain.limits.effort)
        return replace(
            plain, command_delay=number(values, "command_delay"), stream=stream, no_stream=why_not,
            stream_tolerances=self._tolerances_of(robot, values),
        )

    def adopted(self, robot: Machine, values: Values, before: Values) -> None:
        """Tolerances, motion limits, and the speed where it is what changes: a paused arm must not go on for others."""
        self._robot = robot
        self._tolerances = self._tolerances_of(robot, values)
        self._limits = motion_limits(robot, values)
        self._blend_time = number(values, "constraints.blend_time")
        self._moving_end = bool(values["allow_nonzero_velocity_at_trajectory_end"])
        if values["speed_scaling"] != before.get("speed_scaling"):
            self._set_speed(number(values, "speed_scaling"))

    def _tolerances_of(self, robot: Machine, values: Values) -> Tolerances:
        return Tolerances(
            robot.joint_names,
            path=np.array(per_joint(values, "constraints.{joint}.trajectory", robot.joint_names)),
            goal=np.array(per_joint(values, "constraints.{joint}.goal", robot.joint_names)),
            stopped_velocity=number(values, "constraints.stopped_velocity"),
            goal_time=number(values, "constraints.goal_time"),
        )

    # -- trajectories -------------------------------------------------------------------------------------------------

    @property
    def tolerances(self) -> Tolerances:
        """By which trajectories are judged that bring none of their own."""
        return self._tolerances

    def prepare(self, message: JointTrajectory, tolerances: Tolerances | None = None) -> Begin:
        """Check `message`, which has points; what is returned follows it from its header's stamp, if called at once.

        Parameters
        ----------
        message
            Acceptable as a whole, or not at all.
        tolerances
            The node's own by default.

        Raises
        ------
        ControlError
            The controller accepts no motion now, or the trajectory is not acceptable; the message says why.
        """
        start = nanoseconds(message.header.stamp, "the header's stamp")
        present: Present = self.control.ask("present", start)
        robot, posture = self._robot, present.posture
        leading = leading_path(robot, posture) if isinstance(robot, Mechanism) and posture is not None else None
        moving = CurrentMotion(present.stamp, lambda at: present.followed, present.rate, present.slope)
        rules = Rules(self._limits, self._blend_time, self._demand(), leading, self._moving_end)
        accepted = accept(message, moving, rules)
        if isinstance(robot, Mechanism) and posture is not None:
            check_loops(accepted.path, robot, posture, accepted.begin)
        motion = accepted.motion(self._tolerances if tolerances is None else tolerances)

        def begin(on_end: OnEnd) -> None:
            following = next(self._numbers)
            self._followed[following] = on_end
            try:
                self.control.ask("follow", Follow(following, motion, start == 0, present.now))
            except RneDynamicsError:
                del self._followed[following]
                raise
            if accepted.warning:
                self.get_logger().warning(accepted.warning)
            self.get_logger().info(
                f"following a trajectory of {len(message.points)} points, {accepted.trajectory.duration:.3f} s"
            )

        return begin

    def heard(self, message: Any) -> None:
        """As the base; how motions end, and what goals want to know meanwhile."""
        if isinstance(message, Ended):
            self._ended(message)
        elif isinstance(message, Snapshot):
            self._snapshot = message
            if self._action is not None:
                self._action.report(message.stamp, time.monotonic())
        else:
            super().heard(message)

    def _ended(self, message: Ended) -> None:
        following, ending, text = message
        self._endings[ending] += 1
        good = ending in (Ending.SUCCEEDED, Ending.REPLACED, Ending.CANCELLED)
        log = self.get_logger()  # one line for each call: rclpy tells them apart by their place
        if good:
            log.info(f"trajectory {ending.value}: {text}")
        else:
            log.warning(f"trajectory {ending.value}: {text}")
        self._followed.pop(following)(ending, text)

    def _warm_up(self, robot: Machine) -> None:
        """Check one trajectory, so that the first real one is checked as fast as the others."""
        zero = np.zeros(robot.n)
        rest = Reference(np.clip(np.array(robot.neutral), self._limits.lower, self._limits.upper), zero, zero)
        point = JointTrajectoryPoint(positions=rest.q.tolist(), time_from_start=duration_message(1.0))
        with suppress(RneDynamicsError):  # limits that leave no place to rest: the kernels are loaded all the same
            accept(
                JointTrajectory(joint_names=list(robot.joint_names), points=[point]),
                CurrentMotion(0, lambda at: rest), Rules(self._limits, self._blend_time, self._demand()),
            )

    def _demand(self) -> EffortDemand | None:
        settings = self.in_force
        law = settings.tracking
        return None if law is None else EffortDemand(law, settings.limits, settings.compensated)

    def cancel_motion(self, why: str) -> None:
        """Bring the motion under way to rest on its path."""
        self.control.ask("cancel", why)

    def present(self) -> tuple[Reference, Array, Array]:
        """What is asked of the arm now, and its measured position and velocity."""
        assert self._snapshot is not None
        return self._snapshot.reference, self._snapshot.q, self._snapshot.qd

    def _on_trajectory(self, data: bytes, information: dict[str, int]) -> None:
        number, stream = information.get("publication_sequence_number", 0), self.in_force.stream
        if stream is not None:
            point = one_point_layout(data)
            if point is not None and 0 <= time_at(data, point[1]) <= stream.timeout * NANOSECONDS:
                self.control.pass_on(number, data)
                return
        try:
            message = read_trajectory(data)
            if message.points and stream is not None and self._snapshot is not None:
                setpoint = last_setpoint(message, self._snapshot.stamp, stream.timeout + SNAPSHOT_PERIOD)
                if setpoint is not None:
                    self.control.pass_on(number, serialize_message(setpoint))
                    return
            if message.points:
                self.prepare(message)(lambda ending, text: None)
            else:
                self.control.ask("present", 0)  # refuses as it would refuse a motion
                self.cancel_motion("an empty trajectory came")
        except RneDynamicsError as error:
            self.refused(error)

    def refused(self, error: RneDynamicsError) -> None:
        """Count and log a trajectory that is not followed."""
        self._refused, self._refusal = self._refused + 1, str(error)
        self.get_logger().error(f"trajectory refused: {error}")

    def _on_speed(self, message: Float64) -> None:
        try:
            self._set_speed(self._unit.fraction(message.data))
        except ControlError as error:
            self.get_logger().warning(f"{error}. It stays {self._speed:g} of full speed", throttle_duration_sec=1.0)
        if suspicion := self._unit.suspicion():
            self.get_logger().warning(suspicion)

    def _set_speed(self, speed: float) -> None:
        self._speed = speed
        self._speeds.put(speed, time.monotonic())

    def _hand_on(self) -> None:
        super()._hand_on()
        self._speeds.flush(time.monotonic())

    def _on_cancel(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self.asked(response, lambda: self.cancel_motion("~/cancel was called"))

    def _on_hand_guide(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        return self.asked(response, lambda: self.control.ask("hand_guide", bool(request.data)))

    def status(self) -> dict[str, object]:
        """Trajectories, for the diagnostics."""
        return {
            "refused trajectories": self._refused,
            "last refused trajectory": self._refusal,
            "aborted trajectories": self._endings[Ending.PATH] + self._endings[Ending.STOPPED],
            "cancelled trajectories": self._endings[Ending.CANCELLED],
            "replaced trajectories": self._endings[Ending.REPLACED],
            "goals reached": self._endings[Ending.SUCCEEDED],
            "goals missed": self._endings[Ending.GOAL],
        }


def motion_limits(robot: Machine, values: Values) -> MotionLimits:
    """Where trajectories may lie: the description's limits, narrowed by the parameters."""
    margin = np.array(per_joint(values, "limits.{joint}.position_margin", robot.joint_names))
    return MotionLimits(
        robot.joint_names, robot.lower + margin, robot.upper - margin, velocity_limits(robot, values),
        number(values, "constraints.start"),
    )


def stream_limits(robot: Machine, values: Values, effort: Array) -> tuple[StreamLimits | None, str]:
    """Limits of setpoints; None where none are followed, and why."""
    if isinstance(robot, Mechanism):
        return None, "setpoints are followed on open arms only: closed loops must be checked along the whole motion"
    velocity, limits = velocity_limits(robot, values), motion_limits(robot, values)
    if not np.isfinite(velocity).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(velocity)))]
        return None, (
            f"setpoints need a velocity limit of each joint; joint {name!r} has none: set limits.{name}.velocity"
        )
    column = {
        what: np.array(per_joint(values, f"limits.{{joint}}.{what}", robot.joint_names))
        for what in ("acceleration", "jerk")
    }
    given = column["acceleration"]
    acceleration = np.where(given > 0.0, given, default_acceleration(robot, velocity, effort))
    return StreamLimits(
        robot.joint_names, limits.lower, limits.upper, velocity, acceleration, column["jerk"],
        start=number(values, "constraints.start") or SMALLEST_START, timeout=number(values, "setpoints.timeout"),
        smoothing=number(values, "setpoints.smoothing"),
    ), ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("computed_torque_controller", __doc__, ComputedTorqueController.all_parameters(SCHEMA), argv)
    with control_process(argv) as control:
        return run(lambda: ComputedTorqueController(control), argv)


if __name__ == "__main__":
    raise SystemExit(main())
