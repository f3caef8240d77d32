"""The foreign arm is the model where nothing deviates, and swings as its gears are said to."""

from __future__ import annotations

import numpy as np
import pytest
from support.foreign_episodes import arms
from support.foreign_plant import Deviation, ForeignArm

import rne_dynamics as rne

DT = 5e-4


def posture(robot, seed):
    lower, upper = np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0)
    return np.random.default_rng(seed).uniform(0.8 * lower + 0.2 * upper, 0.2 * lower + 0.8 * upper)


def test_without_deviation_it_moves_as_the_model():
    urdf, robot = arms()[3]
    q, effort = posture(robot, 3), 0.1 * robot.effort_limit
    arm = ForeignArm(urdf, q, DT, Deviation(friction=0.0))
    before = arm.state
    arm.advance()
    assert arm.state.t == before.t + DT
    assert (arm.state.q == q).all(), "brakes hold it until the first command"
    arm.command(rne.gravity_torque(robot, q) + effort)
    arm.advance()
    expected = rne.forward_dynamics(robot, q, np.zeros(robot.n), rne.gravity_torque(robot, q) + effort)
    np.testing.assert_allclose(arm.state.qd / DT, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_with_its_motors_held_it_swings_on_its_gears_as_said():
    urdf, robot = arms()[2]
    q = posture(robot, 3)
    arm = ForeignArm(urdf, q, DT, Deviation(friction=0.0, frequency=25.0, rotor=1e6), np.inf)
    arm.command(rne.gravity_torque(robot, q))
    arm.advance()
    arm.data.qvel[1] += 0.01  # a knock
    speeds = []
    for _ in range(round(2.0 / DT)):
        arm.advance()
        speeds.append(arm.speed[1])
    spectrum = np.abs(np.fft.rfft(speeds, n=1 << 16))
    assert np.fft.rfftfreq(1 << 16, DT)[np.argmax(spectrum)] == pytest.approx(25.0, rel=0.02)
