"""Prescribed motion of the base over time (document 000, section 2.1.2): any, and one through sampled poses.

Of sampled poses position and quaternion are splines of time, component by component; the quaternion's is divided by its
length. SciPy 1.10 or newer smooths them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from rne_dynamics.dynamics.declared.arguments import BaseMotion
from rne_dynamics.dynamics.kinematics.kinematics import quaternion_matrices
from rne_dynamics.errors import MissingDependencyError, SimulationError, refuse
from rne_dynamics.input_file import MOST_ARRAYS, check_regular, limited_lines
from rne_dynamics.model.inertia import Array, Rebuilt, read_only, set_fields

#: Step of the differences by which a trajectory is checked, s, and at how many times.
_STEP, _TIMES = 1e-4, 25
#: Allowed deviation, as a part of the largest rate, or of 1 SI unit where that is more.
_TOLERANCE = 1e-3


class BaseTrajectory(Protocol):
    """Position and motion of the base over time. Any object with these two methods is one."""

    def position(self, t: float) -> Array:
        """The root link's origin in the world, m; shape (3,)."""

    def motion(self, t: float) -> BaseMotion:
        """Orientation, velocities and accelerations; vectors in the root link's axes."""


class BaseRows(NamedTuple):
    """A moving base at the times of a log: shapes (rows, 3), (rows, 3, 3), (rows, 6)."""

    position: Array
    rotation: Array
    velocity: Array

    @staticmethod
    def of(trajectory: BaseTrajectory, time: Array) -> BaseRows:
        """A trajectory at some times, (rows,)."""
        motions = [trajectory.motion(t) for t in time.tolist()]
        return BaseRows(
            np.array([trajectory.position(t) for t in time.tolist()]),
            np.array([motion.rotation for motion in motions]),
            np.array([[*np.asarray(m.linear_velocity), *np.asarray(m.angular_velocity)] for m in motions]),
        )


def check_base_trajectory(trajectory: BaseTrajectory, begin: float, end: float) -> None:
    """Compare velocities and accelerations with differences of positions and orientations; `SimulationError`.

    The common mistakes are vectors along the world's axes instead of the base's, and degrees.
    """
    h = _STEP
    times = np.linspace(begin, end, _TIMES + 2)[1:-1]
    rows = [[_at(trajectory, float(t) + step) for step in (-h, 0.0, h)] for t in times]
    before, now, after = ({name: np.array([row[k][name] for row in rows]) for name in rows[0][k]} for k in range(3))

    def rate(name: str) -> Array:
        return np.asarray((after[name] - before[name]) / (2.0 * h))

    R = now["rotation"]
    turning = np.swapaxes(R, 1, 2) @ rate("rotation")
    w = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)
    v = now["linear_velocity"]
    expected = {
        "linear_velocity": np.einsum("tji,tj->ti", R, rate("position")),
        "angular_velocity": w,
        "linear_acceleration": rate("linear_velocity") + np.cross(w, v),
        "angular_acceleration": rate("angular_velocity"),
    }
    for name, differences in expected.items():
        off = np.abs(now[name] - differences).max(axis=1)
        k = int(np.argmax(off))
        if not off[k] <= _TOLERANCE * max(1.0, float(np.abs(differences).max())):
            raise SimulationError(
                f"base motion: {name} is {now[name][k].tolist()} at t = {times[k]:.4g} s, but position, orientation "
                f"and their rates change there by {differences[k].tolist()}; give it in the root link's axes, in rad "
                "and m"
            )


def _at(trajectory: BaseTrajectory, t: float) -> dict[str, Array]:
    motion, position = trajectory.motion(t), np.asarray(trajectory.position(t), dtype=np.float64)
    motion.packed(np.zeros(3))  # shapes, finite numbers, a rotation
    if position.shape != (3,) or not np.isfinite(position).all():
        raise SimulationError(
            f"base motion: the position at t = {t:.4g} s is {position.tolist()}; it must be finite, shape (3,)"
        )
    parts = {part.name: np.asarray(getattr(motion, part.name), dtype=np.float64) for part in fields(BaseMotion)}
    return {"position": position} | parts


#: Coefficients of a piece.
ORDER = 5


def smoothing_spline(t: Array, y: Array, penalty: float) -> Array:
    """Natural cubic splines f of least ∫(y − f)² dt + penalty ∫f″² dt, the first integral by the trapezoidal rule.

    `t` (k,), k at least 5, increasing; `y` (k, m); `penalty` in s⁴, 0 goes through all points. Returns coefficients of
    each piece's polynomial of time, constant ones first; (k − 1, ORDER, m).
    """
    from scipy import interpolate  # here: the ROS nodes start without scipy

    if penalty > 0.0 and not hasattr(interpolate, "make_smoothing_spline"):
        raise MissingDependencyError("smoothing of a base motion needs SciPy 1.10 or newer; install it, or smooth the "
                                     "poses before")  # fmt: skip
    h = np.diff(t)
    weights = 0.5 * (np.append(h, 0.0) + np.append(0.0, h))  # of the poses in the integral
    splines = [interpolate.CubicSpline(t, column, bc_type="natural") if penalty == 0.0
               else interpolate.make_smoothing_spline(t, column, weights, penalty) for column in y.T]  # fmt: skip
    pieces = np.zeros((len(h), ORDER, y.shape[1]))
    for order, at in enumerate((t[:-1], t[:-1], t[:-1], t[:-1] + 0.5 * h)):  # the third one jumps at the poses
        pieces[:, order] = np.stack([f(at, order) for f in splines], axis=1) / math.factorial(order)
    return pieces


def at_time(coefficients: Array, s: float) -> Array:
    """Value, first and second derivative at s of polynomials (ORDER, m); shape (3, m)."""
    powers = np.array([
        [1.0, s, s**2, s**3, s**4],
        [0.0, 1.0, 2.0 * s, 3.0 * s**2, 4.0 * s**3],
        [0.0, 0.0, 2.0, 6.0 * s, 12.0 * s**2],
    ])  # fmt: skip
    return np.asarray(powers @ coefficients)


def to_rest(value: Array, rate: Array, T: float) -> Array:
    """The polynomial, (ORDER, m), from a value and a rate to rest T later; zero acceleration at its ends."""
    nothing = np.zeros_like(rate)
    return np.array([value, rate, nothing, -rate / T**2, 0.5 * rate / T**3])


def from_rest(value: Array, rate: Array, T: float) -> Array:
    """The polynomial, (ORDER, m), from rest to a value and a rate T later; zero acceleration at its ends."""
    nothing = np.zeros_like(rate)
    return np.array([value - 0.5 * T * rate, nothing, nothing, rate / T**2, -0.5 * rate / T**3])


#: Columns of a CSV file.
COLUMNS = ("time", "x", "y", "z", "qx", "qy", "qz", "qw")
#: Duration of the transitions from rest before the first pose and to rest after the last, s.
SETTLING = 1.0
#: Largest rotation between two poses, rad; beyond, its direction is ambiguous.
LARGEST_TURN = np.pi / 4.0
#: Largest accelerations; beyond, poses count as noisy, m/s² and rad/s².
LARGEST_ACCELERATION, LARGEST_ANGULAR_ACCELERATION = 50.0, 200.0
_UNIT = 1e-2  # allowed deviation of a quaternion's length from 1


@dataclass(frozen=True, eq=False)
class SampledBase(Rebuilt):
    """A base that moves through given poses, smoothly, and rests before and after.

    It comes from rest within `SETTLING` before the first pose, and to rest within `SETTLING` after the last one.

    Parameters
    ----------
    times
        Of the poses, s; shape (poses,), at least 5, strictly increasing.
    positions
        The root link's origin in the world, m; shape (poses, 3).
    quaternions
        Its orientation, x y z w; shape (poses, 4), of length 1 within 1 %; the sign does not matter.
    smoothing
        Frequency above which motion counts as noise, Hz: the amplitude at this frequency is halved. None interpolates
        all poses.
    source
        File name for messages.

    Raises
    ------
    SimulationError
        Wrong shapes; numbers that are not finite; times that do not increase; quaternions not of length 1; more than
        45° from one pose to the next; accelerations too large for a base, as of noise that is not smoothed.
    """

    times: Array
    positions: Array
    quaternions: Array
    smoothing: float | None = None
    source: str = "base motion"
    #: coefficients of x y z and the quaternion, constant ones first; shape (pieces, ORDER, 7)
    _pieces: Array = field(init=False, repr=False)
    _knots: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        t, poses = self._checked()
        spline = smoothing_spline(t, poses, _penalty(self.smoothing, self.source))
        (first, start, _), (last, end, _) = at_time(spline[0], 0.0), at_time(spline[-1], t[-1] - t[-2])
        after = to_rest(last, end, SETTLING)
        rest = np.zeros_like(after)
        rest[0] = at_time(after, SETTLING)[0]
        pieces = np.concatenate([[from_rest(first, start, SETTLING)], spline, [after, rest]])
        knots = np.concatenate([[t[0] - SETTLING], t, [t[-1] + SETTLING]])
        set_fields(self, times=read_only(t), _pieces=read_only(pieces), _knots=read_only(knots))
        self._refuse_noise()

    @staticmethod
    def load(path: str | Path, *, smoothing: float | None = None) -> SampledBase:
        """A trajectory from a file.

        Parameters
        ----------
        path
            CSV with the columns time, x, y, z, qx, qy, qz, qw in any order, others ignored; s and m.
        smoothing
            As for the class.

        Raises
        ------
        SimulationError
            A file that cannot be read or holds something else; names the file, and the row or column.
        """
        path = Path(path)
        try:
            check_regular(path, MOST_ARRAYS)
            table = _read_csv(path)
        except OSError as error:
            raise SimulationError(f"{path}: the base motion cannot be read: {error.strerror or error}") from None
        return SampledBase(*table, smoothing=smoothing, source=str(path))

    @property
    def duration(self) -> float:
        """Time of the last pose, s."""
        return float(self.times[-1])

    def position(self, t: float) -> Array:
        """As `BaseTrajectory.position`."""
        return self._curve(t)[0, :3]

    def motion(self, t: float) -> BaseMotion:
        """As `BaseTrajectory.motion`."""
        curve = self._curve(t)
        velocity, acceleration = curve[1, :3], curve[2, :3]
        (q, dq, ddq), square = curve[:, 3:], float(curve[0, 3:] @ curve[0, 3:])
        R = quaternion_matrices(q[None])[0]
        # of r = |r| q: ω = 2 q̄ q̇ takes the vector part of r̄ ṙ, in which the rate of |r| does not appear
        x, y, z, s = q.tolist()
        E = (2.0 / square) * np.array([[s, z, -y, -x], [-z, s, x, -y], [y, -x, s, -z]])  # x y z w
        w = E @ dq
        dw = E @ ddq - 2.0 * float(q @ dq) / square * w
        return BaseMotion(acceleration @ R, w, dw, velocity @ R, R)

    def _curve(self, t: float) -> Array:
        """x y z and the quaternion, not normalised, with their first and second derivatives; shape (3, 7)."""
        k = int(np.searchsorted(self._knots, t, side="right")) - 1
        return at_time(self._pieces[max(k, 0)], t - float(self._knots[k]) if k >= 0 else 0.0)

    def _checked(self) -> tuple[Array, Array]:
        """Times, and poses with quaternions of length 1 that do not change their sign; (poses,), (poses, 7)."""
        who = self.source
        try:
            t = np.array(self.times, dtype=np.float64)
            poses = np.hstack([np.array(x, dtype=np.float64) for x in (self.positions, self.quaternions)])
        except (TypeError, ValueError):
            raise SimulationError(f"{who}: times, positions and quaternions must be arrays of numbers") from None
        if t.ndim != 1 or len(t) < 5 or poses.shape != (len(t), 7):
            raise SimulationError(
                f"{who}: times have shape {t.shape}, positions {np.shape(self.positions)}, quaternions "
                f"{np.shape(self.quaternions)}; they must be (poses,), (poses, 3) and (poses, 4), at least 5 poses"
            )
        finite, grows = np.isfinite(t) & np.isfinite(poses).all(axis=1), np.diff(t) > 0.0
        length = np.linalg.norm(poses[:, 3:], axis=1)
        later, longest = int(np.argmin(grows)), int(np.argmax(np.abs(length - 1.0)))
        refuse(
            SimulationError,
            (not finite.all(), f"{who}: pose {int(np.argmin(finite))} is not finite; every number must be"),
            (not grows.all(),
             f"{who}: the time of pose {later + 1} is {t[later + 1]:.9g} s, after {t[later]:.9g} s; times must "
             "increase"),
            (np.abs(length - 1.0).max() > _UNIT,
             f"{who}: the quaternion of pose {longest} has the length {length[longest]:.4g}; it must be 1 (order x y z "
             "w)"),
        )  # fmt: skip
        poses[:, 3:] /= length[:, None]
        same = np.einsum("ij,ij->i", poses[1:, 3:], poses[:-1, 3:])
        poses[1:, 3:] *= np.cumprod(np.where(same < 0.0, -1.0, 1.0))[:, None]
        turn = 2.0 * np.arccos(np.clip(np.abs(same), 0.0, 1.0))
        if turn.max() > LARGEST_TURN:
            k = int(np.argmax(turn))
            raise SimulationError(
                f"{who}: the base turns by {np.degrees(turn[k]):.3g}° from pose {k} to the next; at most "
                f"{np.degrees(LARGEST_TURN):g}° is allowed: record more poses a second"
            )
        return t, poses

    def _refuse_noise(self) -> None:
        for t in self._knots.tolist():  # accelerations are greatest at knots, but for the short way from and to rest
            motion = self.motion(t)
            for what, value, unit, most in (
                ("accelerates", motion.linear_acceleration, "m/s^2", LARGEST_ACCELERATION),
                ("accelerates its turning", motion.angular_acceleration, "rad/s^2", LARGEST_ANGULAR_ACCELERATION),
            ):
                size = float(np.linalg.norm(value))
                if not size <= most:
                    raise SimulationError(
                        f"{self.source}: the base {what} by {size:.3g} {unit} at t = {t:.4g} s; at most {most:g} is "
                        "allowed: poses are noisy, smooth them (a lower smoothing frequency), or units are wrong"
                    )


def _penalty(smoothing: float | None, who: str) -> float:
    """λ of ∫(y − f)² + λ ∫f″², of which 1/(1 + λ ω⁴) is left of an oscillation, s⁴."""
    if smoothing is None:
        return 0.0
    if not (np.isfinite(smoothing) and smoothing > 0.0):
        raise SimulationError(f"{who}: the smoothing frequency is {smoothing} Hz; it must be finite and above 0")
    return float((2.0 * np.pi * smoothing) ** -4)


def _read_csv(path: Path) -> tuple[Array, Array, Array]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(limited_lines(file), skipinitialspace=True)
        try:
            names = [name.strip() for name in reader.fieldnames or ()]
            missing = [name for name in COLUMNS if name not in names]
            if missing:
                raise SimulationError(
                    f"{path}: the first line has no column {', '.join(missing)}; needed are {', '.join(COLUMNS)}"
                )
            reader.fieldnames = names
            rows = [_numbers(path, reader.line_num, row) for row in reader]
        except (UnicodeDecodeError, csv.Error) as error:
            raise SimulationError(f"{path}: it is not a CSV file: {error}") from None
    table = np.array(rows).reshape(-1, len(COLUMNS))
    return table[:, 0], table[:, 1:4], table[:, 4:]


def _numbers(path: Path, line: int, row: Mapping[str, str | None]) -> list[float]:
    try:
        return [float(row[name] or "") for name in COLUMNS]
    except ValueError:
        raise SimulationError(
            f"{path}, line {line}: {', '.join(f'{name} {row[name]!r}' for name in COLUMNS)}; every one must be a number"
        ) from None


