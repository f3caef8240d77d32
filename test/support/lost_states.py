"""Arms on which joint states are lost."""

from __future__ import annotations

from functools import cache

from support.foreign_episodes import arms

import rne_dynamics as rne
from rne_dynamics.model.mechanism import Mechanism, RigidRobot

#: The arms of `arms`, in its order; the pantograph; a PUMA on a ship.
NAMES = ("homemade", "planar2", "puma560", "panda", "ur10", "four_joint_arm", "pantograph", "puma560 on a ship")


@cache
def pantograph() -> Mechanism:
    """As the controller knows it."""
    robot = rne.load_model("pantograph")
    assert isinstance(robot, Mechanism)
    return robot


def model(name: str) -> RigidRobot:
    """The controller's model of one of `NAMES`."""
    return pantograph() if name == "pantograph" else arms()[2 if name.endswith("ship") else NAMES.index(name)][1]
