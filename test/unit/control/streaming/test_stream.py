"""Streams with jitter and losses: followed without lag, within limits, at rest on their path when they end."""

from __future__ import annotations

import numpy as np
import pytest
from support.streams import Followed, Sines, arrivals, limits

from rne_dynamics.control.streaming.limits import ACCELERATION, JERK

#: Time after which a stream's acceleration has been estimated, s.
SETTLED = 2.0
#: Largest RMS error, rad, of motions of 0.8 rad/s: with 30 % jitter of the arrivals and 5 % of losses.
ERROR = {50.0: 1e-3, 250.0: 2e-4, 1000.0: 1e-4}
KINDS = {
    "position and velocity": {},
    "position": {"velocities": False},
    "velocity": {"positions": False},
    "stamped": {"stamps": True},
    "due later": {"ahead": 0.02},
}


def streamed(rate: float, seconds: float, kind: str) -> tuple[Followed, Sines]:
    motion, arm = Sines.random(3, 1), Followed(limits(3))
    arm.stream(motion, arrivals(rate, seconds, 2), **KINDS[kind])
    return arm, motion


def check(arm: Followed, motion: Sines, rate: float, kind: str) -> None:
    """Followed, without lag; within limits; then at rest on its path."""
    t, q, _, _ = arm.table()
    settled = t > SETTLED
    wanted = np.array([motion.at(x) for x in t])
    off, speed = (q - wanted[:, 0])[settled], wanted[settled, 1]
    rms = np.sqrt((off**2).mean())
    assert rms < ERROR[rate] * (2.0 if kind == "velocity" else 1.0)
    lag = -(off * speed).sum() / (speed**2).sum()
    assert abs(lag) < 0.5e-3
    assert arm.setpoints.stream.limited == 0
    assert arm.setpoints.refused.total() == 0
    arm.run(0.8 * arm.limits.timeout)  # the last acceleration is not used any more
    last, began = arm.rest, len(arm.rows)
    arm.run(1.0)
    arm.check_limits()
    assert arm.setpoints.stream.stopped
    judged = arm.setpoints.stream.judge(arm.stamp, arm.rest.q, arm.rest.qd)
    assert judged is not None
    assert judged.status == "silent"
    check_on_line(np.array([row.q for row in arm.rows[began:]]), last.q, last.qd)


def check_on_line(q: np.ndarray, start: np.ndarray, direction: np.ndarray) -> None:
    """The stop is a straight line in joint space, forwards."""
    unit = direction / np.linalg.norm(direction)
    along = (q - start) @ unit
    assert along.max() - along[-1] < 1e-4, "it hardly returns"
    away = q - start - along[:, None] * unit
    assert np.abs(away).max() < 1e-3


@pytest.mark.parametrize(("rate", "kind"), [*((50.0, kind) for kind in KINDS)])
def test_a_stream_is_followed_within_limits_and_ends_at_rest_on_its_path(rate, kind):
    arm, motion = streamed(rate, 5.0, kind)
    check(arm, motion, rate, kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", ERROR)
def test_a_minute_of_it(rate, kind):
    arm, motion = streamed(rate, 60.0, kind)
    check(arm, motion, rate, kind)


def test_what_asks_for_more_than_the_limits_is_followed_as_far_as_they_allow():
    arm = Followed(limits(2, velocity=np.full(2, 3.0), acceleration=5.0, jerk=50.0))
    for k in range(600):
        q = 0.05 * np.sin(2 * np.pi * 4.0 * 0.01 * k) * np.ones(2)  # 32 rad/s²
        arm.send(q)
        arm.run(0.01)
    arm.check_limits()
    _, q, _, qdd = arm.table()
    assert np.abs(np.diff(qdd, axis=0)).max() > 0.99 * 50.0 * arm.period
    assert np.abs(q).max() < 0.06
    arm.run(1.0)
    assert arm.setpoints.stream.stopped


def test_at_a_position_limit_the_arm_rests_and_the_setpoints_are_counted():
    arm = Followed(limits(1, lower=np.full(1, -0.1), upper=np.full(1, 0.1)))
    for k in range(1000):
        arm.send(np.array([0.15 * np.sin(0.002 * k)]), np.array([0.15 * 0.4 * np.cos(0.002 * k)]))
        arm.run(0.005)
    arm.check_limits()
    assert arm.setpoints.stream.limited > 100
    assert np.max([row.q[0] for row in arm.rows]) == pytest.approx(0.1, abs=1e-6)
    assert abs(arm.rest.q[0] - 0.15 * np.sin(2.0)) > 0.03


def test_the_stop_is_as_long_as_the_limits_ask_for():
    arm = Followed(limits(2))
    for k in range(50):
        arm.send(np.array([0.01 * k, 0.0]), np.array([1.0, 0.0]))
        arm.run(0.01)
    arm.run(0.1)
    assert arm.rest.qd[0] == pytest.approx(1.0, rel=1e-3), "until the time-out it goes on"
    began = arm.rest.q[0]
    arm.run(1.0)
    way = arm.rest.q[0] - began
    acceleration, jerk = arm.limits.table[ACCELERATION, 0], arm.limits.table[JERK, 0]
    shortest = 0.5 * (1.0 / acceleration + acceleration / jerk) if acceleration**2 < jerk else (1.0 / jerk) ** 0.5
    assert shortest < way < 2.0 * shortest + 0.02
    arm.check_limits()


def test_a_sender_that_comes_back_in_time_is_followed_on():
    arm, motion = Followed(limits(2)), Sines.random(2, 5)
    messages = [(t, s) for t, s in arrivals(100.0, 6.0, 6) if not 3.0 < t < 3.25]
    arm.stream(motion, messages)
    arm.check_limits()
    assert np.abs(arm.rest.q - motion.at(arm.t)[0]).max() < 2e-3


def test_speed_scaling_bounds_the_velocity():
    arm = Followed(limits(1))
    for k in range(300):
        arm.send(np.array([0.001 * k]), np.array([0.1]))
        arm.run(0.01, speed=0.02 if k > 100 else 1.0)
    arm.check_limits()
    assert max(abs(row.qd[0]) for row in arm.rows[1500:]) <= 0.02 * 2.0 * (1 + 1e-4)
