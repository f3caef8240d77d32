"""The velocity estimate against an exact first-order filter; its documented lag and noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rne_dynamics.control.guards.state_filter import StateFilter
from rne_dynamics.control.guards.state_limits import StateLimits

DT = 1e-3


def estimated(times, positions, frequency=50.0):
    """Estimates (k,) of one joint's velocity at `times` (k,), s, from its positions (k,), rad."""
    limits = StateLimits(np.array([np.inf]), np.array([False]), 0.0, frequency, ("j",))
    guard, q, qd, out = StateFilter(limits), np.zeros(1), np.zeros(1), []
    for t, place in zip(times, positions, strict=True):
        q[0], qd[0] = place, np.nan
        guard.accept(1_000_000_000 + round(t * 1e9), float(t), q, qd, velocity_missing=True)
        out.append(qd[0])
    return np.array(out)


def uneven(rng, count):
    """Times with steps from 20 µs to 20 ms, s, whole in ns; shape (count,)."""
    return np.round(np.cumsum(np.exp(rng.uniform(np.log(2e-5), np.log(2e-2), count))), 9)


@pytest.mark.parametrize("frequency", [1.0, 50.0, 400.0])
def test_a_constant_speed_is_approached_as_the_filter_does_whatever_the_steps(frequency):
    t = uneven(np.random.default_rng(1), 400)
    expected = 0.7 * -np.expm1(-2.0 * math.pi * frequency * (t - t[0]))
    np.testing.assert_allclose(estimated(t, 0.7 * t, frequency), expected, rtol=1e-9, atol=1e-10)


def test_any_motion_gives_the_filters_answer_to_its_points_joined_by_lines():
    rng = np.random.default_rng(2)
    t = uneven(rng, 60)
    q = np.cumsum(rng.normal(0.0, 1e-3, len(t)))
    slopes, rate = np.diff(q) / np.diff(t), 2.0 * math.pi * 50.0
    v = [0.0]
    for k, slope in enumerate(slopes):
        answer = solve_ivp(lambda _, x, u=slope: rate * (u - x), t[k : k + 2], v[-1:], rtol=1e-11, atol=1e-13)
        v.append(float(answer.y[0, -1]))
    np.testing.assert_allclose(estimated(t, q), v, rtol=1e-8, atol=1e-9)


def test_the_lag_at_constant_acceleration_is_as_documented():
    a = math.exp(-2.0 * math.pi * 50.0 * DT)
    lag = DT * (a / (1.0 - a) + 0.5)
    assert lag == pytest.approx(3.2e-3, rel=0.01)
    t = DT * np.arange(200)
    assert estimated(t, 0.5 * 3.0 * t**2)[-1] == pytest.approx(3.0 * (t[-1] - lag), rel=1e-9)


def test_the_noise_gain_is_as_documented():
    a = math.exp(-2.0 * math.pi * 50.0 * DT)
    gain = (1.0 - a) / DT * math.sqrt(2.0 / (1.0 + a))
    assert gain == pytest.approx(290.0, rel=0.01)
    noise = np.random.default_rng(3).normal(0.0, 1e-5, 40_000)
    assert estimated(DT * np.arange(len(noise)), noise)[100:].std() == pytest.approx(1e-5 * gain, rel=0.02)


@pytest.mark.parametrize("frequency", [1.0, 10.0, 50.0, 200.0])
def test_a_sine_comes_out_smaller_and_later_as_documented(frequency):
    w, a = 2.0 * math.pi * frequency, math.exp(-2.0 * math.pi * 50.0 * DT)
    z = np.exp(1j * w * DT)
    response = (1.0 - a) * (1.0 - 1.0 / z) / DT / (1.0 - a / z)
    t = DT * np.arange(1000)
    out = estimated(t, 0.01 * np.sin(w * t))
    np.testing.assert_allclose(out[500:], 0.01 * (response * np.exp(1j * w * t)).imag[500:], atol=1e-8)


def test_states_that_come_in_a_bunch_without_stamps_make_no_spike():
    limits = StateLimits(np.array([2.0]), np.array([False]), 0.1, 50.0, ("j",))
    guard, q, qd, speeds = StateFilter(limits), np.zeros(1), np.zeros(1), []
    for k in range(2000):
        q[0] = 1e-3 * k  # 1 rad/s, but ten states arrive at once every 10 ms
        guard.accept(0, 0.01 * (k // 10), q, qd, velocity_missing=True)
        speeds.append(qd[0])
    rate = 2.0 * math.pi * 50.0
    peak = rate * 0.01 / -math.expm1(-rate * 0.01)  # the filter's answer to a step of 10 mrad each 10 ms
    assert min(speeds[1000:]) > 0.0
    assert max(speeds[1000:]) < peak


def test_a_velocity_that_is_given_is_where_the_estimate_goes_on_from():
    limits = StateLimits(np.array([2.0]), np.array([False]), 0.1, 50.0, ("j",))
    guard, q, qd = StateFilter(limits), np.zeros(1), np.full(1, 0.8)
    guard.accept(1, 0.0, q, qd)
    q[0] = 0.8e-3
    guard.accept(1_000_001, 1e-3, q, qd, velocity_missing=True)
    assert qd[0] == pytest.approx(0.8, rel=1e-9)
