"""The foreign arm is the model where nothing deviates, and swings as its gears are said to."""

from __future__ import annotations

import numpy as np
import pytest
from support.foreign_episodes import arms
from support.foreign_plant import Deviation, ForeignArm, friction_of

import rne_dynamics as rne

DT = 5e-4


def posture(robot, seed):
    lower, upper = np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0)
    return np.random.default_rng(seed).uniform(0.8 * lower + 0.2 * upper, 0.2 * lower + 0.8 * upper)


@pytest.mark.parametrize("which", [0, 2, 3])
def test_without_deviation_it_moves_as_the_model(which):
    urdf, robot = arms()[which]
    q, effort = posture(robot, which), 0.1 * robot.effort_limit
    arm = ForeignArm(urdf, q, DT, Deviation(friction=0.0))
    before = arm.state
    arm.advance()
    assert arm.state.t == before.t + DT
    assert (arm.state.q == q).all(), "brakes hold it until the first command"
    arm.command(rne.gravity_torque(robot, q) + effort)
    arm.advance()
    expected = rne.forward_dynamics(robot, q, np.zeros(robot.n), rne.gravity_torque(robot, q) + effort)
    np.testing.assert_allclose(arm.state.qd / DT, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("which", [0, 2, 3])
def test_a_joint_that_slides_has_the_models_friction(which):
    urdf, robot = arms()[which]
    q, dry = posture(robot, which), friction_of(robot, Deviation())[1]
    arm = ForeignArm(urdf, q, DT, Deviation())
    for _ in range(60):
        arm.command(rne.gravity_torque(robot, arm.state.q) + 2.0 * dry)
        arm.advance()
        slides = np.abs(arm.state.qd) > 0.05
        np.testing.assert_allclose(np.abs(arm.data.qfrc_constraint[slides]), dry[slides], rtol=1e-9)


@pytest.mark.parametrize("frequency", [12.0, 25.0])
def test_with_its_motors_held_it_swings_on_its_gears_as_said(frequency):
    urdf, robot = arms()[2]
    q = posture(robot, 3)
    arm = ForeignArm(urdf, q, DT, Deviation(friction=0.0, frequency=frequency, rotor=1e6), np.inf)
    arm.command(rne.gravity_torque(robot, q))
    arm.advance()
    arm.data.qvel[1] += 0.01  # a knock
    speeds = []
    for _ in range(round(3.0 / DT)):
        arm.advance()
        speeds.append(arm.speed[1])
    spectrum = np.abs(np.fft.rfft(speeds, n=1 << 16))
    assert np.fft.rfftfreq(1 << 16, DT)[np.argmax(spectrum)] == pytest.approx(frequency, rel=0.02)


def test_an_effort_acts_after_the_delay_and_expires():
    urdf, robot = arms()[0]
    q = posture(robot, 1)
    arm = ForeignArm(urdf, q, DT, Deviation(command_delay=0.01), command_timeout=0.05)
    arm.command(np.ones(robot.n))
    applied = []
    for _ in range(200):
        arm.advance()
        applied.append(arm.applied_effort[0])
    assert applied.index(1.0) == pytest.approx(0.01 / DT, abs=1)
    assert applied[-1] == 0.0
    assert np.count_nonzero(applied) == pytest.approx(0.05 / DT, abs=1)
