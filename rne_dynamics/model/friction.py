"""Joint friction for each independent coordinate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    COULOMB_BACKWARD,
    COULOMB_FORWARD,
    FLOATING,
    KIND,
    MULTIPLIER,
    VELOCITY_INDEX,
    VISCOUS,
)
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.protocol import Robot


class JointFriction(NamedTuple):
    """Friction of every velocity coordinate, dependent (mimic) joints counted with their leader."""

    #: N·m·s/rad or N·s/m; shape (n,).
    viscous: Array
    #: Size of the Coulomb torque against motion in the positive and in the negative direction, N·m or N; shape (n,).
    coulomb_forward: Array
    coulomb_backward: Array

    @property
    def coulomb(self) -> Array:
        """Size of the Coulomb torque in the direction in which it is larger, N·m or N; shape (n,)."""
        larger: Array = np.maximum(np.abs(self.coulomb_forward), np.abs(self.coulomb_backward))
        return larger


def joint_friction(robot: Robot) -> JointFriction:
    """The friction of a robot's coordinates, or of a mechanism's actuated joints; floating joints have none.

    By virtual work a body with q_i = k q + offset adds k² times its viscous coefficient and |k| times its Coulomb
    torque; a negative k swaps the directions.
    """
    tree = robot.open_tree
    friction = JointFriction(np.zeros(tree.n), np.zeros(tree.n), np.zeros(tree.n))
    for (kind, j), row in zip(tree.topology[:, [KIND, VELOCITY_INDEX]].tolist(), tree.parameters, strict=True):
        if kind == FLOATING:
            continue
        k = row[MULTIPLIER]
        ahead, back = (COULOMB_FORWARD, COULOMB_BACKWARD) if k > 0.0 else (COULOMB_BACKWARD, COULOMB_FORWARD)
        friction.viscous[j] += k * k * row[VISCOUS]
        friction.coulomb_forward[j] += abs(k) * row[ahead]
        friction.coulomb_backward[j] += abs(k) * row[back]
    friction = JointFriction(*(column[robot.actuated] for column in friction))
    for array in friction:
        array.flags.writeable = False
    return friction


def passive_viscous(mechanism: Mechanism) -> Array:
    """Viscous friction of a mechanism's tree with that of the actuated joints left out; shape (n of the tree,)."""
    viscous = np.array(joint_friction(mechanism.robot).viscous)
    viscous[mechanism.actuated] = 0.0
    viscous.flags.writeable = False
    return viscous
