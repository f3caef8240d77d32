"""From what the arm is asked to do now onto a trajectory: no jump of position, velocity or acceleration."""

from __future__ import annotations

import numpy as np

from rne_dynamics.control.motion.path import ORDER, Path, at_rest_in, shifted
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.model.inertia import Array

#: Least rate in terms of which a motion under way is written in path time.
LEAST_RATE = 0.05


def in_path_time(now: Reference, rate: float, slope: float = 0.0) -> tuple[Reference, float]:
    """A motion in time as one in path time, and the rate at which that runs.

    Parameters
    ----------
    now
        Motion in time; each (n,).
    rate, slope
        Rate of path time, and its change, 1/s. Where something moves the rate is taken to be no less than
        `LEAST_RATE`: at rate 0 no path moves.
    """
    if not (now.qd.any() or now.qdd.any()):
        return now, rate
    rate = max(rate, LEAST_RATE)
    if rate == 1.0 and slope == 0.0:
        return now, rate
    first = now.qd / rate
    return Reference(now.q, first, (now.qdd - first * slope) / rate**2), rate


def takeover(trajectory: SampledTrajectory, begin: float, now: Reference, blend_time: float) -> Path:
    """The path of `trajectory` from path time `begin` on, plus the offset of `now` from it, which dies out.

    The offset is the quintic that starts as the difference in position, velocity and acceleration and ends at zero, at
    rest, after `blend_time`. Where there is no difference there is no offset, not even of rounding.

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
    offset = np.stack([now.q - there.q, now.qd - there.qd, now.qdd - there.qdd])
    if not offset.any():
        return path
    ended = begin + blend_time
    path = _split(path, ended)
    knots, coefficients = path.knots, path.coefficients
    under = int(np.searchsorted(knots, ended))
    coefficients[:under] += shifted(_dying(offset, blend_time), knots[:under] - begin)
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
    piece = int(np.searchsorted(path.knots, s, side="right")) - 1
    if path.knots[piece] == s:
        return path
    later = shifted(path.coefficients[piece], np.array([s - path.knots[piece]]))
    return Path(np.insert(path.knots, piece + 1, s), np.insert(path.coefficients, piece + 1, later[0], axis=0))


def _dying(offset: Array, T: float) -> Array:
    """Coefficients of the quintic from `offset` (position, velocity, acceleration; (3, n)) to zero at `T`; (6, n)."""
    e, v, a = offset
    c = np.zeros((ORDER, offset.shape[1]))
    c[0], c[1], c[2] = e, v, 0.5 * a
    c[3] = -(20.0 * e / T**2 + 12.0 * v / T + 3.0 * a) / (2.0 * T)
    c[4] = (30.0 * e / T**2 + 16.0 * v / T + 3.0 * a) / (2.0 * T**2)
    c[5] = -(12.0 * e / T**2 + 6.0 * v / T + a) / (2.0 * T**3)
    return c
