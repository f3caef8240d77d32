"""Faults of other nodes that send too much: huge trajectories, storms of requests."""

from __future__ import annotations

import array
from collections.abc import Callable
from copy import copy
from importlib.util import find_spec
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from faults.fault import Faults
from faults.rig import Rig
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

FAULTS = Faults("storm")
fault = FAULTS.fault

#: Points of a huge trajectory.
HUGE = 100_000
#: Largest number of waiting requests in a storm, below the queue length of a service; periods of the arm with new ones,
#: and with the first ones on a machine so busy that none is answered meanwhile.
AT_ONCE, PERIODS, LONGEST = 8, 250, 5000
REACHED = "the motion reaches its goal"


def huge(rig: Rig) -> JointTrajectory:
    """A trajectory of `HUGE` points at the present position, 10 µs apart."""
    here = JointTrajectoryPoint(positions=array.array("d", rig.driver.q.tolist()))
    message = JointTrajectory(joint_names=list(rig.robot.joint_names), points=[copy(here) for _ in range(HUGE)])
    for k, point in enumerate(message.points):
        point.time_from_start = Duration(sec=1, nanosec=10_000 * k)
    return message


@fault("accepted or refused as a whole; the motion in force then reaches its goal")
def huge_trajectory(rig: Rig) -> None:
    """A trajectory of 100 000 points, in motion."""
    rig.change(constraints__start=1.0)
    goal = rig.move()
    message = huge(rig)
    if rig.send(message):
        goal = np.array(message.points[-1].positions)
    rig.arrive(goal)


def storm(rig: Rig, send: Callable[[int], Any]) -> None:
    """Send requests as fast as they are answered while the arm moves; the motion must reach its goal."""
    goal, number = rig.move(seconds=1.0), 0
    pending: list[Any] = []
    for period in range(LONGEST):
        if period >= PERIODS and number > AT_ONCE:
            break
        pending = [future for future in pending if not future.done()]
        while len(pending) < AT_ONCE:
            pending.append(send(number))
            number += 1
        rig.turn()
        rig.controller.spin()
    rig.arrive(goal)
    rig.wait(lambda: rig.controller.answered(pending), "the answers")
    rig.check(number > AT_ONCE, "no request was answered meanwhile")


@fault(REACHED)
def parameter_storm(rig: Rig) -> None:
    """Parameters are read and set without a pause, in motion."""
    get = rig.controller.client(GetParameters, "get_parameters")
    change = rig.controller.client(SetParametersAtomically, "set_parameters_atomically")
    name = f"constraints.{rig.robot.joint_names[0]}.goal"

    def send(number: int) -> Any:
        if number % 2:
            return get.call_async(GetParameters.Request(names=[name]))
        value = Parameter(name, value=0.01 + 1e-4 * (number % 10)).to_parameter_msg()
        return change.call_async(SetParametersAtomically.Request(parameters=[value]))

    rig.change(**{name.replace(".", "__"): 0.01})  # so that it is set back
    storm(rig, send)


@fault(REACHED)
def service_storm(rig: Rig) -> None:
    """~/recover and ~/hand_guide are called without a pause, in motion."""
    recover, guide = rig.controller.client(Trigger, "recover"), rig.controller.client(SetBool, "hand_guide")

    def send(number: int) -> Any:
        return recover.call_async(Trigger.Request()) if number % 2 else guide.call_async(SetBool.Request(data=False))

    storm(rig, send)


@fault("refused; the motion reaches its goal")
def topic_storm(rig: Rig) -> None:
    """Invalid speed scaling and unreachable trajectories, 250 times a second each, in motion."""
    goal = rig.move(seconds=1.0)
    speeds = rig.speeds
    nowhere = rig.trajectory()
    nowhere.points[-1].positions[0] = 1e6
    for _ in range(PERIODS):
        speeds.publish(Float64(data=-1.0))
        rig.trajectories.publish(nowhere)
        rig.turn()
    rig.arrive(goal)


if find_spec("control_msgs") is not None:

    @fault("each is refused; the motion reaches its goal")
    def action_storm(rig: Rig) -> None:
        """Goals of the action are sent without a pause, in motion; none is acceptable."""
        from control_msgs.action import FollowJointTrajectory

        client = ActionClient(rig.controller.caller, FollowJointTrajectory, f"{rig.module}/follow_joint_trajectory")
        try:
            rig.wait(client.server_is_ready, "the action")
            nowhere = rig.trajectory()
            nowhere.points[-1].positions[0] = 1e6
            storm(rig, lambda number: client.send_goal_async(FollowJointTrajectory.Goal(trajectory=nowhere)))
        finally:
            client.destroy()
