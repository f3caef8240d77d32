"""Paths in joint space as fast as the motors allow, by TOPP-RA.

The time along a spline through the waypoints is optimal within velocity and effort limits (Pham and Pham 2018, "A new
approach to time-optimal path parameterization based on reachability analysis"); a running mean over a short time then
limits the jerk. Friction and the mean are no part of that problem: the efforts are computed afterwards, and where a
joint needs more than its limit it gets less in another pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.advice import extra
from rne_dynamics.control.checks import check_number
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.dynamics.declared.arguments import as_floats, check_open_arm
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import MissingDependencyError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Points along the path, time between samples, s, and most passes.
GRID, SAMPLE, PASSES = 200, 0.01, 8
#: Factor by which another pass has less effort than the one before suggests.
LESS = 1.02


def retimed(
    robot: RobotModel, waypoints: ArrayLike, *, effort: float = 0.95, velocity: float = 0.98, smoothing: float = 0.04
) -> SampledTrajectory:
    """The fastest motion from rest to rest along a path, within limits of effort and velocity; needs toppra.

    Parameters
    ----------
    robot
        An open arm whose joints all have limits of effort and velocity.
    waypoints
        Two or more postures, rad or m, shape (points, n); the path is straight, or a cubic spline through them.
    effort, velocity
        Fractions of the limits that are used, efforts with friction; above 0, at most 1.
    smoothing
        Time over which the motion is averaged, s: accelerations change within it. The motion takes that much longer.

    Raises
    ------
    TrajectoryError
        Waypoints that are no path, or outside the limits; no limit of effort or velocity; an arm that cannot hold
        itself on the path.
    MissingDependencyError
        toppra is not installed.
    """
    check_open_arm(robot)
    points = as_floats("waypoints", waypoints)
    for name, value in (("effort", effort), ("velocity", velocity), ("smoothing", smoothing)):
        check_number(value, f"{name} of retimed", error=TrajectoryError)
        if name != "smoothing" and value > 1.0:
            raise TrajectoryError(f"{name} of retimed is {value}; it is a fraction of the limits, at most 1")
    _check_path(robot, points)
    speed = velocity * robot.velocity_limit
    allowed = effort * robot.effort_limit - np.abs(friction_torque(robot, 1e-3 * robot.velocity_limit))
    for _ in range(PASSES):
        fastest = _optimal(robot, points, speed, allowed)
        if fastest is None:
            break
        made = _smoothed(fastest, smoothing, robot.joint_names)
        q, qd, qdd = made.positions, made.velocities, made.accelerations
        assert qd is not None
        assert qdd is not None
        used = np.abs(inverse_dynamics(robot, q, qd, qdd) + friction_torque(robot, qd)).max(axis=0)
        over = used / (effort * robot.effort_limit)
        if (over <= 1.0).all():
            return made
        allowed = allowed / np.where(over > 1.0, LESS * over, 1.0)
    raise TrajectoryError(
        f"the path cannot be followed with {effort:g} of the effort limits: robot {robot.name!r} cannot hold itself, "
        "or friction takes too much. Choose other waypoints or a larger effort"
    )


def _check_path(robot: RobotModel, points: Array) -> None:
    if points.ndim != 2 or points.shape[0] < 2 or points.shape[1] != robot.n:
        raise TrajectoryError(f"waypoints have shape {points.shape}; robot {robot.name!r} needs (2 or more, {robot.n})")
    outside = ~((points >= robot.lower) & (points <= robot.upper))
    if outside.any():
        k, j = np.argwhere(outside)[0]
        raise TrajectoryError(
            f"waypoint {k}: joint {robot.joint_names[j]!r} is at {points[k, j]}; its limits are {robot.lower[j]:.6g} "
            f"to {robot.upper[j]:.6g}"
        )
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


def _optimal(robot: RobotModel, points: Array, speed: Array, allowed: Array) -> Any:
    """TOPP-RA's trajectory; None where there is none."""
    try:
        import toppra
        from toppra import algorithm, constraint
    except ImportError:
        raise MissingDependencyError(f"retiming needs toppra: {extra('retime')}") from None
    if not (allowed > 0.0).all():
        return None
    toppra.setup_logging("ERROR")
    way = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))]
    path = toppra.SplineInterpolator(way / way[-1], points, bc_type="not-a-knot" if len(points) > 3 else "natural")
    efforts = constraint.JointTorqueConstraint(
        lambda q, qd, qdd: inverse_dynamics(robot, q, qd, qdd), np.stack([-allowed, allowed], 1), np.zeros(robot.n),
        discretization_scheme=constraint.DiscretizationType.Interpolation,
    )
    speeds = constraint.JointVelocityConstraint(np.stack([-speed, speed], 1))
    problem = algorithm.TOPPRA(
        [speeds, efforts], path, gridpoints=np.linspace(0.0, 1.0, GRID), solver_wrapper="seidel",
        parametrizer="ParametrizeConstAccel",
    )
    return problem.compute_trajectory(0, 0)


def _smoothed(motion: Any, smoothing: float, joints: tuple[str, ...]) -> SampledTrajectory:
    """Samples of a motion averaged over a time, s; at rest at both ends."""
    count = max(int(np.ceil(motion.duration / SAMPLE)), 4)
    step = motion.duration / count
    t, width = np.linspace(0.0, motion.duration, count + 1), max(round(smoothing / step), 1)
    rows = []
    for order in range(3):
        values = motion(t, order)
        ends = (values[:1], values[-1:]) if order == 0 else (np.zeros((1, len(joints))),) * 2
        padded = np.concatenate([np.repeat(ends[0], width, 0), values, np.repeat(ends[1], width, 0)])
        total = np.cumsum(np.concatenate([np.zeros((1, len(joints))), padded]), axis=0)
        rows.append((total[width + 1 :] - total[: -width - 1]) / (width + 1))
    q, qd, qdd = rows
    qd[[0, -1]], qdd[[0, -1]] = 0.0, 0.0
    return SampledTrajectory(step * np.arange(len(q)), q, qd, qdd, joints)
