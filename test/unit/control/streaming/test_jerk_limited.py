"""The step towards a moving aim: limits in every step, no overshoot, time-optimal within the reserve."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.control.streaming.limits import ACCELERATION, JERK, LOWER, UPPER, VELOCITY, follow_kernel

V, A, J = 2.0, 10.0, 200.0
HORIZON, STEP = 0.02, 1e-3


def table(n: int, lower: float = -10.0, upper: float = 10.0) -> np.ndarray:
    limits = np.empty((5, n))
    limits[LOWER], limits[UPPER], limits[VELOCITY], limits[ACCELERATION], limits[JERK] = lower, upper, V, A, J
    return limits


def approach(aim: np.ndarray, seconds: float, limits: np.ndarray, step: float = STEP) -> np.ndarray:
    """States from rest at 0 towards an aim at constant velocity, (steps, 3, n)."""
    state, rows = np.zeros(aim.shape), []
    for k in range(round(seconds / step)):
        follow_kernel(state, aim, k * step, 0.0, limits, 1.0, HORIZON, step)
        rows.append(state.copy())
    return np.array(rows)


def random_aims(n: int, seed: int) -> np.ndarray:
    """Places up to 3 rad away that move at up to half of the velocity limit."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(-3.0, 3.0, n), rng.uniform(-1.0, 1.0, n), np.zeros(n)])


def test_a_distant_aim_is_reached_without_passing_it_or_a_limit():
    aim = random_aims(50, 1)
    rows = approach(aim, 8.0, table(50, -1e3, 1e3))
    t = STEP * np.arange(1, len(rows) + 1)[:, None]
    off = (aim[0] + t * aim[1] - rows[:, 0]) * np.sign(aim[0])
    assert off.min() > -1e-4, "nothing overshoots"
    assert np.abs(off[-1]).max() < 1e-9
    assert np.abs(rows[-1, 1] - aim[1]).max() < 1e-9
    assert np.abs(rows[:, 1]).max() <= V * (1 + 1e-5)
    assert np.abs(rows[:, 2]).max() <= A * (1 + 1e-9)
    assert np.abs(np.diff(rows[:, 2], axis=0, prepend=0.0)).max() <= J * STEP * (1 + 1e-6)


def test_the_time_is_that_of_ruckig_within_the_reserve():
    """Ruckig solves the same problem in closed form: the time to meet the aim in a frame that moves with it."""
    ruckig = pytest.importorskip("ruckig")
    aim = random_aims(50, 2)
    rows = approach(aim, 8.0, table(50, -1e3, 1e3))
    t = STEP * np.arange(1, len(rows) + 1)[:, None]
    arrived = STEP * (np.abs(aim[0] + t * aim[1] - rows[:, 0]) > 1e-3).sum(axis=0)
    for j in range(50):
        solver, problem, solved = ruckig.Ruckig(1), ruckig.InputParameter(1), ruckig.Trajectory(1)
        problem.current_position, problem.current_velocity = [-aim[0, j]], [-aim[1, j]]
        problem.max_velocity, problem.min_velocity = [V - aim[1, j]], [-V - aim[1, j]]
        problem.max_acceleration, problem.max_jerk = [A], [J]
        solver.calculate(problem, solved)
        # it ends at 1 mm or mrad, and the last part is the quintic's
        assert 0.75 * solved.duration < arrived[j] < 1.03 * solved.duration + HORIZON


@pytest.mark.parametrize("step", [0.5e-3, 2e-3, 0.013])
def test_aims_that_leap_at_random_pass_no_limit(step):
    """Where the aim goes, how fast, and how it is bent does not matter; positions are tight, so that they count."""
    rng, n = np.random.default_rng(3), 6
    limits, state = table(n, -0.5, 0.5), np.zeros((3, n))
    for k in range(3000):
        if k % 10 == 0:
            aim = rng.uniform(-1.0, 1.0, (3, n)) * np.array([[2.0], [2.0 * V], [2.0 * A]])
            near = rng.random(n) < 0.5
            aim[0, near] = state[0, near] + rng.normal(0.0, 0.02, near.sum())
        before = state[2].copy()
        follow_kernel(state, aim, rng.uniform(-0.02, 0.05), 0.02, limits, 1.0, HORIZON, step)
        assert np.abs(state[0]).max() <= 0.5 + 1e-5
        assert np.abs(state[1]).max() <= V * (1 + 1e-4)
        assert np.abs(state[2]).max() <= A * (1 + 1e-9)
        assert np.abs(state[2] - before).max() <= J * step * (1 + 1e-6)


def test_a_deviation_follows_the_linear_equation():
    """With small deviations nothing saturates: h³ e⃛ + 9 h² ë + 36 h ė + 60 e = 0, integrated by SciPy's expm."""
    from scipy.linalg import expm

    state, aim = np.zeros((3, 1)), np.zeros((3, 1))
    state[0] = 1e-7
    h, step = 0.1, 2e-5
    matrix = np.array([[0, 1, 0], [0, 0, 1], [-60 / h**3, -36 / h**2, -9 / h]])
    for _ in range(1000):
        follow_kernel(state, aim, 0.0, 0.0, table(1), 1.0, h, step)
    exact = expm(matrix * 0.02) @ np.array([1e-7, 0.0, 0.0])
    np.testing.assert_allclose(state[:, 0], exact, rtol=1e-3)


def test_an_aim_at_constant_acceleration_has_no_lag():
    state, aim, p = np.zeros((3, 1)), np.zeros((3, 1)), 0.5
    for k in range(800):
        t = k * STEP
        aim[:, 0] = 0.5 * p * t**2, p * t, p
        follow_kernel(state, aim, 0.0, 1.0, table(1), 1.0, HORIZON, STEP)
    t += STEP
    np.testing.assert_allclose(state[:, 0], [0.5 * p * t**2, p * t, p], rtol=1e-9)


def test_at_zero_speed_the_reference_comes_to_rest_and_stays():
    limits, aim = table(1), np.array([[1.0], [0.5], [0.0]])
    state = np.zeros((3, 1))
    for k in range(300):
        follow_kernel(state, aim, k * STEP, 0.0, limits, 1.0, HORIZON, STEP)
    assert state[1, 0] > 0.5
    for k in range(1000):
        before = state[2, 0]
        follow_kernel(state, aim, k * STEP, 0.0, limits, 0.0, HORIZON, STEP)
        assert abs(state[2, 0] - before) <= J * STEP * (1 + 1e-6)
    assert abs(state[1, 0]) < 1e-4
