"""Largest joint damping that a sampled loop with one period of delay can give, and the damping chosen by default.

Damping efforts −D q̇ that are computed from the last state, act one period T later and are held for one period make
v⁺ = v − T M⁻¹D v⁻. M⁻¹D has the real eigenvalues λ ≥ 0 of D^½ M⁻¹ D^½, and each obeys z² − z + T λ = 0:

- T λ < 1: stable. For one joint alone λ = D / I with the inertia I = 1 / (M⁻¹)ⱼⱼ that it feels while the others yield.
- T λ ≤ 1 / `SAFETY`: what counts as safe here, twice away from the limit in inertia, delay and period.
- T λ ≤ 1 / `CALM`: no oscillation at all. This is what is chosen by default.

Joint friction helps, but nothing here relies on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.control.guards.felt_inertia import JointInertia
from rne_dynamics.control.posture_inertia import PostureInertia, posture_inertia
from rne_dynamics.control.thresholds import CALM, SAFETY
from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot

#: Largest damping chosen by default, N·m·s/rad or N·s/m: what a hand feels as light on a large joint.
LIGHT = 1.0

_ROUNDS = 8
#: Parts by which a value may be too large before anything is said.
_NOTICED = 0.01


def fastest_decay(inverse: Array, damping: Array) -> Array:
    """Largest eigenvalue of M⁻¹D, 1/s; shape (…).

    Parameters
    ----------
    inverse
        M⁻¹; shape (…, n, n).
    damping
        Diagonal of D, not negative; shape (n,).
    """
    root = np.sqrt(damping)
    return np.asarray(np.linalg.eigvalsh(root[:, None] * inverse * root)[..., -1], dtype=np.float64)


def stable_damping(inertia: JointInertia, rate: float, delay: float) -> Array:
    """Damping in one posture that does not overshoot at a given delay, N·m·s/rad or N·s/m; shape (n,).

    All joints are lowered by one factor, so that their damping keeps its ratio to the inertia.

    Parameters
    ----------
    inertia
        In the posture.
    rate
        Damping over felt inertia that is wanted, 1/s, not negative.
    delay
        T: sample time plus lag of the velocity, s, above 0.
    """
    damping = rate * inertia.felt
    fastest = float(fastest_decay(inertia.inverse, damping))
    stable: Array = damping * min(1.0, 1.0 / (CALM * delay * fastest)) if fastest > 0.0 else damping
    return stable


def lowered(inverse: Array, damping: Array, fastest: float) -> Array:
    """`damping` itself where it decays at most at `fastest`, 1/s, and otherwise lowered until it does; shape (n,).

    Joints are lowered as much as they take part in the fastest motion, so that a large joint keeps its damping where a
    small one has too much.

    Parameters
    ----------
    inverse
        M⁻¹ in one posture; shape (n, n).
    damping
        Not negative; shape (n,).
    fastest
        Allowed eigenvalue of M⁻¹D, 1/s, above 0.
    """
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
    """Damping that is stable at `rate`, from what the user has given.

    Parameters
    ----------
    robot
        The model.
    given
        N·m·s/rad or N·s/m; a negative number for the largest that is calm in every posture, but at most `LIGHT`.
        Shape (n,).
    rate
        Efforts per second, at least.
    parameter
        Name of the parameter with ``{joint}``, for messages.

    Returns
    -------
    Damping
        Where a given value is not safe in some postures it stays as it is, and a warning says so: whoever uses it
        lowers it there.

    Raises
    ------
    ControlError
        A given value that is not safe in any posture. The message has the largest safe one.
    """
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
        f"{_floor(allowed[j])} is safe (the joint feels an inertia of {study.felt[j]:.3g} at least)" for j in affected
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


def _floor(value: float) -> str:
    """Three digits, rounded down, so that the number in a message is accepted."""
    exponent = np.floor(np.log10(value)) - 2 if value > 0.0 else 0.0
    return f"{np.floor(value / 10.0**exponent + 1e-9) * 10.0**exponent:.3g}"
