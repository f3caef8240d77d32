"""Inertia of several links of a robot as one rigid body, at one configuration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.errors import ArgumentError, check_loaded
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel


def composite_inertia(robot: RobotModel, q: ArrayLike, link: str, links: Sequence[str] | None = None) -> Inertia:
    """Mass, mass centre and inertia of some links, held rigid at q, in the frame of `link`.

    Parameters
    ----------
    robot
        The model. Rotor inertia belongs to joints and is not part of it.
    q
        Positions, shape (nq,).
    link
        The link in whose frame the answer is given.
    links
        The links that are joined; `link` and all that come after it where not given.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    ModelError
        An unknown link.
    """
    check_loaded(robot)
    if np.ndim(q) != 1:
        raise ArgumentError(f"q has shape {np.shape(q)}; give one configuration, ({robot.nq},)")
    poses = forward_kinematics(robot, q)
    home = poses[link]
    whole = Inertia()
    for name in subtree(robot, link) if links is None else links:
        pose = poses[name]
        own = robot.tree.link(name).inertia
        if own is not None:
            R = home[:3, :3].T @ pose[:3, :3]
            whole = whole + own.moved(R, home[:3, :3].T @ (pose[:3, 3] - home[:3, 3]))
    return whole


def subtree(robot: RobotModel, link: str) -> tuple[str, ...]:
    """The link and all links that come after it; `ModelError` for an unknown one."""
    robot.link(link)
    names = {link: None}
    for joint in robot.tree.depth_first:
        if joint.parent in names:
            names[joint.child] = None
    return tuple(names)
