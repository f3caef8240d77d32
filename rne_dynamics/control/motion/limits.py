"""Limits and tolerances of motions; whole turns of continuous joints; positions as they are typed."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.parameters import frozen_vector, of_node, parameter
from rne_dynamics.control.thresholds import ABSURD, ALLOWANCE, ROUNDING
from rne_dynamics.errors import ArgumentError, ControlError, TrajectoryError, refuse
from rne_dynamics.model.inertia import Array, set_fields
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import JointKind, KinematicTree


class JointTolerance(Protocol):
    """One joint's tolerance in a request, as control_msgs/JointTolerance has it; rad or m, per s, per s²."""

    name: str
    position: float
    velocity: float
    acceleration: float


class Outcome(NamedTuple):
    """Endings of a motion."""

    #: "succeeded"; which tolerance was left: "path" or "goal"; "silent" where setpoints have ended; "unreached" where
    #: the arm rests away from a pose.
    status: Literal["succeeded", "path", "goal", "silent", "unreached"]
    #: Says which joint, how far off it was, what is allowed, and by which parameter.
    text: str


def _none() -> Array:
    return np.zeros(())


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Largest errors of position and velocity, on the path and at the goal; 0, not checked, is kept as infinity."""

    #: Names, in the order of the vectors.
    joints: tuple[str, ...]
    #: Position, rad or m; one number or shape (n,).
    path: Array = field(default_factory=_none, metadata=of_node(
        "constraints.{joint}.trajectory", 0.0, "Tracking error at which a trajectory is aborted; 0 never.", "rad or m",
        0.0, 10.0,
    ))
    goal: Array = field(default_factory=_none, metadata=of_node(
        "constraints.{joint}.goal", 0.01, "Error within which the goal counts as reached; 0 any.", "rad or m", 0.0, 10.0
    ))
    #: Velocity, rad/s or m/s; one number or shape (n,).
    path_velocity: Array = field(default_factory=_none)
    goal_velocity: Array = field(default_factory=_none)
    stopped_velocity: float = parameter(
        0.01, "Speed below which the arm is at rest at its goal.", "rad/s or m/s", lower=1e-6, upper=10.0
    )
    #: 0 waits without end, as ros2_controllers do: the motion ends by being reached, replaced or cancelled.
    goal_time: float = field(default=0.0, metadata=of_node(
        "constraints.goal_time", 0.1, "Longest time after its end for a trajectory to reach the goal's tolerances; 0 "
        "for no limit.", "s", 0.0, 3600.0,
    ))

    def __post_init__(self) -> None:
        set_fields(self, **{
            name: upper_bounds(getattr(self, name), self.joints, f"the {name.replace('_', ' ')} tolerance")
            for name in ("path", "goal", "path_velocity", "goal_velocity")
        }, **{
            name: float(upper_bounds([getattr(self, name)], (name,), "the tolerance")[0])
            for name in ("stopped_velocity", "goal_time")
        })

    def overridden(
        self, path: Sequence[JointTolerance] = (), goal: Sequence[JointTolerance] = (), goal_time: float = 0.0
    ) -> Tolerances:
        """These with a request's, of which 0 keeps what is set, −1 switches it off. Raises TrajectoryError."""
        path_position, path_velocity = self._with("path", path)
        goal_position, goal_velocity = self._with("goal", goal)
        return replace(
            self, path=path_position, path_velocity=path_velocity, goal=goal_position, goal_velocity=goal_velocity,
            goal_time=_chosen(self.goal_time, goal_time, "goal_time_tolerance"),
        )

    def _with(self, what: str, wanted: Iterable[JointTolerance]) -> tuple[Array, Array]:
        position = np.array(getattr(self, what), dtype=np.float64)
        velocity = np.array(getattr(self, f"{what}_velocity"), dtype=np.float64)
        seen: set[str] = set()
        for tolerance in wanted:
            name = tolerance.name
            if name not in self.joints or name in seen:
                fault = "is named twice" if name in seen else f"is unknown; there are {', '.join(self.joints)}"
                raise TrajectoryError(f"{what}_tolerance: joint {name!r} {fault}")
            seen.add(name)
            label, j = f"{what}_tolerance of joint {name!r}", self.joints.index(name)
            position[j] = _chosen(position[j], tolerance.position, f"{label}: its position")
            velocity[j] = _chosen(velocity[j], tolerance.velocity, f"{label}: its velocity")
            if tolerance.acceleration not in (0.0, -1.0):
                raise TrajectoryError(
                    f"{label}: its acceleration is {tolerance.acceleration}; accelerations are not measured, so it "
                    "cannot be kept. Leave it 0"
                )
        return position, velocity


def upper_bounds(value: ArrayLike, joints: tuple[str, ...], what: str) -> Array:
    """One number or one for each joint, not negative; 0, no bound, is kept as infinity; (n,)."""
    array = frozen_vector(value, len(joints), what, lowest=0.0, finite=False, names=joints, error=ControlError)
    return np.where(array > 0.0, array, np.inf)


def _chosen(default: float, wanted: float, what: str) -> float:
    if wanted == 0.0:
        return float(default)
    if wanted == -1.0:
        return np.inf
    if not wanted > 0.0:
        raise TrajectoryError(f"{what} is {wanted}; it must be above 0, 0 for the default, or -1 for none")
    return float(wanted)


# -- whole turns of continuous joints: positions that differ by them are the same posture ------------------------------


Angle = TypeVar("Angle", float, Array)

#: Half a turn, less round-off: what is half a turn away is not moved to the other side.
_HALF = 0.5 + 1e-9


def endless(tree: KinematicTree) -> frozenset[str]:
    """Names of the joints that turn without end."""
    return frozenset(joint.name for joint in tree.joints if joint.kind is JointKind.CONTINUOUS)


def continuous(robot: RigidRobot) -> NDArray[np.bool_]:
    """Joints that turn without end, whose encoders may wrap; shape (n,)."""
    names = endless(robot.tree)
    return np.array([name in names for name in robot.joint_names], dtype=np.bool_)


def described_velocity(robot: RigidRobot) -> Array:
    """The description's velocity limits, infinite where it gives none, or 0; rad/s or m/s, (n,)."""
    return np.where(robot.velocity_limit > 0.0, robot.velocity_limit, np.inf)


def turns_off(angle: Angle, near: Angle) -> Angle:
    """Whole turns by which `angle` lies further up than necessary from `near`, rad; numbers or arrays."""
    off = (angle - near) / (2.0 * np.pi)
    turns: Angle = np.copysign(np.ceil(np.abs(off) - _HALF), off)
    return turns


#: `turns_off` in kernels.
turns_off_kernel = helper(turns_off)


# -- limits of position and velocity for motions -----------------------------------------------------------------------


#: Likewise positions, rad or m: between a point that rests at a limit and one there that already moves away.
POSITION_ALLOWANCE = 1e-6


@dataclass(frozen=True, eq=False)
class JointRanges:
    """Position and velocity limits of joints."""

    #: Names, in the order of the vectors.
    joints: tuple[str, ...]
    #: Positions, rad or m; shape (n,); infinite where there is no limit.
    lower: Array
    upper: Array
    #: Largest speed, rad/s or m/s; shape (n,); infinite where there is no limit.
    velocity: Array
    #: Joints whose positions are the same a whole turn further, shape (n,); None for none.
    continuous: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    def turns_off(self, positions: Array, near: Array, columns: Array | slice = slice(None)) -> Array:
        """Whole turns by which positions of some joints lie off those nearest to `near`; 0 where turns count; (m,)."""
        if self.continuous is None:
            return np.zeros_like(positions)
        turns = turns_off(positions, near)
        return np.where(self.continuous[columns] & np.isfinite(turns), turns, 0.0)


@dataclass(frozen=True, eq=False)
class MotionLimits(JointRanges):
    """Limits of trajectories. `joints`, `lower`, `upper`, `velocity`, `continuous`: as for `JointRanges`."""

    #: Also of one that has begun; one number, or shape (n,).
    start: float | Array = field(metadata=of_node(
        "constraints.start", 0.05, "Largest distance of a trajectory's start from the arm.", "rad or m", 0.0, 10.0
    ))

    def bounds(self, now: Reference) -> Array:
        """Bounds of position, velocity, acceleration, (3, 2, n), from `now`; a joint outside moves no further out."""
        lower = np.minimum(np.maximum(self.lower, -ABSURD) - POSITION_ALLOWANCE, now.q) - ROUNDING
        upper = np.maximum(np.minimum(self.upper, ABSURD) + POSITION_ALLOWANCE, now.q) + ROUNDING
        fastest = np.maximum(np.minimum((1.0 + ALLOWANCE) * self.velocity, ABSURD), np.abs(now.qd)) + ROUNDING
        hardest = np.full_like(now.q, ABSURD)
        return np.array([(lower, upper), (-fastest, fastest), (-hardest, hardest)])


# -- positions as typed: JOINT=VALUE for some joints or VALUE for all, rad or m or with a unit -------------------------


#: Units of positions and their size in SI units, of prismatic joints and of all others.
_METRES, _RADIANS = {"m": 1.0, "mm": 1e-3}, {"rad": 1.0, "deg": math.pi / 180.0}
_QUANTITY = re.compile(r"(.*?\d\.?)\s*([a-z]*)")


def parse_goal(words: Sequence[str], robot: RigidRobot, lower: Array, upper: Array) -> dict[str, float]:
    """Position of each joint that words name, rad or m, within limits (n,): all named or none, else ArgumentError."""
    named = ["=" in word for word in words]
    refuse(
        ArgumentError,
        (not words, "no goal is given; write JOINT=VALUE, or a VALUE for each joint, as in joint1=30deg"),
        (any(named) and not all(named), "give either JOINT=VALUE for some joints or a VALUE for every joint, not both"),
        (not any(named) and len(words) != robot.n,
         f"{len(words)} values for {robot.n} joints ({', '.join(robot.joint_names)})"),
    )  # fmt: skip
    slides = sliding_joints(robot)
    goal: dict[str, float] = {}
    for word, default in zip(words, robot.joint_names, strict=False):
        name, _, text = word.rpartition("=") if any(named) else (default, "", word)
        j = robot.joint_index(name)
        if name in goal:
            raise ArgumentError(f"joint {name!r} is given twice")
        value = joint_position(text, name, slides)
        if not lower[j] <= value <= upper[j]:
            raise ArgumentError(
                f"goal {value:.6g} of joint {name!r} is outside its limits [{lower[j]:.6g}, {upper[j]:.6g}]"
            )
        goal[name] = value
    return goal


def joint_position(text: str, joint: str, sliding: Container[str]) -> float:
    """A position as typed, 30deg, 0.5 or 20mm, in rad or m; `ArgumentError` where it is none, or of another unit."""
    parts = _QUANTITY.fullmatch(text.strip())
    number, unit = parts.groups() if parts else ("", "")
    units, kind, example = (_METRES, "prismatic", "20mm") if joint in sliding else (_RADIANS, "revolute", "30deg")
    if unit and unit not in units:
        raise ArgumentError(f"{text!r}: joint {joint!r} is {kind}, and its unit is {' or '.join(units)}, not {unit!r}")
    try:
        value = float(number) * units.get(unit, 1.0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(f"{text!r} of joint {joint!r} is no position; write a number, as 0.5 or {example}")
    return value


def sliding_joints(robot: RigidRobot) -> frozenset[str]:
    """Names of the prismatic joints, passive ones of a mechanism among them."""
    return frozenset(j.name for j in robot.open_tree.tree.joints if j.kind is JointKind.PRISMATIC)
