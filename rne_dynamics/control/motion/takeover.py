"""From what the arm is asked to do now onto a trajectory: no jump of position, velocity or acceleration."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.motion.path import Path, at_rest_in, shifted
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.model.inertia import Array

#: Least rate in terms of which a motion under way is written in path time.
LEAST_RATE = 0.05
#: Longest time over which a difference of accelerations a dies out, s. Its offset grows to 0.0173 a T².
ACCELERATION_TIME = 0.05


def in_path_time(now: Reference, rate: float, slope: float = 0.0) -> tuple[Reference, float, float]:
    """A motion in time as one in path time, and the rate and slope at which that runs.

    Parameters
    ----------
    now
        Motion in time; each (n,).
    rate, slope
        Rate of path time, and its change, 1/s. Where something moves the rate is taken to be no less than
        `LEAST_RATE` (at rate 0 no path moves), and the slope to be the same fraction of it as before.
    """
    if not (now.qd.any() or now.qdd.any()):
        return now, rate, 0.0
    if rate < LEAST_RATE:
        rate, slope = LEAST_RATE, slope * LEAST_RATE / rate if rate > 0.0 else 0.0
    if rate == 1.0 and slope == 0.0:
        return now, rate, slope
    first = now.qd / rate
    return Reference(now.q, first, (now.qdd - first * slope) / rate**2), rate, slope


def takeover(trajectory: SampledTrajectory, begin: float, now: Reference, blend_time: float) -> Path:
    """The path of `trajectory` from path time `begin` on, plus the offset of `now` from it, which dies out.

    The offset is made of quintics that start as the difference and end at zero, at rest: the differences of position
    and velocity die out over `blend_time`, that of acceleration over `ACCELERATION_TIME` if that is shorter, since it
    would otherwise lead far from the trajectory. Where there is no difference there is no offset, not even of rounding.

    Parameters
    ----------
    trajectory
        Any.
    begin
        s; before the trajectory's first point it rests in that, and so it does in its last.
    now
        In path time; each (n,).
    blend_time
        s; above 0. Where the trajectory is over before, the path ends when the blend does.
    """
    path = _from(trajectory.path, begin)
    there = path.sample(begin)
    zero = np.zeros(len(now.q))
    for e, v, a, T in (
        (now.q - there.q, now.qd - there.qd, zero, blend_time),
        (zero, zero, now.qdd - there.qdd, min(blend_time, ACCELERATION_TIME)),
    ):
        if e.any() or v.any() or a.any():
            path = _split(path, begin + T)
            under = int(np.searchsorted(path.knots, begin + T))
            path.coefficients[:under] += shifted(_dying(e, v, a, T), path.knots[:under] - begin)
    return path


def _from(path: Path, begin: float) -> Path:
    """The same path with a first piece that begins at `begin`; its memory is its own."""
    if begin < path.begin:
        front = at_rest_in(begin, path.coefficients[0, 0])
        return Path(np.append(front.knots, path.knots), np.concatenate([front.coefficients, path.coefficients]))
    if begin >= path.end:
        return at_rest_in(begin, path.coefficients[-1, 0])
    piece = int(np.searchsorted(path.knots, begin, side="right")) - 1
    knots, coefficients = path.knots[piece:].copy(), path.coefficients[piece:].copy()
    if begin > knots[0]:
        coefficients[0] = shifted(coefficients[0], np.array([begin - knots[0]]))[0]
        knots[0] = begin
    return Path(knots, coefficients)


def _split(path: Path, s: float) -> Path:
    """The same path with a knot at `s`, which is not before its begin; beyond its end it goes on resting."""
    knots, coefficients = path.knots, path.coefficients
    after = int(np.searchsorted(knots, s, side="right"))
    if knots[after - 1] == s:
        return path
    later = shifted(coefficients[after - 1], np.array([s - knots[after - 1]]))
    return Path(
        np.concatenate([knots[:after], [s], knots[after:]]),
        np.concatenate([coefficients[:after], later, coefficients[after:]]),
    )


def _dying(e: Array, v: Array, a: Array, T: float) -> Array:
    """Coefficients of the quintic from position `e`, velocity `v`, acceleration `a`, (n,), to zero at `T`; (6, n)."""
    return np.stack([
        e, v, 0.5 * a,
        -(20.0 * e / T**2 + 12.0 * v / T + 3.0 * a) / (2.0 * T),
        (30.0 * e / T**2 + 16.0 * v / T + 3.0 * a) / (2.0 * T**2),
        -(12.0 * e / T**2 + 6.0 * v / T + a) / (2.0 * T**3),
    ])
