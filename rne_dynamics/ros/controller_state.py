"""Reference on ``~/reference``; reference, state and effort on ``~/controller_state`` if control_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from rne_dynamics.control.reference import Reference
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.messages import write_stamp
from rne_dynamics.ros.qos import OFFERED

try:  # not among the wheels on PyPI; part of every ROS 2 installation that has controllers
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None


class PointMemory:
    """A trajectory point with preallocated lists, written in place.

    Parameters
    ----------
    point
        The message; its lists are replaced.
    n
        Number of joints.
    fields
        The lists it has, others stay empty: "positions", "velocities", "accelerations", "effort".
    """

    def __init__(self, point: JointTrajectoryPoint, n: int, *fields: str) -> None:
        for field in fields:
            setattr(point, field, [0.0] * n)
        self._views = tuple(np.frombuffer(getattr(point, field)) for field in fields)

    def write(self, *values: Array) -> None:
        """Set the lists, each (n,), in the order of the fields."""
        for view, value in zip(self._views, values, strict=True):
            view[:] = value


class ControllerState:
    """Publishes the message every `divisor`-th cycle, if there are subscribers.

    Parameters
    ----------
    node
        The publishing node.
    joints
        Names of the joints.
    divisor
        Cycles between two messages; 0 for none at all.
    """

    def __init__(self, node: ArmNode, joints: Sequence[str], divisor: int) -> None:
        self._divisor, self._count = divisor, 0
        if JointTrajectoryControllerState is None or not divisor:
            self._publisher = None
            return
        kind = JointTrajectoryControllerState
        self._publisher = node.keep(node.create_publisher(kind, "~/controller_state", OFFERED))
        n, message = len(joints), kind(joint_names=list(joints))
        self._message = message
        self._reference = PointMemory(message.reference, n, "positions", "velocities", "accelerations")
        self._feedback = PointMemory(message.feedback, n, "positions", "velocities")
        self._error = PointMemory(message.error, n, "positions", "velocities")
        self._output = PointMemory(message.output, n, "effort")

    def publish(
        self, stamp: int, reference: Reference, q: Array, qd: Array, command: Array, speed: float, unwrapped: Array
    ) -> None:
        """Send the reference, the measured state, and the limited effort that was sent.

        Parameters
        ----------
        stamp
            Of the joint state, ns.
        reference
            For that time; each (n,).
        q, qd
            Measured; rad or m, and per s; (n,).
        command
            Effort, N·m or N; (n,).
        speed
            Speed scaling in force, 0 to 1.
        unwrapped
            What unwrapping has added to all these positions, rad; (n,).
        """
        self._count += 1
        if self._publisher is None or self._count % self._divisor or not self._publisher.get_subscription_count():
            return
        write_stamp(self._message.header, stamp)
        self._reference.write(reference.q - unwrapped, reference.qd, reference.qdd)
        self._feedback.write(q - unwrapped, qd)
        self._error.write(reference.q - q, reference.qd - qd)
        self._output.write(command)
        self._message.speed_scaling_factor = speed
        self._publisher.publish(self._message)


class ReferencePublisher:
    """Publishes the desired motion as a sensor_msgs/JointState every `divisor`-th cycle, if there are subscribers.

    Parameters
    ----------
    node, joints, divisor
        As for `ControllerState`.
    """

    def __init__(self, node: ArmNode, joints: Sequence[str], divisor: int) -> None:
        self._divisor, self._count, zeros = divisor, 0, [0.0] * len(joints)
        if divisor:
            self._publisher = node.keep(node.create_publisher(JointState, "~/reference", OFFERED))
            self._message = JointState(name=list(joints), position=zeros, velocity=zeros)
            self._views = np.frombuffer(self._message.position), np.frombuffer(self._message.velocity)

    def publish(self, stamp: int, reference: Reference, unwrapped: Array) -> None:
        """Send the reference for the time of a joint state, ns; `unwrapped` as for `ControllerState`."""
        self._count += 1
        if not self._divisor or self._count % self._divisor or not self._publisher.get_subscription_count():
            return
        self._views[0][:], self._views[1][:] = reference.q - unwrapped, reference.qd
        write_stamp(self._message.header, stamp)
        self._publisher.publish(self._message)
