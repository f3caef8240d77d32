"""Trajectories given by points in time, interpolated exactly as ros2_controllers' joint_trajectory_controller does.

Positions only: straight lines. Positions and velocities: cubic polynomials. Positions, velocities and accelerations:
quintic polynomials. Source: joint_trajectory_controller/src/trajectory.cpp, `interpolate_between_points`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.bounds import Departure
from rne_dynamics.control.checks import joint_name, set_fields
from rne_dynamics.control.motion.path import ORDER, Path
from rne_dynamics.control.motion.takeover import takeover
from rne_dynamics.control.reference import Reference
from rne_dynamics.errors import TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.rebuilt import Rebuilt


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
    Where the first time is above 0, the trajectory waits in the first point until then; `starting_at` inserts the
    arm's own state at time 0 instead, as a controller does. After the last point it holds that point at rest, even
    where the last point carries a velocity.
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
        if names is not None and len(names) != positions.shape[1]:
            raise TrajectoryError(f"{len(names)} joint names, but the positions have {positions.shape[1]} columns")
        velocities = accelerations = None
        if self.velocities is not None:
            velocities = _matrix(self.velocities, "velocities", positions.shape, names)
        if self.accelerations is not None:
            if velocities is None:
                raise TrajectoryError("the trajectory has accelerations but no velocities; give both, or neither")
            accelerations = _matrix(self.accelerations, "accelerations", positions.shape, names)
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

    def departure(
        self, what: Literal["position", "velocity", "acceleration"], lower: Array, upper: Array
    ) -> Departure | None:
        """An early time at which a joint is outside its bounds, each (n,); None for never.

        Exact between the points too; see `BlendedPath.departure`.
        """
        bounds = np.full((3, 2, self.positions.shape[1]), [[-np.inf], [np.inf]])
        bounds[("position", "velocity", "acceleration").index(what)] = lower, upper
        path = takeover(self.path, self.path.begin, self.path.sample(self.path.begin), 1.0)  # without a blend
        found = path.departure(bounds, *path.pieces())
        return None if found is None else found[1]

    def starting_at(self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None) -> SampledTrajectory:
        """The same trajectory with a given state at time 0 in front of it, as a controller starts it.

        Where the first point is at time 0 it is replaced. `qd` and `qdd` are zero unless given, and used only where
        the trajectory has velocities or accelerations.
        """
        n = self.positions.shape[1]
        keep = 1 if self.times[0] == 0.0 else 0
        if len(self.times) == 1:
            keep = 0

        def joined(rows: Array | None, first: ArrayLike | None) -> Array | None:
            if rows is None:
                return None
            row = np.zeros(n) if first is None else np.asarray(first, dtype=np.float64)
            if row.shape != (n,):
                raise TrajectoryError(f"the state to start from has shape {row.shape}; the trajectory needs ({n},)")
            return np.vstack([row, rows[keep:]])

        if len(self.times) == 1 and self.times[0] == 0.0:
            return self  # a single point at time 0 asks for a jump; there is no time to move in
        positions = joined(self.positions, q)
        assert positions is not None
        return SampledTrajectory(
            np.concatenate([[0.0], self.times[keep:]]),
            positions,
            joined(self.velocities, qd),
            joined(self.accelerations, qdd),
            self.joint_names,
        )


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
    times.flags.writeable = False
    return times


def _matrix(value: ArrayLike, what: str, shape: tuple[int, ...] | None, names: Sequence[str] | None) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TrajectoryError(f"{what} are not a table of numbers; every point needs one for each joint") from None
    if array.ndim != 2 or array.size == 0:
        raise TrajectoryError(f"{what} have shape {array.shape}; it must be (points, joints), neither of them 0")
    if shape is not None and array.shape != shape:
        raise TrajectoryError(f"{what} have shape {array.shape}; the positions have {shape}, and they must agree")
    finite = np.isfinite(array)
    if not finite.all():
        point, joint = np.argwhere(~finite)[0].tolist()
        known = names if names is not None and joint < len(names) else None
        raise TrajectoryError(
            f"point {point}: {what} of {joint_name(joint, known)} is {array[point, joint]}; it must be finite"
        )
    array.flags.writeable = False
    return array


def polynomials(times: Array, q: Array, qd: Array | None, qdd: Array | None) -> Array:
    """Coefficients between the points, lowest power first, and the last point at rest; (points, 6, n)."""
    T = np.diff(times)[:, None]
    a, b = q[:-1], q[1:]
    way = b - a
    c = np.zeros((len(times), ORDER, q.shape[1]))
    c[:, 0] = q
    if qd is None:
        c[:-1, 1] = way / T
    elif qdd is None:
        u, v = qd[:-1] * T, qd[1:] * T
        c[:-1, 1] = qd[:-1]
        c[:-1, 2] = (3.0 * way - 2.0 * u - v) / T**2
        c[:-1, 3] = (u + v - 2.0 * way) / T**3
    else:
        u, v = qd[:-1] * T, qd[1:] * T
        s, e = qdd[:-1] * T**2, qdd[1:] * T**2
        c[:-1, 1] = qd[:-1]
        c[:-1, 2] = 0.5 * qdd[:-1]
        c[:-1, 3] = (20.0 * way - 12.0 * u - 8.0 * v - 3.0 * s + e) / (2.0 * T**3)
        c[:-1, 4] = (-30.0 * way + 16.0 * u + 14.0 * v + 3.0 * s - 2.0 * e) / (2.0 * T**4)
        c[:-1, 5] = (12.0 * way - 6.0 * (u + v) + e - s) / (2.0 * T**5)
    return c
