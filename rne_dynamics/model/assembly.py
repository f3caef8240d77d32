"""Models of trees, and models with a payload or locked joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from numpy.typing import ArrayLike

from rne_dynamics.errors import check_loaded
from rne_dynamics.model.bodies import Base
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import KinematicTree, Payload

_Robot = TypeVar("_Robot", bound=Robot)


def assemble(tree: KinematicTree, *, base: Base = "fixed", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> RobotModel:
    """Build the model of a tree.

    Parameters
    ----------
    tree
        Links and joints.
    base
        ``"fixed"`` bolts the root link to the world; ``"floating"`` gives it six coordinates that come first.
    gravity
        In world axes, m/s²; shape (3,).

    Raises
    ------
    ModelError
        An unknown `base` or a gravity that is not three finite numbers.
    """
    return RobotModel.of(tree, base=base, gravity=gravity)


def with_payload(robot: _Robot, payload: Payload) -> _Robot:
    """`robot.with_payload(payload)`: a new robot in which `payload` is part of its link."""
    check_loaded(robot)
    return cast("_Robot", robot.with_payload(payload))


def with_lock(robot: _Robot, lock: Mapping[str, float]) -> _Robot:
    """`robot.with_lock(lock)`: a new robot in which the named joints are fixed at the given values (rad or m)."""
    check_loaded(robot)
    return cast("_Robot", robot.with_lock(lock))
