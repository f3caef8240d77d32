"""Joint friction for each independent coordinate, and its law.

Effort against motion at the velocity v: offset + viscous v + (Coulomb + Stribeck exp(−(v / v_s)²)) s(v / threshold).

s is the sign, smooth below the threshold. The cubic x (3 − x²) / 2 and not tanh x, since it is exactly the sign from
the threshold on, and takes no call of the C library. The simulator takes the sign: there joints stick, up to
Coulomb + Stribeck.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from rne_dynamics.compiling.jit import helper
from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array, read_only
from rne_dynamics.model.layout import (
    COULOMB_BACKWARD,
    COULOMB_FORWARD,
    FLOATING,
    KIND,
    MULTIPLIER,
    STRIBECK,
    STRIBECK_VELOCITY,
    THRESHOLD,
    VELOCITY_INDEX,
    VISCOUS,
)
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.protocol import Robot

_Number = TypeVar("_Number", float, Array)


@helper
def cubic(x: _Number) -> _Number:
    """The smooth sign between −1 and 1; of arrays too."""
    return x * (1.5 - 0.5 * x * x)


@helper
def smooth_sign(x: float) -> float:
    """The sign of x, smooth between −1 and 1."""
    return cubic(min(max(x, -1.0), 1.0))


def smooth_signs(velocity: Array, threshold: Array) -> Array:
    """`smooth_sign` of velocities over their thresholds; the sign itself where the threshold is 0."""
    known = threshold > 0.0
    smooth = cubic(np.clip(velocity / np.where(known, threshold, 1.0), -1.0, 1.0))
    return np.where(known, smooth, np.sign(velocity))


@helper
def faded(stribeck: float, fading: float, v: float) -> float:
    """By how much Stribeck friction is less at v than at rest, N·m or N; `fading` = 1 / v_s²."""
    return -stribeck * np.expm1(-fading * v * v) if stribeck > 0.0 else 0.0


class JointFriction(NamedTuple):
    """Friction of every velocity coordinate, dependent (mimic) joints counted with their leader."""

    #: N·m·s/rad or N·s/m; shape (n,).
    viscous: Array
    #: Size of the Coulomb torque against motion in the positive and in the negative direction, N·m or N; shape (n,).
    coulomb_forward: Array
    coulomb_backward: Array
    #: What is added at rest, N·m or N, and the speed at which 1/e of it is left, rad/s or m/s, 0 for none; shape (n,).
    stribeck: Array
    stribeck_velocity: Array
    #: Speed below which Coulomb friction grows, rad/s or m/s, 0 where the model gives none; shape (n,).
    threshold: Array

    @property
    def coulomb(self) -> Array:
        """Coulomb friction without the offset, N·m or N; shape (n,)."""
        return 0.5 * (self.coulomb_forward + self.coulomb_backward)

    @property
    def offset(self) -> Array:
        """What does not change its sign with the motion, N·m or N; shape (n,)."""
        return 0.5 * (self.coulomb_forward - self.coulomb_backward)

    @property
    def static(self) -> Array:
        """Largest friction at rest, in the direction in which it is larger, N·m or N; shape (n,)."""
        return np.asarray(np.maximum(np.abs(self.coulomb_forward), np.abs(self.coulomb_backward)) + self.stribeck)

    @property
    def rows(self) -> Array:
        """As kernels take it: viscous, largest friction forwards and backwards, Stribeck, 1 / v_s²; shape (5, n)."""
        speed = self.stribeck_velocity
        fading = np.divide(1.0, speed * speed, np.zeros_like(speed), where=speed > 0.0)
        ahead, back = self.coulomb_forward + self.stribeck, self.coulomb_backward + self.stribeck
        return np.array([self.viscous, ahead, back, self.stribeck, fading])


#: Of the rows of `JointFriction.rows` those in N·m or N (by velocity), which are scaled with friction.
SCALED = 4


def joint_friction(robot: Robot) -> JointFriction:
    """The friction of a robot's coordinates, or of a mechanism's actuated joints; floating joints have none.

    By virtual work a body with q_i = k q + offset adds k² times its viscous coefficient and |k| times its Coulomb
    torque; a negative k swaps the directions. `ModelError`: joints that move together, with different Stribeck
    velocities.
    """
    tree = robot.open_tree
    friction = JointFriction(*np.zeros((len(JointFriction._fields), tree.n)))
    for (kind, j), row in zip(tree.topology[:, [KIND, VELOCITY_INDEX]].tolist(), tree.parameters, strict=True):
        k = row[MULTIPLIER]
        if kind == FLOATING or k == 0.0:
            continue
        ahead, back = (COULOMB_FORWARD, COULOMB_BACKWARD) if k > 0.0 else (COULOMB_BACKWARD, COULOMB_FORWARD)
        friction.viscous[j] += k * k * row[VISCOUS]
        friction.coulomb_forward[j] += abs(k) * row[ahead]
        friction.coulomb_backward[j] += abs(k) * row[back]
        friction.threshold[j] = max(friction.threshold[j], row[THRESHOLD] / abs(k))
        speed = row[STRIBECK_VELOCITY] / abs(k)
        if friction.stribeck[j] > 0.0 and row[STRIBECK] > 0.0 and abs(speed / friction.stribeck_velocity[j] - 1) > 1e-9:
            raise ModelError(
                f"robot {tree.name!r}: joints that move with {tree.joint_names[j]!r} have the Stribeck velocities "
                f"{friction.stribeck_velocity[j]:g} and {speed:g} at its speed; give them one"
            )
        if row[STRIBECK] > 0.0 or friction.stribeck[j] == 0.0:
            friction.stribeck_velocity[j] = speed
        friction.stribeck[j] += abs(k) * row[STRIBECK]
    return JointFriction(*(read_only(column[robot.actuated]) for column in friction))


def passive_viscous(mechanism: Mechanism) -> Array:
    """Viscous friction of a mechanism's tree with that of the actuated joints left out; shape (n of the tree,)."""
    viscous = np.array(joint_friction(mechanism.robot).viscous)
    viscous[mechanism.actuated] = 0.0
    return read_only(viscous)
