"""Which states a start-up check gathers, when it is over, and what it says of joints that it cannot judge."""

from __future__ import annotations

import numpy as np
import pytest
from support.arms import chain, floating_arm, gripper, slider
from support.load_checked import MS, STRETCHED, arm, held
from support.mechanisms import delta, five_bar
from support.urdf_text import joint, link
from support.urdf_text import robot as robot_text

import rne_dynamics as rne
from rne_dynamics.control.model_terms import holding_terms
from rne_dynamics.control.supervision.load_check import FIRST_EFFORT, MOST_STARTS, LoadCheck
from rne_dynamics.control.supervision.payload_estimate import effort_units, end_bodies, outermost_link
from rne_dynamics.dynamics.newton_euler.newton_euler import gravity_torque
from rne_dynamics.errors import ControlError
from rne_dynamics.model.tree import Friction


def two_joints():
    return chain(2, friction=Friction(0.0, 0.3, 0.1))


def test_friction_widens_what_is_allowed():
    robot = two_joints()
    q = np.array([0.3, 0.2])
    gravity = gravity_torque(robot, q)
    assert held(LoadCheck(robot, 0.1), q, gravity + 0.39).agrees
    assert not held(LoadCheck(robot, 0.1), q, gravity + 0.41).agrees


def test_it_takes_the_duration_and_a_few_states():
    robot, zero = two_joints(), np.zeros(2)
    check = LoadCheck(robot, 1.0, 0.5)
    for k in range(5):
        check.add(k * 100 * MS, zero, zero, zero)
        assert not check.finished
        with pytest.raises(ControlError, match="not finished"):
            check.verdict()
    check.add(500 * MS, zero, zero, zero)
    assert check.finished


def test_a_hand_on_the_arm_starts_it_anew_and_in_the_end_refuses():
    robot, zero = two_joints(), np.zeros(2)
    q = np.array([0.3, 0.2])
    check = LoadCheck(robot, 0.1)
    # while it moves the efforts are wild; what counts is what comes after
    for k in range(10):
        check.add(k * 100 * MS, q + 0.06 * k, zero, np.full(2, 99.0))
    rest = q + 0.06 * 9
    for k in range(10, 20):
        assert not check.finished
        check.add(k * 100 * MS, rest, zero, gravity_torque(robot, rest))
    assert check.verdict().agrees

    restless = LoadCheck(robot, 0.1)
    for k in range(3 * MOST_STARTS):
        restless.add(k * 100 * MS, q + np.array([0.0, 0.1 * k]), zero, zero)
    assert restless.finished
    found = restless.verdict()
    assert not found.agrees
    assert not found.checked
    assert "did not keep still" in found.text
    assert "'joint2'" in found.text


def test_a_clock_set_back_starts_it_anew():
    robot, zero = two_joints(), np.zeros(2)
    check = LoadCheck(robot, 0.1)
    for k in range(8):
        check.add(10**12 + k * 100 * MS, zero, zero, zero)
    for k in range(10):
        check.add(k * 100 * MS, zero, zero, gravity_torque(robot, zero))
        assert not check.finished
    check.add(1000 * MS, zero, zero, gravity_torque(robot, zero))
    assert check.verdict().agrees


def test_efforts_that_are_not_reported_are_not_judged():
    robot, q = two_joints(), np.array([0.3, 0.2])
    for nothing in (np.full(2, np.nan), np.zeros(2)):
        found = held(LoadCheck(robot, 0.1), q, nothing)
        assert found.agrees
        assert not found.checked
        assert "not checked" in found.text
    half = np.array(gravity_torque(robot, q))
    half[0] = np.nan
    found = held(LoadCheck(robot, 0.1), q, half)
    assert found.agrees
    assert not found.checked
    assert "(no effort reported by joint1)" in found.text
    half[1] += 5.0
    assert not held(LoadCheck(robot, 0.1), q, half).agrees


@pytest.mark.parametrize("begin", [1, 39])
def test_drives_that_begin_to_act_late_are_not_accused(begin):
    """Behind an effort gate, and while brakes open, a driver reports zeros first."""
    case = arm("ur5_robot.urdf")
    gravity, check = gravity_torque(case.robot, STRETCHED), LoadCheck(case.robot, case.tolerance)
    for k in range(begin + 12):
        if not check.finished:
            check.add(k * 100 * MS, STRETCHED, np.zeros(6), gravity if k >= begin else np.zeros(6))
    found = check.verdict()
    assert found.agrees, found.text
    assert found.checked


@pytest.mark.parametrize(("heavier", "seconds"), [(1.0, 1.0 + FIRST_EFFORT), (1e3, 1.0)])
def test_first_effort_is_awaited_for_a_limited_time_and_only_against_gravity(heavier, seconds):
    case = arm("ur5_robot.urdf")
    check, last = LoadCheck(case.robot, heavier * case.tolerance), 0
    while not check.finished:
        check.add(last * 100 * MS, STRETCHED, np.zeros(6), np.zeros(6))
        last += 1
    assert (last - 1) * 0.1 == pytest.approx(seconds)
    assert "not checked" in check.verdict().text


def test_gaps_in_the_efforts_do_not_pull_the_mean():
    robot, q = two_joints(), np.array([0.3, 0.2])
    check = LoadCheck(robot, 0.1)
    for k in range(11):
        shown = gravity_torque(robot, q) if k % 3 else np.array([np.nan, np.inf])
        check.add(k * 100 * MS, q, np.zeros(2), shown)
    found = check.verdict()
    assert found.agrees
    assert found.checked


def test_joints_that_this_posture_does_not_test_are_named():
    robot, q = arm("ur5_robot.urdf").robot, STRETCHED
    text = held(LoadCheck(robot, 1.0), q, gravity_torque(robot, q)).text
    assert "shoulder_pan_joint" in text
    assert "not tested" in text
    assert "shoulder_lift_joint" not in text


@pytest.mark.parametrize("make", [five_bar, delta])
def test_mechanisms_with_closed_loops(make):
    mechanism = make()
    q = mechanism.posture[mechanism.actuated]
    gravity = holding_terms(mechanism, q, np.zeros(mechanism.n), mechanism.posture)[0]
    tolerance = 0.05 * np.abs(gravity).max()
    check = LoadCheck(mechanism, tolerance, posture=mechanism.posture)
    check.warm_up()
    assert held(check, q, gravity).agrees
    j = int(np.argmax(np.abs(gravity)))
    altered = gravity.copy()
    altered[j] *= -1.0
    found = held(LoadCheck(mechanism, tolerance), q, altered)
    assert not found.agrees
    assert found.causes[0].kind in ("sign", "signs")
    assert {cause.kind for cause in found.causes}.isdisjoint({"tilt", "payload"})


@pytest.mark.parametrize("robot", [slider(axis=(0.0, 0.0, 1.0)), gripper(), chain(1)], ids=lambda r: r.name)
def test_small_and_odd_robots(robot):
    check = LoadCheck(robot, 0.05)
    check.warm_up()
    assert not check.finished
    q = np.full(robot.n, 0.1)
    assert held(check, q, gravity_torque(robot, q)).agrees
    found = held(LoadCheck(robot, 0.05), q, gravity_torque(robot, q) + 3.0)
    assert not found.agrees
    assert robot.joint_names[0] in found.text
    assert effort_units(robot)[0] == ("N" if robot.name == "slider" else "N m")


def test_units_are_those_of_the_joint_itself_not_of_what_mimics_it():
    slide = joint("slide", "b", "c", "prismatic", '<mimic joint="turn"/>')
    arm = rne.load_urdf(robot_text(link("a"), link("b"), link("c"), joint("turn", "a", "b"), slide))
    assert effort_units(arm) == ("N m",)  # "N" before
    planar = rne.load_urdf(robot_text(link("a"), link("b"), joint("move", "a", "b", "planar")))
    assert effort_units(planar) == ("N", "N", "N m")


def test_fingers_are_listed_behind_their_hand():
    robot = arm("panda.urdf").robot
    assert [outermost_link(robot, body) for body in end_bodies(robot)] == ["panda_hand_tcp"]
    assert outermost_link(arm("xarm7.urdf").robot, end_bodies(arm("xarm7.urdf").robot)[0]) == "link_eef"


@pytest.mark.parametrize("options", [
    {"tolerance": 0.0}, {"tolerance": [0.1, -1.0]}, {"tolerance": np.nan}, {"tolerance": [0.1] * 3},
    {"tolerance": 0.1, "duration": 0.0}, {"tolerance": 0.1, "duration": np.nan}, {"tolerance": 0.1, "duration": np.inf},
])  # fmt: skip
def test_values_out_of_range_are_refused(options):
    with pytest.raises(ControlError, match="startup_check"):
        LoadCheck(two_joints(), **options)


def test_a_floating_joint_is_refused():
    with pytest.raises(ControlError, match="floating joint"):
        LoadCheck(floating_arm(), 0.1)
