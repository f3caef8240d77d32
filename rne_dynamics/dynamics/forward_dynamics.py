"""Joint accelerations from efforts, by a choice of methods."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.nasser import nasser_batch
from rne_dynamics.dynamics.walker_orin import walker_orin_batch
from rne_dynamics.errors import ArgumentError, SingularInertiaError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

Method = Literal["nasser", "walker_orin"]


def forward_dynamics(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
    method: Method = "nasser",
) -> Array:
    """Joint accelerations q̈ that the efforts `tau` give.

    Parameters
    ----------
    robot
        The model.
    q, qd, tau
        Positions (…, nq), velocities and efforts (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `inverse_dynamics`.
    method
        ``"nasser"``: O(n), document 000. ``"walker_orin"``: mass matrix and Cholesky. A robot with mimic joints
        couples joints across the tree, which the O(n) recursion cannot carry; it is always solved by
        ``"walker_orin"``.

    Returns
    -------
    ndarray
        Accelerations, rad/s² or m/s², shape (…, n).

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, an unknown method.
    SingularInertiaError
        A joint that moves no inertia (massless links, no rotor); the message names it.
    ModelError
        An unknown link in `wrenches`.
    """
    if method not in ("nasser", "walker_orin"):
        raise ArgumentError(f"method is {method!r}; it must be 'nasser' or 'walker_orin'")
    lead, (positions, velocities, efforts) = state_arrays(robot, q=q, qd=qd, tau=tau)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    qdd = np.empty((positions.shape[0], robot.n))
    arrays = (robot.topology, robot.parameters, base, positions, velocities, efforts, loads, qdd)
    if method == "nasser" and not robot.has_mimic:
        body = nasser_batch(*arrays)
        name = robot.body_names[body] if body >= 0 else ""
    else:
        coordinate = walker_orin_batch(*arrays)
        name = robot.joint_names[coordinate] if coordinate >= 0 else ""
    if name:
        raise SingularInertiaError(
            f"joint {name!r} of robot {robot.name!r} moves no inertia of its own, so its acceleration is undefined; "
            "give the links behind it mass and inertia, give the joint a rotor inertia, or lock it"
        )
    return qdd.reshape((*lead, robot.n))
