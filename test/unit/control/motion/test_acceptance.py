"""What is accepted and what is refused, and why; thousands of hostile requests."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from support.hostile_trajectories import (
    BLEND,
    JOINTS,
    LIMITS,
    STAMP,
    N,
    Request,
    Row,
    follow_and_look,
    look_at_all,
    plain_points,
    plain_time,
    requests,
    split,
)

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.acceptance import (
    LONGEST_TRAJECTORY,
    MOST_POINTS,
    MOST_POSITIONS,
    Accepted,
    CurrentMotion,
    Rules,
    accept_points,
    check_count,
    read_points,
)
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.errors import TrajectoryError

ROW = [0.1, 0.2, 0.3]
ZERO = [0.0] * N
HERE = np.array(ROW)
REST = Reference(HERE, np.zeros(N), np.zeros(N))


def offer(request: Request, typed: bool = True, rate: float = 1.0, **given) -> Accepted:
    return accept_points(
        request.names, plain_points(request, typed), plain_time(request.header),
        CurrentMotion(STAMP, lambda stamp: request.now, rate), Rules(LIMITS, BLEND, **given),
    )


def ask(*points, names=JOINTS, header=(0, 0), now: Reference = REST) -> Request:
    """Points as (time in s, positions, velocities, accelerations)."""
    rows = [
        Row(*[list(p[k]) if len(p) > k else [] for k in (1, 2, 3)], split(round(p[0] * 1e9))) for p in points
    ]
    return Request(list(names), rows, header, now)


def start_of(accepted: Accepted, now: Reference, rate: float = 1.0) -> Motion:
    motion = Motion(accepted.trajectory, accepted.start, Tolerances(JOINTS), blend_time=accepted.blend_time)
    motion.begin(accepted.start + round(accepted.begin * 1e9), now, rate=rate)
    return motion


@pytest.mark.parametrize("offered", [400, pytest.param(1000, marks=pytest.mark.slow)])
def test_hostile_requests_are_refused_with_a_text_or_stay_within_limits(offered):
    typed = itertools.cycle((True, False))
    count, refusals = look_at_all(requests(1, offered), lambda r: offer(r, next(typed)), 1)
    assert 0.2 * offered < count < 0.6 * offered
    assert len(refusals) > 15


def test_a_start_where_the_arm_is_is_taken_as_it_is():
    accepted = offer(ask((0.0, HERE, ZERO, ZERO), (1.0, [0.2, 0.3, 0.4], ZERO, ZERO)))
    assert accepted.start == STAMP
    assert accepted.begin == 0.0
    assert accepted.path.base is accepted.trajectory.path
    assert not accepted.path.offsets.any()


def test_a_first_point_to_come_is_reached_from_where_the_arm_is_without_a_blend():
    now = Reference(HERE, np.array([0.1, -0.2, 0.3]), np.array([0.5, 0.0, -0.5]))
    goal = ([0.3, 0.3, 0.4], np.zeros(N), np.zeros(N))
    for late in (0.0, 0.4):
        accepted = offer(ask((1.0, *goal), header=split(STAMP - round(late * 1e9)), now=now))
        assert accepted.begin == late
        assert accepted.trajectory.times.tolist() == [late, 1.0]
        assert len(accepted.path.knots) == 2
        for one, other in zip(accepted.path.sample(late), now, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("away", [0.002, 0.01, 0.025])
def test_a_first_point_a_little_away_is_blended_next_to_a_motion_at_the_limit(away):
    # at its velocity limit of 1 rad/s from 0.15 s on, where a blend of 0.2 s would still add to it
    q = [HERE + np.array([0.0, x, 0.0]) for x in (0.0, 0.075, 0.725, 0.8)]
    qd = [np.array([0.0, v, 0.0]) for v in (0.0, 1.0, 1.0, 0.0)]
    points = [(t, *row) for t, *row in zip((0.0, 0.15, 0.8, 0.95), q, qd, strict=True)]
    now = Reference(HERE - away, np.zeros(N), np.zeros(N))
    accepted = offer(ask(*points, now=now))
    assert accepted.blend_time < BLEND
    follow_and_look(accepted, now, np.random.default_rng(0))


def test_a_late_trajectory_is_joined_at_its_next_point_where_the_arm_is_not_on_it():
    points = [(t, HERE + 0.15 * t, np.full(N, 0.15 * (t < 3.0))) for t in (0.0, 1.0, 2.0, 3.0)]
    accepted = offer(ask(*points, header=split(STAMP - 1_500_000_000)))
    assert (accepted.begin, accepted.trajectory.times.tolist()) == (1.5, [1.5, 2.0, 3.0])
    for t, q in ((1.5, HERE), (2.0, HERE + 0.3), (3.0, HERE + 0.45)):
        np.testing.assert_allclose(accepted.path.sample(t).q, q, rtol=1e-12)
    follow_and_look(accepted, REST, np.random.default_rng(0))
    with pytest.raises(TrajectoryError, match="joint 'shoulder' would move at"):  # too late for the point at 2 s
        offer(ask(*points, header=split(STAMP - 1_900_000_000)))
    with pytest.raises(TrajectoryError, match="it has ended already"):
        offer(ask(*points, header=split(STAMP - 3_000_000_001)))


def test_a_last_point_that_moves_is_refused_or_followed_by_coming_to_rest():
    request = ask((1.0, HERE + 0.2, [0.0, 0.3, -0.1]))
    with pytest.raises(TrajectoryError, match=r"'elbow' has velocity 0\.3 in the last.*allow_nonzero_velocity_at_traj"):
        offer(request)
    for accelerations in ([], [0.5, 0.0, 0.0]):
        request.rows[0].accelerations = accelerations
        accepted = offer(request, moving_end=True)
        at_last, end = accepted.path.sample(1.0), accepted.path.sample(1.0 + BLEND)
        np.testing.assert_allclose(at_last.q, HERE + 0.2, rtol=1e-12)
        np.testing.assert_allclose(at_last.qd, [0.0, 0.3, -0.1], atol=1e-12)
        assert accepted.path.duration == 1.0 + BLEND
        assert not end.qd.any()
        np.testing.assert_allclose(end.q[1:], HERE[1:] + 0.2 + 0.5 * BLEND * np.array([0.3, -0.1]), rtol=1e-12)
        follow_and_look(accepted, REST, np.random.default_rng(0))
    near = ask((2.0, [1.49, 0.2, 0.3], [0.5, 0.0, 0.0]))  # it comes to rest sooner, before the limit of 1.5 rad
    accepted = offer(near, moving_end=True)
    assert 1.49 < accepted.path.sample(10.0).q[0] <= 1.5
    with pytest.raises(TrajectoryError, match=r"joint 'shoulder' would be at 1\.5"):
        offer(ask((2.0, [1.4999, 0.2, 0.3], [0.5, 0.0, 0.0])), moving_end=True)


def test_joints_that_are_not_named_come_to_rest_and_hold():
    now = Reference(HERE, np.array([0.0, -0.4, 0.5]), np.array([0.0, 0.3, 0.0]))
    accepted = offer(ask((1.0, [0.5, 0.6], [0.0, 0.0]), names=("wrist", "shoulder"), now=now))
    end = accepted.path.sample(5.0).q
    np.testing.assert_allclose(end, [0.6, 0.2 - 0.4 * 0.1, 0.5], rtol=1e-14)
    resting = accepted.path.sample(BLEND)
    assert abs(resting.qd[1]) < 1e-15
    follow_and_look(accepted, now, np.random.default_rng(0))


def test_joints_at_rest_that_are_not_named_stay_to_the_last_bit():
    accepted = offer(ask((1.0, [0.5]), names=("wrist",)))
    for t in np.linspace(0.0, 2.0, 30):
        np.testing.assert_array_equal(accepted.path.sample(t).q[:2], HERE[:2])


def test_a_stamp_in_the_past_joins_the_trajectory_where_it_would_be():
    points = [(t, HERE + 0.1 * t, np.full(N, 0.1 * (t < 2.0))) for t in (0.0, 1.0, 2.0)]
    now = Reference(HERE + 0.04, np.zeros(N), np.zeros(N))
    accepted = offer(ask(*points, header=split(STAMP - 500_000_000), now=now))
    assert (accepted.start, accepted.begin) == (STAMP - 500_000_000, 0.5)
    motion = start_of(accepted, now)
    after = motion.advance(STAMP + 200_000_000)
    np.testing.assert_allclose(after.q, HERE + 0.07, rtol=1e-12)
    with pytest.raises(TrajectoryError, match="it has ended already"):
        offer(ask(*points, header=split(STAMP - 2_000_000_001), now=now))


def test_a_stamp_to_come_is_checked_against_what_the_arm_will_do_then():
    asked_for = []

    def followed(stamp: int) -> Reference:
        asked_for.append(stamp)
        return Reference(HERE + 0.3, np.zeros(N), np.zeros(N))

    request = ask((0.0, HERE + 0.3), (1.0, HERE), header=split(STAMP + 10**9))
    accepted = accept_points(
        request.names, plain_points(request, True), plain_time(request.header), CurrentMotion(STAMP, followed),
        Rules(LIMITS, BLEND),
    )
    assert asked_for == [STAMP + 10**9]
    assert (accepted.start, accepted.begin) == (STAMP + 10**9, 0.0)


def test_at_a_low_speed_a_motion_is_taken_over_in_terms_of_that_speed():
    now = Reference(HERE, np.array([0.1, 0.05, 0.2]), np.zeros(N))
    request = ask((1.0, HERE + 0.4, ZERO, ZERO), now=now)
    accepted = offer(request, rate=0.1)
    motion = start_of(accepted, now, rate=0.1)
    assert len(motion.path.knots) == 2  # nothing to blend
    np.testing.assert_array_equal(motion.reference.qd, now.qd)
    assert (np.abs(motion.advance(accepted.start + 10**6, 0.1).qd - now.qd) < 1e-2).all()


def test_an_arm_outside_its_limits_may_come_back_but_not_go_further():
    now = Reference(np.array([1.7, 0.0, 0.0]), np.zeros(N), np.zeros(N))
    offer(ask((2.0, [1.4, 0.0, 0.0], np.zeros(N)), now=now))
    offer(ask((2.0, [1.7, 0.1, 0.0], np.zeros(N)), now=now))
    with pytest.raises(TrajectoryError, match=r"joint 'shoulder' would be at 1.70.*allowed is \[-1, 1.5\]"):
        offer(ask((2.0, [1.71, 0.0, 0.0], np.zeros(N)), now=now))


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (ask(), "it has no points"),
        (ask((1.0, ROW[:2])), "point 0 has 2 positions for 3 joints"),
        (ask((1.0, ROW), (2.0, [])), "1 of 2 points have positions"),
        (ask((1.0, [])), "point 0 has 0 positions for 3 joints"),
        (ask((1.0, ROW, ZERO), (2.0, ROW)), "1 of 2 points have velocities"),
        (ask((1.0, ROW, [], ZERO)), "accelerations but no velocities"),
        (ask((1.0, [0.1, np.nan, 0.3])), "positions of joint 'elbow' is nan"),
        (ask((1.0, ROW, [0.0, 0.0, np.inf])), "velocities of joint 'wrist' is inf"),
        (ask((1.0, ROW), (1.0, ROW)), "times must increase"),
        (ask((2.0, ROW), (1.0, ROW)), "times must increase"),
        (ask((-0.5, ROW)), "point 0: its time is -1 s and 500000000 ns"),
        (ask((LONGEST_TRAJECTORY + 1.0, ROW)), "at most 86400 s are taken"),
        (ask((1.0, ROW), header=(-5, 0)), "the header's stamp is -5 s"),
        (ask((1.0, ROW), header=(5, 2**32 - 1)), "nanoseconds must be below a second"),
        (ask((1.0, ROW), header=(5, 0)), "away from the joint states' time; leave the header's stamp zero"),
        (ask((1.0, []), names=()), "names no joints"),
        (ask((1.0, ROW), names=("shoulder", "finger", "wrist")),
         "unknown joints: 'finger'; the controller has shoulder, elbow, wrist"),
        (ask((1.0, [*ROW, 0.1]), names=(*JOINTS, "elbow")), "names joint 'elbow' more than once"),
        (ask((0.0, [0.1, 0.3, 0.3]), (1.0, ROW)), "joint 'elbow': the trajectory starts at 0.3, 0.1 away"),
        (ask((1.0, ROW, [0.0, 0.3, 0.0])), "joint 'elbow' has velocity 0.3 in the last point"),
        (ask((1.0, [0.1, 2.5, 0.3])), "joint 'elbow' would be at 2.5"),
        (ask((1.0, [0.1, 1.9, 0.3], ZERO)), r"would move at .*allowed is 1. Give the trajectory more time"),
        (ask((0.0, ROW), (1.0, [0.1, 1.1, 0.3])), "led onto the trajectory"),  # 0.9 rad/s at once, from rest
        (ask((1.0, [0.1, 0.2, 2e6])), "joint 'wrist' would be at 2e"),
        (ask((0.0, ROW, ZERO, [0.0, 0.0, 1e5]), (1.0, ROW, ZERO, [0.0, 0.0, 1.1e6])), "joint 'wrist' would accelerate"),
    ],
)
def test_each_fault_is_named(request_, said):
    for typed in (True, False):
        with pytest.raises(TrajectoryError, match=said):
            offer(request_, typed)


def test_unknown_joints_are_named():
    with pytest.raises(TrajectoryError, match="unknown joints: 'finger'; the controller has shoulder, elbow, wrist"):
        offer(ask((1.0, ROW), names=("shoulder", "finger", "wrist")))


def test_efforts_and_too_many_points_are_refused():
    request = ask((1.0, ROW))
    request.rows[0].effort = ZERO  # as planners fill what they do not use
    for typed in (True, False):
        offer(request, typed)
        for other in ([0.0, 0.1, 0.0], [0.0, 0.0, np.nan]):
            with pytest.raises(TrajectoryError, match="point 0 has efforts other than 0; this controller"):
                offer(replace(request, rows=[replace(request.rows[0], effort=other)]), typed)
    with pytest.raises(TrajectoryError, match=f"it has {MOST_POINTS + 1} points"):
        read_points(JOINTS, range(MOST_POINTS + 1), JOINTS)  # counted before any is looked at
    with pytest.raises(TrajectoryError, match="it has 1001 points; 1 to 1000 are taken"):
        check_count(1001, MOST_POSITIONS // 1000)


def test_a_peak_of_the_blend_between_the_points_is_found():
    # within limits at every point and along every segment; only the blend from what the arm does passes one
    now = Reference(np.array([1.497, 0.0, 0.0]), np.array([0.5, 0.0, 0.0]), np.zeros(N))
    request = ask((0.0, [1.497, 0.0, 0.0], ZERO), (1.0, [1.0, 0.0, 0.0], ZERO), now=now)
    with pytest.raises(TrajectoryError, match=r"joint 'shoulder' would be at 1.5.*led onto the trajectory"):
        offer(request)
    still = replace(request, now=Reference(now.q, np.zeros(N), np.zeros(N)))
    offer(still)


@pytest.mark.parametrize("blend", [0.05, 0.2])
def test_a_stream_of_single_points_is_followed_smoothly(blend):
    # a sine, sent ten times a second as where to be 0.15 s later, as a joystick's node does
    def sine(t: float) -> np.ndarray:
        return np.full(N, 0.3 * np.sin(2.0 * t))

    now, seen = Reference(np.zeros(N), np.zeros(N), np.zeros(N)), []
    for k in range(40):
        stamp = STAMP + k * 100_000_000
        request = ask((0.15, sine(0.1 * k + 0.15)), now=now)
        accepted = accept_points(
            request.names, plain_points(request, True), plain_time(request.header),
            CurrentMotion(stamp, lambda at: request.now), Rules(LIMITS, blend),  # noqa: B023  # called at once
        )
        motion = Motion(accepted.trajectory, stamp, Tolerances(JOINTS), blend_time=blend)
        motion.begin(stamp, now)
        for j in range(1, 101):
            now = motion.advance(stamp + j * 1_000_000)
            seen.append((np.abs(now.q - sine(0.1 * k + 1e-3 * j)).max(), np.abs(now.qd).max(), np.abs(now.qdd).max()))
    error, speed, acceleration = np.array(seen[1000:]).max(axis=0)
    assert error < 0.01
    assert speed < 0.65
    assert acceleration < 10.0
