from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rne_dynamics.control.trajectory import Hold, Quintic, SampledTrajectory, quintic_duration
from rne_dynamics.errors import TrajectoryError

A, B = np.array([0.3, -1.0]), np.array([1.5, 2.0])


def derivative(trajectory, t, h=1e-5):
    before, after = trajectory.sample(t - h), trajectory.sample(t + h)
    return (after.q - before.q) / (2 * h), (after.qd - before.qd) / (2 * h)


def test_quintic_starts_and_ends_at_rest_without_acceleration():
    quintic = Quintic(A, B, 2.0)
    for t, q in ((0.0, A), (2.0, B), (1e-9, A), (2.0 - 1e-9, B)):
        there = quintic.sample(t)
        np.testing.assert_allclose(there.q, q, atol=1e-14)
        np.testing.assert_allclose(there.qd, 0.0, atol=1e-14)
        np.testing.assert_allclose(there.qdd, 0.0, atol=1e-6)
    middle = quintic.sample(1.0)
    np.testing.assert_allclose(middle.q, 0.5 * (A + B), atol=1e-15)
    np.testing.assert_allclose(middle.qd, 15.0 / 8.0 * (B - A) / 2.0, rtol=1e-14)
    np.testing.assert_allclose(middle.qdd, 0.0, atol=1e-14)


@pytest.mark.parametrize("t", [0.1, 0.7, 1.3, 1.9])
def test_quintic_velocity_and_acceleration_are_derivatives(t):
    quintic = Quintic(A, B, 2.0)
    qd, qdd = derivative(quintic, t)
    np.testing.assert_allclose(quintic.sample(t).qd, qd, atol=1e-8)
    np.testing.assert_allclose(quintic.sample(t).qdd, qdd, atol=1e-8)


@pytest.mark.parametrize("trajectory", [Quintic(A, B, 1.0), SampledTrajectory([0.5, 1.0], [A, B]), Hold(B)])
def test_outside_its_time_a_trajectory_rests_at_its_ends(trajectory):
    for t, q in ((-1.0, trajectory.sample(0.0).q), (5.0, B)):
        there = trajectory.sample(t)
        np.testing.assert_array_equal(there.q, q)
        np.testing.assert_array_equal(there.qd, 0.0)
        np.testing.assert_array_equal(there.qdd, 0.0)


@pytest.mark.parametrize("limits", [(1.2, None), (np.inf, 0.9), (2.0, 1.0), ([1.0, 5.0], [np.inf, 0.5])])
def test_quintic_duration_uses_its_limits_to_the_full_and_no_more(limits):
    velocity, acceleration = limits
    T = quintic_duration(A, B, velocity, acceleration)
    samples = [Quintic(A, B, T).sample(t) for t in np.linspace(0.0, T, 2001)]
    used = np.abs([s.qd for s in samples]).max(axis=0) / velocity
    if acceleration is not None:
        used = np.maximum(used, np.abs([s.qdd for s in samples]).max(axis=0) / acceleration)
    assert used.max() == pytest.approx(1.0, abs=1e-6)
    assert quintic_duration(A, B, velocity, acceleration, scale=0.5) > T


def test_quintic_duration_of_no_move_is_the_minimum():
    assert quintic_duration(A, A, np.inf) == 0.1
    assert quintic_duration(A, A, 1.0, minimum=0.0) == 0.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: quintic_duration(A, B, np.inf), "joint number 0 moves but has neither"),
        (lambda: quintic_duration(A, B, 0.0), "the velocity limit of joint number 0 is 0"),
        (lambda: quintic_duration(A, B, np.nan), "the velocity limit of joint number 0 is nan"),
        (lambda: quintic_duration(A, B, 1.0, scale=0.0), "scale is 0"),
        (lambda: quintic_duration(A, B, 1.0, scale=1.1), "scale is 1.1"),
        (lambda: quintic_duration(A, [0.0], 1.0), "start has 2 joints and the end 1"),
        (lambda: Quintic(A, B, 0.0), "duration is 0.0 s"),
        (lambda: Quintic(A, B, np.nan), "duration is nan s"),
        (lambda: Quintic(A, [1.0], 1.0), "start has 2 joints and the end 1"),
        (lambda: Quintic([0.0, np.inf], B, 1.0), "the start of joint number 1 is inf"),
        (lambda: Hold([np.nan]), "the position to hold of joint number 0 is nan"),
        (lambda: Hold("here"), "it must be numbers"),
    ],
)
def test_moves_that_cannot_be_are_refused(call, said):
    with pytest.raises(TrajectoryError, match=said):
        call()


def test_positions_alone_are_joined_by_straight_lines():
    line = SampledTrajectory([1.0, 3.0, 4.0], [[0.0], [4.0], [3.0]])
    assert line.sample(2.0).q == pytest.approx([2.0])
    assert line.sample(2.0).qd == pytest.approx([2.0])
    assert line.sample(3.5).qd == pytest.approx([-1.0])
    assert line.sample(2.0).qdd == [0.0]


def test_cubic_and_quintic_take_the_coefficients_of_ros2_controllers():
    # t, coefficients and combination as in joint_trajectory_controller/src/trajectory.cpp
    T, x = 0.8, 0.3
    p0, v0, a0, p1, v1, a1 = 0.2, -0.4, 1.1, 0.9, 0.7, -0.6
    cubic = SampledTrajectory([0.0, T], [[p0], [p1]], [[v0], [v1]]).sample(x)
    c2 = (-3 * p0 + 3 * p1 - 2 * v0 * T - v1 * T) / T**2
    c3 = (2 * p0 - 2 * p1 + v0 * T + v1 * T) / T**3
    assert cubic.q[0] == pytest.approx(p0 + v0 * x + c2 * x**2 + c3 * x**3, rel=1e-14)
    assert cubic.qd[0] == pytest.approx(v0 + 2 * c2 * x + 3 * c3 * x**2, rel=1e-14)
    assert cubic.qdd[0] == pytest.approx(2 * c2 + 6 * c3 * x, rel=1e-14)
    quintic = SampledTrajectory([0.0, T], [[p0], [p1]], [[v0], [v1]], [[a0], [a1]]).sample(x)
    c3 = (-20 * p0 + 20 * p1 - 3 * a0 * T**2 + a1 * T**2 - 12 * v0 * T - 8 * v1 * T) / (2 * T**3)
    c4 = (30 * p0 - 30 * p1 + 3 * a0 * T**2 - 2 * a1 * T**2 + 16 * v0 * T + 14 * v1 * T) / (2 * T**4)
    c5 = (-12 * p0 + 12 * p1 - a0 * T**2 + a1 * T**2 - 6 * v0 * T - 6 * v1 * T) / (2 * T**5)
    assert quintic.q[0] == pytest.approx(
        p0 + v0 * x + 0.5 * a0 * x**2 + c3 * x**3 + c4 * x**4 + c5 * x**5, rel=1e-14
    )
    assert quintic.qd[0] == pytest.approx(v0 + a0 * x + 3 * c3 * x**2 + 4 * c4 * x**3 + 5 * c5 * x**4, rel=1e-13)
    assert quintic.qdd[0] == pytest.approx(a0 + 6 * c3 * x + 12 * c4 * x**2 + 20 * c5 * x**3, rel=1e-13)


numbers = st.floats(-10.0, 10.0)
few = settings(max_examples=50)


@st.composite
def sampled(draw):
    n, points, order = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(0, 2))
    gaps = draw(st.lists(st.floats(0.05, 2.0), min_size=points, max_size=points))
    rows = [
        np.array(draw(st.lists(numbers, min_size=n * points, max_size=n * points))).reshape(points, n)
        for _ in range(order + 1)
    ]
    return SampledTrajectory(np.cumsum(gaps) - draw(st.sampled_from([0.0, gaps[0]])), *rows)


@few
@given(sampled())
def test_a_sampled_trajectory_passes_its_points_with_what_they_ask(trajectory):
    for k, t in enumerate(trajectory.times.tolist()):
        last = k == len(trajectory.times) - 1
        for when in (t - 1e-12, t, t + 1e-12) if k > 0 and not last else (t,):
            there = trajectory.sample(when)
            np.testing.assert_allclose(there.q, trajectory.positions[k], atol=1e-7)
            if trajectory.velocities is not None and len(trajectory.times) > 1:
                np.testing.assert_allclose(there.qd, trajectory.velocities[k], atol=1e-6)
            if trajectory.accelerations is not None and len(trajectory.times) > 1:
                np.testing.assert_allclose(there.qdd, trajectory.accelerations[k], atol=1e-3)


@few
@given(sampled(), st.floats(-1.0, 12.0))
def test_samples_are_finite_and_velocity_is_the_derivative(trajectory, t):
    there = trajectory.sample(t)
    assert all(np.isfinite(part).all() for part in there)
    if np.abs(trajectory.times - t).min() > 1e-3:
        qd, qdd = derivative(trajectory, t)
        scale = 1.0 + max(np.abs(qd).max(), np.abs(there.qdd).max())
        np.testing.assert_allclose(there.qd, qd, atol=1e-4 * scale)
        if trajectory.velocities is not None:
            np.testing.assert_allclose(there.qdd, qdd, atol=1e-3 * scale)


GOOD = {"times": [0.0, 1.0], "positions": [[0.0, 1.0], [1.0, 2.0]], "joint_names": ("shoulder", "elbow")}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"times": [0.0, 0.0]}, "point 1: its time 0.0 s is not after the 0.0 s of point 0"),
        ({"times": [0.0, -1.0]}, "point 1: its time is -1.0 s"),
        ({"times": [0.0, np.nan]}, "point 1: its time is nan s"),
        ({"times": [0.0]}, "but there are 2 points"),
        ({"positions": [[0.0, np.nan], [1.0, 2.0]]}, "point 0: positions of joint 'elbow' is nan"),
        ({"positions": [[0.0, np.nan], [1.0, 2.0]], "joint_names": None}, "positions of joint number 1 is nan"),
        ({"velocities": [[0.0, 0.0], [np.inf, 0.0]]}, "point 1: velocities of joint 'shoulder' is inf"),
        ({"velocities": [[0.0, 0.0]]}, "velocities have shape"),
        ({"accelerations": [[0.0, 0.0], [0.0, 0.0]]}, "accelerations but no velocities"),
        ({"positions": [[0.0, 1.0], [1.0]]}, "not a table of numbers"),
        ({"positions": []}, "neither of them 0"),
        ({"joint_names": ("shoulder",)}, "1 joint names, but the positions have 2 columns"),
    ],
)
def test_faulty_points_are_refused_with_joint_and_point(change, said):
    with pytest.raises(TrajectoryError, match=said):
        SampledTrajectory(**{**GOOD, **change})


def test_what_a_trajectory_was_made_from_cannot_change_it_later():
    positions = np.zeros((2, 1))
    line = SampledTrajectory([0.0, 1.0], positions)
    positions[:] = 5.0
    assert line.sample(0.5).q == [0.0]
    with pytest.raises(ValueError, match="read-only"):
        line.positions[0, 0] = 1.0
