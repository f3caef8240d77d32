"""What a push does to an arm under gravity compensation."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from rne_dynamics.control.felt_inertia import joint_inertia, lowered
from rne_dynamics.control.supervision.settings import Settings
from rne_dynamics.control.thresholds import SAFETY
from rne_dynamics.control.tracking_law import FrictionCompensation
from rne_dynamics.dispatch import gravity_torque, inverse_dynamics
from rne_dynamics.errors import ArgumentError, refuse
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.stepping.contact import box_lcp

#: Step, s: fine where friction and its compensation decide which of several joints break away, coarse for estimates.
FINE, COARSE = 1e-3, 0.02
#: Added to the diagonal of the gain, as a part of its largest entry.
_SHARED = 1e-9


class FloatingMotion:
    """M q̈ + D q̇ + friction = load, in implicit steps; gravity is compensated.

    v⁺ = `decay` v + `gain` (load − f), in which the friction f of each joint holds it or opposes its motion. The law
    compensates a fraction of it while the joint moves, and only its offset at rest.
    """

    def __init__(self, settings: Settings, q: Array, *, friction: bool = True, step: float = FINE) -> None:
        """Motions about `q`, (n,), of an arm that has joint `friction` or none; raises as `joint_inertia`."""
        robot, law = settings.robot, settings.floating
        of_joints, inverse = joint_friction(robot), joint_inertia(robot, q).inverse
        compensation = law.friction_compensation or FrictionCompensation(0.0)
        #: h, s.
        self.step = step
        #: Fraction of friction that the law compensates.
        self.compensated = compensation.scale
        #: 1 / the speed from which on it does so, s/rad or s/m; (n,).
        self.steepness = compensation.steepness(of_joints)
        # as the supervisor does: what is compensated a period late is stable
        unstable = lowered(inverse, self.compensated * of_joints.viscous, settings.assumed_rate / SAFETY)
        damping = law.damping + (of_joints.viscous - unstable if friction else 0.0)
        #: (1 + h M⁻¹D)⁻¹, where D is the law's damping and the viscous friction that it does not compensate; (n, n).
        self.decay = np.asarray(np.linalg.inv(np.eye(robot.n) + step * inverse * damping), dtype=np.float64)
        #: decay h M⁻¹, (n, n).
        self.gain = step * self.decay @ inverse
        *_, stribeck, fading = of_joints.rows
        rubs = [of_joints.coulomb + stribeck, (1.0 - self.compensated) * of_joints.offset, stribeck, fading]
        #: Friction at rest in both directions, what of the offset is not compensated, Stribeck friction, N·m or N, and
        #: 1 / v_s²; (4, n).
        self.friction = np.array(rubs) if friction else np.zeros((4, robot.n))

    def run(self, qd: Array, loads: Array) -> tuple[Array, Array]:
        """Displacements and velocities after each step from `qd`, (n,), under `loads`, N·m or N; (steps, n) all."""
        speeds = np.zeros_like(loads)
        level, offset, stribeck, fading = self.friction
        # motors that work against each other share what is left undetermined
        shared = self.gain + _SHARED * np.abs(self.gain).max() * np.eye(len(qd))
        if not qd.any() and (np.abs(loads - offset) <= level).all():
            return speeds, speeds.copy()  # friction holds every joint
        for k, load in enumerate(loads):
            left = 1.0 - self.compensated * np.minimum(np.abs(qd) * self.steepness, 1.0)
            left = left * (level + stribeck * np.expm1(-fading * qd * qd))
            free, friction, qd = self.decay @ qd + self.gain @ load, np.empty_like(qd), np.empty_like(qd)
            box_lcp(shared, free, -offset - left, left - offset, friction, qd, np.empty(len(qd), dtype=np.int64))
            speeds[k] = qd
        return self.step * np.cumsum(speeds, axis=0), speeds


#: Effort that counts as none, N·m or N.
ROUND_OFF = 1e-9
_FORM = re.compile(r"(?P<link>.+)=(?P<force>[^=@]+)@(?P<begin>[^@]+)\.\.(?P<end>[^@]+)")
#: Sizes of a gentle push, N, when it begins, and how long it may last, s: short where a joint breaks away fast.
FORCES = tuple(float(f"{size}e{k}") for k in range(-6, 2) for size in (1, 1.5, 2, 3, 5, 7))[:-2]
BEGIN, DURATIONS = 0.2, (0.5, 0.2, 0.1)
#: How far a gentle push is to move some joint, rad or m, and at most which part of the way to its limit.
TRAVEL, ROOM = 0.05, 0.5
#: Part of the velocity and effort limits that it may use, and the velocity limit of joints without one, rad/s or m/s.
FASTEST, STRONGEST, VELOCITY = 0.5, 0.9, 1.0
#: Time for which the arm may move on at the speed that it has at the end of the push, s.
COAST = 3.0


@dataclass(frozen=True, eq=False)
class Push:
    """A force on a link."""

    #: Its name.
    link: str
    #: At the origin of the link's frame, in its axes, N; shape (3,).
    force: Array
    #: s, from the beginning of the pushes' times.
    begin: float
    end: float

    def __str__(self) -> str:
        force = ",".join(f"{f:g}" for f in self.force.tolist())
        return f"{self.link}={force}@{self.begin:g}..{self.end:g}"


def parse_push(text: str, robot: RigidRobot) -> Push:
    """A push written as LINK=fx,fy,fz@t..t: N in the link's axes, s; `ArgumentError`, or `ModelError` for the link."""
    found = _FORM.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        force = np.array([float(f) for f in found["force"].split(",")])
        begin, end = float(found["begin"]), float(found["end"])
    except ValueError:
        raise ArgumentError(f"push {text!r}: write LINK=FX,FY,FZ@BEGIN..END, as in tool0=0,0,10@0.5..1, in N and s"
                            ) from None
    refuse(
        ArgumentError,
        (force.shape != (3,) or not np.isfinite(force).all(),
         f"push {text!r} has the force {force.tolist()}; it must be three finite numbers, N"),
        (not 0.0 <= begin < end <= 60.0,
         f"push {text!r} acts from {begin:g} to {end:g} s; write 0 <= BEGIN < END <= 60"),
    )  # fmt: skip
    robot.open_tree.link(found["link"])
    return Push(found["link"], force, begin, end)


def load(robot: RigidRobot, q: Array, push: Push) -> Array:
    """Effort of a push on each joint at rest, N·m or N; shape (n,)."""
    rest = np.zeros(robot.n)
    wrench = np.concatenate((push.force, np.zeros(3)))
    effort = gravity_torque(robot, q) - inverse_dynamics(robot, q, rest, rest, wrenches={push.link: wrench})
    return np.where(np.abs(effort) > ROUND_OFF, effort, 0.0)


def static_friction(robot: RigidRobot, direction: Array) -> Array:
    """Largest friction of each joint at rest against motion with these signs, N·m or N; shape (n,)."""
    _, ahead, back, *_ = joint_friction(robot).rows
    return np.asarray(np.where(direction < 0.0, back, ahead))


def loads_over_time(robot: RigidRobot, q: Array, pushes: Sequence[Push], begin: float, end: float) -> Array:
    """Effort of all pushes on each joint at q, in steps `FINE` of the time between, N·m or N; (steps, n)."""
    times = begin + FINE * (np.arange(max(1, round((end - begin) / FINE))) + 0.5)
    acting = np.array([(push.begin <= times) & (times < push.end) for push in pushes], dtype=np.float64)
    return np.asarray(acting.T @ np.array([load(robot, q, push) for push in pushes]))


@dataclass(frozen=True)
class PlannedPush:
    """A push, and how much it does: the largest displacement over the one that is wanted of that joint.

    It is below 0 if friction holds all joints: then the largest load over its friction, less 1.
    """

    push: Push
    effect: float


def gentle_push(settings: Settings, q: Array, *, friction: bool = True) -> PlannedPush:
    """A push that moves a joint visibly, along a link's axis, with the smallest force that does it; `ArgumentError`.

    The last link whose push can do it is taken. Some joint is to move by `TRAVEL`, or less where there is less room,
    while all joints stay within `FASTEST` of their velocity limits and the drives within `STRONGEST` of their effort
    limits. If no push can do it, it is the one with the largest effect. `q`: where the arm is, (n,).
    """
    arm, best = _PushedArm(settings, q, friction=friction), None
    for link, seconds in product(reversed(settings.robot.open_tree.link_names), DURATIONS):
        found = arm.gentlest(link, seconds)
        if found is not None and (best is None or found.effect > best.effect):
            best = found
        if best is not None and best.effect >= 1.0:
            return best
    if best is None:
        raise ArgumentError(
            f"no push along a link's axes of robot {settings.robot.name!r} moves a joint within the limits of effort "
            "and velocity; give one with --push, or start elsewhere with --start"
        )
    return best


class _PushedArm:
    """An arm in one posture, and what pushes do to it; raises as `FloatingMotion`."""

    def __init__(self, settings: Settings, q: Array, *, friction: bool) -> None:
        limits = settings.limits
        self._settings, self._q = settings, q
        self._motion = FloatingMotion(settings, q, friction=friction, step=COARSE)
        self._speed = FASTEST * np.where(np.isfinite(limits.velocity), limits.velocity, VELOCITY)
        self._lower, self._upper = limits.lower + limits.margin, limits.upper - limits.margin
        self._effort = np.maximum(STRONGEST * limits.effort, np.abs(gravity_torque(settings.robot, q)))

    def gentlest(self, link: str, seconds: float) -> PlannedPush | None:
        """The push on a link that does most, with the smallest force that is enough; None if it moves nothing."""
        tried, end = [], BEGIN + seconds
        for axis in (*np.eye(3), *-np.eye(3)):
            unit = load(self._settings.robot, self._q, Push(link, axis, BEGIN, end))
            few = bisect.bisect_left(FORCES, True, key=lambda size: not self._allowed(size * unit, seconds))
            if few > 0 and unit.any():
                enough = bisect.bisect_left(FORCES, 1.0, 0, few, key=lambda size: self._effect(size * unit, seconds))
                size = FORCES[min(enough, few - 1)]
                effect = self._effect(size * unit, seconds)
                wins = min(effect, 1.0), -size if effect >= 1.0 else 0.0
                tried.append((wins, PlannedPush(Push(link, size * axis, BEGIN, end), effect)))
        return max(tried, key=lambda one: one[0])[1] if tried else None

    def _moved(self, effort: Array, seconds: float) -> tuple[Array, Array]:
        """Displacement at the end of a push with this load on the joints, and the largest speeds; (n,) each."""
        steps = round(seconds / self._motion.step)
        displacements, speeds = self._motion.run(np.zeros(len(effort)), np.tile(effort, (steps, 1)))
        return displacements[-1], speeds[np.argmax(np.abs(speeds), axis=0), np.arange(len(effort))]

    def _effect(self, effort: Array, seconds: float) -> float:
        displacement, _ = self._moved(effort, seconds)
        room = np.where(displacement > 0.0, self._upper - self._q, self._q - self._lower)
        wanted = np.minimum(TRAVEL, ROOM * room)
        parts = np.abs(displacement[wanted > 0.0]) / wanted[wanted > 0.0]
        if parts.any():
            return float(parts.max())
        friction = np.maximum(static_friction(self._settings.robot, effort), ROUND_OFF)
        return min(float((np.abs(effort) / friction).max()) - 1.0, 0.0)

    def _allowed(self, effort: Array, seconds: float) -> bool:
        """Whether a push with this load keeps speeds and efforts within the limits, also while the arm slows down."""
        settings = self._settings
        if (np.abs(effort) > self._effort).any():
            return False
        displacement, speed = self._moved(effort, seconds)
        if (np.abs(speed) > self._speed).any():
            return False
        end = np.clip(self._q + displacement + COAST * speed, settings.limits.lower, settings.limits.upper)
        held = np.zeros(len(end)) if "gravity" in settings.compensated else gravity_torque(settings.robot, end)
        return bool((np.abs(held) <= self._effort).all())
