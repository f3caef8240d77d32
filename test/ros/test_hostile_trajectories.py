"""Thousands of hostile trajectory messages through the real message classes; no node, no network."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from support.hostile_trajectories import (
    BLEND,
    LIMITS,
    STAMP,
    Request,
    look_at_all,
    requests,
)
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rne_dynamics.control.motion.acceptance import Accepted, CurrentMotion, Rules
from rne_dynamics.ros.messages.trajectory_message import accept


def message_of(request: Request) -> JointTrajectory:
    points = [
        JointTrajectoryPoint(
            positions=row.positions, velocities=row.velocities, accelerations=row.accelerations, effort=row.effort,
            time_from_start=Duration(sec=row.time[0], nanosec=row.time[1]),
        )
        for row in request.rows
    ]
    message = JointTrajectory(joint_names=request.names, points=points)
    message.header.stamp = Time(sec=request.header[0], nanosec=request.header[1])
    return message


def offer(request: Request, message: JointTrajectory | None = None) -> Accepted:
    motion = CurrentMotion(STAMP, lambda stamp: request.now)
    return accept(message or message_of(request), motion, Rules(LIMITS, BLEND))


def test_hostile_messages_are_refused_with_a_text_or_stay_within_limits():
    made = requests(100, 1500)
    count, refusals = look_at_all(made, offer, 0)
    assert 300 < count < 900
    assert len(refusals) > 15
