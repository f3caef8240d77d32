from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from support.arms import chain

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.input_shaper import SHAPERS, InputShaper, Shaped, shaped_points
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Hold, Quintic, SampledTrajectory
from rne_dynamics.errors import ControlError, TrajectoryError
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import simulate

OMEGA = 2.0 * np.pi * 2.18
A, B = np.array([0.3, -1.0]), np.array([1.5, 2.0])
MODES = [(OMEGA, 0.0), (OMEGA, 0.02), (3.0, 0.4)]

FAST = Quintic(A, B, 0.37)


def left_by(trajectory, omega, zeta, knots):
    """Complex amplitude w = δ̇ − λ* δ of δ̈ + 2ζω δ̇ + ω² δ = −q̈ of joint 0 at the trajectory's end, by quadrature."""
    x, weight = np.polynomial.legendre.leggauss(40)
    pole = omega * complex(-zeta, np.sqrt(1.0 - zeta**2))
    total = 0.0
    for begin, end in pairwise(knots):
        t = begin + 0.5 * (end - begin) * (x + 1.0)
        push = -trajectory.samples(t)[:, 2, 0]
        total += 0.5 * (end - begin) * np.sum(weight * push * np.exp(pole * (trajectory.duration - t)))
    return abs(total)


def vibration(trajectory, omega, zeta, shaper=None):
    """What a quintic leaves, shaped or not."""
    if shaper is None:
        return left_by(trajectory, omega, zeta, [0.0, trajectory.duration])
    points = shaped_points(trajectory, shaper)
    return left_by(points, omega, zeta, points.times)


@pytest.mark.parametrize("name", SHAPERS)
@pytest.mark.parametrize(("omega", "zeta"), [(OMEGA, 0.0), (3.0, 0.4)])
def test_nothing_is_left_of_the_mode_a_shaper_is_made_for(name, omega, zeta):
    shaper = SHAPERS[name](omega, zeta)
    assert shaper.residual_vibration(omega, zeta) < 1e-15
    assert vibration(FAST, omega, zeta, shaper) < 1e-12 * vibration(FAST, omega, zeta)
    half = np.pi / (omega * np.sqrt(1.0 - zeta**2))
    np.testing.assert_allclose(shaper.times, half * np.arange(len(shaper.times)), rtol=1e-15)
    assert shaper.duration == shaper.times[-1]
    if zeta == 0.0:
        np.testing.assert_array_equal(shaper.amplitudes, {"zv": [0.5, 0.5], "zvd": [0.25, 0.5, 0.25]}[name])


@pytest.mark.parametrize(("omega", "zeta"), MODES)
def test_a_step_through_a_shaper_settles_at_once(omega, zeta):
    """Step response of ω²/(s² + 2ζω s + ω²), summed over the impulses; it overshoots unshaped."""
    damped = omega * np.sqrt(1.0 - zeta**2)

    def step(t):
        swing = np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t)
        return np.where(t > 0.0, 1.0 - np.exp(-zeta * omega * t) * swing, 0.0)

    for make in SHAPERS.values():
        shaper = make(omega, zeta)
        t = np.linspace(shaper.duration, 3.0 * shaper.duration, 300)
        after = sum(a * step(t - delay) for delay, a in zip(shaper.times, shaper.amplitudes, strict=True))
        np.testing.assert_allclose(after, 1.0, atol=1e-13)
        assert np.abs(step(t) - 1.0).max() > 0.05


def test_an_oscillator_integrated_by_scipy_comes_to_rest_with_the_shaped_motion():
    omega, zeta = OMEGA, 0.02

    def amplitude(trajectory, knots):
        state = np.zeros(2)
        for begin, end in pairwise(knots):
            state = solve_ivp(
                lambda t, z: [z[1], -trajectory.sample(t).qdd[0] - 2.0 * zeta * omega * z[1] - omega**2 * z[0]],
                (begin, end), state, method="DOP853", rtol=1e-12, atol=1e-14,
            ).y[:, -1]
        return np.hypot(state[0], (state[1] + zeta * omega * state[0]) / (omega * np.sqrt(1.0 - zeta**2)))

    shaper = InputShaper.zvd(omega, zeta)
    unshaped = amplitude(FAST, [0.0, FAST.duration])
    assert unshaped > 0.1  # rad: the motion is as long as the period
    assert unshaped == pytest.approx(vibration(FAST, omega, zeta) / (omega * np.sqrt(1.0 - zeta**2)), rel=1e-9)
    assert amplitude(Shaped(FAST, shaper), shaped_points(FAST, shaper).times) < 1e-9 * unshaped


@pytest.mark.parametrize("ratio", [0.9, 1.1])
def test_a_frequency_wrong_by_a_tenth_leaves_what_theory_says(ratio):
    """Undamped: ZV leaves |cos(π/2 · ω/ω₀)| = 15.6 %, ZVD its square, 2.4 %."""
    zv, zvd = InputShaper.zv(OMEGA), InputShaper.zvd(OMEGA)
    expected = np.sin(0.05 * np.pi)
    assert zv.residual_vibration(ratio * OMEGA) == pytest.approx(expected, rel=1e-12)
    assert zvd.residual_vibration(ratio * OMEGA) == pytest.approx(expected**2, rel=1e-12)
    unshaped = vibration(FAST, ratio * OMEGA, 0.0)
    assert vibration(FAST, ratio * OMEGA, 0.0, zv) == pytest.approx(expected * unshaped, rel=1e-11)
    assert vibration(FAST, ratio * OMEGA, 0.0, zvd) == pytest.approx(expected**2 * unshaped, rel=1e-11)


@settings(max_examples=40)
@given(st.floats(0.0, 60.0), st.floats(0.0, 0.95), st.sampled_from(sorted(SHAPERS)))
def test_residual_vibration_is_what_any_mode_is_left_with(omega, zeta, name):
    shaper = SHAPERS[name](OMEGA, 0.05)
    C, S = (
        np.sum(
            shaper.amplitudes
            * np.exp(zeta * omega * shaper.times)
            * part(omega * np.sqrt(1.0 - zeta**2) * shaper.times)
        )
        for part in (np.cos, np.sin)
    )
    V = shaper.residual_vibration(omega, zeta)
    np.testing.assert_allclose(V, np.exp(-zeta * omega * shaper.duration) * np.hypot(C, S), atol=1e-14)
    assert 0.0 <= V <= 1.0 + 1e-15
    assert vibration(FAST, omega, zeta, shaper) == pytest.approx(V * vibration(FAST, omega, zeta), abs=1e-11)


def test_residual_vibration_broadcasts():
    shaper = InputShaper.zv(OMEGA)
    table = shaper.residual_vibration(np.linspace(0.0, 50.0, 7)[:, None], [0.0, 0.1])
    assert table.shape == (7, 2)
    np.testing.assert_allclose(table[0], 1.0, rtol=1e-15)
    assert table[3, 1] == shaper.residual_vibration(25.0, 0.1)


@pytest.mark.parametrize("name", SHAPERS)
def test_several_modes_at_once(name):
    omega, zeta = [3.016, 11.31, 40.0], [0.01, 0.0, 0.03]
    shaper = SHAPERS[name](omega, zeta)
    assert len(shaper.times) == {"zv": 8, "zvd": 27}[name]
    assert (shaper.residual_vibration(omega, zeta) < 1e-14).all()
    modes = list(zip(omega, zeta, strict=True))
    assert shaper.duration == pytest.approx(sum(SHAPERS[name](*mode).duration for mode in modes), rel=1e-15)
    for mode in modes:
        assert vibration(FAST, *mode, shaper) < 1e-11 * vibration(FAST, *mode)


def test_impulses_that_fall_together_are_one():
    twice = InputShaper.zv([OMEGA, OMEGA], 0.1)
    zvd = InputShaper.zvd(OMEGA, 0.1)
    np.testing.assert_array_equal(twice.times, zvd.times)
    np.testing.assert_array_equal(twice.amplitudes, zvd.amplitudes)
    thirds = InputShaper.zv([1.0, 3.0 * (1.0 + 4e-16), 1.5])  # π/1.5 = 2 π/3: 0, 1, 2, 3, 3, 4, 5, 6 thirds of π
    np.testing.assert_allclose(thirds.times, np.pi / 3.0 * np.arange(7), rtol=1e-12)
    np.testing.assert_allclose(thirds.amplitudes, np.array([1, 1, 1, 2, 1, 1, 1]) / 8.0, rtol=1e-15)


# -- shaped trajectories -----------------------------------------------------------------------------------------

WAY = SampledTrajectory(
    [0.0, 0.4, 0.7, 1.3],
    [[0.0, 1.0], [0.5, 0.2], [0.6, 0.4], [-1.0, 2.0]],
    [[0.0, 0.0], [1.0, -0.5], [-0.7, 0.4], [0.0, 0.0]],
    [[0.0, 0.0], [0.3, 2.0], [-1.0, 1.0], [0.0, 0.0]],
    ("shoulder", "elbow"),
)
SHAPED = {
    "quintic": FAST,
    "points": WAY,
    "cubic": SampledTrajectory(WAY.times, WAY.positions, WAY.velocities),
    "lines": SampledTrajectory(WAY.times + 0.2, WAY.positions),
    "one point": SampledTrajectory([0.5], [B]),
}


@pytest.mark.parametrize("kind", SHAPED)
@pytest.mark.parametrize("name", SHAPERS)
def test_points_bring_back_the_shaped_motion(kind, name):
    trajectory, shaper = SHAPED[kind], SHAPERS[name]([OMEGA, 31.0], [0.02, 0.0])
    shaped, points = Shaped(trajectory, shaper), shaped_points(trajectory, shaper)
    assert points.duration == pytest.approx(shaped.duration, rel=1e-15)
    times = np.random.default_rng(5).uniform(-0.1, shaped.duration + 0.1, 200)
    if kind in {"cubic", "lines"}:  # whose accelerations, or velocities, jump at the points
        times = times[np.abs(times[:, None] - points.times).min(axis=1) > 1e-9]
    for t in times.tolist():
        wanted, there = shaped.sample(t), points.sample(t)
        np.testing.assert_allclose(there.q, wanted.q, atol=1e-12)
        np.testing.assert_allclose(there.qd, wanted.qd, atol=1e-12)
        np.testing.assert_allclose(there.qdd, wanted.qdd, atol=1e-10)
    assert points.joint_names == getattr(trajectory, "joint_names", None)


def test_a_shaped_quintic_has_a_point_where_a_copy_starts_or_ends():
    shaper = InputShaper.zv(OMEGA, 0.1)
    points = shaped_points(FAST, shaper)
    half = shaper.duration
    np.testing.assert_array_equal(points.times, [0.0, half, FAST.duration, FAST.duration + half])
    together = shaped_points(Quintic(A, B, half * (1.0 + 3e-16)), shaper)
    assert len(together.times) == 3
    np.testing.assert_array_equal(together.positions[[0, -1]], [A, B])


def test_points_a_hair_apart_do_no_harm():
    """Points within 1e-7 of the duration become one; those a little farther apart show, if at all, between them."""
    shaper = InputShaper.zv(np.pi)
    for gap in (1e-4, 1e-6, 3e-7, 1e-7, 1e-9, 1e-12):
        trajectory = Quintic(A, B, 1.0 + gap)
        points, shaped = shaped_points(trajectory, shaper), Shaped(trajectory, shaper)
        assert len(points.times) == (3 if gap < 2e-7 else 4)
        between = np.linspace(1.0, 1.0 + gap, 21)[1:-1]
        for t in [*np.linspace(0.0, shaped.duration, 60), *between]:
            wanted, there = shaped.sample(float(t)), points.sample(float(t))
            np.testing.assert_allclose(there.q, wanted.q, atol=2e-7)
            np.testing.assert_allclose(there.qd, wanted.qd, atol=1e-6)
            np.testing.assert_allclose(there.qdd, wanted.qdd, atol=0.1 if t in between else 1e-5)


def test_points_for_a_message_lie_on_the_motion_at_whole_nanoseconds():
    shaper = InputShaper.zvd([OMEGA, 31.0], 0.02)
    shaped, points = Shaped(FAST, shaper), shaped_points(FAST, shaper, nanoseconds=True)
    ticks = points.times * 1e9
    np.testing.assert_allclose(ticks, np.round(ticks), atol=1e-6)
    for k, t in enumerate(points.times[:-1].tolist()):
        np.testing.assert_array_equal(points.positions[k], shaped.sample(t).q)
    for t in np.linspace(0.0, shaped.duration, 101).tolist():
        wanted, there = shaped.sample(t), points.sample(t)
        np.testing.assert_allclose(there.q, wanted.q, atol=2e-10)
        np.testing.assert_allclose(there.qdd, wanted.qdd, atol=1e-6)


@pytest.mark.parametrize("trajectory", [*SHAPED.values(), Hold(B)])
def test_the_ends_are_exact_and_at_rest(trajectory):
    shaped = Shaped(trajectory, InputShaper.zvd([OMEGA, 31.0, 7.7], 0.03))
    assert shaped.duration == trajectory.duration + shaped.shaper.duration
    for t, end in ((-1.0, 0.0), (0.0, 0.0), (shaped.duration, np.inf), (9.0, np.inf)):
        there = shaped.sample(t)
        np.testing.assert_array_equal(there.q, trajectory.sample(end).q)
        assert not there.qd.any()
        assert not there.qdd.any()


def test_a_shaped_motion_keeps_the_limits_and_the_line_of_its_own():
    shaped = Shaped(FAST, InputShaper.zvd([OMEGA, 31.0], 0.02))
    moments = np.linspace(0.0, shaped.duration, 500).tolist()
    own = [FAST.sample(t) for t in np.linspace(0.0, FAST.duration, 2001).tolist()]
    for part in ("q", "qd", "qdd"):
        rows, given_rows = (np.array([getattr(r, part) for r in s]) for s in (map(shaped.sample, moments), own))
        slack = 1e-5 * np.abs(given_rows).max(axis=0)  # the samples of the trajectory miss its peak by a little
        assert (rows <= given_rows.max(axis=0) + slack).all()
        assert (rows >= given_rows.min(axis=0) - slack).all()
    along = np.array([(shaped.sample(t).q - A) / (B - A) for t in moments])
    np.testing.assert_allclose(along[:, 0], along[:, 1], atol=1e-15)
    assert (np.diff(along[:, 0]) >= 0.0).all()


def test_a_matched_rigid_arm_tracks_a_shaped_quintic_under_computed_torque():
    robot = chain(2)
    shaped = Shaped(Quintic(A, B, 0.6), InputShaper.zv(OMEGA))
    law = ComputedTorque(robot, Gains.critically_damped(robot.n, 40.0))
    log = simulate(ArmPlant(robot), law, shaped)
    assert log.time[-1] == pytest.approx(shaped.duration, abs=1e-3)
    assert log.rms_error.max() < 2e-4
    np.testing.assert_allclose(log.reference_q[300], shaped.sample(0.3).q, atol=1e-15)


ROW = [0.0, 0.5]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: InputShaper.zv(0.0), "mode 0 has the frequency 0.0 rad/s"),
        (lambda: InputShaper.zvd([3.0, np.nan]), "mode 1 has the frequency nan"),
        (lambda: InputShaper.zv(np.inf), "mode 0 has the frequency inf"),
        (lambda: InputShaper.zv(1e-310), "given are .*inf"),
        (lambda: InputShaper.zv(3.0, 1.0), "the damping ratio 1.0; .* at least 0 and below 1"),
        (lambda: InputShaper.zv([3.0, 4.0], [0.1, -0.1]), "mode 1 .* damping ratio -0.1"),
        (lambda: InputShaper.zv(3.0, np.nan), "the damping ratio nan"),
        (lambda: InputShaper.zv(3.0, 0.99999), "does not swing; leave it out"),
        (lambda: InputShaper(ROW, [1.0]), "as many amplitudes"),
        (lambda: InputShaper([0.1, 0.5], ROW), "times that begin with 0"),
        (lambda: InputShaper([0.0, 0.0], [0.5, 0.5]), "and increase"),
        (lambda: InputShaper(ROW, [1.5, -0.5]), "amplitudes above 0"),
        (lambda: InputShaper(ROW, [0.5, np.nan]), "given are .*nan"),
        (lambda: InputShaper(ROW, [0.5, np.inf]), "given are .*inf"),
        (lambda: InputShaper(ROW, [0.5, 0.4]), "the sum 1"),
    ],
)
def test_shapers_that_cannot_be_are_refused(call, said):
    with pytest.raises(ControlError, match=said):
        call()


@pytest.mark.parametrize(
    ("trajectory", "said"),
    [
        (SampledTrajectory([0.0, 1.0], [A, B], [A, 0.0 * B]), "the first point of the trajectory has velocity"),
        (SampledTrajectory([0.0, 1.0], [A, B], [0.0 * A, B]), "the last point of the trajectory has velocity"),
        (SampledTrajectory([0.0, 1.0], [A, B], [0.0 * A, 0.0 * B], [A, B]), "first point .* has acceleration"),
    ],
)
def test_motions_without_a_row_of_points_are_refused(trajectory, said):
    with pytest.raises(TrajectoryError, match=said):
        shaped_points(trajectory, InputShaper.zv(OMEGA))


def test_what_a_shaper_was_made_from_cannot_change_it_later():
    amplitudes = np.array([0.5, 0.5])
    shaper = InputShaper(ROW, amplitudes)
    amplitudes[:] = 7.0
    assert shaper.amplitudes.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        shaper.times[1] = 2.0
