"""Paths that keep limits and loops between the points of a request.

A time-optimal planner moves a joint at its velocity limit for a while. Its profile bends where that begins and ends, in
general between two of the points that it sends, and the spline through these points swings past the limit there: by 1 %
where points lie 0.1 s apart. In the same way it passes a position limit at which a joint comes to rest or turns.

Such a piece is replaced, for that joint alone, by one with the same positions and velocities at both ends. Its velocity
is a cubic from the first end to a constant and another cubic on to the second end. Bézier points keep both within the
bound: the velocity limit, or zero where the position limit is the one that was passed. The distance covered gives the
constant. Of many such pieces the one with the smallest accelerations is taken; those at the ends are kept where the
bound allows.

A request says where all joints are at its points. Between them each would go its own way, and the loops would not
close. So the joints that depend on the others get new polynomials: quintics between postures that are at most `WAY`
apart, with position, velocity and acceleration as the loops have them there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.assembly import DISAGREEMENT, Follower
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR
from rne_dynamics.closed_chain.independence import evaluated, independent_joints, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.control.motion.limits import MotionLimits
from rne_dynamics.control.motion.path import ORDER, ROWS, Path, distinct
from rne_dynamics.control.motion.takeover import shift
from rne_dynamics.control.thresholds import ALLOWANCE, ROUNDING
from rne_dynamics.control.trajectory import Trajectory, polynomials
from rne_dynamics.errors import ModelError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: The speed that replaced pieces keep, of the velocity limit: half of the allowance is left for rounding.
HIGHEST = 1.0 + 0.5 * ALLOWANCE
#: Largest overshoot, of the velocity limit, that is taken for a spline's: more comes from the points themselves.
LARGEST_OVERSHOOT = 0.1
#: The same for positions, rad or m.
FARTHEST_OUT = 0.01
#: By how much a replaced piece may accelerate harder than its spline did, and the joint at any point.
STEEPER = 3.0
#: Most pieces that are checked, about 0.1 ms each. Of a path with more of them the others stay as they are.
MOST_PIECES = 5000
#: Pieces whose Bézier points are computed at a time.
CHUNK = 4096
#: Shorter pieces stay as they are, s: nothing swings far in them.
SHORTEST_PIECE = 1e-3
#: Digits of the times between parts, s: those of messages.
DIGITS = 9
#: Parts of a piece whose Bézier points are checked together: they lie 64 times closer to the spline than its own.
FINE = 8
#: Lengths that are tried for the two cubics, of the piece's own: all pairs that fit.
_PARTS = np.geomspace(5e-4, 0.9995, 40)
_FIRST, _LAST = (pair[np.add(*np.meshgrid(_PARTS, _PARTS)) <= 1.0] for pair in np.meshgrid(_PARTS, _PARTS))


class Replacement(NamedTuple):
    """A piece of one joint."""

    #: Times since the piece began at which its parts begin, s; shape (parts,), the first 0.
    knots: Array
    #: Of each part's own time, lowest power first; shape (parts, 6).
    coefficients: Array


def limited_path(path: Path, limits: MotionLimits) -> Path:
    """The path with pieces within the limits where its splines swing past them, as far as that can be."""
    replaced: dict[int, dict[int, Replacement]] = {}
    hardest = 2.0 * np.abs(path.coefficients[:, 2]).max(axis=0)
    for piece, j in _suspects(path, limits)[:MOST_PIECES].tolist():
        T = float(path.knots[piece + 1] - path.knots[piece])
        found = _replacement(
            path.coefficients[piece, :, j] * T ** np.arange(ORDER), T, float(limits.lower[j]), float(limits.upper[j]),
            float(limits.velocity[j]), float(hardest[j]),
        )
        if found is not None:
            replaced.setdefault(piece, {})[j] = found
    if not replaced:
        return path
    knots, coefficients, done = [], [], 0
    for piece in sorted(replaced):
        begins, rows = _divided(path.coefficients[piece], replaced[piece])
        knots += [path.knots[done:piece], path.knots[piece] + begins]
        coefficients += [path.coefficients[done:piece], rows]
        done = piece + 1
    return Path(np.concatenate([*knots, path.knots[done:]]), np.concatenate([*coefficients, path.coefficients[done:]]))


def _suspects(path: Path, limits: MotionLimits) -> NDArray[np.intp]:
    """Pieces and joints whose Bézier points lie beyond a limit; shape (suspects, 2)."""
    found, lengths = [np.zeros((0, 2), dtype=np.intp)], np.diff(path.knots)
    for begin in range(0, len(lengths), CHUNK):
        T = lengths[begin : begin + CHUNK, None]
        scaled = path.coefficients[begin : begin + len(T)] * T[:, :, None] ** np.arange(ORDER)[:, None]
        position = np.einsum("ik,pkj->pij", ROWS[ORDER - 1], scaled)
        fast = np.abs(np.diff(position, axis=1)).max(axis=1) * (ORDER - 1) / T > HIGHEST * limits.velocity
        out = (position.min(axis=1) < limits.lower) | (position.max(axis=1) > limits.upper)
        found.append(np.argwhere((fast | out) & (T >= SHORTEST_PIECE)) + np.array([begin, 0]))
    return np.concatenate(found)


def _replacement(c: Array, T: float, lower: float, upper: float, velocity: float, hardest: float) -> Replacement | None:
    """A piece within the limits for coefficients `c`, (6,), of time as a part of its length T, s; None for none."""
    rate = c[1:] * np.arange(1.0, ORDER) / T
    q, v, highest = _POSITIONS @ c, _VELOCITIES @ rate, HIGHEST * velocity
    ends = rate[0], rate.sum(), c[1:].sum() / T  # and on average
    points_inside = lower - ROUNDING <= min(q[0], q[-1]) and max(q[0], q[-1]) <= upper + ROUNDING
    if not (points_inside and lower - FARTHEST_OUT <= q.min() and q.max() <= upper + FARTHEST_OUT):
        return None
    high, low = q.max() > upper + ROUNDING, q.min() < lower - ROUNDING
    turning = False
    if high or low:
        # the velocity must not change its sign, or where its ends have two, change it before the limit
        turning = min(ends) < -ROUNDING and max(ends) > ROUNDING
        side, bound = (1.0 if (high if turning else max(ends) <= ROUNDING) else -1.0), 0.0
    elif highest < np.abs(v).max() <= (1.0 + LARGEST_OVERSHOOT) * velocity:
        side, bound = (1.0 if v.max() > highest else -1.0), highest
    else:
        return None
    hardest = STEEPER * max(hardest, float(np.abs(_ACCELERATIONS @ (rate[1:] * np.arange(1.0, ORDER - 1))).max()) / T)
    mirrored = side * c  # so that the bound is above
    top = upper if side > 0.0 else -lower
    found = _turn(mirrored, T, top, hardest) if turning else _slowed(mirrored, T, bound, hardest)
    return None if found is None else Replacement(found.knots, side * found.coefficients)


def _slowed(c: Array, T: float, bound: float, hardest: float) -> Replacement | None:
    """A piece whose velocity is no more than `bound`, with the ends of the one given. Accelerations up to `hardest`."""
    v = c[1:] * np.arange(1.0, ORDER) / T
    a = v[1:] * np.arange(1.0, ORDER - 1) / T
    # how far below the bound the velocity is at the ends and on average, and how that changes
    f0, f1, mean = bound - float(v[0]), bound - float(v.sum()), bound - float(c[1:].sum()) / T
    s0, s1 = -float(a[0]), -float(a.sum())
    if not min(f0, f1, mean) >= -ROUNDING:
        return None
    f0, f1, mean = max(f0, 0.0), max(f1, 0.0), max(mean, 0.0)
    t0, t1 = np.round(T * _FIRST, DIGITS), np.round(T * _LAST, DIGITS)
    # with the accelerations of the ends, as far as Bézier points stay below the bound; or with those of parabolas
    k0, k1 = np.maximum(s0, -3.0 * f0 / t0), np.minimum(s1, 3.0 * f1 / t1)
    kept = (mean * T - 0.5 * (f0 * t0 + f1 * t1) - (k0 * t0**2 - k1 * t1**2) / 12.0) / (T - 0.5 * (t0 + t1))
    free = (mean * T - (f0 * t0 + f1 * t1) / 3.0) / (T - (t0 + t1) / 3.0)
    k0, k1 = np.append(k0, 2.0 * (free - f0) / t0), np.append(k1, 2.0 * (f1 - free) / t1)
    t0, t1, level = np.tile(t0, 2), np.tile(t1, 2), np.append(kept, free)
    inside = np.maximum(np.abs(3.0 * (level - f0) / t0 - k0), np.abs(3.0 * (f1 - level) / t1 - k1))
    worst = np.maximum(inside, np.maximum(np.abs(k0), np.abs(k1)))
    worst = np.where((level >= 0.0) & (worst <= hardest), worst, np.inf)
    if c[4:].any():  # a cubic has no accelerations that were given
        worst += np.abs(s0 - k0) + np.abs(s1 - k1)
    best = int(np.argmin(worst))
    if not worst[best] < np.inf:
        return None
    begin, end, between = float(t0[best]), float(t1[best]), bound - float(level[best])
    parts = np.zeros((3, ORDER))
    parts[0] = _cubic(float(c[0]), bound - f0, between, -float(k0[best]), 0.0, begin)
    parts[1, :2] = _value(parts[0], begin), between
    parts[2] = _cubic(_value(parts[1], T - begin - end), between, bound - f1, 0.0, -float(k1[best]), end)
    return Replacement(np.round([0.0, begin, T - end], DIGITS), parts)


def _turn(c: Array, T: float, top: float, hardest: float) -> Replacement | None:
    """A piece that goes up, comes to rest no higher than `top`, and goes down. Accelerations up to `hardest`."""
    # constant deceleration, then acceleration: without a pause it turns where the planner's profile would, if of this
    # kind
    first, last = float(c[0]), float(c.sum())
    up, down = float(c[1]) / T, -float((c[1:] * np.arange(1.0, ORDER)).sum()) / T
    if not (up > 0.0 and down > 0.0):
        return None
    place = min((0.5 * T + first / up + last / down) / (1.0 / up + 1.0 / down), top)
    begin, end = (round(way, DIGITS) for way in (2.0 * (place - first) / up, 2.0 * (place - last) / down))
    if not (begin > 0.0 and end > 0.0 and up <= hardest * begin and down <= hardest * end):
        return None
    parts = np.zeros((3, ORDER))
    parts[0, :3] = first, up, -0.5 * up / begin
    parts[1:, 0] = place
    parts[2, 2] = -0.5 * down / end
    return Replacement(np.round([0.0, begin, max(T - end, begin)], DIGITS), parts)


def _cubic(q: float, v0: float, v1: float, a0: float, a1: float, T: float) -> Array:
    """From position `q` with a velocity that is Hermite's cubic; coefficients, lowest power first, shape (6,)."""
    change = (v1 - v0) / T
    return np.array([
        q, v0, 0.5 * a0, (3.0 * change - 2.0 * a0 - a1) / (3.0 * T), (a0 + a1 - 2.0 * change) / (4.0 * T**2), 0.0,
    ])


def _value(c: Array, x: float) -> float:
    return float(np.polynomial.polynomial.polyval(x, c))


def _divided(c: Array, joints: dict[int, Replacement]) -> tuple[Array, Array]:
    """A piece, (6, n), in parts: begins of the parts since its own begin, and their coefficients, (parts, 6, n)."""
    begins = distinct(np.concatenate([r.knots for r in joints.values()]))
    rows = np.empty((len(begins), *c.shape))
    for row, x in zip(rows, begins.tolist(), strict=True):
        row[:] = _shifted(c, x)
        for j, (knots, parts) in joints.items():
            k = int(np.searchsorted(knots, x, side="right")) - 1
            row[:, j] = _shifted(parts[k], x - float(knots[k]))
    return begins, rows


def _shifted(c: Array, x: float) -> Array:
    """The same polynomials, coefficients (6, …), counted from `x` later."""
    out: Array = c.copy()
    shift(out, x)
    return out


def _fine(degree: int) -> Array:
    """From powers of a piece's time in [0, 1] to the Bézier points of each of its `FINE` parts."""
    rows = ROWS[degree, : degree + 1, : degree + 1]
    powers = range(degree + 1)
    parts = np.array([
        [[math.comb(k, i) * (begin / FINE) ** max(k - i, 0) / FINE**i for k in powers] for i in powers]
        for begin in range(FINE)
    ])
    return np.concatenate(list(rows @ parts))


_POSITIONS, _VELOCITIES, _ACCELERATIONS = _fine(ORDER - 1), _fine(ORDER - 2), _fine(ORDER - 3)


#: Way of a leading joint in one polynomial, rad or lengths of the mechanism, and how often a piece is sampled for it.
WAY, _LOOKS = 0.02, 8
#: Most polynomials of a path: each takes about 0.3 ms.
MOST_POLYNOMIALS = 10_000

#: Makes the path that is followed of the one that is asked for, the joints it names, and where it begins, s.
Leading = Callable[[Path, Array, float], Path]
#: Time between two checked points of a trajectory, s, and their smallest and largest number.
CHECK_EVERY, LEAST_CHECKS, MOST_CHECKS = 0.02, 20, 100


def leading_path(mechanism: Mechanism, posture: Array) -> Leading | None:
    """Paths of all actuated joints from those that lead; None where all do. `posture`: all joints of the tree."""
    if independent_joints(mechanism) is None:
        return None
    return lambda path, named, begin: _LoopPath(mechanism, named.tolist(), posture).along(path, begin)


def leading_joints(mechanism: Mechanism, named: Sequence[int]) -> tuple[int, ...]:
    """Places of the actuated joints that lead where a request names those at the places `named`: these if they can."""
    leading = independent_joints(mechanism, tuple(sorted(named)))
    return tuple(range(mechanism.n)) if leading is None else leading


class _LoopPath:
    """One path in the making, where a request names the joints at the places `named`."""

    def __init__(self, mechanism: Mechanism, named: Sequence[int], posture: Array) -> None:
        names, leading = mechanism.joint_names, leading_joints(mechanism, named)
        self._mechanism, self._leading = mechanism, np.array(leading)
        self._agreeing = [j for j in sorted(named) if j not in leading]
        self._follower = Follower(replace(mechanism, joint_names=tuple(names[j] for j in leading)), posture)
        self._packed = pack(mechanism)
        self._work = workspace(self._packed)

    def along(self, path: Path, begin: float) -> Path:
        """The path with the led joints on the loops; those of them that are named must be there at its knots."""
        rest = len(path.knots) - 1
        first = max(int(np.searchsorted(path.knots, begin, side="right")) - 1, 0)
        knots, pieces = path.knots[: first + 1].tolist(), list(path.coefficients[:first])
        q = self._closed(path.in_piece(first, 0.0), path.knots[first])[0]
        if first < rest or rest == 0:
            self._check(path.in_piece(first, 0.0).q, q, float(path.knots[first]))
        for p in range(first, rest):
            T = float(path.knots[p + 1] - path.knots[p])
            parts = self._parts(path, p, T)
            if len(pieces) + parts > MOST_POLYNOMIALS:
                raise TrajectoryError(
                    f"it takes more than {MOST_POLYNOMIALS} polynomials to lead the joints that depend on others along "
                    "the loops; send it in parts"
                )
            x = np.linspace(0.0, T, parts + 1)
            rows = np.array([self._closed(path.in_piece(p, t), path.knots[p] + t) for t in x.tolist()])
            self._check(path.in_piece(p, T).q, rows[-1, 0], float(path.knots[p + 1]))
            pieces.extend(polynomials(x, *rows.swapaxes(0, 1))[:-1])
            knots.extend((path.knots[p] + x[1:]).tolist())
            q = rows[-1, 0]
        last = np.zeros_like(path.coefficients[0])
        last[0] = q
        return Path(np.array(knots), np.array([*pieces, last]))

    def _parts(self, path: Path, piece: int, T: float) -> int:
        looks = np.array([path.in_piece(piece, t).q for t in np.linspace(0.0, T, _LOOKS + 1).tolist()])
        way = np.abs(np.diff(looks[:, self._leading], axis=0)).sum(axis=0)
        scales = self._packed.column_scale[self._mechanism.actuated[self._leading]]
        return int(np.clip(np.ceil((way / scales).max() / WAY), 1, MOST_POLYNOMIALS + 1))

    def _closed(self, wanted: tuple[Array, Array, Array], t: float) -> Array:
        """Position, velocity and acceleration of the actuated joints at time t where the leading ones are; (3, n)."""
        q, qd, qdd = (row[self._leading] for row in wanted)
        follower, mechanism = self._follower, self._mechanism
        _follow(follower, q, qd, t)
        K = scaled_jacobian(self._packed, evaluated(self._packed, self._work, follower.posture, follower.velocity))
        acceleration = np.zeros(mechanism.robot.n)
        acceleration[mechanism.actuated[self._leading]] = qdd
        others = np.setdiff1d(np.arange(mechanism.robot.n), mechanism.actuated[self._leading])
        right = -self._packed.row_scale * (self._work.drift + self._work.K @ acceleration)
        acceleration[others] = self._packed.column_scale[others] * np.linalg.lstsq(K[:, others], right, rcond=1e-9)[0]
        rows = np.array([follower.posture, follower.velocity, acceleration])[:, mechanism.actuated]
        rows[:, self._leading] = q, qd, qdd
        return rows

    def _check(self, wanted: Array, q: Array, t: float) -> None:
        scales, names = self._packed.column_scale[self._mechanism.actuated], self._mechanism.joint_names
        for j in self._agreeing:
            if not abs(wanted[j] - q[j]) <= DISAGREEMENT * scales[j]:
                raise TrajectoryError(
                    f"joint {names[j]!r} is to be at {wanted[j]:.6g} at {t:.3f} s, but the loops put it at {q[j]:.6g} "
                    f"where {', '.join(names[k] for k in self._leading)} are then; leave it out, and it follows them"
                )


def check_loops(trajectory: Trajectory, mechanism: Mechanism, posture: Array, begin: float = 0.0) -> Array:
    """Follow a trajectory with the loops; the posture at its end, (tree n,). `TrajectoryError` where that cannot be."""
    tree, passive = mechanism.robot, mechanism.passive
    lower = np.minimum(tree.lower, posture) - ROUNDING
    upper = np.maximum(tree.upper, posture) + ROUNDING
    follower, allowed = Follower(mechanism, posture), NEAR_SINGULAR
    checks = int(np.clip((trajectory.duration - begin) / CHECK_EVERY, LEAST_CHECKS, MOST_CHECKS))
    for t in np.linspace(begin, trajectory.duration, checks + 1).tolist():
        now = trajectory.sample(t)
        _follow(follower, now.q, now.qd, t)
        if t == begin:
            allowed = min(allowed, follower.smallest * (1.0 - 1e-6))
        if follower.smallest < allowed:
            raise TrajectoryError(
                f"it leads at {t:.3f} s to {follower.smallest:.3g} from a singular posture, in which the actuated "
                f"joints do not hold the mechanism; allowed is {allowed:.3g} (`MotionMap.smallest`). Keep away from it"
            )
        outside = (follower.posture[passive] < lower[passive]) | (follower.posture[passive] > upper[passive])
        if outside.any():
            j = int(passive[np.argmax(outside)])
            raise TrajectoryError(
                f"passive joint {tree.joint_names[j]!r} would be at {follower.posture[j]:.6g} at {t:.3f} s; allowed is "
                f"[{tree.lower[j]:.6g}, {tree.upper[j]:.6g}]"
            )
    return np.array(follower.posture)


def _follow(follower: Follower, q: Array, qd: Array, t: float) -> None:
    """`TrajectoryError` where the loops cannot be followed to the path time `t`, s."""
    try:
        follower.follow(q, qd)
    except ModelError as error:
        raise TrajectoryError(f"it cannot be followed beyond {t:.3f} s: {error}") from error
