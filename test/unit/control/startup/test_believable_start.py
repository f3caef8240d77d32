from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings
from support.wheel import wheel_urdf

import rne_dynamics as rne
from rne_dynamics.control.supervision.output import FRICTION, MODEL_ERROR, believable_start, start_tolerance
from rne_dynamics.model.friction import joint_friction

GRAVITY = np.array([0.0, -50.0, -20.0, 1.0])
TOLERANCE = np.array([3.0, 8.0, 5.0, 0.6])


def start(reported):
    return believable_start(np.array(reported, dtype=float), GRAVITY, TOLERANCE)


@pytest.mark.parametrize("reported", [
    [0.0, 0.0, 0.0, 0.0],  # behind brakes
    [0.0, -50.0, -20.0, 1.0],  # held by another controller
    [2.9, -57.9, -24.9, 1.5],  # held, with friction
    [-2.9, 7.9, 4.9, -0.5],  # behind brakes, with offsets
    [0.0, -30.0, -1.0, 0.4],  # resting on something
])  # fmt: skip
def test_what_can_be_true_is_believed(reported):
    np.testing.assert_array_equal(start(reported), reported)


@pytest.mark.parametrize(("reported", "expected"), [
    ([0.0, -50_000.0, -20_000.0, 1000.0], GRAVITY),  # mN m
    ([0.0, 50.0, 20.0, -1.0], np.zeros(4)),  # signs
    ([40.0, 60.0, -90.0, 3.0], [0.0, 0.0, -20.0, 1.0]),  # nonsense
    ([np.nan, np.nan, -19.0, np.inf], [0.0, 0.0, -19.0, 0.0]),  # each joint by itself
])  # fmt: skip
def test_what_cannot_be_true_starts_between_zero_and_gravity(reported, expected):
    np.testing.assert_array_equal(start(reported), expected)


def test_never_further_from_zero_and_gravity_than_the_tolerance():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        reported = rng.normal(size=4) * 10.0 ** rng.uniform(-3, 6)
        found = start(reported)
        assert (found >= np.minimum(GRAVITY, 0.0) - TOLERANCE).all()
        assert (found <= np.maximum(GRAVITY, 0.0) + TOLERANCE).all()


def test_the_tolerance_is_friction_and_model_error():
    robot = rne.load_urdf("puma560")
    gravity = np.arange(6.0)
    friction = joint_friction(robot)
    coulomb = np.maximum(friction.coulomb_forward, friction.coulomb_backward)
    expected = coulomb + FRICTION * robot.effort_limit + MODEL_ERROR * gravity
    np.testing.assert_allclose(start_tolerance(robot, gravity, np.full(6, 1e9)), expected)


# -- in the supervisor ------------------------------------------------------------------------------------------------

HELD = np.array([0.3, -0.7, 0.9, 0.4, 0.8, 0.2])


def slow_rate(robot):
    """Settings with a low effort rate: the least that is allowed, or 600 N m/s."""
    plain = settings(robot)
    return replace(plain, limits=replace(plain.limits, rate=np.maximum(5.0 * robot.effort_limit, 600.0)))


def first_efforts(report):
    """The efforts of the first 0.2 s on a UR5 whose reports are altered, and the arm's fastest joint in that time."""
    robot = rne.load_urdf(wheel_urdf("ur5_robot.urdf"))
    plain = slow_rate(robot)
    rig = Rig(robot, HELD.copy(), plain)
    gravity = rne.gravity_torque(robot, HELD)
    fastest = 0.0

    def altered(state):
        nonlocal fastest
        fastest = max(fastest, float(np.abs(state["qd"]).max()))
        return state | {"reported": report(gravity.copy())}

    rig.run(0.2, corrupt=altered)
    return np.array(rig.sent), gravity, fastest, plain.limits


@pytest.mark.parametrize("report", [
    lambda g: -1000.0 * g, lambda g: g + np.array([80.0, 80.0, -80.0, 20.0, 20.0, 20.0]),
], ids=["sign and mN m", "offsets"])
def test_no_first_effort_in_the_wrong_direction(report):
    sent, gravity, fastest, limits = first_efforts(report)
    tolerance = start_tolerance(rne.load_urdf(wheel_urdf("ur5_robot.urdf")), gravity, limits.effort)
    step = 0.01 * limits.rate  # the longest that one step counts
    assert (sent[0] >= np.minimum(gravity, 0.0) - tolerance - step).all()
    assert (sent[0] <= np.maximum(gravity, 0.0) + tolerance + step).all()
    # an arm without brakes sinks while efforts grow from zero, at worst as one that reports nothing
    assert fastest <= 1.1 * first_efforts(lambda g: np.full_like(g, np.nan))[2]


def test_states_that_come_back_are_not_believed_more_than_the_first():
    """A process that slept: the drives may have let go, and what the arm reports then has another unit and sign."""
    robot = rne.load_urdf(wheel_urdf("ur5_robot.urdf"))
    rig = Rig(robot, HELD.copy(), slow_rate(robot))
    rig.run(0.5)
    rig.now += 0.3  # asleep, and so is the arm: brakes
    supervisor, gravity = rig.supervisor, rne.gravity_torque(robot, HELD)
    efforts = []
    for k in range(1, 10):  # no tick between them: they have waited in the queue
        rig.now += 1e-4
        state = rig.simulator.state
        usable = supervisor.observe(
            round(1e9 * (state.t + 0.3)) + 10**18 + k * 1_000_000, rig.now, state.q.copy(), np.zeros(6),
            -1000.0 * gravity, sequence=rig.sequence + k,
        )  # fmt: skip
        effort = supervisor.effort(supervisor.stamp, rig.now) if usable else None
        efforts += [] if effort is None else [effort.command.copy()]
    first = efforts[0]
    limits = rig.settings.limits
    assert len(efforts) >= 4
    assert first[1] * np.sign(gravity[1]) >= -start_tolerance(robot, gravity, limits.effort)[1] - 0.01 * limits.rate[1]
    assert abs(first[1]) <= abs(gravity[1]) + 0.01 * limits.rate[1]
