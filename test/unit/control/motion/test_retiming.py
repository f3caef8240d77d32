"""Retimed paths: faster than the fastest quintic, within limits of effort with friction, and followed."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
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
        q, qd, qdd = np.array([rne.Quintic(start, end, middle).sample(x * middle) for x in parts]).transpose(1, 0, 2)
        kept = (efforts(robot, q, qd, qdd) <= 1.0).all() and (np.abs(qd) <= robot.velocity_limit).all()
        low, high = (low, middle) if kept else (middle, high)
    return high


@pytest.mark.parametrize("name", ["puma560", "ur10", "panda"])
def test_paths_are_faster_than_quintics_within_the_efforts_and_followed(name):
    pytest.importorskip("toppra")
    robot, rng, gained = rne.load_urdf(name), np.random.default_rng(1), []
    law = rne.ComputedTorque(robot, rne.Gains.critically_damped(robot.n, 40.0), rne.FrictionCompensation(1.0, 0.001))
    for _ in range(3):
        way = np.clip(0.6 * rne.random_configuration(robot, rng, 2), robot.lower, robot.upper)
        motion = rne.retimed(robot, way)
        assert efforts(robot, motion.positions, motion.velocities, motion.accelerations).max() <= 0.95 + 1e-9
        assert (np.abs(motion.velocities) <= 0.98 * robot.velocity_limit * (1.0 + 1e-6)).all()
        np.testing.assert_allclose(motion.positions[[0, -1]], way, atol=1e-9)
        log = rne.simulate(rne.ArmPlant(robot), law, motion, seconds=motion.times[-1] + 0.1)
        assert (np.abs(log.effort) <= robot.effort_limit).all()
        assert np.abs(log.q - np.array([motion.sample(t).q for t in log.time])).max() < 5e-3
        gained.append(fastest_quintic(robot, *way) / motion.times[-1])
    assert np.median(gained) >= 1.5


def test_a_spline_leads_through_all_waypoints():
    pytest.importorskip("toppra")
    robot = rne.load_urdf("puma560")
    way = np.clip(0.4 * rne.random_configuration(robot, 3, 5), robot.lower, robot.upper)
    motion = rne.retimed(robot, way, smoothing=0.02)
    for point in way:
        assert np.abs(motion.positions - point).max(axis=1).min() < 0.03
    steps = np.abs(np.diff(motion.accelerations, axis=0)).max(axis=0)
    rough = rne.retimed(robot, way, smoothing=1e-6)
    assert (steps < np.abs(np.diff(rough.accelerations, axis=0)).max(axis=0)).all()


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
