"""Trajectories as functions of time: hold, quintic from rest to rest.

A trajectory knows no clock: time is seconds since its own start. Before the start and after the end it holds the
end in question at rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.checks import check_number, frozen_vector, measured, set_fields
from rne_dynamics.control.motion.path import Path
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.sampled import SampledTrajectory
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.rebuilt import Rebuilt

__all__ = ["Hold", "Quintic", "SampledTrajectory", "Trajectory", "quintic_duration"]

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

    def __post_init__(self) -> None:
        start, end = _point(self.start, "the start"), _point(self.end, "the end")
        if start.shape != end.shape:
            raise TrajectoryError(f"the start has {len(start)} joints and the end {len(end)}; they must agree")
        duration = float(self.duration)
        check_number(duration, "the duration", unit=" s", error=TrajectoryError)
        set_fields(self, start=start, end=end, duration=duration)

    def sample(self, t: float) -> Reference:
        """The reference `t` seconds after the start."""
        if not t > 0.0:
            return at_rest(self.start)
        if t >= self.duration:
            return at_rest(self.end)
        T, way = self.duration, self.end - self.start
        s = t / T
        r = 1.0 - s
        return Reference(
            self.start + (s * s * s * (10.0 + s * (6.0 * s - 15.0))) * way,
            (30.0 * s * s * r * r / T) * way,
            (60.0 * s * r * (r - s) / (T * T)) * way,
        )

    def samples(self, times: Array) -> Array:
        """`sample` at many times, shape (rows,): positions, velocities, accelerations, shape (rows, 3, n)."""
        return self.points().samples(times)

    def points(self) -> SampledTrajectory:
        """The same motion as two points."""
        rest = np.zeros((2, len(self.start)))
        return SampledTrajectory(np.array([0.0, self.duration]), np.array([self.start, self.end]), rest, rest)


def quintic_duration(
    start: ArrayLike,
    end: ArrayLike,
    velocity_limit: ArrayLike,
    acceleration_limit: ArrayLike | None = None,
    *,
    scale: float = 1.0,
    minimum: float = 0.1,
) -> float:
    """Shortest duration for which a `Quintic` stays within limits, s.

    `start`, `end`: positions, rad or m; shape (n,). `velocity_limit`, `acceleration_limit`: largest speed and
    acceleration of each joint, one number or shape (n,); infinite where there is none. `scale`: fraction of the limits
    to use, above 0 and at most 1. `minimum`: the answer is never shorter than this, s. Raises TrajectoryError: a limit
    that is not above 0, a scale outside (0, 1], or a joint that moves with no finite limit at all.
    """
    a, b = _point(start, "the start"), _point(end, "the end")
    n = len(a)
    if len(b) != n:
        raise TrajectoryError(f"the start has {n} joints and the end {len(b)}; they must agree")
    if not 0.0 < scale <= 1.0:
        raise TrajectoryError(f"scale is {scale}; it must be above 0 and at most 1")
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
    """Position, velocity and acceleration at each time, shape (rows, 3, n), of any trajectory of `n` joints.

    Raises ControlError: a trajectory of another number of joints.
    """
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
    zero = np.zeros_like(q)
    zero.flags.writeable = False
    return Reference(q, zero, zero)


def _point(value: ArrayLike, what: str) -> Array:
    return frozen_vector(value, max(int(np.size(value)), 1), what, error=TrajectoryError)
