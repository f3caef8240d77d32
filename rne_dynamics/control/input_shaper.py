"""Input shaping: delayed, scaled copies of a motion whose vibrations cancel each other.

A shaper is a row of impulses A_i at t_i with sum 1. What is convolved with it ends where it did, later by the last
t_i, and leaves a lightly damped mode at the frequency it was made for at rest. Sources: O. J. M. Smith, Posicast
control of damped oscillatory systems, Proceedings of the IRE, 1957 (two steps half a period apart); N. C. Singer and
W. P. Seering, Preshaping command inputs to reduce system vibration, Journal of Dynamic Systems, Measurement, and
Control, 1990 (impulses, damping, the insensitive shapers and the residual V). The usual names are ZV, zero vibration,
and ZVD, zero vibration and derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory, Trajectory
from rne_dynamics.errors import ControlError, TrajectoryError
from rne_dynamics.model.inertia import Array, read_only, set_fields

#: Impulses nearer than this fraction of a shaper's length are one: they differ by rounding.
SAME_IMPULSE = 1e-12
#: e^(−ζπ/√(1−ζ²)) below this has a square that is no number any more: the mode dies out without help.
NO_OVERSHOOT = 1e-150


@dataclass(frozen=True, eq=False)
class InputShaper:
    """Impulses A_i at times t_i.

    Parameters
    ----------
    times
        t_i, s; shape (impulses,), strictly increasing from 0.
    amplitudes
        A_i, shape (impulses,), each above 0, sum 1: a shaped motion is then a weighted mean of positions,
        velocities and accelerations that the motion itself has, and so within every limit of a joint it is within.

    Raises
    ------
    ControlError
        Anything else; names the impulse.
    """

    times: Array
    amplitudes: Array

    def __post_init__(self) -> None:
        times, amplitudes = np.array(self.times, dtype=np.float64), np.array(self.amplitudes, dtype=np.float64)
        good = times.ndim == 1 and times.size > 0 and times.shape == amplitudes.shape and times[0] == 0.0 and (
            (np.diff(times) > 0.0).all() and times[-1] < np.inf and (amplitudes > 0.0).all()
        )
        if not (good and abs(amplitudes.sum() - 1.0) <= 1e-12):
            raise ControlError(
                "a shaper needs times that begin with 0 and increase, and as many amplitudes above 0 with the sum 1; "
                f"given are {times.tolist()} s and {amplitudes.tolist()}"
            )
        set_fields(self, times=read_only(times), amplitudes=read_only(amplitudes))

    @classmethod
    def zv(cls, frequency: ArrayLike, damping: ArrayLike = 0.0) -> InputShaper:
        """Zero vibration: two impulses half a damped period apart, K = e^(−ζπ/√(1−ζ²)), A = (1, K)/(1 + K).

        Parameters
        ----------
        frequency
            Undamped natural frequency ω of the mode, rad/s, above 0; shape (modes,) for several modes at once, whose
            shapers are convolved (2^modes impulses).
        damping
            Damping ratio ζ, 0 ≤ ζ < 1; one for all modes or shape (modes,).

        Raises
        ------
        ControlError
            Numbers outside these ranges; names the mode.
        """
        return reduce(InputShaper.convolved, (_zv(*mode) for mode in _modes(frequency, damping)))

    @classmethod
    def zvd(cls, frequency: ArrayLike, damping: ArrayLike = 0.0) -> InputShaper:
        """Zero vibration and zero slope of it over the frequency: A = (1, 2K, K²)/(1 + K)², ZV convolved with itself.

        A whole damped period long, and vibration grows with the square only of an error of the frequency. Parameters
        and errors as for `zv`; 3^modes impulses.
        """
        each = (_zv(*mode) for mode in _modes(frequency, damping))
        return reduce(InputShaper.convolved, (zv.convolved(zv) for zv in each))

    @property
    def duration(self) -> float:
        """Additional duration of a shaped motion, s."""
        return float(self.times[-1])

    def convolved(self, other: InputShaper) -> InputShaper:
        """Both shapers after each other: it cancels what either of them cancels."""
        times = np.add.outer(self.times, other.times).ravel()
        amplitudes = np.multiply.outer(self.amplitudes, other.amplitudes).ravel()
        order = np.argsort(times, kind="stable")
        times, amplitudes = times[order], amplitudes[order]
        first = first_of_each(times, SAME_IMPULSE * times[-1])
        return InputShaper(times[first], np.add.reduceat(amplitudes, first))

    def residual_vibration(self, frequency: ArrayLike, damping: ArrayLike = 0.0) -> Array:
        """V(ω, ζ), the vibration left when the last impulse has acted, of what one impulse of 1 sets off.

        Parameters
        ----------
        frequency
            Undamped natural frequency ω of a mode, rad/s, not negative; any shape.
        damping
            Its damping ratio ζ, 0 ≤ ζ < 1; broadcasts with `frequency`.

        Returns
        -------
        ndarray
            V = e^(−ζω t_n) √[(Σ A_i e^(ζω t_i) cos ω_d t_i)² + (Σ A_i e^(ζω t_i) sin ω_d t_i)²] with
            ω_d = ω√(1 − ζ²), between 0 and 1, in the broadcast shape. At its end a shaped motion leaves V times the
            amplitude that the motion leaves unshaped at its own end.
        """
        omega, zeta = np.asarray(frequency, dtype=np.float64), np.asarray(damping, dtype=np.float64)
        pole = omega * (-zeta + 1j * np.sqrt(1.0 - zeta**2))
        # the conjugate of the usual sum, so that no exponential grows
        return np.asarray(np.abs(np.exp(np.multiply.outer(pole, self.times[-1] - self.times)) @ self.amplitudes))


#: Shapers by the name a person types.
SHAPERS: Mapping[str, Callable[[ArrayLike, ArrayLike], InputShaper]] = MappingProxyType(
    {"zv": InputShaper.zv, "zvd": InputShaper.zvd}
)


def _zv(omega: float, zeta: float) -> InputShaper:
    root = math.sqrt((1.0 - zeta) * (1.0 + zeta))
    K = math.exp(-zeta * math.pi / root)
    if K < NO_OVERSHOOT:
        raise ControlError(f"a mode with a damping ratio of {zeta!r} does not swing; leave it out of the shaper")
    return InputShaper(np.array([0.0, math.pi / (omega * root)]), np.array([1.0, K]) / (1.0 + K))


def _modes(frequency: ArrayLike, damping: ArrayLike) -> list[tuple[float, float]]:
    """Pairs (ω, ζ), checked."""
    omega, zeta = np.broadcast_arrays(np.atleast_1d(frequency).astype(float), damping)
    modes = list(zip(omega.tolist(), zeta.tolist(), strict=True))
    for k, (w, z) in enumerate(modes):
        if not (0.0 < w < math.inf and 0.0 <= z < 1.0):
            raise ControlError(
                f"mode {k} has the frequency {w} rad/s and the damping ratio {z}; they must be finite and above 0, and "
                "at least 0 and below 1"
            )
    return modes


def first_of_each(times: Array, near: float) -> NDArray[np.intp]:
    """Indices of the first of each group of sorted times that follow one another no farther apart than `near`."""
    return np.flatnonzero(np.diff(times, prepend=-np.inf) > near)


# -- trajectory after an input shaper: as a function of time, and as points for an interpolating controller ------------


#: Points nearer than this fraction of the duration are one. The jump of jerk between them, 60 |b − a|/T³ at the most,
#: is then misplaced by no more than that; nearer points would turn the rounding of positions into accelerations.
SAME_POINT = 1e-7


@dataclass(frozen=True, eq=False)
class Shaped:
    """Σ A_i · trajectory(t − t_i): positions, velocities and accelerations alike; itself a `Trajectory`.

    Parameters
    ----------
    trajectory, shaper
        What is shaped, and by what. Every joint is shaped alike, so a straight line in joint space stays one.

    Notes
    -----
    As a weighted mean it stays within the position, velocity and acceleration limits the trajectory keeps. What
    depends on the posture is not of that kind: efforts, and obstacles and loops unless the trajectory is a straight
    line, for corners are cut. `shaped_points` samples faster: one polynomial, not a copy for each impulse.
    """

    trajectory: Trajectory
    shaper: InputShaper

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return self.trajectory.duration + self.shaper.duration

    def sample(self, t: float) -> Reference:
        """The reference `t` seconds after the start; exactly the trajectory's ends, at rest, at and outside its own."""
        if not 0.0 < t < self.duration:
            return self.trajectory.sample(math.inf if t > 0.0 else -math.inf)
        copies = zip(self.shaper.times.tolist(), self.shaper.amplitudes.tolist(), strict=True)
        return Reference(*np.sum([A * np.array(self.trajectory.sample(t - delay)) for delay, A in copies], axis=0))


def shaped_points(
    trajectory: Quintic | SampledTrajectory, shaper: InputShaper, *, nanoseconds: bool = False
) -> SampledTrajectory:
    """The same motion as `Shaped`, as points between which a controller interpolates it exactly, to rounding.

    At rest at both ends, else TrajectoryError. `nanoseconds`: points at whole nanoseconds, to which messages round.
    """
    points = trajectory if isinstance(trajectory, SampledTrajectory) else trajectory.points()
    for what, rows in (("velocity", points.velocities), ("acceleration", points.accelerations)):
        for which, end in (("first", 0), ("last", -1)):
            if rows is not None and rows[end].any():
                raise TrajectoryError(
                    f"the {which} point of the trajectory has {what} {rows[end].tolist()}; every delayed copy "
                    "would jump there. Give it zeros"
                )
    shaped = Shaped(trajectory, shaper)
    times = np.sort(np.add.outer(shaper.times, points.times), axis=None)
    if nanoseconds:
        times = np.round(times * 1e9) * 1e-9
    end = times[-1]
    times = times[first_of_each(times, SAME_POINT * end)]
    times[-1] = end
    there = [shaped.sample(t) for t in times[:-1].tolist()] + [shaped.sample(math.inf)]
    q, qd, qdd = (np.array(part) for part in zip(*there, strict=True))
    return SampledTrajectory(
        times,
        q,
        None if points.velocities is None else qd,
        None if points.accelerations is None else qdd,
        points.joint_names,
    )
