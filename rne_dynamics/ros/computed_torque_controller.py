"""Computed torque over ROS 2: joint states and trajectories in, efforts out."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.parameter import Parameter as RosParameter
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.control_law import ControlLaw, Reference
from rne_dynamics.control.laws import DEFAULT_LAW, find_law
from rne_dynamics.control.motion.acceptance import CurrentMotion, Rules, accept_points, nanoseconds
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.limited_path import check_loops, leading_path
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.motion_queue import Ending, OnEnd
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import NANOSECONDS
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.errors import ControlError, ParameterError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.effort_node import EffortNode
from rne_dynamics.ros.loop.cycle import SNAPSHOT_PERIOD
from rne_dynamics.ros.loop.hot_loop import NodeExecutor
from rne_dynamics.ros.loop.messages import Present, Snapshot
from rne_dynamics.ros.loop.process import LoopProcess, LoopSilentError, Throttle, control_process
from rne_dynamics.ros.messages.cdr import one_point_layout, time_at
from rne_dynamics.ros.messages.topic_wait import NEWEST
from rne_dynamics.ros.messages.trajectory_message import duration_message, last_setpoint, read_trajectory
from rne_dynamics.ros.node.command_line import read_command_line
from rne_dynamics.ros.node.process import run
from rne_dynamics.ros.parameters.files import JTC, Parameter, Values, given_to
from rne_dynamics.ros.parameters.tracking import (
    COMPLIANT,
    GUIDING_DAMPING,
    SCHEMA,
    fitting,
    law_of,
    motion_limits,
    of_other_laws,
    speed_fraction,
    tolerances_of,
    tracking_settings,
    with_law,
)
from rne_dynamics.ros.payload_measurement import PayloadMeasurement
from rne_dynamics.ros.targets import Begin, FollowAction, FollowJointTrajectory, PoseTargets, WrenchTargets

#: Laws that have a service which changes to them.
SERVED = ("computed_torque", "disturbance_observer", "joint_impedance", "cartesian_impedance")
#: Trajectories that wait. If there were one place, the first part of a long one would displace what waits there.
QUEUE = 10


class ComputedTorqueController(EffortNode):
    """The node; its time is the joint states' stamp, so that the reference belongs to the measured instant."""

    _action: FollowAction | None = None
    _snapshot: Snapshot | None = None
    _comply = False
    aliases, damping = JTC, GUIDING_DAMPING

    def __init__(self, control: LoopProcess) -> None:
        super().__init__("computed_torque_controller", SCHEMA, control)

    def adapted(self, schema: Sequence[Parameter]) -> Sequence[Parameter]:
        """With the parameters and defaults of the law that the node is given."""
        self._own_law = given_to(self).get("law", DEFAULT_LAW)
        return with_law(schema, self._own_law)

    def build(self, robot: RigidRobot) -> None:
        """As the base, and subscribe to trajectories."""
        self._started = self.parameters["law"]
        super().build(robot)
        values = self.parameters.values
        for beginning in of_other_laws(given_to(self), (values["law"], *values["prepared_laws"])):
            self.get_logger().warning(f"settings without effect: {beginning}*: the law is {values['law']}")
        self._endings: Counter[Ending] = Counter()
        self._contacts, self._contact = 0, ""
        self._refused, self._refusal, self._failed = 0, "", ""
        self._followed: dict[int, OnEnd] = {}
        self._numbers = itertools.count(1)
        self._speeds: Throttle[float] = self.throttled("scale_speed")
        self._speed = values["speed_scaling"]
        self.adopted(robot, values, {})
        self.keep(self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, QUEUE, raw=True))
        self.keep(self.create_subscription(Float64, "~/speed_scaling", self._on_speed, NEWEST))
        self.serve(Trigger, "~/cancel", lambda request: self.control.call("cancel", "~/cancel was called"))
        for name in SERVED:
            self.serve(Trigger, f"~/{name}", partial(self._change_law, name))
        payload = self._payload = PayloadMeasurement()
        for name, action in (
            ("tare", lambda request: payload.tare()), ("measure", lambda request: payload.measure()),
            ("estimate", lambda request: payload.estimate(self.bare_robot, self.parameters["payload.link"])),
        ):
            self.offer(Trigger, f"~/payload/{name}", action, lambda: payload.said)
        self.serve(Trigger, "~/tare", lambda request: self.control.call("tare"))
        self.serve(SetBool, "~/hand_guide", lambda request: self.control.call("hand_guide", bool(request.data)))
        if self._action is not None:
            self._action.server.destroy()
        self._action = None if FollowJointTrajectory is None else FollowAction(self, robot.joint_names)
        self._poses, self._wrenches = PoseTargets(self, robot), WrenchTargets(self)

    # -- parameters ---------------------------------------------------------------------------------------------------

    def settings(self, robot: RigidRobot, values: Values) -> Settings:
        """Law, limits and stops."""
        law, prepared = values["law"], (self._started, *values["prepared_laws"])
        for name in {law, *values["prepared_laws"]}:
            find_law(name).check_kind(self.described.kind)
        if law not in prepared:
            raise ParameterError(
                f"law {law!r} was not prepared when the node was configured: clean it up, add the law to parameter "
                f"prepared_laws, and configure it again. Prepared are {', '.join(prepared)}"
            )
        return tracking_settings(robot, fitting(values, self._own_law, robot.joint_names))

    def alternatives(self, robot: RigidRobot, values: Values) -> tuple[ControlLaw, ...]:
        """Those that are to be prepared."""
        return tuple(law_of(robot, values, name) for name in values["prepared_laws"] if name != values["law"])

    def _change_law(self, name: str, request: object) -> None:
        """Change the parameter `law`; ControlError where that is refused."""
        result = self.set_parameters_atomically([RosParameter("law", value=name)])
        if not result.successful:
            raise ControlError(result.reason)

    def adopted(self, robot: RigidRobot, values: Values, before: Values) -> None:
        """Tolerances, motion limits, and the speed if it has changed: other changes must not resume a paused arm."""
        self._robot = robot
        #: Tolerances of trajectories without their own.
        self.tolerances = tolerances_of(robot, fitting(values, self._own_law, robot.joint_names))
        self._rules = Rules(
            motion_limits(robot, values), values["constraints.blend_time"],
            moving_end=values["allow_nonzero_velocity_at_trajectory_end"],
        )
        if values["speed_scaling"] != before.get("speed_scaling"):
            self._set_speed(values["speed_scaling"])

    # -- trajectories -------------------------------------------------------------------------------------------------

    def prepare(self, message: JointTrajectory, tolerances: Tolerances | None = None) -> Begin:
        """Check `message`, which has points; the function returned follows it, if called at once. ControlError."""
        start = nanoseconds(message.header.stamp, "the header's stamp")
        present: Present = self.control.call("present", start)
        mechanism, posture = mechanism_of(self._robot), present.posture
        leading = None if mechanism is None or posture is None else leading_path(mechanism, posture)
        moving = CurrentMotion(present.stamp, lambda at: present.followed, present.rate, present.slope)
        rules = self._rules._replace(demand=self._demand(present.delay, posture), leading=leading)
        accepted = accept_points(message.joint_names, message.points, message.header.stamp, moving, rules)
        if mechanism is not None and posture is not None:
            check_loops(accepted.path, mechanism, posture, accepted.begin)
        motion = accepted.motion(self.tolerances if tolerances is None else tolerances)

        def begin(on_end: OnEnd) -> None:
            following = next(self._numbers)
            self._followed[following] = on_end
            try:
                self.control.call("follow", following, motion, start == 0, present.now)
            except LoopSilentError:
                self.control.send("cancel", "its answer came too late")  # the loop may follow it all the same
                raise
            except RneDynamicsError:
                del self._followed[following]
                raise
            if accepted.warning:
                self.get_logger().warning(accepted.warning)
            self.get_logger().info(
                f"following a trajectory of {len(message.points)} points, {accepted.trajectory.duration:.3f} s"
            )

        return begin

    def snapshot(self, snapshot: Snapshot) -> None:
        """Take the present motion, for feedback to the clients of goals."""
        self._snapshot = snapshot
        self._payload.take(snapshot)
        if self._action is not None:
            self._action.report(snapshot, time.monotonic())

    def ended(self, following: int, ending: Ending, text: str) -> None:
        """The motion of that number has ended."""
        self._endings[ending] += 1
        good, said = ending in (Ending.SUCCEEDED, Ending.REPLACED, Ending.CANCELLED), f"{ending.value}: {text}"
        self.log("info" if good else "warning", f"trajectory {said}")
        self._failed = self._failed if good else said
        self._followed.pop(following)(ending, text)

    def aimed(self, ending: Ending, text: str) -> None:
        """The motion to a pose target has ended."""
        self._poses.ended(ending, text)

    def felt(self, contact: str) -> None:
        """A contact has begun."""
        self.log("warning", f"contact at {contact}")
        self._contacts, self._contact = self._contacts + 1, contact
        self._comply = self.parameters["contact.reaction"] == "comply"

    def tared(self, why: str) -> None:
        """A tare has waited for the observer; `why` it failed."""
        self.log("error" if why else "info", f"not tared: {why}" if why else "external efforts are tared")

    def turn(self, executor: NodeExecutor) -> None:
        """As the base; the law that complies is chosen here, not amid the reports."""
        super().turn(executor)
        if self._comply:
            self._comply = False
            try:
                self._change_law(COMPLIANT, None)
                self.get_logger().info(f"the law is {COMPLIANT}, after a contact")
            except ControlError as error:  # the arm is held where it touched
                self.get_logger().error(f"the law stays {self.parameters['law']} after a contact: {error}")

    def warm_up(self, robot: RigidRobot) -> None:
        """Check one trajectory, which compiles the kernels of the check."""
        zero, values = np.zeros(robot.n), self.parameters.values
        rules = Rules(motion_limits(robot, values), values["constraints.blend_time"], self._demand())
        limits = rules.limits
        rest = Reference(np.clip(np.array(robot.neutral), limits.lower, limits.upper), zero, zero)
        point = JointTrajectoryPoint(positions=rest.q.tolist(), time_from_start=duration_message(1.0))
        with suppress(RneDynamicsError):  # limits without an allowed posture: the kernels are compiled all the same
            accept_points(list(robot.joint_names), [point], Time(), CurrentMotion(0, lambda at: rest), rules)

    def _demand(self, delay: float = 0.0, posture: Array | None = None) -> EffortDemand | None:
        settings = self.in_force
        if not hasattr(settings.tracking, "motion_demand"):
            return None
        return EffortDemand(settings.tracking, settings.limits, settings.compensated, delay, posture)

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
                self.control.call("present", 0)  # refuses as it would refuse a motion
                self.control.call("cancel", "an empty trajectory came")
        except RneDynamicsError as error:
            self.refused(error)

    def refused(self, error: RneDynamicsError) -> None:
        """Count and log a trajectory that is not followed."""
        self._refused, self._refusal = self._refused + 1, str(error)
        self.get_logger().error(f"trajectory refused: {error}")

    def _on_speed(self, message: Float64) -> None:
        try:
            self._set_speed(speed_fraction(message.data, self.parameters["speed_scaling_unit"]))
        except ControlError as error:
            self.get_logger().warning(f"{error}. It stays {self._speed:g} of full speed", throttle_duration_sec=1.0)

    def _set_speed(self, speed: float) -> None:
        self._speed = speed
        self._speeds.put(speed, time.monotonic())

    def status(self) -> dict[str, object]:
        """Trajectories, for the diagnostics."""
        return {
            "refused trajectories": self._refused,
            "last refused trajectory": self._refusal,
            "last failed trajectory": self._failed,
            "aborted trajectories": self._endings[Ending.PATH] + self._endings[Ending.STOPPED],
            "cancelled trajectories": self._endings[Ending.CANCELLED],
            "replaced trajectories": self._endings[Ending.REPLACED],
            "goals reached": self._endings[Ending.SUCCEEDED],
            "goals missed": self._endings[Ending.GOAL],
            "law": self.parameters["law"], "contacts": self._contacts, "last contact": self._contact,
            **self._poses.status(), **self._wrenches.status(),
        }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns the exit code."""
    read_command_line("computed_torque_controller", __doc__, ComputedTorqueController.all_parameters(SCHEMA), argv)
    with control_process(argv) as control:
        return run(lambda: ComputedTorqueController(control), argv)


if __name__ == "__main__":
    raise SystemExit(main())
