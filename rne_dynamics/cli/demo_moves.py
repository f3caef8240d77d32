"""Moves for any arm: three of them, inside its limits, there and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.over_actuation import independent_joints
from rne_dynamics.control.loop_limits import check_loops
from rne_dynamics.control.trajectory import QUINTIC_PEAK_VELOCITY, Quintic
from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import ArgumentError, AssemblyError, ModelError, SingularPostureError, TrajectoryError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine, Mechanism

#: Largest travel of one move, rad or m, and the fraction of a joint's range it may use.
TRAVEL = 0.8
RANGE_USED = 0.35
#: Fraction of the range kept free at either end.
MARGIN = 0.05
#: Fraction of the velocity and effort limits that the moves may ask for.
USED = 0.7
#: Stands in for a velocity limit that is missing or zero, rad/s or m/s.
VELOCITY = 1.0
#: Effort limit of joints without one, over what the moves need, and at least, N·m or N.
EFFORT_RESERVE, LEAST_EFFORT = 3.0, 1.0


class Plan(NamedTuple):
    """The motion of a demo: moves one after the other, and the effort limits to run them with, (n,), N·m or N."""

    moves: tuple[Quintic, ...]
    effort_limit: Array


def plan_moves(
    robot: Machine, seconds: float, gentle: Callable[[tuple[Quintic, ...]], bool] = lambda moves: True
) -> Plan:
    """Three quintic moves that share `seconds` evenly and end where they began.

    Every joint moves towards the roomier side. The travel shrinks until velocities and efforts stay within `USED` of
    the limits; of a mechanism too, until its passive joints stay inside theirs and singular postures stay away; and
    until the moves are `gentle`.

    Raises
    ------
    ArgumentError
        A time that is not above 0.
    ModelError
        A robot without driven joints, or one that its efforts cannot even hold up.
    """
    if not seconds > 0.0:
        raise ArgumentError(f"--seconds is {seconds}; it must be above 0")
    if robot.n == 0 or robot.nq != robot.n:
        raise ModelError(f"robot {robot.name!r} has no joint or a floating one; the demo needs driven joints")
    if isinstance(robot, Mechanism) and independent_joints(robot) is not None:
        raise ModelError(
            f"mechanism {robot.name!r} has more motors than freedoms, and the demo moves every joint by itself; leave "
            f"the surplus motors out of `actuated`, or move it by `{rne('simulate')} --to`, where the others follow"
        )
    duration = seconds / 3.0
    start, towards = _start(robot)
    known = (robot.velocity_limit > 0.0) & np.isfinite(robot.velocity_limit)
    velocity = np.where(known, robot.velocity_limit, VELOCITY)
    limit = np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf)
    short = USED * limit < np.abs(gravity_torque(robot, start))
    if short.any():
        j = int(np.argmax(short))
        raise ModelError(
            f"joint {robot.joint_names[j]!r} needs {abs(gravity_torque(robot, start)[j]):.4g} to hold the arm up where "
            f"the demo starts; its effort limit of {limit[j]:.4g} leaves too little to move. Look at the masses "
            f"(`{rne('check')}`)"
        )
    fastest = USED * velocity * duration / QUINTIC_PEAK_VELOCITY
    reach = np.clip(towards, -fastest, fastest)
    while True:
        points = [start, start + reach, start + reach * _pattern(robot.n), start]
        moves = tuple(Quintic(a, b, duration) for a, b in pairwise(points))
        tiny = bool(np.abs(reach).max() < 1e-3)
        try:
            if isinstance(robot, Mechanism):
                posture = assemble(robot, start)
                for move in moves:
                    posture = check_loops(move, robot, posture)
            effort = peak_effort(robot, moves)
        except (TrajectoryError, AssemblyError, SingularPostureError):  # more than the loops allow
            if tiny:
                raise
            effort = np.full(robot.n, np.inf)
        if tiny or ((effort <= USED * limit).all() and gentle(moves)):
            break
        reach = 0.8 * reach
    return Plan(moves, np.where(np.isfinite(limit), limit, np.maximum(EFFORT_RESERVE * effort, LEAST_EFFORT)))


def peak_effort(robot: Machine, moves: tuple[Quintic, ...]) -> Array:
    """Largest effort of each joint along the moves, friction included, N·m or N; shape (n,)."""
    references = [m.sample(t) for m in moves for t in np.linspace(0.0, m.duration, 41).tolist()]
    q, qd, qdd = (np.array(column) for column in zip(*references, strict=True))
    torque = inverse_dynamics(robot, q, qd, qdd) + friction_torque(robot, qd)
    peak: Array = np.max(np.abs(torque), axis=0)
    return peak


def _start(robot: Machine) -> tuple[Array, Array]:
    """Where to begin, and the signed travel of the first move; (n,) each."""
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    lower = np.where(bounded, robot.lower, np.where(np.isfinite(robot.upper), robot.upper - 2.0 * np.pi, -np.pi))
    upper = np.where(bounded, robot.upper, np.where(np.isfinite(robot.lower), robot.lower + 2.0 * np.pi, np.pi))
    span = upper - lower
    start = np.clip(robot.neutral, lower + MARGIN * span, upper - MARGIN * span)
    up = upper - MARGIN * span - start
    down = start - lower - MARGIN * span
    travel = np.minimum(TRAVEL, RANGE_USED * span)
    # every joint goes another way, so that their curves can be told apart
    travel = travel * np.linspace(1.0, 0.5, robot.n)
    return start, np.where(up >= down, np.minimum(travel, up), -np.minimum(travel, down))


def _pattern(n: int) -> Array:
    """Where the second move takes the joints, as a fraction of the first move's travel."""
    return np.linspace(0.2, 0.7, n)
