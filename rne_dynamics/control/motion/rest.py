"""Deceleration from a motion to rest, within the limits of position and velocity."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.motion.path import DIP, distinct
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.model.inertia import Array

#: Joints near a limit come to rest sooner: in so many sixteenths of the time. A joint that would pass its limit even in
#: one begins more slowly: the feedback brakes an arm that is faster harder than a reference could.
SIXTEENTHS = 16


def rest(now: Reference, duration: float, lower: Array, upper: Array, velocity: Array) -> SampledTrajectory:
    """Bring every joint from `now` to rest, with acceleration continuous where no limit forbids it.

    Each joint's position is the polynomial of degree four from its position, velocity and acceleration to rest: the
    velocity falls as a cubic. Where that would pass a limit, the joint comes to rest sooner, in as many sixteenths of
    the duration as there is room for. A measured arm may be faster than allowed: its reference is not.

    `now`: each (n,). `duration`: s; above 0. `lower`, `upper`, `velocity`: limits, (n,); infinite where there are none.
    A joint that is outside may pass no further.
    """
    down, up = (2.0 * SIXTEENTHS / duration * np.maximum(way, 0.0) for way in (now.q - lower, upper - now.q))
    qd = np.clip(now.qd, -np.minimum(down, velocity), np.minimum(up, velocity))
    slack, gain = np.minimum(velocity + qd, velocity), DIP * duration
    now = Reference(now.q, qd, np.clip(now.qdd, -slack / gain, np.minimum(velocity - qd, velocity) / gain))
    if not (now.qd.any() or now.qdd.any()):
        return SampledTrajectory(np.zeros(1), now.q[None].copy())
    times = np.full(len(now.q), duration)
    for step in range(SIXTEENTHS - 1, 0, -1):
        end = now.q + _way(now, times)
        times = np.where(end != _within(end, now.q, lower, upper), step * duration / SIXTEENTHS, times)
    knots = distinct(np.append(0.0, times))
    x = np.minimum(knots[:, None], times)
    slow = np.minimum(x / times, 1.0)
    u, a, T = now.qd, now.qdd, times
    # velocity u H0(slow) + a T H1(slow), Hermite's cubics from there to rest
    speed = u * (1.0 - slow) ** 2 * (1.0 + 2.0 * slow) + a * T * slow * (1.0 - slow) ** 2
    acceleration = (u * -6.0 * slow * (1.0 - slow)) / T + a * (1.0 - slow) * (1.0 - 3.0 * slow)
    position = now.q + u * T * (slow - slow**3 + slow**4 / 2.0) + a * T**2 * slow**2 * (
        1.0 / 2.0 - 2.0 * slow / 3.0 + slow**2 / 4.0
    )
    speed[x == T], acceleration[x == T] = 0.0, 0.0
    return SampledTrajectory(knots, position, speed, acceleration)


def halt(q: Array, qd: Array, duration: float, lower: Array, upper: Array) -> Array:
    """Positions at which joints come to rest from a steady motion in `duration`, within the limits; (n,)."""
    return _within(q + 0.5 * duration * qd, q, lower, upper)


def _within(end: Array, q: Array, lower: Array, upper: Array) -> Array:
    """`end` within limits, widened to where the joint is already."""
    return np.clip(end, np.minimum(lower, q), np.maximum(upper, q))


def _way(now: Reference, T: float | Array) -> Array:
    way: Array = T * (now.qd / 2.0 + T * now.qdd / 12.0)
    return way
