"""A motion that begins: what is followed was checked, whatever happened since it was accepted; at little cost."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from support.hostile_trajectories import JOINTS, LIMITS, STAMP, N, plain_points, plain_time, sane

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.acceptance import Accepted, CurrentMotion, Rules, accept_points
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion, warm_up
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError

REST = Reference(np.zeros(N), np.zeros(N), np.zeros(N))


def some(rng: np.random.Generator, blend: float) -> tuple[Accepted, Reference] | None:
    """A trajectory that is accepted, and what the arm does then."""
    request = sane(rng)
    try:
        return accept_points(
            request.names, plain_points(request, True), plain_time(request.header),
            CurrentMotion(STAMP, lambda stamp: request.now), Rules(LIMITS, blend),
        ), request.now
    except TrajectoryError:
        return None


@pytest.mark.parametrize("blend", [0.05, *(pytest.param(blend, marks=pytest.mark.slow) for blend in (0.01, 0.3))])
def test_after_a_gap_it_is_refused_or_stays_within_the_limits_and_near_the_arm(blend):
    rng, begun, refused = np.random.default_rng(3), 0, 0
    while begun < 25 or refused < 25:
        found = some(rng, blend)
        if found is None:
            continue
        accepted, now = found
        gap = float(rng.choice([1e-3, 0.05, 0.4]))
        now = Reference(  # the motion before went on, or another one came in between
            now.q + gap * now.qd + rng.choice([0.0, 0.04]) * rng.uniform(-1.0, 1.0, N), now.qd, now.qdd
        )
        motion = accepted.motion(Tolerances(JOINTS))
        at = accepted.start + round((accepted.begin + gap) * 1e9)
        rate = float(rng.choice([1.0, 0.3]))
        seen = []
        try:
            motion.begin(at, now, rate=rate)
            for k in range(1500):
                seen.append(motion.advance(at + k * 1_000_000))
        except TrajectoryError:
            refused += 1
        else:
            begun += 1
            first = accepted.trajectory.path.sample(accepted.begin + gap).q
            assert (np.abs(first - now.q) <= accepted.limits.start).all()
        if not seen:
            continue
        q, qd, _ = (np.array(part) for part in zip(*seen, strict=True))
        assert (q >= np.minimum(LIMITS.lower, now.q) - 2e-9).all()
        assert (q <= np.maximum(LIMITS.upper, now.q) + 2e-9).all()
        assert (np.abs(qd) <= np.maximum(LIMITS.velocity, np.abs(now.qd)) + 2e-9).all()


def test_a_joint_that_is_not_named_stays_where_it_was_foreseen():
    request = sane(np.random.default_rng(0))
    points = plain_points(request, True)[:1]
    points[0].positions, points[0].velocities, points[0].accelerations = [0.0], [], []
    points[0].time_from_start = plain_time((1, 0))
    accepted = accept_points(
        JOINTS[:1], points, plain_time((0, 0)), CurrentMotion(STAMP, lambda stamp: REST), Rules(LIMITS, 0.3)
    )
    motion = accepted.motion(Tolerances(JOINTS))
    motion.begin(STAMP, REST)
    elsewhere = REST._replace(q=np.array([0.0, 0.3, 0.0]))
    with pytest.raises(TrajectoryError, match=r"joint 'elbow': the trajectory starts at 0, 0\.3 away"):
        motion.begin(STAMP, elsewhere)


def long_motion(points: int) -> Motion:
    """A slow sine through many points, one each millisecond."""
    n = 7
    joints, wide = tuple(f"joint{j}" for j in range(n)), np.full(n, 3.0)
    t = 1e-3 * np.arange(points)
    q = 0.5 * np.sin(0.3 * t)[:, None] * np.ones(n)
    qd = 0.15 * np.cos(0.3 * t)[:, None] * np.ones(n)
    limits = MotionLimits(joints, -wide, wide, wide, 0.05)
    return Motion(SampledTrajectory(t, q, qd, -0.09 * q), 0, Tolerances(joints), blend_time=0.3, limits=limits)


def test_it_is_pickled_as_arrays_and_the_same_afterwards():
    motion = long_motion(2000)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(motion, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 4000
    assert sum(b.raw().nbytes for b in buffers) < 1.1 * 2000 * 8 * 43
    shared = pickle.loads(data, buffers=[bytes(b.raw()) for b in buffers])
    plain = pickle.loads(pickle.dumps(motion))
    for other in (shared, plain):
        for one in (motion, other):
            one.begin(10**6, Reference(np.full(7, 0.01), np.zeros(7), np.zeros(7)))
        for k in range(1, 300, 20):
            expected, seen = motion.advance(k * 10**6), other.advance(k * 10**6)
            np.testing.assert_array_equal(np.array(seen), np.array(expected))


def test_what_a_cycle_does_for_it_does_not_grow_with_its_length():
    warm_up(7)

    def cost(points: int) -> tuple[float, float]:
        motion, now, took = long_motion(points), Reference(np.full(7, 0.01), np.full(7, 0.1), np.zeros(7)), []
        for k in range(20):
            before = time.process_time()
            motion.begin((1 + k) * 10**6, now)
            between = time.process_time()
            for j in range(10):
                motion.advance((2 + k + j) * 10**6)
            took.append((between - before, (time.process_time() - between) / 10))
        best = np.min(took, axis=0)
        return float(best[0]), float(best[1])

    short, long = cost(1000), cost(60_000)
    assert long[0] < 2.0 * short[0] + 1e-4
    assert long[1] < 2.0 * short[1] + 1e-4


def test_a_way_onto_the_trajectory_through_many_points_is_checked_in_parts_before_it_is_followed():
    t = np.linspace(0.0, 1.0, 20_001)
    q = np.zeros((len(t), N))
    limits = MotionLimits(JOINTS, LIMITS.lower, LIMITS.upper, np.array([2.0, 1.0, 1.0]), 1.0)
    motion = Motion(SampledTrajectory(t, q), 0, Tolerances(JOINTS), blend_time=0.5, limits=limits)
    motion.begin(0, REST._replace(q=np.array([0.0, 0.0, 0.4])))  # its fastest point is in the middle of the blend
    seen: list[float] = []

    def follow() -> None:
        for k in range(1, 500):
            seen.append(motion.advance(k * 1_000_000).qd[2])

    with pytest.raises(TrajectoryError, match=r"joint 'wrist' would move at .* led onto the trajectory"):
        follow()
    assert 0 < len(seen) < 250
    assert np.abs(seen).max() <= 1.0
