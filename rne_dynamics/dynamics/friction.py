"""Joint friction: viscous and Coulomb, by direction. Never part of the rigid-body functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


def friction_torque(robot: RigidRobot, qd: ArrayLike) -> Array:
    """Effort that overcomes joint friction at velocity `qd`: it has the sign of `qd`, and is zero at rest.

    Viscous part times velocity plus the Coulomb part of the direction of motion. To move at all from rest takes
    more than the Coulomb part; that is the simulator's business.

    Parameters
    ----------
    robot
        The model. Of a mechanism only the actuated joints' friction is told: what the passive joints' takes from the
        motors depends on the posture too.
    qd
        Velocities, shape (…, n).

    Returns
    -------
    ndarray
        N·m or N, shape (…, n).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    lead, (velocities,) = state_arrays(robot, qd=qd)
    friction = joint_friction(robot)
    ahead, back = friction.coulomb_forward, friction.coulomb_backward
    coulomb = np.where(velocities > 0.0, ahead, np.where(velocities < 0.0, -back, 0.0))
    tau: Array = friction.viscous * velocities + coulomb
    return tau.reshape((*lead, robot.n))
