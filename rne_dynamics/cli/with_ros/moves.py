"""The moves of `rne demo` and `rne simulate`: inside the limits of any arm, gentle and shaped for flexible links."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.independence import independent_joints
from rne_dynamics.control.input_shaper import SHAPERS, shaped_points
from rne_dynamics.control.motion.limited_path import check_loops
from rne_dynamics.control.trajectory import QUINTIC_PEAK_VELOCITY, Quintic, SampledTrajectory
from rne_dynamics.dispatch import gravity_torque, inverse_dynamics, mechanism_of
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.friction import friction_torque
from rne_dynamics.errors import ArgumentError, AssemblyError, ModelError, SingularPostureError, TrajectoryError
from rne_dynamics.flexible.energy import tip_deflections
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Largest travel of one move, rad or m, and the fraction of a joint's range it may use.
TRAVEL = 0.8
RANGE_USED = 0.35
#: Fraction of the range that stays free at either end.
MARGIN = 0.05
#: Fraction of the velocity and effort limits that the moves may use.
USED = 0.7
#: Velocity limit of joints without one or with zero, rad/s or m/s.
VELOCITY = 1.0
#: Smallest part of the travel to which the moves are reduced for the sake of efforts: less could hardly be seen.
LEAST_PART = 0.1
#: Effort limit of joints without one: factor on the moves' efforts, and least value, N·m or N.
EFFORT_RESERVE, LEAST_EFFORT = 3.0, 1.0


class Plan(NamedTuple):
    """The motion of a demo."""

    #: Successive moves.
    moves: tuple[Quintic, ...]
    #: Of each joint, N·m or N; shape (n,).
    effort_limit: Array
    #: What reduced their travel, or why it could not be reduced; empty for neither.
    note: str = ""

    @property
    def travel(self) -> Array:
        """Travel of each joint, largest less smallest position, rad or m; shape (n,)."""
        return np.asarray(np.ptp([self.moves[0].start, *(move.end for move in self.moves)], axis=0))


def plan_moves(
    robot: RigidRobot, seconds: float, gentle: Callable[[tuple[Quintic, ...]], bool] = lambda moves: True, *,
    velocity_limit: Array | None = None, margin: Array | float = 0.0,
) -> Plan:
    """Three quintic moves of equal time, `seconds` in all, that return to the start; `ArgumentError`, `ModelError`.

    Every joint moves towards the farther limit. The travel is reduced until velocities and efforts are within `USED` of
    the limits, a mechanism's passive joints inside theirs and away from singular postures, and the moves `gentle`.
    Where efforts would need less than `LEAST_PART` of it, they do not reduce it: the drives are too weak, and the run
    shows it. A `velocity_limit`, (n,), replaces the robot's; a `margin` above `MARGIN` stays free at both ends of the
    range.
    """
    if not seconds > 0.0:
        raise ArgumentError(f"--seconds is {seconds}; it must be above 0")
    if robot.n == 0 or robot.nq != robot.n:
        raise ModelError(f"robot {robot.name!r} has no joint or a floating one; the moves need driven joints")
    mechanism = mechanism_of(robot)
    if mechanism is not None and independent_joints(mechanism) is not None:
        raise ModelError(
            f"mechanism {robot.name!r} has more motors than freedoms, and the moves are of all joints independently; "
            f"remove the surplus motors from `actuated`, or use `{rne('simulate')} --to`, which moves the others along"
        )
    duration = seconds / 3.0
    start, towards = start_inside(robot, margin)
    fastest_allowed = robot.velocity_limit if velocity_limit is None else velocity_limit
    velocity = np.where((fastest_allowed > 0.0) & np.isfinite(fastest_allowed), fastest_allowed, VELOCITY)
    limit = np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf)
    short = USED * limit < np.abs(gravity_torque(robot, start))
    if short.any():
        j = int(np.argmax(short))
        raise ModelError(
            f"joint {robot.joint_names[j]!r} needs {abs(gravity_torque(robot, start)[j]):.4g} to hold the arm at the "
            f"demo's start; its effort limit of {limit[j]:.4g} is too low to move. Check the masses (`{rne('check')}`)"
        )
    fastest = USED * velocity * duration / QUINTIC_PEAK_VELOCITY
    reach = np.clip(towards, -fastest, fastest)
    if not reach.any():
        raise ModelError(f"no joint of robot {robot.name!r} can move: check the lower and upper of their <limit>")
    part = 1.0
    whole: tuple[float, tuple[Quintic, ...], Array] | None = None  # the largest moves that only efforts may forbid
    while True:
        back = np.linspace(0.2, 0.7, robot.n)  # end of the second move as a fraction of the first move's travel
        points = [start, start + part * reach, start + part * reach * back, start]
        moves = tuple(Quintic(a, b, duration) for a, b in pairwise(points))
        tiny = bool(part * np.abs(reach).max() < 1e-3)
        try:
            if mechanism is not None:
                posture = assemble(mechanism, start)
                for move in moves:
                    posture = check_loops(move, mechanism, posture)
            effort = peak_effort(robot, moves)
            allowed = tiny or gentle(moves)
        except (TrajectoryError, AssemblyError, SingularPostureError):  # the loops do not allow this travel
            if tiny:
                raise
            allowed = False
        if allowed:
            whole = whole or (part, moves, effort)
            if (effort <= USED * limit).all():
                break
            if part <= LEAST_PART * whole[0]:
                part, moves, effort = whole
                break
        part *= 0.8
    filled = np.where(np.isfinite(limit), limit, np.maximum(EFFORT_RESERVE * effort, LEAST_EFFORT))
    note = "" if (whole[2] <= USED * limit).all() else _note(robot, part / whole[0], whole[2], limit)
    return Plan(moves, filled, note)


def _note(robot: RigidRobot, part: float, effort: Array, limit: Array) -> str:
    """Effect of the effort limits on the moves whose full travel needs `effort`, (n,), N·m or N."""
    j = int(np.argmax(effort / limit))
    need = f"joint {robot.joint_names[j]!r} needs {effort[j]:.4g} of its effort limit of {limit[j]:.4g} for"
    if part < 1.0:
        return f"the moves are reduced to {part:.0%} of their travel: {need} all of it, and {USED:.0%} are used"
    return f"{need} these moves, and reducing them to {LEAST_PART:.0%} does not bring it below {USED:.0%}"


def slowed(move: Quintic | SampledTrajectory, speed: float) -> Quintic | SampledTrajectory:
    """A move as a controller with that speed scaling, above 0, follows it."""
    if isinstance(move, Quintic):
        return Quintic(move.start, move.end, move.duration / speed)
    qd, qdd = move.velocities, move.accelerations
    return SampledTrajectory(
        move.times / speed, move.positions, None if qd is None else speed * qd, None if qdd is None else speed**2 * qdd,
        move.joint_names,
    )


def peak_effort(robot: RigidRobot, moves: tuple[Quintic, ...]) -> Array:
    """Largest effort of each joint along the moves, friction included, N·m or N; shape (n,)."""
    q, qd, qdd = np.concatenate([m.samples(np.linspace(0.0, m.duration, 41)) for m in moves]).swapaxes(0, 1)
    torque = inverse_dynamics(robot, q, qd, qdd) + friction_torque(robot, qd)
    return np.asarray(np.max(np.abs(torque), axis=0))


def start_posture(robot: RigidRobot, margin: Array | float = 0.0) -> Array:
    """Zero (a mechanism's posture), moved inside the limits, rad or m; shape (n,)."""
    lower, upper, free = _range(robot, margin)
    return np.clip(robot.neutral, lower + free, upper - free)


def _range(robot: RigidRobot, margin: Array | float) -> tuple[Array, Array, Array]:
    """Position limits, one turn where there are none, and what stays free at either end; (n,) each."""
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    lower = np.where(bounded, robot.lower, np.where(np.isfinite(robot.upper), robot.upper - 2.0 * np.pi, -np.pi))
    upper = np.where(bounded, robot.upper, np.where(np.isfinite(robot.lower), robot.lower + 2.0 * np.pi, np.pi))
    return lower, upper, np.minimum(np.maximum(MARGIN * (upper - lower), margin), 0.5 * (upper - lower))


def start_inside(robot: RigidRobot, margin: Array | float = 0.0) -> tuple[Array, Array]:
    """Start, and signed travel of the first move; (n,) each."""
    lower, upper, free = _range(robot, margin)
    start = start_posture(robot, margin)
    up, down = upper - free - start, start - lower - free
    # different travels, so that the curves can be distinguished
    travel = np.minimum(TRAVEL, RANGE_USED * (upper - lower)) * np.linspace(1.0, 0.5, robot.n)
    return start, np.where(up >= down, np.minimum(travel, up), -np.minimum(travel, down))


#: Largest static deflection by the joints' accelerations, as a part of the link's length. Vibration increases it two to
#: three times, which must still be a small deflection.
BENT = 0.03
#: 2 ω λ T of the default gains, see `stable_bandwidth`.
SAMPLED_GAIN = 0.25
#: Damping ratio from which a vibration needs no shaper.
SWINGS = 0.5
#: Default time of a move in periods of the slowest vibration: long enough for a realistic motion, short enough to
#: excite vibration.
LIVELY = 4.0 / 3.0
#: Bounds of the pause after each move, s, which is a period of the slowest vibration.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 4.0

Move = Quintic | SampledTrajectory
PLAIN = "plain"


class Programme(NamedTuple):
    """One variant of the demo's moves."""

    #: ``plain``, the name of a shaper, or ``slow``.
    name: str
    #: The moves to send.
    moves: tuple[Move, ...]

    @property
    def seconds(self) -> float:
        """Mean time of a move, s."""
        return sum(move.duration for move in self.moves) / len(self.moves)


def bends_little(arm: FlexibleArm) -> Callable[[tuple[Quintic, ...]], bool]:
    """A test for `plan_moves`: whether moves deflect every link by at most `BENT` of its length."""
    lengths = np.array([np.linalg.norm(link.tip) for link in arm.flexible_links])

    def gentle(moves: tuple[Quintic, ...]) -> bool:
        q, qd, qdd = np.concatenate([m.samples(np.linspace(0.0, m.duration, 21)) for m in moves]).swapaxes(0, 1)
        still = np.zeros_like(qd)
        moved = balance(arm, q, qd, qdd).delta - balance(arm, q, still, still).delta
        size = np.linalg.norm(tip_deflections(arm, moved)[..., :3], axis=-1)
        return bool((size <= BENT * lengths).all())

    return gentle


def lively(arm: FlexibleArm) -> float:
    """Default time of the three moves, s."""
    return float(3.0 * LIVELY * 2.0 * np.pi / vibrations(arm, arm.neutral, 1)[0][0])


def vibrations(arm: FlexibleArm, q: Array, count: int, bandwidth: float | None = None) -> tuple[Array, Array]:
    """Frequencies, rad/s, and damping ratios of the lowest `count` vibrations at q, joints held or with a bandwidth."""
    if bandwidth is None:
        found = linearised(arm, q)
    else:
        M = mass_matrix(arm.robot, q)
        found = linearised(arm, q, joint_stiffness=bandwidth**2 * M, joint_damping=2.0 * bandwidth * M)
    swings = np.flatnonzero(found.damping_ratios < SWINGS)[:count]
    return found.frequencies[swings], found.damping_ratios[swings]


def programmes(
    arm: FlexibleArm, moves: tuple[Quintic, ...], kind: str | None, modes: int, bandwidth: float, *, compare: bool
) -> tuple[Programme, ...]:
    """The moves unshaped or shaped; or, to compare, unshaped, with each shaper, and slow.

    Shapers are for the lowest `modes` vibrations of the arm under its controller at the end of a move. With the
    frequencies of held joints a ZV shaper leaves four times as much vibration on the shipped two-link arm, and more on
    stiffer ones. Slow moves are quintics as long as the moves with the longest shaper.
    """
    if not 1 <= modes <= arm.modes:
        raise ArgumentError(f"--modes is {modes}; it must be 1 to {arm.modes} for arm {arm.name!r}")
    plain = Programme(PLAIN, moves)

    def shaped(kind: str) -> Programme:
        shapers = [SHAPERS[kind](*vibrations(arm, m.end, modes, bandwidth)) for m in moves]
        return Programme(
            kind, tuple(shaped_points(m, s, nanoseconds=True) for m, s in zip(moves, shapers, strict=True))
        )

    if not compare:
        return (shaped(kind),) if kind else (plain,)
    with_shaper = [shaped(name) for name in SHAPERS]
    longest = max(with_shaper, key=lambda p: p.seconds)
    slow = tuple(Quintic(m.start, m.end, s.duration) for m, s in zip(moves, longest.moves, strict=True))
    return (plain, *with_shaper, Programme("slow", slow))


def pause(arm: FlexibleArm, moves: tuple[Quintic, ...]) -> float:
    """Pause after each move, s: a period of the slowest vibration."""
    slowest = min(float(vibrations(arm, m.end, 1)[0][0]) for m in moves)
    return float(np.clip(2.0 * np.pi / slowest, SHORTEST_PAUSE, LONGEST_PAUSE))


def stable_bandwidth(arm: FlexibleArm, postures: Array, rate: float) -> float:
    """Bandwidth ω, rad/s, at which a controller of the rigid arm is stable on the flexible one at `rate`, 1/T, Hz.

    Its velocity gain is 2 ω M with the rigid arm's M, but at high frequency an effort accelerates only M / λ, with λ
    the largest eigenvalue of (J⁻¹)_qq M in all `postures`, (postures, n). If efforts act one period T late, the roots
    of z² − z + 2 ω λ T show that an oscillation at a sixth of the rate grows for 2 ω λ T > 1; a quarter of that is
    used. Slow vibrations set no bound: without sampling such a law dissipates energy at any gain.
    """
    n, rest = arm.n, np.zeros(arm.modes)
    J = equations_of_motion(arm, postures, rest, np.zeros(n), rest).J
    felt = np.linalg.inv(J)[:, :n, :n] @ J[:, :n, :n]
    return SAMPLED_GAIN * rate / (2.0 * float(np.linalg.eigvals(felt).real.max()))
