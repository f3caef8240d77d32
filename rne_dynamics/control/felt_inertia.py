"""Inertia that joints feel, and the largest damping that a sampled loop with one period of delay can give them.

Damping efforts −D q̇ that are computed from the last state, act one period T later and are held for one period make
v⁺ = v − T M⁻¹D v⁻. M⁻¹D has the real eigenvalues λ ≥ 0 of D^½ M⁻¹ D^½, and each obeys z² − z + T λ = 0:

- T λ < 1: stable. For one joint alone λ = D / I with the inertia I = 1 / (M⁻¹)ⱼⱼ that it feels while the others yield.
- T λ ≤ 1 / `SAFETY`: what counts as safe here, twice away from the limit in inertia, delay and period.
- T λ ≤ 1 / `CALM`: no oscillation at all. This is what is chosen by default.

Joint friction helps, but nothing here relies on it.

The postures are random ones (fixed seed), corners of the joint range, and for each joint some that approach the posture
in which it feels least inertia: within about 1 % of the true minimum on arms of seven joints, in about 30 ms. Where
kernels run as plain Python there are fewer postures, and the margins chosen here cover the difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.closed_chain.assembly import assemble, nearest_state
from rne_dynamics.closed_chain.independence import generic_rank, independent_joints
from rne_dynamics.closed_chain.inverse_dynamics import MotorInertia, closed_mass_matrix, motor_inertia
from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.control.parameters import joint_name
from rne_dynamics.control.thresholds import CALM, SAFETY
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.errors import AssemblyError, ControlError, SingularPostureError
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.model.robot import RobotModel


class JointInertia(MotorInertia):
    """Inertia of a robot's joints in one posture; of independent joints M(q)⁻¹, its diagonal, and the identity."""

    @property
    def felt(self) -> Array:
        """Inertia that each joint feels, for `EffortLimiter.update_inertia`, kg·m² or kg; shape (n,)."""
        # Pushed while all others are held a joint feels M_jj, pushed while they yield 1 / (M⁻¹)_jj, on redundant arms
        # up to 30 times less. Walls tuned to the first oscillate and throw the joint back; walls tuned to the second
        # hardly stop an arm with stiff feedback. The geometric mean is off by the same factor both ways, frequency and
        # damping by its root.
        return np.sqrt(self.held / np.diag(self.inverse))


def joint_inertia(robot: RigidRobot, q: Array, posture: Array | None = None) -> JointInertia:
    """The inertia of the joints at `q`, (n,); loops close from `posture`, all joints of the tree, or its own."""
    # idle freedoms, and more motors than freedoms, are no exception; see `motor_inertia`
    mechanism = mechanism_of(robot)
    if mechanism is None:
        return of_mass_matrix(mass_matrix(robot.open_tree, q))
    if generic_rank(mechanism).coordinates:
        return of_mass_matrix(closed_mass_matrix(mechanism, q, start=posture))
    start = mechanism.posture if posture is None else posture
    closed, _ = nearest_state(mechanism, start, q, np.zeros(robot.n))
    found = motor_inertia(mechanism, closed)
    still = ~np.isfinite(found.held)
    if still.any():
        raise ControlError(
            f"{joint_name(int(np.argmax(still)), robot.joint_names)} cannot be driven: the loops of mechanism "
            f"{robot.name!r} hold it still; leave it out of `actuated`, or cut the loop that holds it"
        )
    return JointInertia(*found)


def of_mass_matrix(mass: Array) -> JointInertia:
    """The inertia of independent joints from M(q), (n, n); `ControlError` where that is not positive definite."""
    held = np.diag(mass)
    try:
        inverse = np.asarray(np.linalg.inv(mass), dtype=np.float64)
    except np.linalg.LinAlgError:
        inverse = np.zeros_like(mass)
    if not ((held > 0.0) & (np.diag(inverse) > 0.0)).all():
        raise ControlError("the mass matrix is not positive definite: some motion of the arm carries no inertia")
    return JointInertia(inverse, held, np.eye(len(held)))


def felt_inertia(mass_matrix: Array) -> Array:
    """`JointInertia.felt` from M(q), (n, n), with the errors of `of_mass_matrix`; shape (n,)."""
    return of_mass_matrix(mass_matrix).felt


# -- inertia in all postures -------------------------------------------------------------------------------------------


#: Random postures of an open arm, and of a mechanism, whose loops take longer.
_RANDOM, _RANDOM_CLOSED = (3000, 60) if COMPILED else (100, 10)
#: Times as many where some of the motors are led by the others, out of their range in many postures.
_LED = 4
#: All corners of the range up to this many joints, as many of them by chance beyond.
_CORNER_JOINTS = 7 if COMPILED else 4
#: Steps around the postures of least inertia, as parts of the range; how many of these a joint, and steps from each.
_STEPS, _STARTS, _STEP_POSTURES = (0.1, 0.05, 0.02, 0.01, 0.004), 5, 12 if COMPILED else 1
#: Postures that are kept: any, and of least inertia for each joint.
_KEPT, _KEPT_LEAST = 500, 40
#: Joints up to which there are so many for each; beyond, fewer for each, so that 50 joints take seconds.
_FEW_JOINTS = 7
#: Range of joints without position limits, rad or m, on both sides of zero.
_ENDLESS = np.pi


@dataclass(frozen=True, eq=False)
class PostureInertia:
    """M⁻¹ in many postures of a robot."""

    #: rad or m; shape (B, n).
    postures: Array
    #: M(q)⁻¹, rotor inertia included, 1/(kg·m²) or 1/kg; shape (B, n, n).
    inverse: Array

    @property
    def felt(self) -> Array:
        """Smallest inertia that each joint feels while all others yield, 1 / (M⁻¹)ⱼⱼ; kg·m² or kg, shape (n,)."""
        return np.asarray(1.0 / np.diagonal(self.inverse, axis1=1, axis2=2).max(axis=0))


def posture_inertia(robot: RigidRobot) -> PostureInertia:
    """M⁻¹ over the joint range, remembered for the last few robots; `ControlError` where some motion has no inertia."""
    tree = robot.open_tree
    parts = tuple(a.tobytes() for a in (tree.parameters, tree.topology, tree.lower, tree.upper))
    return _remembered(_Key(robot if robot.loops else parts, robot))


@dataclass(frozen=True)
class _Key:
    """Equal for robots that are equal in all that the mass matrix depends on."""

    values: object
    robot: RigidRobot = field(compare=False)


@lru_cache(maxsize=4)
def _remembered(key: _Key) -> PostureInertia:
    dice = Dice(4)  # finds the least inertia of the arms that are tested to 1 %, as half of the seeds do
    if (mechanism := mechanism_of(key.robot)) is not None:
        return _closed(mechanism, dice)
    robot = key.robot.open_tree
    lower, upper = _ranges(robot)
    part = _FEW_JOINTS / max(robot.n, _FEW_JOINTS)
    postures = np.vstack((_corners(lower, upper, dice), dice.uniform(lower, upper, (_RANDOM, robot.n))))
    inverse = _inverses(robot, postures)
    for step in _STEPS:
        best = postures[_least(inverse, _STARTS)]
        moved = step * dice.normal((math.ceil(part * _STEP_POSTURES), *best.shape)) * (upper - lower)
        near = np.clip((best + moved).reshape(-1, robot.n), lower, upper)
        postures, inverse = np.vstack((postures, near)), np.concatenate((inverse, _inverses(robot, near)))
    kept = np.zeros(len(postures), dtype=np.bool_)  # not `np.union1d`, which imports masked arrays for 20 ms
    kept[:_KEPT] = kept[_least(inverse, math.ceil(part * _KEPT_LEAST))] = True
    return PostureInertia(postures[kept], inverse[kept])


def _least(inverse: Array, count: int) -> NDArray[np.int64]:
    """Indices of the `count` postures of least inertia of each joint; shape (count · n,)."""
    felt = 1.0 / np.diagonal(inverse, axis1=1, axis2=2)
    return np.argpartition(felt, count, axis=0)[:count].ravel()


def _corners(lower: Array, upper: Array, dice: Dice) -> Array:
    if len(lower) <= _CORNER_JOINTS:
        return np.array(list(product(*zip(lower, upper, strict=True))))
    return np.where(dice.uniform(0.0, 1.0, (2**_CORNER_JOINTS, len(lower))) > 0.5, upper, lower)


def _inverses(robot: RobotModel, postures: Array) -> Array:
    M = np.array([mass_matrix(robot, q) for q in postures])  # not as a batch, which would be one more kernel to compile
    try:
        inverse = np.asarray(np.linalg.inv(M), dtype=np.float64)
    except np.linalg.LinAlgError:
        inverse = np.full_like(M, np.nan)
    felt = np.diagonal(inverse, axis1=1, axis2=2)
    good = np.isfinite(felt) & (felt > 0.0)
    if not good.all():
        raise ControlError(
            f"{joint_name(int(np.argmin(good.all(axis=0))), robot.joint_names)} or one next to it moves without any "
            "inertia in some posture; give the links that it moves mass and inertia"
        )
    return inverse


def _closed(mechanism: Mechanism, dice: Dice) -> PostureInertia:
    """Postures in which the loops close: of motors that depend on each other, some lead the others."""
    leading = independent_joints(mechanism)
    if leading == ():
        raise ControlError(
            f"the loops of mechanism {mechanism.name!r} leave it no freedom; there is nothing that its motors could "
            "move. Leave out a loop that is none, or a blocked direction"
        )
    names = mechanism.joint_names if leading is None else tuple(mechanism.joint_names[k] for k in leading)
    led = replace(mechanism, joint_names=names)
    lower, upper = _ranges(led)
    reached: list[Array] = []
    inverses: list[Array] = []
    tries = _RANDOM_CLOSED if leading is None else _LED * _RANDOM_CLOSED
    for q in np.vstack((led.neutral, dice.uniform(lower, upper, (tries, led.n)))):
        try:
            posture = assemble(led, q)
            place = posture[mechanism.actuated]
            if reached and ((place < mechanism.lower) | (place > mechanism.upper)).any():
                continue  # a joint that is led leaves its range
            inverse = joint_inertia(mechanism, place, posture).inverse
        except (AssemblyError, SingularPostureError, ControlError):
            continue
        reached.append(place)
        inverses.append(inverse)
    if not reached:
        raise ControlError("in none of the postures tried do the loops of the mechanism close")
    return PostureInertia(np.array(reached), np.array(inverses))


def _ranges(robot: RigidRobot) -> tuple[Array, Array]:
    """Position limits, where there are none so much on both sides of zero."""
    lower = np.where(np.isfinite(robot.lower), robot.lower, -_ENDLESS)
    upper = np.where(np.isfinite(robot.upper), robot.upper, _ENDLESS)
    return np.minimum(lower, upper), np.maximum(lower, upper)


# -- largest joint damping that a sampled loop with one period of delay can give, and the damping chosen by default ----


#: Largest damping chosen by default, N·m·s/rad or N·s/m: what a hand feels as light on a large joint.
LIGHT = 1.0

_ROUNDS = 8
#: Parts by which a value may be too large before anything is said.
_NOTICED = 0.01


def fastest_decay(inverse: Array, damping: Array) -> Array:
    """Largest eigenvalue of M⁻¹D, 1/s, (…), of `inverse` (…, n, n) and the diagonal of D, (n,)."""
    root = np.sqrt(damping)
    return np.asarray(np.linalg.eigvalsh(root[:, None] * inverse * root)[..., -1], dtype=np.float64)


def stable_damping(inertia: JointInertia, rate: float, delay: float) -> Array:
    """Damping of `rate`, 1/s, times the felt inertia, lowered by one factor until it is calm at `delay`, s; (n,)."""
    damping = rate * inertia.felt
    fastest = float(fastest_decay(inertia.inverse, damping))
    return damping * min(1.0, 1.0 / (CALM * delay * fastest)) if fastest > 0.0 else damping


def lowered(inverse: Array, damping: Array, fastest: float) -> Array:
    """`damping` itself, (n,), where it decays at most at `fastest`, 1/s, otherwise lowered until it does."""
    # joints are lowered as much as they take part in the fastest motion: a large one keeps its damping
    for _ in range(_ROUNDS):
        root = np.sqrt(damping)
        values, vectors = np.linalg.eigh(root[:, None] * inverse * root)
        if values[-1] <= fastest:
            return damping
        part = vectors[:, -1] ** 2
        damping = damping * (fastest / values[-1]) ** (part / part.max())
    return damping * min(fastest / float(fastest_decay(inverse, damping)), 1.0)


def lowered_everywhere(study: PostureInertia, damping: Array, fastest: float) -> Array:
    """As `lowered`, until it holds in all postures of `study`; shape (n,)."""
    damping = np.minimum(damping, fastest * study.felt)
    for _ in range(_ROUNDS):
        decay = fastest_decay(study.inverse, damping)
        worst = int(decay.argmax())
        if decay[worst] <= fastest * (1.0 + 1e-9):
            return damping
        damping = lowered(study.inverse[worst], damping, fastest)
    return damping * min(fastest / float(fastest_decay(study.inverse, damping).max()), 1.0)


class Damping(NamedTuple):
    """Damping of each joint, N·m·s/rad or N·s/m, shape (n,), and what is to be said about it."""

    value: Array
    warnings: tuple[str, ...]


def checked_damping(robot: RigidRobot, given: Array, rate: float, parameter: str) -> Damping:
    """Damping that is stable at `rate` from what was `given`, (n,), below 0 to choose; `ControlError` if never safe."""
    if not given.any():
        return Damping(given, ())
    study, chosen, safe = posture_inertia(robot), given < 0.0, rate / SAFETY
    explicit = np.where(chosen, 0.0, given)
    allowed = lowered_everywhere(study, explicit, safe)
    light = lowered_everywhere(study, np.where(chosen, LIGHT, allowed), rate / CALM)
    value = np.where(chosen, light, explicit)
    affected = np.flatnonzero(allowed < explicit * (1.0 - _NOTICED))
    if not len(affected):
        return Damping(value, ())
    decay = fastest_decay(study.inverse, explicit)
    where = "in any posture" if decay.min() > safe else "in every posture"
    each = [
        f"{parameter.replace('{joint}', robot.joint_names[j])} is {explicit[j]:.4g}, at most "
        f"{rounded_down(allowed[j]):.3g} is safe (the joint feels an inertia of {study.felt[j]:.3g} at least)"
        for j in affected
    ]
    text = (
        f"damping is too large to be stable {where} at {rate:g} joint states per second, with a margin of {SAFETY:g} "
        f"and one period of delay: {'; '.join(each)}. Set it lower, or to -1 to have it chosen, or set min_rate to "
        "the rate at which joint states always come"
    )
    if decay.min() > safe:
        raise ControlError(text)
    near = ", ".join(f"{x:.2f}" for x in study.postures[decay.argmax()])
    return Damping(value, (f"{text}. It is lowered in such postures, for example near q = [{near}]",))


def rounded_down(value: float) -> float:
    """Three digits of a number that is not negative, rounded down, so that what is stable or accepted stays so."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2) if value > 0.0 else 1.0
    return math.floor(value / step + 1e-9) * step
