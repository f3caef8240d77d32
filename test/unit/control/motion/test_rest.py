"""Coming to rest: what it starts with, where it ends, and that it stays within limits."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.motion import SIXTEENTHS, rest

FREE = np.full(4, np.inf)


def moving(seed: int) -> Reference:
    return Reference(*np.random.default_rng(seed).normal(size=(3, 4)))


@pytest.mark.parametrize("seed", range(2))
def test_it_starts_with_what_moves_and_ends_at_rest_in_time(seed):
    now = moving(seed)
    path = rest(now, 0.4, -FREE, FREE, FREE)
    for one, other in zip(path.sample(0.0), now, strict=True):
        np.testing.assert_array_equal(one, other)
    assert path.duration == 0.4
    end = path.sample(1.0)
    np.testing.assert_allclose(end.q, now.q + 0.2 * now.qd + 0.16 / 12.0 * now.qdd, rtol=1e-14, atol=1e-14)
    assert not end.qd.any()
    h = 1e-5
    for t in (0.1, 0.2, 0.33):
        before, there, after = (path.sample(t + d) for d in (-h, 0.0, h))
        np.testing.assert_allclose((after.q - before.q) / (2 * h), there.qd, atol=1e-7)
        np.testing.assert_allclose((after.qd - before.qd) / (2 * h), there.qdd, atol=1e-7)


def test_from_a_steady_speed_it_slows_down_without_ever_going_faster_or_back():
    now = Reference(np.zeros(4), np.array([2.0, -1.0, 0.0, 0.5]), np.zeros(4))
    path = rest(now, 0.3, -FREE, FREE, FREE)
    speeds = np.array([path.sample(t).qd for t in np.linspace(0.0, 0.3, 500)]) * np.sign(now.qd)
    assert (speeds >= -1e-15).all()
    assert (np.diff(speeds, axis=0) <= 1e-15).all()
    np.testing.assert_allclose(path.positions[-1], 0.15 * now.qd, rtol=1e-14)


@pytest.mark.parametrize("seed", range(2))
def test_near_a_limit_a_joint_stops_sooner_and_before_it(seed):
    rng = np.random.default_rng(seed)
    now = Reference(np.zeros(4), rng.uniform(-2.0, 2.0, 4), np.zeros(4))
    room = np.abs(now.qd) * 0.3 * rng.uniform(0.5 / SIXTEENTHS, 1.0, 4)  # enough for a sixteenth of the time
    path = rest(now, 0.3, -room, room, FREE)
    places = np.array([path.sample(t).q for t in np.linspace(0.0, 0.3, 2000)])
    assert (np.abs(places) <= room + 1e-15).all()
    assert path.duration <= 0.3


def test_a_joint_that_cannot_stop_in_time_begins_more_slowly():
    now = Reference(np.full(4, 0.999), np.full(4, 2.0), np.zeros(4))
    path = rest(now, 0.3, np.full(4, -1.0), np.ones(4), FREE)
    assert path.duration == pytest.approx(0.3 / SIXTEENTHS)
    np.testing.assert_allclose(path.positions[-1], 1.0, rtol=1e-12)


def test_a_joint_outside_its_limits_goes_no_further_and_may_come_back():
    out, back = (Reference(np.full(4, 1.5), np.full(4, speed), np.zeros(4)) for speed in (0.1, -0.1))
    assert not rest(out, 0.3, np.full(4, -1.0), np.ones(4), FREE).sample(0.0).qd.any()
    assert rest(back, 0.3, np.full(4, -1.0), np.ones(4), FREE).duration == 0.3


@pytest.mark.parametrize("seed", range(2))
def test_no_joint_is_faster_than_its_limit_whatever_speed_and_acceleration_it_begins_with(seed):
    now, limit = moving(seed), np.random.default_rng(seed).uniform(0.2, 2.0, 4)
    now = now._replace(qdd=30.0 * now.qdd)
    path = rest(now, 0.3, -FREE, FREE, limit)
    speeds = np.array([path.sample(t).qd for t in np.linspace(0.0, 0.3, 500)])
    assert (np.abs(speeds) <= limit * (1.0 + 1e-9)).all()


def test_at_rest_it_holds():
    now = Reference(np.array([0.1, 0.2, 0.3, 0.4]), np.zeros(4), np.zeros(4))
    path = rest(now, 0.3, -FREE, FREE, FREE)
    assert path.duration == 0.0
    np.testing.assert_array_equal(path.sample(5.0).q, now.q)
