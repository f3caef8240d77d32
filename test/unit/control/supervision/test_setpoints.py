"""A controller that is sent setpoints: what it follows, what ends a stream, and what comes after it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.streaming.limits import SetpointError, SetpointProblem, StreamLimits
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.settings import Settings, StartCheck
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError

ROBOT = rne.load_urdf("planar2")
START = np.array([-0.7, 0.4])
PERIOD = 0.02


def streaming(**changes: object) -> Settings:
    plain = settings(ROBOT)
    limits = StreamLimits(ROBOT.joint_names, plain.limits.lower, plain.limits.upper, plain.limits.velocity)
    return settings(ROBOT, **{"stream": limits, **changes})


@pytest.fixture
def rig() -> Rig:
    rig = Rig(ROBOT, START, streaming())
    rig.run(0.3)
    return rig


def wave(t: float) -> tuple[np.ndarray, np.ndarray]:
    """From START on, at rest; up to 0.45 rad/s."""
    return START + 0.3 * (1.0 - np.cos(1.5 * t)), np.full(2, 0.45 * np.sin(1.5 * t))


def stream(rig: Rig, seconds: float, begin: float = 0.0) -> list[SetpointError]:
    """Send the wave at 50 Hz from its time `begin` on; what was refused."""
    errors: list[SetpointError] = []
    for k in range(round(seconds / PERIOD)):
        try:
            rig.supervisor.setpoint(0, *wave(begin + k * PERIOD), rig.now)
        except SetpointError as error:
            errors.append(error)
        rig.run(PERIOD)
    return errors


def test_the_arm_follows_and_comes_to_rest_when_the_stream_ends(rig):
    assert stream(rig, 1.2) == []
    assert rig.mode is Mode.TRACKING
    assert rig.supervisor.cause == "setpoints"
    assert np.abs(rig.supervisor.q - wave(1.2)[0]).max() < 0.01
    rig.run(0.6)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.cause == "no more setpoints"
    assert np.abs(rig.supervisor.qd).max() < 1e-3
    assert not rig.supervisor.input.setpoints.following
    assert rig.supervisor.input.setpoints.taken == 60
    rig.check()


def test_a_trajectory_takes_over_smoothly_and_the_stream_begins_again_only_after_a_pause(rig):
    stream(rig, 0.6)
    before = rig.supervisor.queue.reference
    rig.move(wave(1.0)[0], 0.8)
    rig.run(rig.period)
    after = rig.supervisor.queue.reference
    assert np.abs(after.qdd - before.qdd).max() < 0.5
    assert np.abs(after.qd - before.qd).max() < 0.02
    errors = stream(rig, 1.4, begin=0.6)
    assert {error.problem for error in errors} == {SetpointProblem.CALLED_OFF}
    assert len(errors) == 70
    assert "replaced" in str(errors[0])
    assert rig.endings[-1][0] is Ending.SUCCEEDED, "the trajectory was not disturbed"
    rig.run(0.12)
    q = rig.supervisor.queue.reference.q
    rig.supervisor.setpoint(0, q, np.zeros(2), rig.now)
    assert rig.supervisor.input.setpoints.following
    rig.check()


def test_setpoints_do_not_disturb_a_trajectory(rig):
    rig.move(START + 0.2, 1.0)
    rig.run(0.2)
    errors = stream(rig, 0.5)
    assert {error.problem for error in errors} == {SetpointProblem.NOT_READY, SetpointProblem.CALLED_OFF}
    assert "a trajectory is under way" in str(errors[0])
    rig.run(1.0)
    assert [ending for ending, _ in rig.endings] == [Ending.SUCCEEDED]


@pytest.mark.parametrize("stop", [True, False])
def test_cancel_and_stop_brake_though_setpoints_go_on(rig, stop):
    stream(rig, 0.5)
    if stop:
        rig.supervisor.stop(rig.now, "~/stop was called")
    else:
        rig.supervisor.cancel("~/cancel was called")
    errors = stream(rig, 0.7, begin=0.5)
    assert len(errors) == 35
    # 0.05 s after the brake time, before it is released
    assert np.abs(rig.speeds[-round(0.45 / rig.period)]).max() < 1e-2
    assert rig.mode is (Mode.RELEASED if stop else Mode.HOLDING)
    rig.check()


@pytest.mark.slow
def test_a_lost_joint_state_stream_stops_the_arm_and_the_setpoints(rig):
    stream(rig, 1.0)
    for _ in range(10):
        with contextlib.suppress(SetpointError):
            rig.supervisor.setpoint(0, *wave(1.0), rig.now)
        rig.run(0.02, corrupt=lambda state: None)
    assert rig.mode is Mode.STOPPING
    errors = stream(rig, 0.5, begin=1.0)
    assert rig.mode is Mode.HOLDING
    assert {error.problem for error in errors} == {SetpointProblem.CALLED_OFF}
    rig.check()


def test_a_clock_of_the_joint_states_that_is_set_calls_the_stream_off(rig):
    def set_back(state):
        return state | {"stamp": state["stamp"] - 10**9}

    stream(rig, 0.4)
    rig.run(0.05, corrupt=set_back)
    with pytest.raises(SetpointError, match="ignored until none has come"):
        rig.supervisor.setpoint(0, *wave(0.46), rig.now)
    rig.run(0.3, corrupt=set_back)
    assert rig.mode is Mode.HOLDING


def test_before_the_start_up_check_is_passed_setpoints_are_refused():
    rig = Rig(ROBOT, START, streaming(check=StartCheck(duration=0.5)))
    rig.run(0.2)
    errors = stream(rig, 0.2)
    assert {error.problem for error in errors} == {SetpointProblem.NOT_READY}
    rig.run(1.0)
    assert stream(rig, 0.2) == []


def test_a_path_tolerance_aborts(rig):
    tolerances = Tolerances(ROBOT.joint_names, path=1e-5)
    rig.supervisor.adopt(streaming(stream_tolerances=tolerances))
    errors = stream(rig, 1.0)
    assert "off the setpoints; allowed is 1e-05 (constraints.joint" in str(errors[0])


def test_a_controller_without_limits_for_it_says_why():
    rig = Rig(ROBOT, START, settings(ROBOT, no_stream="joint 'x' has no velocity limit"))
    rig.run(0.2)
    with pytest.raises(ControlError, match="no velocity limit"):
        rig.supervisor.setpoint(0, START, np.zeros(2), rig.now)


def test_the_clock_of_the_joint_states_is_that_of_the_stamps(rig):
    for k in range(50):
        rig.supervisor.setpoint(0, *wave(k * PERIOD), rig.now, stamp=rig.supervisor.stamp)
        rig.run(PERIOD)
    assert np.abs(rig.supervisor.q - wave(1.0)[0]).max() < 0.01
    with pytest.raises(SetpointError, match="before the time of the joint states"):
        rig.supervisor.setpoint(0, *wave(1.0), rig.now, stamp=rig.supervisor.stamp - 10**10)


def test_lower_limits_hold_at_once(rig):
    stream(rig, 1.0)
    limits = rig.settings.stream
    slow = StreamLimits(limits.joints, limits.lower, limits.upper, np.full(2, 0.1))
    rig.supervisor.adopt(streaming(stream=slow))
    stream(rig, 1.0, begin=1.0)
    assert np.abs(rig.supervisor.queue.reference.qd).max() <= 0.1 + 1e-3
