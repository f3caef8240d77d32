"""Trajectory after an input shaper: as a function of time, and as points for an interpolating controller."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from rne_dynamics.control.checks import set_fields
from rne_dynamics.control.input_shaper import InputShaper, first_of_each
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.trajectory import Quintic, SampledTrajectory, Trajectory
from rne_dynamics.errors import TrajectoryError

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
    duration: float = field(init=False)
    _copies: tuple[tuple[float, float], ...] = field(init=False, repr=False)
    _first: Reference = field(init=False, repr=False)
    _last: Reference = field(init=False, repr=False)

    def __post_init__(self) -> None:
        own, shaper = self.trajectory, self.shaper
        copies = tuple(zip(shaper.times.tolist(), shaper.amplitudes.tolist(), strict=True))
        duration = own.duration + shaper.duration
        set_fields(self, duration=duration, _copies=copies, _first=own.sample(-math.inf), _last=own.sample(math.inf))

    def sample(self, t: float) -> Reference:
        """The reference `t` seconds after the start; exactly the trajectory's ends, at rest, at and outside its own."""
        if not t > 0.0:
            return self._first
        if t >= self.duration:
            return self._last
        q, qd, qdd = (np.zeros_like(self._first.q) for _ in range(3))
        for delay, amplitude in self._copies:
            there = self.trajectory.sample(t - delay)
            q += amplitude * there.q
            qd += amplitude * there.qd
            qdd += amplitude * there.qdd
        return Reference(q, qd, qdd)


def shaped_points(
    trajectory: Quintic | SampledTrajectory, shaper: InputShaper, *, nanoseconds: bool = False
) -> SampledTrajectory:
    """The same motion as `Shaped`, as points between which a controller interpolates it, exact to rounding.

    Parameters
    ----------
    trajectory
        At rest at both ends, as far as it carries velocities and accelerations.
    shaper
        What shapes it.
    nanoseconds
        Round the times to whole nanoseconds, as a message does, and take each point from the motion at that time. A
        message made of exact times would round them without moving the points, which costs accuracy where two points
        are close.

    Returns
    -------
    SampledTrajectory
        Points where any copy of the trajectory has one, in the trajectory's own order (a quintic and points with
        accelerations give accelerations, points with velocities alone give velocities): sums of polynomials of one
        degree are polynomials of that degree, and continuous as far as each of them is. The first point is at the
        time of the trajectory's first: what a controller puts before it (`SampledTrajectory.starting_at`) is not
        shaped.

    Raises
    ------
    TrajectoryError
        An end that is not at rest, or another kind of trajectory.
    """
    points = _points(trajectory)
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


def _points(trajectory: Quintic | SampledTrajectory) -> SampledTrajectory:
    if isinstance(trajectory, SampledTrajectory):
        return trajectory
    if isinstance(trajectory, Quintic):
        return trajectory.points()
    raise TrajectoryError(
        f"a {type(trajectory).__name__} has no points to shape; give a Quintic or a SampledTrajectory, or follow "
        "Shaped(trajectory, shaper) itself"
    )
