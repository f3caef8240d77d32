"""Joint friction and rotors, the part of each joint's effort that depends on its own motion only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import as_floats, state_arrays
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.body_inertia import rotor_inertia
from rne_dynamics.model.friction import joint_friction, smooth_signs
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel


def friction_torque(robot: RigidRobot, qd: ArrayLike) -> Array:
    """Effort that overcomes joint friction at velocity `qd`, zero at rest where a joint has no threshold.

    Offset, viscous, Coulomb and Stribeck friction by the law of `rne_dynamics.model.friction`: smooth through rest for
    joints with a threshold, by the direction of motion for others. To move at all from rest takes more than the Coulomb
    part; the simulator models that.

    Parameters
    ----------
    robot
        The model. Of a mechanism only the actuated joints' friction is returned: the effort that friction of passive
        joints takes from the motors depends on the posture too.
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
    columns = own_columns(velocities, np.zeros_like(velocities), friction.threshold, friction.stribeck_velocity)
    still = (velocities == 0.0) & (friction.threshold == 0.0)  # sticks, at any effort within its bounds
    _, ahead, back, *_ = friction.rows
    moving = (columns[..., 1:] * _friction_parameters(robot)).sum(axis=-1)
    tau: Array = np.where(still, np.clip(0.0, -back, ahead), moving)
    return tau.reshape((*lead, robot.n))


#: Parameters of a joint's own, in the order of the columns of `joint_regressor`.
OWN = ("rotor", "offset", "viscous", "coulomb", "stribeck")


def own_columns(qd: Array, qdd: Array, threshold: ArrayLike, stribeck_velocity: ArrayLike) -> Array:
    """Columns of `joint_regressor` at velocities and accelerations of any shape; (…, 5)."""
    sign, speed = smooth_signs(qd, np.asarray(threshold)), np.asarray(stribeck_velocity)
    known = speed > 0.0
    fading = np.where(known, np.exp(-((qd / np.where(known, speed, 1.0)) ** 2)), 0.0)
    return np.stack((qdd, np.ones_like(qd), qd, sign, fading * sign), axis=-1)


def joint_regressor(
    robot: RobotModel, qd: ArrayLike, qdd: ArrayLike, *, threshold: ArrayLike | None = None,
    stribeck_velocity: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Effort of rotors and friction as a linear function of the parameters of each joint.

    With `regressor` Y: inverse dynamics + friction = Y · `inertial_parameters` + Σ_k columns[…, k] · parameters[:, k].

    Parameters
    ----------
    robot
        The model.
    qd, qdd
        Velocities and accelerations, shape (…, n).
    threshold, stribeck_velocity
        Speeds of the friction law of `rne_dynamics.model.friction`, in which it is not linear, rad/s or m/s; one or
        (n,). By default the model's. A threshold of 0 means the sign, a Stribeck velocity of 0 a column of zeros.

    Returns
    -------
    ndarray
        Columns of rotor, offset, viscous, Coulomb and Stribeck friction, shape (…, n, 5).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    lead, (velocities, accelerations) = state_arrays(robot, qd=qd, qdd=qdd)
    speeds = []
    for name, value in (("threshold", threshold), ("stribeck_velocity", stribeck_velocity)):
        speed = as_floats(name, getattr(joint_friction(robot), name) if value is None else value)
        if speed.shape not in ((), (robot.n,)) or not np.isfinite(speed).all():
            raise ArgumentError(f"{name} is {speed.tolist()}; it must be finite, one or ({robot.n},)")
        speeds.append(speed)
    columns = own_columns(velocities, accelerations, *speeds)
    return columns.reshape((*lead, robot.n, len(OWN)))


def joint_parameters(robot: RobotModel) -> Array:
    """The model's parameters for `joint_regressor`: rotor, offset, viscous, Coulomb, Stribeck; shape (n, 5)."""
    return np.column_stack((rotor_inertia(robot), _friction_parameters(robot)))


def _friction_parameters(robot: RigidRobot) -> Array:
    friction = joint_friction(robot)
    return np.stack((friction.offset, friction.viscous, friction.coulomb, friction.stribeck), axis=1)
