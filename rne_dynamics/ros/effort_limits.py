"""Effort limits from the description and from parameters."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import ParameterError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.parameters import Values, per_joint


def drive_limits(robot: RigidRobot, values: Values) -> Array:
    """The smaller of the parameter's limit and the description's, 0 meaning none; infinite where there is neither.

    N·m or N, shape (n,), in the model's order.
    """
    given = np.array(per_joint(values, "limits.{joint}.effort", robot.joint_names))
    described = np.where(robot.effort_limit > 0.0, robot.effort_limit, np.inf)
    return np.minimum(np.where(given > 0.0, given, np.inf), described)


def effort_limits(robot: RigidRobot, values: Values) -> Array:
    """As `drive_limits`, but every joint must have a limit.

    Raises
    ------
    ParameterError
        A joint that has none.
    """
    limit = drive_limits(robot, values)
    if not np.isfinite(limit).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(limit)))]
        raise ParameterError(
            f"joint {name!r} has no effort limit: the description gives none (or 0); set limits.{name}.effort"
        )
    return limit
