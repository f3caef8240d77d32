"""Efforts that a trajectory asks for: what is refused, and what is accepted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.mechanisms import four_bar
from support.supervised import accepted, settings

import rne_dynamics as rne
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.gains import Gains
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.motion.acceptance import Points
from rne_dynamics.control.motion.effort_demand import EffortDemand
from rne_dynamics.control.motion.takeover import takeover
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError

ARMS = {name: rne.load_urdf(name) for name in ("panda", "puma560", "planar2")}
PANDA = ARMS["panda"]
START = np.array([0.0, -0.5, 0.0, -1.8, 0.0, 1.5, 0.4])


def table(times: np.ndarray, q: np.ndarray, qd: np.ndarray | None = None, qdd: np.ndarray | None = None) -> Points:
    return Points(np.arange(q.shape[1]), np.asarray(times, dtype=float), q, qd, qdd)


def test_a_reversal_between_straight_lines_is_refused_and_with_velocities_accepted():
    given, turn = settings(PANDA), 0.6 * np.array([1.0, -0.5, 0.8, 0.6, -1.0, 0.5, 1.0])
    times, rows = np.array([0.0, 0.5, 1.0]), np.stack([START, START + turn, START])
    with pytest.raises(TrajectoryError, match=r"joint 'panda_joint\d' would need an? .* at 0\.\d+ s; allowed is"):
        accepted(given, START, table(times, rows))
    still = np.zeros_like(rows)
    slower = accepted(given, START, table(1.6 * times, rows, still, still))
    assert not slower.warning


def test_a_corner_at_which_joints_throw_each_other_is_refused():
    """Efforts and rates are within their limits, but joints 1 and 3 turn about nearly the same axis."""
    given = settings(PANDA)
    given = replace(given, limits=replace(given.limits, rate=30.0 * PANDA.effort_limit))
    rows = np.array([[1.2, 0.21, -0.19, -0.68, 0.56, 1.37, -0.24], [1.58, 0.37, 0.43, -1.04, 0.31, 0.84, 0.02],
                     [1.58, 0.37, 0.52, -1.04, -0.14, 0.84, -0.2]])
    with pytest.raises(TrajectoryError, match=r"at 0\.54\d s would throw joint 'panda_joint3' by .* while the efforts"):
        accepted(given, rows[0], table(np.array([0.0, 0.54, 0.84]), rows))


def test_somewhat_more_than_the_effort_limit_is_accepted_with_a_warning():
    given = settings(PANDA)
    goal, zero = START + np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros((2, 7))

    def asked(duration: float) -> str:
        points = table(np.array([0.0, duration]), np.stack([START, goal]), zero, zero)
        return accepted(given, START, points).warning

    assert asked(1.0) == ""
    assert given.tracking is not None
    times = np.linspace(0.0, 1.0, 200)
    path = SampledTrajectory([0.0, 1.0], [START, goal], zero, zero).samples(times)
    effort = np.abs(rne.inverse_dynamics(PANDA, *(path[:, k] for k in range(3))))[:, 1].max()
    for scale, said in ((1.02, ""), (0.9, "panda_joint2' would need an effort of"), (0.75, None)):
        limit = np.where(np.arange(7) == 1, scale * effort, PANDA.effort_limit)
        given = replace(given, limits=replace(given.limits, effort=limit, rate=100.0 * limit))
        if said is None:
            with pytest.raises(TrajectoryError, match=r"up to 1\.25 times of which is accepted"):
                asked(1.0)
        else:
            assert (said in asked(1.0)) if said else asked(1.0) == ""


def test_what_the_hardware_adds_is_not_asked_for():
    given = settings(PANDA)
    little = np.full(7, 5.0)  # less than gravity
    given = replace(given, limits=replace(given.limits, effort=little, rate=100.0 * little))
    points = table(np.array([0.0, 3.0]), np.stack([START, START + 0.1]), np.zeros((2, 7)), np.zeros((2, 7)))
    with pytest.raises(TrajectoryError, match="would need an effort"):
        accepted(given, START, points)
    assert not accepted(replace(given, compensated=frozenset({"gravity"})), START, points).warning


def test_the_efforts_of_a_mechanism_are_checked():
    mechanism = four_bar()
    n = mechanism.n
    law = ComputedTorque(mechanism, Gains(np.full(n, 400.0), np.zeros(1), np.full(n, 40.0)))
    start, one = np.array(mechanism.posture[mechanism.actuated]), np.ones(n)
    limits = EffortLimits(100.0 * one, 1e5 * one, one, start - one, start + one, 0.0 * one)
    zero = np.zeros((2, n))

    def path(duration: float):
        trajectory = SampledTrajectory([0.0, duration], [start, start + 0.2], zero, zero)
        return takeover(trajectory.path, 0.0, Reference(start, zero[0], zero[0]), 0.1)

    assert EffortDemand(law, limits).check(path(1.0)) == ""
    with pytest.raises(TrajectoryError, match=r"would need an? .*effort"):
        EffortDemand(law, limits).check(path(0.02))


def test_an_acceleration_that_throws_an_arm_of_other_masses_is_refused_and_with_more_time_accepted():
    """Before: a Panda with masses 50 to 150 % reached 1.55 velocity limits in 25 ms, on efforts within their limits."""
    robot = PANDA
    given = settings(robot)
    lots = replace(given.limits, effort=1e5 * np.ones(robot.n), rate=1e8 * np.ones(robot.n))
    way = robot.velocity_limit * np.where(np.arange(robot.n) % 2, -0.006, 0.006)
    start = np.clip(np.zeros(robot.n), robot.lower + 0.3, robot.upper - 0.3)
    for duration, refused in ((0.012, True), (0.8, False)):
        points = table(np.array([0.0, duration]), np.stack([start, start + way]), *np.zeros((2, 2, robot.n)))
        if refused:
            with pytest.raises(TrajectoryError, match=r"if masses are 50 % off, before the feedback reacts"):
                accepted(replace(given, limits=lots), start, points)
        else:
            accepted(given, start, points)


def test_the_noise_of_a_recorded_motion_does_not_count_but_its_motion_does():
    given, rng = settings(PANDA), np.random.default_rng(0)
    t = np.arange(0.0, 2.0, 0.001)
    way = (10.0 - 15.0 * t / 2.0 + 6.0 * (t / 2.0) ** 2) * (t / 2.0) ** 3
    rows = START + 0.6 * way[:, None] + 1e-6 * rng.normal(size=(len(t), 7))
    rows[0] = START
    assert not accepted(given, START, table(t, rows)).warning
    shaken = START + 0.02 * np.sin(60.0 * t)[:, None]  # 1.2 rad/s, 72 rad/s², all of it in steps of the velocity
    shaken[-1] = shaken[-2]
    with pytest.raises(TrajectoryError, match="would need"):
        accepted(given, START, table(t, shaken))
