"""Deceleration from a motion to rest, within the position limits."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.motion.path import distinct
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.model.inertia import Array

#: Joints near a limit come to rest sooner: in so many sixteenths of the time. One leaves a joint that can no longer
#: stop before its limit a deceleration that is merely sixteen times as hard.
STEPS = 16


def rest(now: Reference, duration: float, lower: Array, upper: Array) -> SampledTrajectory:
    """Bring every joint from `now` to rest, with acceleration continuous.

    Each joint's position is the polynomial of degree four from its position, velocity and acceleration to rest: the
    velocity falls as a cubic. Where that would pass a limit, the joint comes to rest sooner, in as many sixteenths of
    the duration as there is room for; one that is too near its limit even for one passes it, as little as that takes.

    Parameters
    ----------
    now
        Each (n,).
    duration
        s; above 0.
    lower, upper
        Position limits, (n,); infinite where there are none. A joint that is outside may pass no further.
    """
    if not (now.qd.any() or now.qdd.any()):
        return SampledTrajectory(np.zeros(1), now.q[None].copy())
    times = np.full(len(now.q), duration)
    for step in range(STEPS - 1, 0, -1):
        end = now.q + _way(now, times)
        times = np.where(end != _within(end, now.q, lower, upper), step * duration / STEPS, times)
    knots = distinct(np.append(0.0, times))
    x = np.minimum(knots[:, None], times)
    slow = np.minimum(x / times, 1.0)
    u, a, T = now.qd, now.qdd, times
    # velocity u H0(slow) + a T H1(slow), Hermite's cubics from there to rest
    velocity = u * (1.0 - slow) ** 2 * (1.0 + 2.0 * slow) + a * T * slow * (1.0 - slow) ** 2
    acceleration = (u * -6.0 * slow * (1.0 - slow)) / T + a * (1.0 - slow) * (1.0 - 3.0 * slow)
    position = now.q + u * T * (slow - slow**3 + slow**4 / 2.0) + a * T**2 * slow**2 * (
        1.0 / 2.0 - 2.0 * slow / 3.0 + slow**2 / 4.0
    )
    velocity[x == T], acceleration[x == T] = 0.0, 0.0
    return SampledTrajectory(knots, position, velocity, acceleration)


def halt(q: Array, qd: Array, duration: float, lower: Array, upper: Array) -> Array:
    """Positions at which joints come to rest from a steady motion in `duration`, within the limits; (n,)."""
    return _within(q + 0.5 * duration * qd, q, lower, upper)


def _within(end: Array, q: Array, lower: Array, upper: Array) -> Array:
    """`end` within limits, widened to where the joint is already."""
    return np.clip(end, np.minimum(lower, q), np.maximum(upper, q))


def _way(now: Reference, T: float | Array) -> Array:
    way: Array = T * (now.qd / 2.0 + T * now.qdd / 12.0)
    return way
