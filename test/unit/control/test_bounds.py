"""Where trajectories leave bounds, compared with what dense sampling and calculus find."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from rne_dynamics.control.motion.path import Departure
from rne_dynamics.control.motion.takeover import takeover
from rne_dynamics.control.trajectory import SampledTrajectory

FREE = np.full(3, np.inf)
#: What bounds are of, in the order of a sample.
ORDERS = ("position", "velocity", "acceleration")


def trajectory(kind: str, seed: int = 0, points: int = 12) -> SampledTrajectory:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 1.0, points))
    q, qd, qdd = rng.normal(size=(3, points, 3))
    return SampledTrajectory(times, q, *{"linear": (), "cubic": (qd,), "quintic": (qd, qdd)}[kind])


def departure(trajectory: SampledTrajectory, what: str, lower: np.ndarray, upper: np.ndarray) -> Departure | None:
    """An early time at which a joint is outside its bounds, (n,) each; None for never."""
    bounds = np.full((3, 2, trajectory.positions.shape[1]), [[-np.inf], [np.inf]])
    bounds[ORDERS.index(what)] = lower, upper
    path = takeover(trajectory.path, trajectory.path.begin, trajectory.path.sample(trajectory.path.begin), 1.0)
    found = path.departure(bounds, 0, len(path.base.knots))
    return None if found is None else found[1]


@cache
def dense(kind: str, seed: int) -> dict[str, np.ndarray]:
    """Samples of `trajectory` at many places, the two sides of each point included."""
    path = trajectory(kind, seed)
    places = [np.linspace(a, np.nextafter(b, a), 1000) for a, b in pairwise(path.times)]
    samples = path.samples(np.concatenate([*places, path.times[-1:]]))
    return dict(zip(ORDERS, np.moveaxis(samples, 1, 0), strict=True))


@pytest.mark.parametrize(("kind", "what"), [
    ("linear", "position"), ("linear", "velocity"), *((kind, what) for kind in ("cubic", "quintic") for what in ORDERS),
])  # fmt: skip
@pytest.mark.parametrize("seed", range(2))
def test_the_true_extremes_are_within_and_anything_tighter_is_not(kind, what, seed):
    path = trajectory(kind, seed)
    values = dense(kind, seed)[what]
    low, high = values.min(axis=0), values.max(axis=0)
    slack = 1e-4 * (high - low)  # what 1000 places a segment may miss
    assert departure(path, what, low - slack, high + slack) is None
    for j in range(3):
        for lower, upper in ((low + slack, FREE), (-FREE, high - slack)):
            only = np.arange(3) == j
            found = departure(path, what, np.where(only, lower, -np.inf), np.where(only, upper, np.inf))
            assert found is not None
            assert found.joint == j
            assert not lower[j] <= found.value <= upper[j]
            assert path.times[0] <= found.t <= path.times[-1]
            inside = np.nextafter(found.t, [path.times[0], path.times[-1]])
            near = [path.sample(t) for t in (found.t, *inside)]  # linear ones jump in speed at the points
            assert min(abs(s[ORDERS.index(what)][j] - found.value) for s in near) < 1e-6


@pytest.mark.parametrize(("path", "what", "peak", "when"), [
    # rest to rest over 1 rad in 2 s, half way; and 4 t (1 − t)²
    (SampledTrajectory([0.0, 2.0], [[0.0], [1.0]], [[0.0], [0.0]], [[0.0], [0.0]]), "velocity", 15.0 / 16.0, 1.0),
    (SampledTrajectory([0.0, 1.0], [[0.0], [0.0]], [[4.0], [0.0]]), "position", 16.0 / 27.0, 1.0 / 3.0),
], ids=["velocity", "position"])  # fmt: skip
def test_a_peak_between_the_points_is_found_however_narrow(path, what, peak, when):
    assert departure(path, what, -FREE[:1], np.array([peak + 1e-9])) is None
    found = departure(path, what, -FREE[:1], np.array([peak - 1e-9]))
    assert found is not None
    assert found.t == pytest.approx(when, abs=1e-3)


def test_a_single_point_and_numbers_that_overflow():
    single = SampledTrajectory(np.array([1.0]), np.array([[0.1, 0.2, 0.9]]))
    found = departure(single, "position", -FREE, np.array([0.5, 0.5, 0.5]))
    assert found is not None
    assert (found.t, found.joint, found.value) == (1.0, 2, 0.9)
    assert departure(single, "velocity", np.zeros(3), np.zeros(3)) is None
    with np.errstate(all="ignore"):
        huge = SampledTrajectory(np.array([0.0, 1.0]), np.array([[-1e308], [1e308]]), np.zeros((2, 1)))
        assert departure(huge, "position", -FREE[:1], FREE[:1]) is not None
