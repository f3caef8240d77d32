"""A motion that begins: what is followed was checked, whatever happened since it was accepted."""

from __future__ import annotations

import numpy as np
import pytest
from support.hostile_trajectories import JOINTS, LIMITS, STAMP, N, plain_points, plain_time, sane

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.acceptance import Accepted, CurrentMotion, Rules, accept_points
from rne_dynamics.control.motion.limits import MotionLimits, Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import TrajectoryError

REST = Reference(np.zeros(N), np.zeros(N), np.zeros(N))


def some(rng: np.random.Generator) -> tuple[Accepted, Reference] | None:
    """A trajectory that is accepted, and what the arm does then."""
    request = sane(rng)
    try:
        return accept_points(
            request.names, plain_points(request, True), plain_time(request.header),
            CurrentMotion(STAMP, lambda stamp: request.now), Rules(LIMITS, 0.05),
        ), request.now
    except TrajectoryError:
        return None


def test_after_a_gap_it_is_refused_or_stays_within_the_limits_and_near_the_arm():
    rng, begun, refused = np.random.default_rng(3), 0, 0
    while begun < 10 or refused < 10:
        found = some(rng)
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
