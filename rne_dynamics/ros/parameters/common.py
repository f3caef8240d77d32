"""Parameters of every node: the robot, its payload, start and scheduling; and limits by parameters and description."""

from __future__ import annotations

import numpy as np

from rne_dynamics.errors import ParameterError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import Payload
from rne_dynamics.ros.node.scheduling import SCHEDULING
from rne_dynamics.ros.parameters.schema import Parameter, Values, per_joint

COMMON: tuple[Parameter, ...] = (
    Parameter("autostart", True, "Configure and activate when the process starts.", read_only=True),
    Parameter(
        "robot_description", "",
        "The robot: URDF text, a path, a URI or the name of a shipped robot; empty waits for the topic of this name.",
        read_only=True,
    ),
    Parameter(
        "model", "",
        "Instead of robot_description, a model file: a path, a URI, its text or the name of a shipped model.",
        read_only=True,
    ),
    Parameter(
        "joints", (), "Controlled joints in the order of the effort commands; empty takes all, in the order of the "
        "description (of a mechanism the actuated joints). Other joints are locked where joint_states has them.",
        kind=str, read_only=True,
    ),
    Parameter("gravity", (), "Gravity in the axes of the base link; empty takes the model file's, or 0 0 -9.81.",
              "m/s^2", -100.0, 100.0, length=(0, 3), kind=float, read_only=True),
    Parameter("payload.link", "", "Link to which the payload is attached; empty for none."),
    Parameter("payload.mass", 0.0, "Mass of the payload.", "kg", 0.0, 10000.0),
    Parameter("payload.com", (0.0, 0.0, 0.0), "Its mass centre in the link's frame.", "m", -100.0, 100.0, length=(3,)),
    Parameter(
        "payload.inertia", (0.0,) * 6, "Its inertia about the mass centre along the link's axes: xx xy xz yy yz zz.",
        "kg m^2", -1e6, 1e6, length=(6,),
    ),
    Parameter("diagnostics_period", 1.0, "Time between two messages on /diagnostics.", "s", 0.5, 60.0, read_only=True),
    *SCHEDULING,
)


def payload(values: Values) -> Payload | None:
    """The payload that the parameters describe, if any."""
    link = values["payload.link"]
    mass = values["payload.mass"]
    if not link:
        if mass > 0.0:
            raise ParameterError(f"parameter payload.mass is {mass} but payload.link is empty; name the link")
        return None
    xx, xy, xz, yy, yz, zz = values["payload.inertia"]
    return Payload(link, mass, values["payload.com"], ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def smaller_limit(given: Array, described: Array) -> Array:
    """The smaller of two limits, (n,), of which 0 means none; infinite where there is neither."""
    return np.minimum(*(np.where(limit > 0.0, limit, np.inf) for limit in (given, described)))


def drive_limits(robot: RigidRobot, values: Values) -> Array:
    """The smaller of the parameter's limit and the description's, N·m or N, shape (n,); see `smaller_limit`."""
    return smaller_limit(per_joint(values, "limits.{joint}.effort", robot.joint_names), robot.effort_limit)


def effort_limits(robot: RigidRobot, values: Values) -> Array:
    """As `drive_limits`, but every joint must have a limit. Raises ParameterError: a joint that has none."""
    limit = drive_limits(robot, values)
    if not np.isfinite(limit).all():
        name = robot.joint_names[int(np.argmin(np.isfinite(limit)))]
        raise ParameterError(
            f"joint {name!r} has no effort limit: the description gives none (or 0); set limits.{name}.effort"
        )
    return limit
