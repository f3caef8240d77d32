"""Arms of three kinds as the controller knows them, and arms with other masses and friction than their models."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import rne_dynamics as rne
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Friction

#: An open arm, a mechanism, and an arm whose base moves.
KINDS = ("panda", "pantograph", "puma560 on a ship")


@cache
def model(name: str) -> Any:
    """The controller's model of one of `KINDS`."""
    return rne.load_model(name.partition(" ")[0])


def altered(robot: RobotModel, factors: np.ndarray, friction: float) -> RobotModel:
    """The same tree with links of other masses and another friction, as factors."""
    def inertia(now: Inertia | None, factor: float) -> Inertia | None:
        return now and replace(now, mass=factor * now.mass, inertia=factor * now.inertia)
    def rubbing(now: Friction) -> Friction:
        return Friction(friction * now.viscous, friction * now.coulomb_forward, friction * now.coulomb_backward)
    tree = robot.tree
    links = (replace(link, inertia=inertia(link.inertia, f)) for link, f in zip(tree.links, factors, strict=False))
    joints = (replace(joint, friction=rubbing(joint.friction)) for joint in tree.joints)
    return rne.assemble(replace(tree, links=tuple(links), joints=tuple(joints)), gravity=robot.gravity)
