"""Retimed paths: faster than the fastest quintic, within limits of effort with friction, and followed."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from support.supervised import accepted, settings, table
from support.urdf_text import arm

import rne_dynamics as rne
from rne_dynamics.errors import MissingDependencyError, TrajectoryError


def efforts(robot: rne.RobotModel, q, qd, qdd) -> np.ndarray:
    """Parts of the limits, friction included."""
    return np.abs(rne.inverse_dynamics(robot, q, qd, qdd) + rne.friction_torque(robot, qd)) / robot.effort_limit


def fastest_quintic(robot: rne.RobotModel, start, end) -> float:
    """Its duration, s, from rest to rest in a straight line, at the limit of effort or velocity."""
    low, high, parts = 0.05, 60.0, np.linspace(0.0, 1.0, 60)
    for _ in range(18):
        middle = 0.5 * (low + high)
        q, qd, qdd = rne.Quintic(start, end, middle).samples(parts * middle).transpose(1, 0, 2)
        kept = (efforts(robot, q, qd, qdd) <= 1.0).all() and (np.abs(qd) <= robot.velocity_limit).all()
        low, high = (low, middle) if kept else (middle, high)
    return high


def finely(motion: rne.SampledTrajectory, times: int = 3000) -> tuple[np.ndarray, ...]:
    """Position, velocity and acceleration between the samples too."""
    return tuple(motion.samples(np.linspace(0.0, motion.duration, times)).transpose(1, 0, 2))


def distance(q: np.ndarray, path: np.ndarray) -> float:
    """Largest distance of any of the postures from the nearest of a dense path."""
    return max(np.abs(path - posture).max(axis=1).min() for posture in q)


@pytest.mark.parametrize(("name", "moves"), [
    ("panda", 3), *(pytest.param(name, 12, marks=pytest.mark.soak) for name in ("puma560", "ur10", "panda")),
])
def test_moves_take_two_thirds_of_the_fastest_quintic_within_the_efforts_and_are_followed(name, moves):
    pytest.importorskip("toppra")
    robot, rng = rne.load_urdf(name), np.random.default_rng(1)
    law = rne.ComputedTorque(robot, rne.Gains.critically_damped(robot.n, 40.0), rne.FrictionCompensation(1.0, 0.001))
    for k in range(moves):
        way = np.clip(0.6 * rne.random_configuration(robot, rng, 2), robot.lower, robot.upper)
        motion = rne.retimed(robot, way)
        q, qd, qdd = finely(motion)
        assert efforts(robot, q, qd, qdd).max() <= 0.973
        assert (np.abs(qd) <= 0.995 * robot.velocity_limit).all()
        np.testing.assert_allclose(motion.positions[[0, -1]], way, atol=1e-9)
        assert not motion.velocities[[0, -1]].any()
        assert not motion.accelerations[[0, -1]].any()
        assert motion.duration <= fastest_quintic(robot, *way) / 1.5
        if k % 4:
            continue
        log = rne.simulate(rne.ArmPlant(robot), law, motion, seconds=motion.duration + 0.1)
        assert (np.abs(log.effort) < robot.effort_limit).all()  # nothing is cut off
        assert np.abs(log.q - np.array([motion.sample(t).q for t in log.time])).max() < 1e-3


@pytest.mark.slow
def test_a_controller_accepts_the_motions():
    pytest.importorskip("toppra")
    robot, rng = rne.load_urdf("panda"), np.random.default_rng(1)
    given = settings(robot, bandwidth=40.0)
    for _ in range(4):
        way = np.clip(0.6 * rne.random_configuration(robot, rng, 2), robot.lower, robot.upper)
        motion = rne.retimed(robot, way, effort_rate=given.limits.rate)
        points = table(motion.times, motion.positions, motion.velocities, motion.accelerations)
        assert not accepted(given, motion.sample(0.0).q, points).warning


def test_a_spline_leads_through_all_waypoints_and_is_kept():
    pytest.importorskip("toppra")
    robot = rne.load_urdf("puma560")
    way = np.clip(0.4 * rne.random_configuration(robot, 3, 5), robot.lower, robot.upper)
    motion = rne.retimed(robot, way)
    slow = rne.retimed(robot, way, effort=0.7, velocity=0.2)
    assert slow.duration > 2.0 * motion.duration
    q = finely(motion)[0]
    assert distance(way, q) < 0.01
    assert distance(q[::60], finely(slow, 10_000)[0]) < 1e-3  # both on the same curve
    steps = np.abs(np.diff(motion.accelerations, axis=0)).max(axis=0)
    smooth = rne.retimed(robot, way, smoothing=0.06)
    assert (steps > np.abs(np.diff(smooth.accelerations, axis=0)).max(axis=0)).all()


def test_limits_of_acceleration_and_of_the_rate_of_efforts_are_kept():
    pytest.importorskip("toppra")
    robot = rne.load_urdf("panda")
    way = np.clip(0.4 * rne.random_configuration(robot, 3, 4), robot.lower, robot.upper)
    free = rne.retimed(robot, way)
    limited = rne.retimed(robot, way, acceleration=3.0)
    assert np.abs(finely(free)[2]).max() > 5.0
    assert np.abs(finely(limited)[2]).max() <= 3.0 * (1.0 + 1e-2)
    gentle = rne.retimed(robot, way, effort_rate=10.0 * robot.effort_limit)
    q, qd, qdd = finely(gentle)
    rate = np.abs(np.diff(rne.inverse_dynamics(robot, q, qd, qdd)[::30], axis=0)) / (gentle.duration * 30 / 2999)
    assert (rate <= 10.3 * robot.effort_limit).all()
    assert free.duration < gentle.duration < limited.duration


def test_a_trajectory_keeps_its_curve_and_stops_where_it_turns_back():
    pytest.importorskip("toppra")
    robot = rne.load_urdf("ur10")
    t = np.linspace(0.0, 5.0, 51)
    q = np.array([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]) + np.outer(np.sin(0.2 * np.pi * t), np.linspace(0.5, -0.5, 6))
    q += np.outer(np.sin(0.4 * np.pi * t), [0.2, 0.0, 0.0, 1.0, 0.0, 0.0])
    qd, qdd = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    given = rne.SampledTrajectory(t, q, qd, qdd, robot.joint_names)
    motion = rne.retimed(robot, given, tolerance=2e-4)
    assert motion.duration < 0.5 * given.duration
    assert distance(finely(motion, 50)[0], finely(given, 10_000)[0]) < 4e-4
    np.testing.assert_allclose(motion.positions[[0, -1]], q[[0, -1]], atol=1e-9)
    turning, still = q[[0, 20, 0, 40]], np.zeros((4, 6))
    back = rne.SampledTrajectory([0.0, 2.0, 4.0, 6.0], turning, still, still, robot.joint_names)
    motion = rne.retimed(robot, back)
    assert distance(turning, motion.positions) < 1e-9
    assert (np.abs(motion.velocities).max(axis=1) == 0.0).sum() == 4
    assert (np.diff(motion.times) > 0.005).all()
    assert efforts(robot, *finely(motion)).max() <= 0.973
    with pytest.raises(TrajectoryError, match="tolerance is 1e-09"):
        rne.retimed(robot, given, tolerance=1e-9)


def test_what_is_no_path_or_has_no_limits_is_refused():
    robot, one = rne.load_urdf("puma560"), np.zeros((1, 6))
    far = np.array([np.zeros(6), np.full(6, 9.0)])
    unlimited = rne.load_urdf(arm(('effort="30" velocity="4"', 'effort="30" velocity="0"')))
    for arguments, text in (
        ((robot, one), r"shape \(1, 6\)"), ((robot, np.zeros((2, 6))), "are the same"),
        ((robot, far), "waypoint 1: joint"), ((robot, np.nan * far), "is at nan"),
        ((unlimited, [[0.0], [1.0]]), "has the velocity limit 0"),
    ):
        with pytest.raises(TrajectoryError, match=text):
            rne.retimed(*arguments)
    with pytest.raises(TrajectoryError, match=r"effort of retimed is 1\.5"):
        rne.retimed(robot, far, effort=1.5)
    with pytest.raises(TrajectoryError, match=r"at least 0\.012 s"):
        rne.retimed(robot, far, smoothing=0.01)
    with pytest.raises(TrajectoryError, match="acceleration of retimed"):
        rne.retimed(robot, far, acceleration=0.0)


def test_a_spline_beyond_a_limit_is_refused():
    pytest.importorskip("toppra")
    robot = rne.load_urdf("puma560")
    way = np.zeros((4, 6))
    way[:, 0], way[:, 3] = [0.0, robot.upper[0], robot.upper[0] - 0.01, 0.0], [0.0, 0.1, 0.2, 1.0]
    with pytest.raises(TrajectoryError, match="path between the waypoints: joint 'joint1'"):
        rne.retimed(robot, way)
    still = np.zeros((2, 6))
    with pytest.raises(TrajectoryError, match="does not move"):
        rne.retimed(robot, rne.SampledTrajectory([0.0, 1.0], still, still))


def test_an_arm_that_cannot_hold_itself_is_refused():
    pytest.importorskip("toppra")
    robot = rne.load_urdf("puma560")
    weak = robot.with_effort_limit(0.3 * robot.effort_limit)
    with pytest.raises(TrajectoryError, match="cannot hold itself"):
        rne.retimed(weak, [np.zeros(6), np.array([0.3, 0.5, -0.5, 0.0, 0.0, 0.0])])


def test_without_toppra_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *arguments, **options):
        if name.startswith("toppra"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingDependencyError, match="retime"):
        rne.retimed(rne.load_urdf("puma560"), [np.zeros(6), np.full(6, 0.1)])
