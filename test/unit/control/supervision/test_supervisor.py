"""The state machine of a controller with a simulated arm: starts, motions, stops, lost states, faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import Mode, StopPlan
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import ControlError

ROBOT = rne.load_urdf("puma560")
START = np.array([0.1, 0.4, -0.3, 0.2, 0.3, 0.1])
GOAL = START + np.array([0.3, -0.3, 0.3, 0.2, -0.2, 0.3])


def rig(**changes: object) -> Rig:
    return Rig(ROBOT, START.copy(), settings(ROBOT, **changes))


def settled(**changes: object) -> Rig:
    """An arm that is held."""
    r = rig(**changes)
    r.run(0.2)
    return r


def in_motion(seconds: float = 0.25, **changes: object) -> Rig:
    """An arm that moves to its goal in 0.5 s, and has done so for some time."""
    r = settled(**changes)
    r.move(GOAL, 0.5)
    r.run(seconds)
    return r


def held(r: Rig, place: np.ndarray = START, within: float = 2e-3) -> None:
    np.testing.assert_allclose(r.simulator.state.q, place, atol=within)


def released(r: Rig) -> None:
    assert (r.sent[-1] == 0.0).all()
    assert r.last is not None
    assert r.last.last


def test_activation_begins_at_the_effort_the_arm_reports():
    limits = replace(settings(ROBOT).limits, rate=5.0 * ROBOT.effort_limit)  # too slow to get there from zero
    r, gravity = rig(limits=limits), rne.gravity_torque(ROBOT, START)
    r.run(0.003, corrupt=lambda state: {**state, "reported": gravity.copy()})
    np.testing.assert_allclose(r.sent[0], gravity, rtol=1e-9, atol=1e-9)


def test_feedback_grows_after_activation():
    r = rig(feedback_ramp=1.0)
    r.run(0.01)
    far = START + 0.002  # the arm is pushed away
    r.run(r.period, corrupt=lambda state: {**state, "q": far.copy()})
    assert r.last is not None
    full = 400.0 * 0.002 * np.diag(rne.mass_matrix(ROBOT, far)).min()
    assert np.abs(r.last.terms.feedback).max() < 0.05 * max(full, 1.0)


def test_a_motion_replaced_in_motion_has_no_jump():
    r = in_motion()
    references = []

    def note(state):
        references.append(np.concatenate(r.supervisor.queue.reference[:2]))
        return state

    r.move(START, 0.6)
    r.run(1.0, corrupt=note)
    steps = np.abs(np.diff(references, axis=0))
    assert steps[:, :6].max() < 3e-3
    assert steps[:, 6:].max() < 0.05
    held(r, START)
    assert [e for e, _ in r.endings] == [Ending.REPLACED, Ending.SUCCEEDED]
    r.check()


def test_cancel_decelerates_along_the_path_and_holds():
    r = in_motion()
    r.supervisor.cancel("enough")
    r.run(0.5)
    assert r.mode is Mode.HOLDING
    assert r.endings == [(Ending.CANCELLED, "enough")]
    line = (r.simulator.state.q - START) / (GOAL - START)
    assert np.ptp(line) < 0.02, "all joints are equally far along a quintic"
    assert 0.3 < line.mean() < 0.95
    r.check()


def test_cancel_may_stop_and_release():
    r = in_motion(stop=StopPlan("ramp", 0.2, 0.1, 0.2, after_cancel="stop"))
    r.supervisor.cancel("enough")
    r.run(1.5)
    assert r.mode is Mode.RELEASED
    released(r)
    r.check()


@pytest.mark.parametrize("policy", ["ramp", "release", "hold"])
def test_a_stop_brakes_holds_and_lets_down(policy):
    r = in_motion(stop=StopPlan(policy, 0.2, 0.1, 0.2))
    assert np.abs(r.simulator.state.qd).max() > 0.3
    r.supervisor.stop(r.now, "asked for")
    r.run(0.25)
    assert np.abs(r.simulator.state.qd).max() < 0.1, "it rests before it is released"
    r.run(0.75)
    assert r.mode is (Mode.STOPPING if policy == "hold" else Mode.RELEASED)
    if policy == "hold":
        at = r.simulator.state.q.copy()
        r.run(1.0)
        held(r, at, 0.02)
        r.supervisor.stop(r.now, "deactivated", ending=True)
        r.run(0.5)
    released(r)
    assert [e for e, _ in r.endings] == [Ending.STOPPED]
    r.check()
    count = len(r.sent)
    r.run(0.1)
    assert len(r.sent) == count, "silent"


def test_lost_states_stop_the_arm_by_dead_reckoning_and_end_in_a_fault():
    r = in_motion()
    speed = np.abs(r.simulator.state.qd).max()
    r.run(0.35, corrupt=lambda state: None)
    assert r.mode is Mode.STOPPING
    assert r.supervisor.machine.dead_reckoning
    assert np.abs(r.simulator.state.qd).max() <= 0.1 * speed, "dead reckoning has stopped it"
    r.run(0.5, corrupt=lambda state: None)
    assert r.mode is Mode.FAULT
    assert "no usable joint state" in r.supervisor.cause
    released(r)
    r.check()
    r.run(0.2)
    assert r.mode is Mode.FAULT, "it stays so until recovery is asked for"
    with pytest.raises(ControlError, match="fault"):
        r.move(GOAL, 0.5)
    r.simulator.reset()
    r.supervisor.recover(r.now)
    r.run(0.2)
    assert r.mode is Mode.HOLDING
    r.check()


def test_recovery_may_be_automatic():
    r = settled(recover_automatically=True)
    r.run(1.0, corrupt=lambda state: None)
    assert r.mode is Mode.FAULT
    with pytest.raises(ControlError, match="fault"):
        r.move(GOAL, 0.5)
    r.run(0.2)
    assert r.mode is Mode.HOLDING


def test_a_process_that_slept_starts_anew():
    """As after SIGSTOP and SIGCONT: no tick in between, drives have timed out."""
    r = settled()
    r.simulator.advance(300)
    r.now += 0.3
    r.run(0.5)
    assert r.mode is Mode.HOLDING
    assert r.supervisor.counters.lost == 1
    r.check()


def test_hand_guiding_on_and_off():
    r = settled()
    r.supervisor.hand_guide(True)
    assert r.mode is Mode.FLOATING
    wrench = {ROBOT.link_names[-1]: np.array([0.0, 0.0, 0.0, 0.0, 0.0, 3.0])}
    r.run(0.5, wrenches=wrench)
    with pytest.raises(ControlError, match="floating"):
        r.move(GOAL, 0.5)
    moved = np.abs(r.simulator.state.q - START).max()
    assert moved > 0.02
    r.supervisor.hand_guide(False)
    r.run(0.5)
    at = r.simulator.state.q.copy()
    r.run(0.5)
    held(r, at)
    r.check()


def test_a_controller_that_only_floats():
    r = rig(tracking=False)
    r.run(0.5)
    assert r.modes == [Mode.WAITING, Mode.HOLDING, Mode.FLOATING]
    for refused in (lambda: r.move(GOAL, 0.5), lambda: r.supervisor.hand_guide(False)):
        with pytest.raises(ControlError):
            refused()
    r.run(0.2, corrupt=lambda state: None)
    r.run(0.2)
    assert r.mode is Mode.FLOATING
    r.supervisor.stop(r.now, "asked for")
    r.run(1.0)
    assert r.mode is Mode.RELEASED
    released(r)
    r.check()


@pytest.mark.parametrize("tracking", [True, False])
def test_an_arm_that_weighs_something_else_may_not_move(tracking):
    r = rig(check=StartCheck(duration=0.3, tolerance=0.1), tracking=tracking)
    wrong = rne.gravity_torque(ROBOT, START) * np.array([1, -1, 1, 1, 1, 1])
    r.run(0.8, corrupt=lambda state: {**state, "reported": wrong.copy()})
    if tracking:
        with pytest.raises(ControlError, match="joint2"):
            r.move(GOAL, 0.5)
        held(r)
        r.supervisor.recover(r.now)
        r.run(0.5)
        r.move(GOAL, 0.5)
    else:
        r.run(1.0)
        assert r.mode is Mode.FAULT
        assert "joint2" in r.supervisor.cause


def test_an_arm_that_weighs_something_else_may_not_float():
    r = rig(check=StartCheck(duration=0.3, tolerance=0.1), tracking=False)
    wrong = rne.gravity_torque(ROBOT, START) * np.array([1, -1, 1, 1, 1, 1])
    r.run(1.8, corrupt=lambda state: {**state, "reported": wrong.copy()})
    assert r.mode is Mode.FAULT
    assert "joint2" in r.supervisor.cause


def test_speed_scaling_slows_a_motion_down():
    r = settled()
    r.supervisor.scale_speed(0.25)
    r.move(GOAL, 0.5)
    r.run(0.5)
    assert r.mode is Mode.TRACKING
    r.run(2.0)
    held(r, GOAL)
    for bad in (np.nan, -0.1, 1.1, np.inf):
        with pytest.raises(ControlError, match="speed scaling"):
            r.supervisor.scale_speed(bad)
    assert r.supervisor.machine.speed == 0.25


def test_a_motion_in_which_states_are_missing_comes_to_rest_instead_of_leaping():
    r = in_motion(states=replace(settings(ROBOT).states, timeout=1.0))
    before = r.supervisor.queue.reference
    r.run(0.15, corrupt=lambda state: None)
    seen = []
    for _ in range(200):
        r.run(r.period)
        seen.append(r.supervisor.queue.reference)
    (ending, text), = r.endings
    assert ending is Ending.STOPPED
    assert "at most 0.1 s are allowed" in text
    positions = np.array([before.q, *(s.q for s in seen)])
    assert np.abs(np.diff(positions, axis=0)).max() <= 1.001 * r.period * np.abs(before.qd).max()
    assert not seen[-1].qd.any()


def test_a_motion_that_begins_too_far_from_the_arm_is_stopped_and_the_arm_held():
    r = in_motion(0.01)
    trajectory = SampledTrajectory(np.array([0.0, 0.5]), np.stack([START, GOAL]), joint_names=ROBOT.joint_names)
    limits = MotionLimits(ROBOT.joint_names, ROBOT.lower, ROBOT.upper, ROBOT.velocity_limit, 0.05)
    motion = Motion(
        trajectory, r.supervisor.stamp + 10**9, Tolerances(ROBOT.joint_names), blend_time=0.2, limits=limits
    )
    r.supervisor.follow(motion, lambda ending, text: r.endings.append((ending, text)))
    r.run(1.5)  # it begins at START, where the arm is no more by then
    assert [ending for ending, _ in r.endings] == [Ending.SUCCEEDED, Ending.STOPPED]
    assert "away from where the arm is held; it may differ by 0.05" in r.endings[1][1]
    assert r.mode is Mode.HOLDING
    held(r, GOAL)
    r.check()
