"""Reference on ``~/reference``; reference, state and effort on ``~/controller_state`` if control_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from rne_dynamics.control.reference import Reference
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.lifecycle import ArmNode
from rne_dynamics.ros.messages import EveryNth

try:  # not among the wheels on PyPI; part of every ROS 2 installation that has controllers
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    JointTrajectoryControllerState = None


class ControllerState:
    """Publishes what a controller follows, every `divisor`-th cycle, if there are subscribers.

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
        names, zeros = list(joints), [0.0] * len(joints)
        message = JointState(name=names, position=zeros, velocity=zeros)
        self._reference = EveryNth(node, "~/reference", message, divisor, "position", "velocity")
        self._state: EveryNth | None = None
        if JointTrajectoryControllerState is not None and divisor:
            motion = {"positions": zeros, "velocities": zeros}
            self._state = EveryNth(
                node, "~/controller_state", JointTrajectoryControllerState(
                    joint_names=names, reference=JointTrajectoryPoint(**motion, accelerations=zeros),
                    feedback=JointTrajectoryPoint(**motion), error=JointTrajectoryPoint(**motion),
                    output=JointTrajectoryPoint(effort=zeros),
                ), divisor, "reference.positions", "reference.velocities", "reference.accelerations",
                "feedback.positions", "feedback.velocities", "error.positions", "error.velocities", "output.effort",
            )

    def publish(
        self, stamp: int, reference: Reference, q: Array, qd: Array, command: Array, speed: float, unwrapped: Array, *,
        following: bool,
    ) -> None:
        """Send what is due.

        Parameters
        ----------
        stamp
            Of the joint state, ns.
        reference
            For that time; each (n,).
        q, qd
            Measured; rad or m, and per s; (n,).
        command
            Limited effort that was sent, N·m or N; (n,).
        speed
            Speed scaling in force, 0 to 1.
        unwrapped
            What unwrapping has added to all these positions, rad; (n,).
        following
            Whether the arm follows the reference; ``~/reference`` is not published otherwise.
        """
        if following and self._reference.due():
            self._reference.publish(stamp, reference.q - unwrapped, reference.qd)
        if self._state is not None and self._state.due():
            self._state.message.speed_scaling_factor = speed
            self._state.publish(
                stamp, reference.q - unwrapped, reference.qd, reference.qdd, q - unwrapped, qd, reference.q - q,
                reference.qd - qd, command,
            )
