"""Effort limits from the description and from parameters."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import ParameterError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.ros.parameters import Values, per_joint


def smaller_limit(given: Array, described: Array) -> Array:
    """The smaller of two limits, (n,), of which 0 means none; infinite where there is neither."""
    return np.minimum(*(np.where(limit > 0.0, limit, np.inf) for limit in (given, described)))


def drive_limits(robot: RigidRobot, values: Values) -> Array:
    """The smaller of the parameter's limit and the description's, N·m or N, shape (n,); see `smaller_limit`.
    """
    return smaller_limit(per_joint(values, "limits.{joint}.effort", robot.joint_names), robot.effort_limit)


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
