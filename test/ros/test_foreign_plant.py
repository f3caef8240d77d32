"""Controllers over DDS in lock-step with an arm of MuJoCo's that is not their model."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from support.foreign_episodes import arms
from support.foreign_plant import Deviation, ForeignArm
from trajectory_msgs.msg import JointTrajectory

from rne_dynamics.control.supervision.efforts import BURST
from rne_dynamics.model.inertia import Array
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import PATIENCE, STEP, SteppedPeer, through

NODE = "computed_torque_controller"
#: A move that is long enough to be fast, rad and s.
FAR, LONG = 0.8, 0.9
#: The arm, and where it is held, rad.
PANDA, PLACE = 3, np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.4])


class Hardware:
    """The arm behind the topics: efforts act, time passes, joint states are published."""

    def __init__(
        self, process: NodeProcess, peer: SteppedPeer, which: int, deviation: Deviation, start: Array
    ) -> None:
        urdf, self.robot = arms()[which]
        self.process, self.peer = process, peer
        self.arm = ForeignArm(urdf, start, STEP, deviation)
        #: Joints whose position no longer changes, and what it is.
        self.frozen: dict[int, float] = {}
        self.moves = peer.node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", OFFERED)

    def turn(self, *, states: bool = True) -> float:
        """One step; the largest speed of a link in velocity limits."""
        for effort in self.peer.efforts():
            self.arm.command(np.array(effort))
        self.arm.advance()
        self.peer.pass_time(STEP)
        if states:
            q, qd = (part.copy() for part in self.arm.state[1:])
            for j, place in self.frozen.items():
                q[j], qd[j] = place, 0.0
            self.peer.state(q, qd)
        return float((np.abs(self.arm.speed) / self.robot.velocity_limit).max())

    def until(self, mode: str, **how: bool) -> list[float]:
        """Turns until the controller is in a mode; the speeds."""
        speeds = []
        while self.peer.mode(NODE) != mode:
            speeds.append(self.turn(**how))
            assert len(speeds) * STEP < 10.0, f"{mode} takes more than 10 s: {self.peer.mode(NODE)}"
        return speeds

    def move(self, goal: Array, seconds: float) -> None:
        """Send a trajectory, wait until it is accepted, and go on until it has begun."""
        wait_until(self.moves.get_subscription_count, PATIENCE, "the controller's trajectory topic", [self.process])
        self.moves.publish(through(self.robot.joint_names, (seconds, goal)))
        accepted, refused = "following a trajectory of", "trajectory refused"
        wait_until(
            lambda: accepted in self.process.output() or refused in self.process.output(), PATIENCE,
            "the trajectory to be accepted or refused", [self.process],
        )
        assert accepted in self.process.output(), self.process.output()
        self.until("tracking")


@pytest.fixture
def held_panda(in_lockstep) -> Iterator[Callable[[Deviation], Hardware]]:
    """Start a controller and its arm, and let it hold.

    The controller ends with the test, also with one that fails: it would answer the next test as well.
    """
    begun = []

    def begin(deviation: Deviation) -> Hardware:
        robot = arms()[PANDA][1]
        parameters = {"robot_description": "panda", "startup_check": {"duration": 0.0}, "start": {"ramp_time": 0.1}}
        process, peer = in_lockstep(NODE, robot.joint_names, connect=False, **parameters)
        begun.append((process, peer))
        peer.connect(process)
        hardware = Hardware(process, peer, PANDA, deviation, PLACE)
        hardware.until("holding")
        for _ in range(round(0.3 / STEP)):
            hardware.turn()
        return hardware

    yield begin
    for process, peer in begun:
        process.signal(signal.SIGINT)
        peer.end(process)
        process.stop()


def test_a_stop_without_states_makes_no_joint_faster(held_panda):
    """A Panda's wrist has little inertia: friction that it does not have must not be compensated."""
    hardware = held_panda(Deviation(friction=0.3))
    peer = hardware.peer
    hardware.move(PLACE + FAR * np.array([1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 1.2]), LONG)
    at = max(hardware.turn() for _ in range(round(0.4 * LONG / STEP)))
    # up to BURST it goes on along the path
    at = max(at, *(hardware.turn(states=False) for _ in range(round(BURST / STEP))))
    speeds = hardware.until("stopping", states=False)
    speeds += [hardware.turn(states=False) for _ in range(round(0.3 / STEP))]  # stop.brake_time
    assert peer.mode(NODE) == "stopping"
    assert max(speeds) < at + 0.05
    assert speeds[-1] < 0.5 * at
    hardware.until("fault", states=False)


@pytest.mark.parametrize("friction", [0.0, pytest.param(3.0, marks=pytest.mark.slow)])
def test_a_slow_joint_whose_reading_freezes_is_not_thrown(held_panda, friction):
    """Joint 5 of a Panda: it reached seven times its limit while the controller tracked on."""
    j = 4
    hardware = held_panda(Deviation(friction=friction, resolution=2 * np.pi / 2**17))
    hardware.move(PLACE + 0.15 * np.eye(7)[j], 2.0)
    for _ in range(round(1.0 / STEP)):
        hardware.turn()
    assert 0.05 < hardware.arm.speed[j] < 0.15
    hardware.frozen = {j: hardware.arm.state.q[j]}
    speeds = hardware.until("stopping")
    speeds += [hardware.turn() for _ in range(round(0.3 / STEP))]
    assert max(speeds) < 1.2
    hardware.until("fault")
