"""A continuous joint whose driver reports within half a turn: what is commanded takes the nearest turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from faults.arm import load_arm
from support.supervised import Rig, settings

from rne_dynamics.control.guards.state_limits import StateLimits
from rne_dynamics.control.motion.acceptance import CurrentMotion, Rules, accept_points
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances, continuous
from rne_dynamics.control.streaming.limits import SetpointError, StreamLimits
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.errors import TrajectoryError

ROBOT = load_arm()
TURNS = continuous(ROBOT)
ELBOW = 0.4
MOTIONS = MotionLimits(
    ROBOT.joint_names, ROBOT.lower, ROBOT.upper, ROBOT.velocity_limit, 0.05, continuous=TURNS
)


def within_half_a_turn(message: dict[str, Any]) -> dict[str, Any]:
    """What a driver reports that does not count turns."""
    message["q"][0] = math.remainder(message["q"][0], math.tau)
    return message


class Arm(Rig):
    """The two-link arm, its shoulder continuous and turned from `start` to `end` before the test begins."""

    report: Callable[[dict[str, Any]], dict[str, Any]] = staticmethod(within_half_a_turn)

    @staticmethod
    def turned(start: float = 2.9, end: float = 3.4, **changes: Any) -> Arm:
        plain = settings(ROBOT)
        states = StateLimits(
            ROBOT.velocity_limit, TURNS, plain.states.timeout, plain.states.filter_frequency, ROBOT.joint_names
        )
        stream = StreamLimits(ROBOT.joint_names, ROBOT.lower, ROBOT.upper, ROBOT.velocity_limit, continuous=TURNS)
        changes = {"states": states, "stream": stream, **changes}
        arm = Arm(ROBOT, np.array([start, ELBOW]), settings(ROBOT, **changes), 0.01)
        arm.wait(0.3)
        arm.send((1.0, start), (2.0, end))
        arm.wait(2.5)
        assert arm.endings.pop()[0] is Ending.SUCCEEDED
        assert arm.shoulder == pytest.approx(end, abs=0.01)
        return arm

    @property
    def shoulder(self) -> float:
        """Where the joint is in truth, turns counted."""
        return float(self.simulator.state.q[0])

    def wait(self, seconds: float) -> None:
        self.run(seconds, corrupt=self.report)

    def send(self, *points: tuple[float, ...], delay: float = 0.0, joints: int = 2) -> None:
        """Accept and follow a trajectory of (time, position of the shoulder) as the node does."""
        supervisor, names = self.supervisor, ROBOT.joint_names[:joints]
        zero = [0.0] * joints
        sent = [
            SimpleNamespace(
                positions=[q, ELBOW][:joints], velocities=zero, accelerations=zero, effort=[],
                time_from_start=SimpleNamespace(sec=int(t), nanosec=round(t % 1.0 * 1e9)),
            )
            for t, q in points
        ]
        begin = supervisor.stamp + round(delay * 1e9) if delay else 0
        accepted = accept_points(
            names, sent, SimpleNamespace(sec=begin // 10**9, nanosec=begin % 10**9),
            CurrentMotion(
                supervisor.stamp, supervisor.queue.ahead, *supervisor.queue.path_rate(supervisor.machine.speed)
            ),
            Rules(MOTIONS, 0.2),
        )
        motion = accepted.motion(Tolerances(ROBOT.joint_names, path=0.2, goal=0.01, goal_time=0.2))
        supervisor.follow(motion, lambda ending, text: self.endings.append((ending, text)))


def test_a_single_point_takes_the_nearest_turn():
    arm = Arm.turned()
    with pytest.raises(TrajectoryError, match=r"'joint1': the trajectory starts at -2, 0\.88\d* away"):
        arm.send((0.0, -2.0), (2.0, -1.0))  # in the numbers that were sent
    arm.send((8.0, 0.2))
    arm.wait(8.5)
    assert arm.endings == [(Ending.SUCCEEDED, arm.endings[0][1])]
    assert arm.shoulder == pytest.approx(0.2 + math.tau, abs=0.01), "3.1 rad on, not 3.2 rad back"


@pytest.mark.parametrize(("start", "joints"), [(3.4 - math.tau, 1), (3.4 + 3 * math.tau, 2)])
def test_a_trajectory_that_begins_where_the_arm_is_keeps_its_shape(start, joints):
    arm = Arm.turned()
    arm.send((0.0, start), (7.0, start - 2.0 * math.tau), (8.0, start - 2.0 * math.tau + 0.5), joints=joints)
    arm.wait(8.5)
    assert arm.endings[0][0] is Ending.SUCCEEDED
    assert arm.shoulder == pytest.approx(3.9 - 2.0 * math.tau, abs=0.01), "two turns are two turns"


def test_reports_are_in_the_turns_of_the_driver():
    arm = Arm.turned()
    supervisor = arm.supervisor
    assert supervisor.q[0] == pytest.approx(3.4, abs=0.01)
    assert supervisor.q - supervisor.unwrapped == pytest.approx([arm.shoulder - math.tau, ELBOW], abs=0.01)
    arm.send((4.0, 2.5))
    for _ in range(20):
        arm.wait(0.2)
        shown = supervisor.q - supervisor.unwrapped
        assert abs(shown[0]) <= math.pi
        assert shown[0] == pytest.approx(math.remainder(arm.shoulder, math.tau), abs=1e-12)
        desired = supervisor.queue.reference.q - supervisor.unwrapped
        assert desired == pytest.approx(shown, abs=0.02), "the error has no jump"


@pytest.mark.slow
def test_a_trajectory_behind_another_begins_in_the_turn_where_that_leads():
    arm = Arm.turned()
    arm.send((0.0, -2.8832), (4.0, 0.0))
    arm.wait(0.5)
    arm.send((0.0, 0.0), (2.0, -0.5), delay=3.6)
    arm.wait(6.5)
    assert [ending for ending, _ in arm.endings] == [Ending.SUCCEEDED] * 2
    assert arm.shoulder == pytest.approx(math.tau - 0.5, abs=0.01)


@pytest.mark.slow
def test_a_trajectory_that_replaces_a_motion_takes_the_turn_nearest_to_it():
    arm = Arm.turned()
    arm.send((0.0, -2.8832), (8.0, -2.8832 + 2.0 * math.tau))
    arm.wait(5.0)
    there = arm.shoulder
    arm.send((4.0, 0.0))
    arm.wait(4.5)
    assert [ending for ending, _ in arm.endings] == [Ending.REPLACED, Ending.SUCCEEDED]
    assert math.remainder(arm.shoulder, math.tau) == pytest.approx(0.0, abs=0.01)
    assert abs(arm.shoulder - there) < math.pi


def test_half_a_turn_keeps_the_direction_that_was_sent():
    arm = Arm.turned(start=0.0, end=0.5)
    for way in (math.pi, -math.pi):
        before = arm.supervisor.queue.reference.q[0]
        arm.send((5.0, float(before + way)))
        arm.wait(5.5)
        assert arm.shoulder == pytest.approx(before + way, abs=0.01)


def test_a_stream_of_setpoints_that_wraps_goes_on():
    arm = Arm.turned(end=3.0)
    period, speed, last = 0.02, 0.5, 3.0
    arm.send((1.0, 3.0))
    arm.wait(1.5)
    for k in range(100):
        last = 3.0 + speed * max(k * period - 0.2, 0.0)
        rate = np.array([speed if k * period > 0.2 else 0.0, 0.0])
        arm.supervisor.setpoint(0, np.array([math.remainder(last, math.tau), ELBOW]), rate, arm.now)
        arm.wait(period)
    assert last > 3.8
    assert arm.shoulder == pytest.approx(last, abs=0.05)
    with pytest.raises(SetpointError, match=r"to be at -1, 1\.\d+ away from where the controller has it \(-2\.\d+\)"):
        arm.supervisor.setpoint(0, np.array([-1.0, ELBOW]), np.full(2, np.nan), arm.now)


def test_a_driver_that_starts_again_may_count_turns_anew():
    arm = Arm.turned()
    arm.report = lambda message: message  # counts turns from now on: 3.4
    arm.wait(0.2)
    assert arm.supervisor.unwrapped[0] == 0.0
    arm.send((2.0, -2.8832 + 0.5))
    arm.wait(2.5)
    assert arm.endings[0][0] is Ending.SUCCEEDED
    assert arm.shoulder == pytest.approx(3.9, abs=0.01)


def test_a_lost_stream_begins_anew_in_any_turn():
    arm = Arm.turned(recover_automatically=True)
    arm.run(0.5, corrupt=lambda message: None)
    arm.wait(1.5)
    assert arm.mode.value == "holding", arm.supervisor.cause
    assert arm.supervisor.q[0] == pytest.approx(arm.shoulder - math.tau, abs=1e-12)
    arm.send((3.0, arm.shoulder + 0.3))
    arm.wait(3.5)
    assert arm.endings[0][0] is Ending.SUCCEEDED


def test_a_trajectory_of_the_past_is_joined_in_the_turn_of_the_arm():
    arm = Arm.turned()
    points = [(0.0, -2.0), (2.0, -2.8832), (4.0, -2.0)]
    arm.send(*points, delay=-2.0)  # now at its second point, where the arm is
    arm.wait(2.5)
    arm.send((0.0, 1.0), (1.0, 1.5), (3.0, -2.5), delay=-1.5)  # far off: the points to come are followed
    arm.wait(2.0)
    assert [ending for ending, _ in arm.endings] == [Ending.SUCCEEDED] * 2
    assert arm.shoulder == pytest.approx(math.tau - 2.5, abs=0.01)
