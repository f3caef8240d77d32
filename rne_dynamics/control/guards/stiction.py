"""Change of effort that static friction can withstand."""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


def stiction(robot: RigidRobot) -> Array:
    """Change of each joint's effort that friction may withstand while the joint stands still, N·m or N; shape (n,).

    Twice the Coulomb friction holds a joint from one direction to the other; half as much again for what the
    description does not know, and 5 % of the effort limit where it knows nothing.
    """
    friction = joint_friction(robot)
    coulomb = np.maximum(np.abs(friction.coulomb_forward), np.abs(friction.coulomb_backward))
    held: Array = 3.0 * coulomb + np.where(robot.effort_limit > 0.0, 0.05 * robot.effort_limit, np.inf)
    return held
