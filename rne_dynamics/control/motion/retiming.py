"""Paths in joint space as fast as the motors allow, by TOPP-RA, and gentler ones where a controller refuses them.

The speed along the path is optimal within limits of velocity, acceleration and effort (Pham and Pham 2018, "A new
approach to time-optimal path parameterization based on reachability analysis"). A running mean of the place on the path
over a short time then limits the jerk and leaves the path as it is. Neither the mean nor viscous friction is part of
the optimal problem: where the averaged motion exceeds a limit, that place gets less in another pass.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.advice import extra
from rne_dynamics.control.parameters import check_number, frozen_vector
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.dynamics.declared.arguments import as_floats, check_open_arm
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import MissingDependencyError, TrajectoryError, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel

#: Passes after which a joint gets less everywhere; after twice as many, and at such multiples of a limit, as in curves
#: that are passed within the smoothing, the speed is reduced instead of the effort.
STUBBORN, SHARP = 3, 1.15
#: Factor by which the speed is reduced; highest speed, of a path without velocity.
SLOWED, UNBOUNDED = 0.85, 1e4
#: Steps of a trajectory, rad or m, at which it dwells; cosine of the turn at which it is taken to stop.
DWELL, CORNER = 1e-11, 0.5
#: Fewest points along the path, points for each waypoint up to so many, and most passes.
GRID, GRID_PER_POINT, MOST_GRID, PASSES = 200, 8, 1600, 30
#: Times between samples, s: half the smoothing within these. A controller takes shorter pieces for steps of velocity.
SHORTEST_SAMPLE, LONGEST_SAMPLE = 0.006, 0.01
#: Times at which each piece between samples is checked.
PER_SAMPLE = 8
#: Factor by which another pass has less effort, or more smoothing, than the one before suggests.
LESS = 1.005
#: Largest distance from the path by default, rad or m.
TOLERANCE = 1e-3
#: Pieces of a trajectory's own curve that are tried, in turn, until it is kept.
CURVES = (100, 300, 1000, 3000)


def retimed(
    robot: RobotModel, path: ArrayLike | SampledTrajectory, *, effort: float = 0.97, velocity: float = 0.99,
    acceleration: ArrayLike | None = None, effort_rate: ArrayLike | None = None, smoothing: float = 0.02,
    tolerance: float = TOLERANCE,
) -> SampledTrajectory:  # fmt: skip
    """The fastest motion from rest to rest along a path, within the limits of effort and velocity; needs toppra.

    Parameters
    ----------
    robot
        An open arm whose joints all have limits of effort and velocity.
    path
        Two or more postures, rad or m, shape (points, n): the path is straight, or a cubic spline through them. Or a
        trajectory of the robot's joints in their order, whose times do not count: its curve, and without velocities the
        spline through its points.
    effort, velocity
        Fractions of the limits that are used, efforts with friction; above 0, at most 1.
    acceleration, effort_rate
        Further limits, one or (n,): rad/s² or m/s²; N·m/s or N/s. By default none.
    smoothing
        Time over which the motion is averaged, s, at least 0.012: accelerations change within it. It grows until
        `effort_rate` is kept. The motion takes that much longer.
    tolerance
        Largest distance of any joint from the path, rad or m.

    Raises
    ------
    TrajectoryError
        Waypoints that are no path, or a path outside the limits; no limit of effort or velocity; an arm that cannot
        hold itself on the path; a path that is not kept within the tolerance.
    MissingDependencyError
        toppra is not installed.
    """
    check_open_arm(robot)
    for name, value in (("effort", effort), ("velocity", velocity), ("smoothing", smoothing), ("tolerance", tolerance)):
        check_number(value, f"{name} of retimed", error=TrajectoryError)
    refuse(
        TrajectoryError,
        (effort > 1.0, f"effort of retimed is {effort}; it is a fraction of the limits, at most 1"),
        (velocity > 1.0, f"velocity of retimed is {velocity}; it is a fraction of the limits, at most 1"),
        (smoothing < 2.0 * SHORTEST_SAMPLE,
         f"smoothing of retimed is {smoothing} s; it must be at least {2.0 * SHORTEST_SAMPLE} s"),
    )  # fmt: skip
    accelerations, rates = (
        np.full(robot.n, np.inf) if limit is None else frozen_vector(
            limit, robot.n, f"{name} of retimed", lowest=float(np.nextafter(0.0, 1.0)), finite=False,
            error=TrajectoryError,
        ) for name, limit in (("acceleration", acceleration), ("effort_rate", effort_rate))
    )  # fmt: skip
    parts = [
        _along(curve, effort, velocity * robot.velocity_limit, accelerations, rates, smoothing)
        for curve in _curves(robot, path, tolerance)
    ]
    motions, deviation = [motion for motion, _ in parts], max(deviation for _, deviation in parts)
    if deviation > tolerance:
        raise TrajectoryError(
            f"the motion is {deviation:.3g} away from its path, and the tolerance is {tolerance:g}; choose a larger "
            "tolerance"
        )
    begins = np.cumsum([0.0, *(motion.duration for motion in motions[:-1])])
    times = np.concatenate([[0.0], *(t + motion.times[1:] for t, motion in zip(begins, motions, strict=True))])
    q, qd, qdd = (
        np.concatenate([getattr(motion, name)[1 if k else 0 :] for k, motion in enumerate(motions)])
        for name in ("positions", "velocities", "accelerations")
    )
    return SampledTrajectory(times, q, qd, qdd, robot.joint_names)


def _along(
    curve: _Curve, effort: float, velocity: Array, accelerations: Array, rates: Array, smoothing: float
) -> tuple[SampledTrajectory, float]:
    """The fastest motion along one curve within limits, (n,), and its deviation; see `retimed`."""
    from scipy.ndimage import maximum_filter1d

    robot = curve.robot
    _check_limits(robot, curve.spline(curve.grid), "the path between the waypoints")
    bounds = np.concatenate([effort * robot.effort_limit, accelerations])
    allowed, speed = np.tile(bounds, (len(curve.grid), 1)), np.full(len(curve.grid), 1e-6)
    with np.errstate(divide="ignore"):
        highest = (velocity / np.abs(curve.tangent)).min(axis=1)
    for attempt in range(PASSES):
        found = curve.fastest(highest, allowed, speed)
        if found is None:
            break
        speed = found
        made, place, deviation = curve.averaged(speed, smoothing)
        times = _between(made.times)
        q, qd, qdd = made.samples(times).transpose(1, 0, 2)
        efforts = inverse_dynamics(robot, q, qd, qdd)
        over = np.abs(np.hstack([efforts + friction_torque(robot, qd), qdd])) / bounds
        # friction steps where a joint begins to move, whatever the motion
        rate = float((np.abs(np.diff(efforts[::PER_SAMPLE], axis=0)) / (PER_SAMPLE * times[1] * rates)).max())
        if (over <= 1.0).all() and rate <= 1.0:
            return made, curve.deviation + deviation
        smoothing *= max(LESS * rate, 1.0)
        if attempt:  # the first pass knows no viscous friction
            needed = np.where(over > 1.0, LESS * over, 1.0)
            needed = maximum_filter1d(needed, 2 * round(smoothing / times[1]) + 1, axis=0, mode="nearest")
            needed = np.stack([np.interp(curve.grid, np.interp(times, made.times, place), x) for x in needed.T], axis=1)
            if attempt > STUBBORN:
                needed = np.maximum(needed, np.minimum(needed.max(axis=0), LESS))
            slow = needed.max(axis=1) > (SHARP if attempt <= 2 * STUBBORN else LESS)
            allowed = np.where(slow[:, None], allowed, allowed / needed)
            highest = np.where(slow, np.minimum(highest, SLOWED * speed), highest)
    raise TrajectoryError(
        f"the path cannot be followed with {effort:g} of the effort limits: robot {robot.name!r} cannot hold itself, "
        "friction takes too much, or the path bends too sharply. Choose other waypoints or a larger effort"
    )


class _Curve:
    """A path of a robot as a cubic spline through points, on the grid of the optimal problem."""

    #: Distance of the spline from what it stands for, rad or m.
    deviation = 0.0

    def __init__(self, robot: RobotModel, points: Array) -> None:
        try:
            import toppra
        except ImportError:
            raise MissingDependencyError(f"retiming needs toppra: {extra('retime')}") from None
        toppra.setup_logging("ERROR")
        self.robot, way = robot, _lengths(points)
        ends = "not-a-knot" if len(points) > 3 else "natural"
        # about the time of the motion, so that the solver's numbers have the size of 1 for short paths too
        reach, still = np.abs(np.diff(points, axis=0)).sum(axis=0), np.zeros(robot.n)
        pull = inverse_dynamics(robot, points[0], still, reach) - inverse_dynamics(robot, points[0], still, still)
        speeding = 2.0 * np.sqrt(np.abs(pull / robot.effort_limit).max())
        self.length = float((reach / robot.velocity_limit).max() + speeding)
        self.spline = toppra.SplineInterpolator(self.length * (way / way[-1]), points, bc_type=ends)
        count = max(GRID, min(GRID_PER_POINT * len(points), MOST_GRID), len(points))
        self.grid = 0.5 * self.length * (1.0 - np.cos(np.linspace(0.0, np.pi, count)))  # close where it is slow
        q, self.tangent, bend = (self.spline(self.grid, order) for order in range(3))
        rest = np.zeros_like(q)
        self._gravity = inverse_dynamics(robot, q, rest, rest)
        inertia = inverse_dynamics(robot, q, rest, self.tangent) - self._gravity
        coriolis = inverse_dynamics(robot, q, self.tangent, bend) - self._gravity
        self._inertia, self._coriolis = np.hstack([inertia, self.tangent]), np.hstack([coriolis, bend])

    def fastest(self, highest: Array, allowed: Array, speed: Array) -> Array | None:
        """Largest speeds along the path on the grid, or None; `allowed`: efforts and accelerations, (grid, 2 n)."""
        from toppra import algorithm, constraint
        from toppra.constraint.linear_constraint import canlinear_colloc_to_interpolate

        friction = friction_torque(self.robot, self.tangent * speed[:, None])
        constant = np.hstack([self._gravity + friction, np.zeros_like(friction)])
        rows = np.isfinite(allowed[0])
        sides = np.tile(np.vstack([np.eye(rows.sum()), -np.eye(rows.sum())]), (len(self.grid), 1, 1))
        tables = (*canlinear_colloc_to_interpolate(
            self._inertia[:, rows], self._coriolis[:, rows], constant[:, rows], sides,
            np.hstack([allowed[:, rows]] * 2), None, None, self.grid,
        )[:5], None, np.stack([np.zeros_like(highest), np.minimum(highest, UNBOUNDED) ** 2], axis=1))

        class Limits(constraint.LinearConstraint):  # type: ignore[misc]  # toppra has no types
            def compute_constraint_params(self, *_: Any) -> Any:
                return tables

        problem = algorithm.TOPPRA([Limits()], self.spline, gridpoints=self.grid, solver_wrapper="seidel")
        found = problem.compute_parameterization(0, 0)[1]
        return found if found is not None and (found[:-1] + found[1:] > 0.0).all() else None

    def averaged(self, speed: Array, smoothing: float) -> tuple[SampledTrajectory, Array, float]:
        """Samples of the motion with these speeds, its place on the path averaged over a time, s, and the deviation."""
        from scipy.interpolate import PPoly

        times = np.r_[0.0, np.cumsum(2.0 * np.diff(self.grid) / (speed[:-1] + speed[1:]))]
        lead = smoothing + 1.0
        knots = np.r_[-lead, times, times[-1] + lead]
        rise = np.diff(speed) / np.diff(times)
        pieces = np.array([np.r_[0.0, 0.5 * rise, 0.0], np.r_[0.0, speed[:-1], 0.0], np.r_[0.0, self.grid]])
        place = PPoly(pieces, knots)
        whole, half = place.antiderivative(), 0.5 * smoothing
        step = np.clip(half, SHORTEST_SAMPLE, LONGEST_SAMPLE)
        t = np.linspace(-half, times[-1] + half, max(int(np.ceil((times[-1] + smoothing) / step)), 4) + 1)
        s, rate, change = ((p(t + half) - p(t - half)) / smoothing for p in (whole, place, place.derivative()))
        rate[[0, -1]], change[[0, -1]] = 0.0, 0.0
        s = np.clip(s, 0.0, self.length)
        q, tangent, bend = (self.spline(s, order) for order in range(3))
        qdd = tangent * change[:, None] + bend * rate[:, None] ** 2
        made = SampledTrajectory(t - t[0], q, tangent * rate[:, None], qdd, self.robot.joint_names)
        fine = _between(t)
        on_path = self.spline(np.clip((whole(fine + half) - whole(fine - half)) / smoothing, 0.0, self.length))
        return made, s, float(np.abs(made.samples(fine - t[0])[:, 0] - on_path).max())


def _curves(robot: RobotModel, path: ArrayLike | SampledTrajectory, tolerance: float) -> list[_Curve]:
    """That of waypoints; or those of a trajectory, between places where it turns back, within half of the tolerance."""
    if not isinstance(path, SampledTrajectory) or path.velocities is None:
        points = path.positions if isinstance(path, SampledTrajectory) else as_floats("waypoints", path)
        _check_points(robot, points)
        return [_Curve(robot, points)]
    times = np.union1d(path.times, np.linspace(path.times[0], path.times[-1], 10 * CURVES[-1]))
    dense = path.samples(times)[:, 0]
    dense = dense[np.r_[True, np.abs(np.diff(dense, axis=0)).max(axis=1) > DWELL]]
    if len(dense) < 2:
        raise TrajectoryError("the trajectory does not move; there is nothing to retime")
    _check_points(robot, dense)
    chords = np.diff(dense, axis=0)
    chords /= np.linalg.norm(chords, axis=1)[:, None]
    way, stops = _lengths(dense), [0]
    for row in (np.flatnonzero((chords[1:] * chords[:-1]).sum(axis=1) < CORNER) + 1).tolist():
        if min(way[row] - way[stops[-1]], way[-1] - way[row]) > 0.2 * tolerance:  # not of the noise at a place of rest
            stops.append(row)
    return [_smooth(robot, dense[a : b + 1], tolerance) for a, b in pairwise([*stops, len(dense) - 1])]


def _smooth(robot: RobotModel, dense: Array, tolerance: float) -> _Curve:
    """The curve through some of many points that keeps all within half of the tolerance, or through most."""
    way = _lengths(dense)
    for count in CURVES:
        rows = np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], count + 1)))
        curve, lengths = _Curve(robot, dense[rows]), _lengths(dense[rows])
        on_curve = curve.spline(np.interp(way, way[rows], curve.length * lengths / lengths[-1]))
        curve.deviation = float(np.abs(on_curve - dense).max())
        if curve.deviation <= 0.5 * tolerance:
            break
    return curve


def _lengths(points: Array) -> Array:
    """Length of the way to each point, (points,)."""
    return np.asarray(np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])


def _check_points(robot: RobotModel, points: Array) -> None:
    """`TrajectoryError` for points that are no path of the robot."""
    if points.ndim != 2 or points.shape[0] < 2 or points.shape[1] != robot.n:
        raise TrajectoryError(f"waypoints have shape {points.shape}; robot {robot.name!r} needs (2 or more, {robot.n})")
    _check_limits(robot, points, "waypoint {}")
    same = np.flatnonzero(~np.diff(points, axis=0).any(axis=1))
    if len(same):
        raise TrajectoryError(f"waypoints {same[0]} and {same[0] + 1} are the same; leave one out")
    for what, limit in (("effort", robot.effort_limit), ("velocity", robot.velocity_limit)):
        good = np.isfinite(limit) & (limit > 0.0)
        if not good.all():
            j = int(np.argmin(good))
            raise TrajectoryError(
                f"joint {robot.joint_names[j]!r} has the {what} limit {limit[j]:g}; it must be finite and above 0"
            )


def _check_limits(robot: RobotModel, points: Array, what: str) -> None:
    outside = ~((points >= robot.lower - 1e-9) & (points <= robot.upper + 1e-9))
    if outside.any():
        k, j = np.argwhere(outside)[0]
        raise TrajectoryError(
            f"{what.format(k)}: joint {robot.joint_names[j]!r} is at {points[k, j]:.6g}; its limits are "
            f"{robot.lower[j]:.6g} to {robot.upper[j]:.6g}"
        )


def _between(times: Array) -> Array:
    """The times, and some between neighbours."""
    return np.interp(np.arange(PER_SAMPLE * (len(times) - 1) + 1) / PER_SAMPLE, np.arange(len(times)), times)


#: Accelerations of a gentler motion, in those of the one that was refused; least part of the first one's that is tried.
GENTLER, LEAST = 0.5, 0.05


class FastestMotion:
    """Plans motions of an open arm along paths with `retimed`; limits in force, (n,), by default the robot's."""

    def __init__(
        self, robot: RigidRobot, velocity: Array | None = None, effort: Array | None = None, rate: Array | None = None
    ) -> None:
        check_open_arm(robot)
        self._robot = replace(
            robot.open_tree, velocity_limit=robot.velocity_limit if velocity is None else velocity,
            effort_limit=robot.effort_limit if effort is None else effort,
        )
        self._rate, self._share = rate, 1.0
        self._acceleration: Array | None = None
        self._planned: SampledTrajectory | None = None

    def along(self, path: ArrayLike | SampledTrajectory) -> SampledTrajectory:
        """The fastest motion along a path, which may begin outside the position limits; errors as of `retimed`."""
        start = path.positions[0] if isinstance(path, SampledTrajectory) else np.asarray(path)[0]
        robot = self._robot
        robot = replace(robot, lower=np.minimum(robot.lower, start), upper=np.maximum(robot.upper, start))
        self._planned = retimed(robot, path, effort_rate=self._rate, acceleration=self._acceleration)
        return self._planned

    def be_gentler(self) -> float | None:
        """Let further motions have smaller accelerations than the last; their part of the first one's; None: enough."""
        self._share *= GENTLER
        if self._planned is None or self._share < LEAST:
            return None
        assert self._planned.accelerations is not None
        largest = np.abs(self._planned.accelerations).max(axis=0)
        self._acceleration = np.where(largest > 0.0, GENTLER * largest, np.inf)
        return self._share
