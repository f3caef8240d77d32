"""Where trajectories leave bounds, compared with what dense sampling and calculus find."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from rne_dynamics.control.trajectory import SampledTrajectory

FREE = np.full(3, np.inf)


def trajectory(kind: str, seed: int = 0, points: int = 12) -> SampledTrajectory:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 1.0, points))
    q, qd, qdd = rng.normal(size=(3, points, 3))
    return SampledTrajectory(times, q, *{"linear": (), "cubic": (qd,), "quintic": (qd, qdd)}[kind])


@cache
def dense(kind: str, seed: int) -> dict[str, np.ndarray]:
    """Samples of `trajectory` at many places, the two sides of each point included."""
    path = trajectory(kind, seed)
    places = [np.linspace(a, np.nextafter(b, a), 1000) for a, b in pairwise(path.times)]
    samples = [path.sample(t) for t in np.concatenate([*places, path.times[-1:]])]
    return {"position": np.array([s.q for s in samples]), "velocity": np.array([s.qd for s in samples]),
            "acceleration": np.array([s.qdd for s in samples])}  # fmt: skip


@pytest.mark.parametrize("kind", ["linear", "cubic", "quintic"])
@pytest.mark.parametrize("what", ["position", "velocity"])
@pytest.mark.parametrize("seed", range(5))
def test_the_true_extremes_are_within_and_anything_tighter_is_not(kind, what, seed):
    path = trajectory(kind, seed)
    values = dense(kind, seed)[what]
    low, high = values.min(axis=0), values.max(axis=0)
    slack = 1e-4 * (high - low)  # what 1000 places a segment may miss
    assert path.departure(what, low - slack, high + slack) is None
    for j in range(3):
        for lower, upper in ((low + slack, FREE), (-FREE, high - slack)):
            only = np.arange(3) == j
            found = path.departure(what, np.where(only, lower, -np.inf), np.where(only, upper, np.inf))
            assert found is not None
            assert found.joint == j
            assert not lower[j] <= found.value <= upper[j]
            assert path.times[0] <= found.t <= path.times[-1]
            inside = np.nextafter(found.t, [path.times[0], path.times[-1]])
            near = [path.sample(t) for t in (found.t, *inside)]  # linear ones jump in speed at the points
            assert min(abs((s.q if what == "position" else s.qd)[j] - found.value) for s in near) < 1e-6


@pytest.mark.parametrize("kind", ["cubic", "quintic"])
def test_accelerations_are_looked_at_too(kind):
    path = trajectory(kind, 3)
    values = dense(kind, 3)["acceleration"]
    low, high = values.min(axis=0), values.max(axis=0)
    slack = 1e-4 * (high - low)
    assert path.departure("acceleration", low - slack, high + slack) is None
    found = path.departure("acceleration", low - slack, high - slack)
    assert found is not None
    assert found.value > (high - slack)[found.joint]


def test_a_peak_between_the_points_is_found_however_narrow():
    # rest to rest over 1 rad in 2 s: the speed's peak is 15/16 rad/s, half way, and nowhere else
    path = SampledTrajectory(np.array([0.0, 2.0]), np.array([[0.0], [1.0]]), np.zeros((2, 1)), np.zeros((2, 1)))
    peak = np.array([15.0 / 16.0])
    assert path.departure("velocity", -peak - 1e-9, peak + 1e-9) is None
    found = path.departure("velocity", -peak, peak - 1e-9)
    assert found is not None
    assert found.t == pytest.approx(1.0, abs=1e-3)


def test_an_overshoot_that_eight_places_a_segment_would_miss_is_found():
    path = SampledTrajectory(np.array([0.0, 1.0]), np.zeros((2, 1)), np.array([[4.0], [0.0]]))  # 4 t (1 − t)²
    top = 16.0 / 27.0  # at 1/3
    places = max(path.sample(t).q[0] for t in np.linspace(0.0, 1.0, 9))
    bound = np.array([0.5 * (places + top)])
    found = path.departure("position", -FREE[:1], bound)
    assert found is not None
    assert found.value > bound[0]
    assert path.departure("position", -FREE[:1], np.array([top + 1e-9])) is None


def test_a_single_point_and_numbers_that_overflow():
    single = SampledTrajectory(np.array([1.0]), np.array([[0.1, 0.2, 0.9]]))
    found = single.departure("position", -FREE, np.array([0.5, 0.5, 0.5]))
    assert found is not None
    assert (found.t, found.joint, found.value) == (1.0, 2, 0.9)
    assert single.departure("velocity", np.zeros(3), np.zeros(3)) is None
    with np.errstate(all="ignore"):
        huge = SampledTrajectory(np.array([0.0, 1.0]), np.array([[-1e308], [1e308]]), np.zeros((2, 1)))
        assert huge.departure("position", -FREE[:1], FREE[:1]) is not None
