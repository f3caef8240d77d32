"""What other nodes send does not stop the arm: trajectories of any size, parameters, services; in simulated time.

See benchmarks/storms.py for how long efforts are apart meanwhile.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rne_dynamics as rne
from rne_dynamics.ros.messages.trajectory_message import duration_message
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, SEES_AGAIN, START, STEP

ROBOT = rne.load_urdf("planar2")
Q = [0.3, -0.5]
NODE = "computed_torque_controller"


def swing(points: int) -> bytes:
    """A serialised trajectory of so many points, 1 ms apart, that returns to where it begins."""
    times = 1e-3 * np.arange(1, points + 1)
    way = 0.001 * (1.0 - np.cos(2.0 * np.pi * times / times[-1]))
    message = JointTrajectory(joint_names=list(ROBOT.joint_names))
    message.points = [
        JointTrajectoryPoint(positions=[Q[0] + s, Q[1] + s], time_from_start=duration_message(t))
        for t, s in zip(times.tolist(), way.tolist(), strict=True)
    ]
    return serialize_message(message)


@pytest.mark.slow
def test_nothing_in_a_storm_stops_the_arm(in_lockstep):
    process, peer = in_lockstep(NODE, ROBOT.joint_names, robot_description="planar2", **SEES_AGAIN)
    trajectories = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", 1)
    wait_until(trajectories.get_subscription_count, START, "the controller's topic", [process])
    peer.answer(Q)
    sent = answered = 0
    modes = set()

    def turn() -> None:
        nonlocal sent, answered
        answered += len(peer.stream(Q, STEP))
        sent += 1
        modes.add(peer.mode(NODE))
        peer.executor.spin_once(0.0)

    def until(text: str) -> None:
        def said() -> bool:
            turn()
            return text in process.output()

        wait_until(said, START, f"{text!r} in its output", [process])

    for points, said in ((100_500, "trajectory refused"), (10_000, "following a trajectory")):
        data = swing(points)
        for _ in range(3):
            trajectories.publish(data)
            turn()
        until(said)
    wait_until(lambda: turn() or peer.mode(NODE) == "tracking", PATIENCE, "motion", [process])  # a storm may cancel it
    setter = peer.client(SetParameters, f"{NODE}/set_parameters")
    cancel, recover = (peer.client(Trigger, f"{NODE}/{name}") for name in ("cancel", "recover"))
    futures = []
    for k in range(200):
        change = Parameter("gains.joint1.p", value=300.0 + k).to_parameter_msg()
        futures.append(setter.call_async(SetParameters.Request(parameters=[change])))
        futures += [client.call_async(Trigger.Request()) for client in (cancel, recover)]
        turn()
    until_answered = time.monotonic() + 5.0  # requests beyond ten that wait are lost by design of the middleware
    while sum(f.done() for f in futures) < 0.9 * len(futures) and time.monotonic() < until_answered:
        turn()
    assert peer.get_double(NODE, "gains.joint1.p") > 300.0
    wait_until(lambda: turn() or peer.mode(NODE) == "holding", PATIENCE, "the arm to be held", [process])
    output = process.output()
    for word in ("stopping", "fault", "Traceback", "does not answer"):
        assert word not in output
    assert (answered, modes) == (sent, {"holding", "tracking"}), "efforts went on"
