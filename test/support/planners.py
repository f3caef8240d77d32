"""Trajectories of standard planners: time-optimal at their own limits, sampled every 0.1 s. Not our code.

- `trapezoids`: straight lines between via-points, each a trapezoid of the velocity along it from rest to rest.
- `joint_trapezoids`: each joint its own trapezoid at its own limits, so that they arrive one after the other.
- `blended`: straight lines joined by circular arcs, as fast as the limits of velocity and acceleration allow, as the
  time-optimal parameterisation of MoveIt makes it (T. Kunz and M. Stilman, Robotics: Science and Systems 2012). The
  profile is computed another way: reachable speeds backwards, greatest speed forwards (H. Pham and Q.-C. Pham, IEEE
  Transactions on Robotics 34, 2018), on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rne_dynamics.model.inertia import Array

#: As MoveIt samples, s; and how far an arc may lead past a via-point, rad.
PERIOD, DEVIATION = 0.1, 0.1


@dataclass
class Plan:
    """Points of a trajectory, shape (points,) and (points, n), and the limits of acceleration that it keeps."""

    times: Array
    q: Array
    qd: Array
    qdd: Array
    acceleration: Array


def trapezoid(way: float, v: float, a: float, t: Array) -> Array:
    """Position, velocity and acceleration at times `t` of the fastest way from rest to rest; shape (3, times)."""
    v = min(v, np.sqrt(way * a)) if way > 0.0 else 0.0
    if v == 0.0:
        return np.zeros((3, len(t)))
    rise, T = v / a, v / a + way / v
    left = np.clip(T - t, 0.0, T)
    x = np.minimum(np.clip(t, 0.0, T), left)  # the second half is the first one, backwards
    speed = np.minimum(a * x, v)
    half = np.where(x < rise, 0.5 * a * x**2, v * (x - 0.5 * rise))
    sign = np.where(t < rise, 1.0, 0.0) - np.where(t > T - rise, 1.0, 0.0)
    return np.stack([np.where(t <= 0.5 * T, half, way - half), speed, a * sign * ((t >= 0.0) & (t <= T))])


def trapezoids(via: Array, v: Array, a: Array, rng: np.random.Generator) -> Plan:
    """Stops at each via-point, (points, n); the sampling goes on through it, or begins anew in it."""
    through, begin, segments = bool(rng.integers(2)), 0.0, []
    for here, there in pairwise(via):
        step = there - here
        size = np.maximum(np.abs(step), 1e-300)
        sv, sa = float((v / size).min()), float((a / size).min())
        reached = min(sv, np.sqrt(sa))
        segments.append((begin, here, step, sv, sa))
        begin += reached / sa + 1.0 / reached
    ends = np.array([s[0] for s in segments] + [begin])
    times = sampled(0.0, ends[-1]) if through else np.unique(np.concatenate([sampled(*e) for e in pairwise(ends)]))
    rows = np.zeros((3, len(times), len(v)))
    for k, (start, here, step, sv, sa) in enumerate(segments):
        inside = (times >= start) & (times < ends[k + 1]) | (times == ends[-1]) & (k == len(segments) - 1)
        s = trapezoid(1.0, sv, sa, times[inside] - start)
        rows[:, inside] = s[:, :, None] * step
        rows[0, inside] += here
    return Plan(times, *rows, a)


def joint_trapezoids(via: Array, v: Array, a: Array, rng: np.random.Generator) -> Plan:
    """From the first via-point to the second, each joint at its own limits."""
    way = via[1] - via[0]
    size = np.abs(way)
    top = np.minimum(v, np.sqrt(size * a))
    times = sampled(0.0, float(np.max(top / a + size / np.maximum(top, 1e-300))))
    rows = np.stack([trapezoid(size[j], v[j], a[j], times) for j in range(len(v))], axis=2) * np.sign(way)
    rows[0] += via[0]
    return Plan(times, *rows, a)


def sampled(begin: float, end: float) -> Array:
    """Times every period, and the end."""
    times = begin + PERIOD * np.arange(np.ceil((end - begin) / PERIOD - 1e-9))
    return np.append(times, end)


class Blend:
    """Straight lines through via-points, (points, n), joined by circular arcs; by arc length."""

    def __init__(self, via: Array) -> None:
        self._pieces: list[tuple[float, tuple[Array, ...]]] = []  # length; a line (start, direction) or an arc
        lengths = np.linalg.norm(np.diff(via, axis=0), axis=1)
        directions = np.diff(via, axis=0) / lengths[:, None]
        begin = via[0]
        for k in range(1, len(via) - 1):
            e, f = directions[k - 1], directions[k]
            angle = float(np.arccos(np.clip(e @ f, -1.0, 1.0)))  # by which it turns
            if angle < 1e-6:
                continue
            # tangents of length l: the arc passes at l tan(angle / 4) of the via-point
            cut = min(0.5 * lengths[k - 1], 0.5 * lengths[k], DEVIATION / np.tan(0.25 * angle))
            radius = cut / np.tan(0.5 * angle)
            self._add_line(begin, via[k] - cut * e, e)
            middle = f - e
            middle /= np.linalg.norm(middle)
            centre = via[k] + middle * radius / np.cos(0.5 * angle)
            self._pieces.append((radius * angle, (centre, (via[k] - cut * e - centre) / radius, e, np.full(1, radius))))
            begin = via[k] + cut * f
        self._add_line(begin, via[-1], directions[-1])
        self.knots = np.append(0.0, np.cumsum([p[0] for p in self._pieces]))

    def _add_line(self, start: Array, end: Array, direction: Array) -> None:
        self._pieces.append((float((end - start) @ direction), (start, direction)))

    def sample(self, s: Array, piece: Array) -> tuple[Array, Array, Array]:
        """Position, tangent and curvature at lengths `s`, each on its `piece`; (rows, n) each."""
        rows = []
        for x, p in zip(s - self.knots[piece], piece, strict=True):
            shape = self._pieces[p][1]
            if len(shape) == 2:
                rows.append((shape[0] + x * shape[1], shape[1], np.zeros_like(shape[1])))
                continue
            centre, x_axis, y_axis, radius = shape
            c, d = np.cos(x / radius), np.sin(x / radius)
            out = x_axis * c + y_axis * d
            rows.append((centre + radius * out, -x_axis * d + y_axis * c, -out / radius))
        q, tangent, curvature = (np.array([r[k] for r in rows]) for k in range(3))
        return q, tangent, curvature


def blended(via: Array, v: Array, a: Array, rng: np.random.Generator, steps: int = 1200) -> Plan:
    """The time-optimal motion along a `Blend`."""
    path = Blend(via)
    grid, piece = [], []
    for k, (begin, end) in enumerate(zip(path.knots[:-1], path.knots[1:], strict=True)):
        count = max(round(steps * (end - begin) / path.knots[-1]), 60)
        grid.append(np.linspace(begin, end, count + 1)[:-1])
        piece.append(np.full(count, k))
    s, on = np.append(np.concatenate(grid), path.knots[-1]), np.concatenate([*piece, [len(path.knots) - 2]])
    q1, q2 = path.sample(0.5 * (s[:-1] + s[1:]), on[:-1])[1:]  # constraints hold in the middle of each step
    width = np.diff(s)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.minimum((v / np.abs(q1)).min(axis=1) ** 2, _steady(q1, q2, a))
    ceiling = np.append(np.minimum(np.append(top[0], top), np.append(top, top[-1])), 0.0)[: len(s)]
    ceiling[0] = ceiling[-1] = 0.0
    reach = ceiling.copy()  # largest square of the speed from which the end can be reached
    for k in range(len(width) - 1, -1, -1):
        low, slope = _acceleration(q1[k], q2[k], a, -1.0)
        # x + 2 Δ (low + slope x) ≤ reach of the next, whichever joint brakes least
        factor = 1.0 + 2.0 * width[k] * slope
        bound = (reach[k + 1] - 2.0 * width[k] * low)[factor > 0.0] / factor[factor > 0.0]
        reach[k] = min(reach[k], max(float(bound.min(initial=np.inf)), 0.0))
    x = np.zeros(len(s))
    for k in range(len(width)):
        high, slope = _acceleration(q1[k], q2[k], a, 1.0)
        u = float((high + slope * x[k]).min(initial=np.inf))
        x[k + 1] = np.clip(x[k] + 2.0 * width[k] * u, 0.0, reach[k + 1])
    speed = np.sqrt(x)
    clock = np.append(0.0, np.cumsum(2.0 * width / (speed[:-1] + speed[1:])))
    times = sampled(0.0, float(clock[-1]))
    step = np.clip(np.searchsorted(clock, times, side="right") - 1, 0, len(width) - 1)
    along = times - clock[step]
    u = (x[step + 1] - x[step]) / (2.0 * width[step])
    rate = np.maximum(speed[step] + u * along, 0.0)
    rate[-1] = 0.0
    length = np.minimum(s[step] + speed[step] * along + 0.5 * u * along**2, s[step + 1])
    q, tangent, curvature = path.sample(length, on[step])
    return Plan(times, q, tangent * rate[:, None], tangent * u[:, None] + curvature * rate[:, None] ** 2, a)


def _acceleration(q1: Array, q2: Array, a: Array, side: float) -> tuple[Array, Array]:
    """The bounds u ≤ h + k x (side 1) or u ≥ h + k x (side −1) from |q1 u + q2 x| ≤ a, one for each moving joint."""
    moves = np.abs(q1) > 1e-9
    return side * a[moves] / np.abs(q1[moves]), -q2[moves] / q1[moves]


def _steady(q1: Array, q2: Array, a: Array) -> Array:
    """Largest square of the speed at which any acceleration along the path keeps the limits; shape (rows,)."""
    top = np.full(len(q1), np.inf)
    for i in range(q1.shape[1]):
        still = np.abs(q1[:, i]) <= 1e-9
        top = np.minimum(top, np.where(still & (q2[:, i] != 0.0), a[i] / np.abs(q2[:, i]), np.inf))
        for j in range(i):
            # |u + (q2/q1) x| ≤ a / |q1| of both joints: their intervals overlap
            apart = np.abs(q2[:, i] / q1[:, i] - q2[:, j] / q1[:, j])
            both = (a[i] / np.abs(q1[:, i]) + a[j] / np.abs(q1[:, j])) / apart
            top = np.minimum(top, np.where(still | (np.abs(q1[:, j]) <= 1e-9) | (apart == 0.0), np.inf, both))
    return top


def plan(number: int, lower: Array, upper: Array, v: Array, a: Array, rng: np.random.Generator) -> Plan:
    """A random one of each kind in turn, between random via-points; some of them on position limits."""
    kind = (blended, trapezoids, blended, joint_trapezoids)[number % 4]
    count = int(rng.integers(2, 7))
    if rng.random() < 0.5:
        via = rng.uniform(lower, upper, (count, len(v)))
    else:  # short steps, with resting joints among them
        via = np.cumsum(rng.normal(0.0, rng.uniform(0.1, 0.6), (count, len(v))), axis=0) + rng.uniform(lower, upper)
    via = np.where(rng.random(len(v)) < 0.15, rng.uniform(lower, upper), via)
    if rng.random() < 0.2:
        via[rng.integers(count)] = np.where(rng.random(len(v)) < 0.5, lower, upper)
    via = np.clip(via, lower, upper)
    way = np.diff(via, axis=0)
    way /= np.linalg.norm(way, axis=1)[:, None]
    if ((way[1:] * way[:-1]).sum(axis=1) < -0.999).any():  # no arc leads back the way it came
        kind = trapezoids
    return kind(via, v, a, rng)
