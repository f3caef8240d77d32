"""Trajectories as functions of time: hold, quintic from rest to rest, and points in between which are polynomials.

A trajectory knows no clock: time is seconds since its own start. Before the start and after the end it holds the
end in question at rest.

Positions only: straight lines. Positions and velocities: cubic polynomials. Positions, velocities and accelerations:
quintic polynomials. Source: joint_trajectory_controller/src/trajectory.cpp, `interpolate_between_points`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.path import ORDER, Path
from rne_dynamics.control.parameters import check_number, frozen_vector, joint_name, measured
from rne_dynamics.errors import TrajectoryError, refuse
from rne_dynamics.model.inertia import Array, Rebuilt, read_only, set_fields

#: Refusal of points for which no polynomial is defined.
ACCELERATIONS_ALONE = "the trajectory has accelerations but no velocities; give both, or neither"


@dataclass(frozen=True, eq=False)
class SampledTrajectory(Rebuilt):
    """A trajectory through given points.

    Parameters
    ----------
    times
        Time of each point from the start, s; shape (points,), not negative, strictly increasing.
    positions
        rad or m; shape (points, n).
    velocities, accelerations
        The same shape, or `None`. Accelerations need velocities.
    joint_names
        For messages; length n.

    Raises
    ------
    TrajectoryError
        No points, shapes that do not agree, numbers that are not finite (names the joint and the point), times that
        are negative or do not increase.

    Notes
    -----
    Where the first time is above 0, the trajectory waits in the first point until then. After the last point it holds
    that point at rest, even where the last point carries a velocity.
    """

    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None
    joint_names: Sequence[str] | None = None
    duration: float = field(init=False)
    path: Path = field(init=False, repr=False)  # the same as polynomials; it rests in the last point from its time on

    def __post_init__(self) -> None:
        positions = _matrix(self.positions, "positions", None, self.joint_names)
        times = _times(self.times, len(positions))
        names = self.joint_names
        refuse(
            TrajectoryError,
            (names is not None and len(names) != positions.shape[1],
             f"{len(names or ())} joint names, but the positions have {positions.shape[1]} columns"),
            (self.accelerations is not None and self.velocities is None, ACCELERATIONS_ALONE),
        )  # fmt: skip
        velocities, accelerations = (
            None if rows is None else _matrix(rows, what, positions.shape, names)
            for what, rows in (("velocities", self.velocities), ("accelerations", self.accelerations))
        )
        set_fields(
            self, times=times, positions=positions, velocities=velocities, accelerations=accelerations,
            joint_names=None if names is None else tuple(names), duration=float(times[-1]),
            path=Path(times, polynomials(times, positions, velocities, accelerations)),
        )

    def sample(self, t: float) -> Reference:
        """The reference `t` seconds after the start; on the last knot still the polynomial's own end."""
        if t == self.duration and len(self.times) > 1:
            return self.path.in_piece(len(self.times) - 2, t - float(self.times[-2]))
        return self.path.sample(t)

    def samples(self, times: Array) -> Array:
        """`sample` at many times, shape (rows,): positions, velocities, accelerations, shape (rows, 3, n)."""
        out = self.path.samples(times)
        if len(self.times) > 1:
            out[times == self.duration] = self.sample(self.duration)
        return out


def _times(value: ArrayLike, points: int) -> Array:
    times = np.array(value, dtype=np.float64)
    if times.shape != (points,):
        raise TrajectoryError(f"times have shape {times.shape}, but there are {points} points; it must be ({points},)")
    for k, t in enumerate(times.tolist()):
        if not (math.isfinite(t) and t >= 0.0):
            raise TrajectoryError(f"point {k}: its time is {t} s; it must be finite and not negative")
        if k > 0 and not t > times[k - 1]:
            raise TrajectoryError(
                f"point {k}: its time {t} s is not after the {times[k - 1]} s of point {k - 1}; times must increase"
            )
    return read_only(times)


def _matrix(value: ArrayLike, what: str, shape: tuple[int, ...] | None, names: Sequence[str] | None) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TrajectoryError(f"{what} are not a table of numbers; every point needs one for each joint") from None
    refuse(
        TrajectoryError,
        (array.ndim != 2 or array.size == 0,
         f"{what} have shape {array.shape}; it must be (points, joints), neither of them 0"),
        (shape is not None and array.shape != shape,
         f"{what} have shape {array.shape}; the positions have {shape}, and they must agree"),
    )  # fmt: skip
    finite = np.isfinite(array)
    if not finite.all():
        point, joint = np.argwhere(~finite)[0].tolist()
        known = names if names is not None and joint < len(names) else None
        raise TrajectoryError(
            f"point {point}: {what} of {joint_name(joint, known)} is {array[point, joint]}; it must be finite"
        )
    return read_only(array)


def polynomials(times: Array, q: Array, qd: Array | None, qdd: Array | None) -> Array:
    """Coefficients between the points, lowest power first, and the last point at rest; (points, 6, n)."""
    T = np.diff(times)[:, None]
    a, b = q[:-1], q[1:]
    way = b - a
    if qd is None:
        powers = [way / T]
    elif qdd is None:
        u, v = qd[:-1] * T, qd[1:] * T
        powers = [qd[:-1], (3.0 * way - 2.0 * u - v) / T**2, (u + v - 2.0 * way) / T**3]
    else:
        u, v = qd[:-1] * T, qd[1:] * T
        s, e = qdd[:-1] * T**2, qdd[1:] * T**2
        powers = [
            qd[:-1],
            0.5 * qdd[:-1],
            (20.0 * way - 12.0 * u - 8.0 * v - 3.0 * s + e) / (2.0 * T**3),
            (-30.0 * way + 16.0 * u + 14.0 * v + 3.0 * s - 2.0 * e) / (2.0 * T**4),
            (12.0 * way - 6.0 * (u + v) + e - s) / (2.0 * T**5),
        ]
    c = np.zeros((len(times), ORDER, q.shape[1]))
    c[:, 0] = q
    c[:-1, 1 : len(powers) + 1] = np.stack(powers, axis=1)
    return c


# -- trajectories as functions of time: hold, quintic from rest to rest ------------------------------------------------


#: Largest |ds/dt| and |d²s/dt²| of s = 10 t³ − 15 t⁴ + 6 t⁵ on [0, 1].
QUINTIC_PEAK_VELOCITY = 15.0 / 8.0
QUINTIC_PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)


class Trajectory(Protocol):
    """A desired motion over a finite time."""

    @property
    def duration(self) -> float:
        """Time from start to end, s."""

    def sample(self, t: float) -> Reference:
        """The reference `t` seconds after the start; at rest at the nearer end outside [0, duration]."""


@dataclass(frozen=True, eq=False)
class Hold(Rebuilt):
    """Stay at `q`, shape (n,); rad or m."""

    q: Array
    duration: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        set_fields(self, q=_point(self.q, "the position to hold"))

    def sample(self, t: float) -> Reference:
        """The same reference at any time."""
        return at_rest(self.q)


@dataclass(frozen=True, eq=False)
class Quintic(Rebuilt):
    """From rest to rest with zero acceleration at both ends: q = a + (b − a)(10 s³ − 15 s⁴ + 6 s⁵), s = t/T.

    Parameters
    ----------
    start, end
        Positions a and b, rad or m; shape (n,).
    duration
        T, s; above 0.

    Raises
    ------
    TrajectoryError
        Shapes that differ, numbers that are not finite, a duration that is not above 0.
    """

    start: Array
    end: Array
    duration: float
    path: Path = field(init=False, repr=False)  # the same as a polynomial

    def __post_init__(self) -> None:
        start, end = _point(self.start, "the start"), _point(self.end, "the end")
        if start.shape != end.shape:
            raise TrajectoryError(f"the start has {len(start)} joints and the end {len(end)}; they must agree")
        duration = float(self.duration)
        check_number(duration, "the duration", unit=" s", error=TrajectoryError)
        set_fields(self, start=start, end=end, duration=duration)
        set_fields(self, path=self.points().path)

    def sample(self, t: float) -> Reference:
        """The reference `t` seconds after the start."""
        return self.path.sample(t)

    def samples(self, times: Array) -> Array:
        """`sample` at many times, shape (rows,): positions, velocities, accelerations, shape (rows, 3, n)."""
        return self.path.samples(times)

    def points(self) -> SampledTrajectory:
        """The same motion as two points."""
        rest = np.zeros((2, len(self.start)))
        return SampledTrajectory(np.array([0.0, self.duration]), np.array([self.start, self.end]), rest, rest)


def quintic_duration(
    start: ArrayLike, end: ArrayLike, velocity_limit: ArrayLike, acceleration_limit: ArrayLike | None = None, *,
    scale: float = 1.0, minimum: float = 0.1,
) -> float:
    """Shortest duration, at least `minimum`, for which a `Quintic` stays within `scale` of limits, (n,) or one, s."""
    a, b = _point(start, "the start"), _point(end, "the end")
    n = len(a)
    refuse(
        TrajectoryError,
        (len(b) != n, f"the start has {n} joints and the end {len(b)}; they must agree"),
        (not 0.0 < scale <= 1.0, f"scale is {scale}; it must be above 0 and at most 1"),
    )
    smallest = float(np.nextafter(0.0, 1.0))
    v = frozen_vector(velocity_limit, n, "the velocity limit", lowest=smallest, finite=False, error=TrajectoryError)
    u = frozen_vector(
        np.inf if acceleration_limit is None else acceleration_limit,
        n, "the acceleration limit", lowest=smallest, finite=False, error=TrajectoryError,
    )
    way = np.abs(b - a)
    free = (way > 0.0) & np.isinf(v) & np.isinf(u)
    if free.any():
        raise TrajectoryError(
            f"joint number {int(np.argmax(free))} moves but has neither a velocity nor an acceleration limit; "
            "give one, or give the duration"
        )
    by_velocity = float(np.max(QUINTIC_PEAK_VELOCITY * way / (scale * v), initial=0.0))
    by_acceleration = math.sqrt(float(np.max(QUINTIC_PEAK_ACCELERATION * way / (scale * u), initial=0.0)))
    return max(by_velocity, by_acceleration, minimum)


def references(trajectory: Trajectory, times: Array, n: int) -> Array:
    """Position, velocity, acceleration at each time, (rows, 3, n), of any trajectory of `n` joints; ControlError."""
    if type(trajectory) in (Quintic, SampledTrajectory, Path):  # a subclass may have a `sample` of its own
        assert isinstance(trajectory, (Quintic, SampledTrajectory, Path))
        measured(trajectory.sample(0.0).q, n, "reference.q")
        return trajectory.samples(times)
    rows = np.empty((len(times), 3, n))
    for row, t in zip(rows, times.tolist(), strict=True):
        for out, part, what in zip(row, trajectory.sample(t), ("q", "qd", "qdd"), strict=True):
            out[:] = measured(part, n, f"reference.{what}")
    return rows


def at_rest(q: Array) -> Reference:
    """Position `q` with zero velocity and acceleration, read-only."""
    zero = read_only(np.zeros_like(q))
    return Reference(q, zero, zero)


def _point(value: ArrayLike, what: str) -> Array:
    return frozen_vector(value, max(int(np.size(value)), 1), what, error=TrajectoryError)
