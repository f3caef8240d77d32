"""Attributes that mechanisms and flexible arms take from the open rigid robot that they are made of."""
# ruff: noqa: D102  (every name is explained in model/protocol.py)

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError, index_of
from rne_dynamics.model.bodies import Base, LinkFrame
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel, RobotTable, effort_limits
from rne_dynamics.model.tree import KinematicTree, Payload

_Self = TypeVar("_Self", bound="OnTree")


def _limit(name: str) -> Any:
    """Limits of the actuated joints among those of all joints of the tree."""
    return property(lambda robot: robot._of_joints(getattr(robot.robot, name)))


class OnTree(RobotTable):
    """A robot that is more than its open tree, `robot`: what of `Robot` (model/protocol.py) comes from the tree."""

    #: how messages name the robot and one of its joints, and what to do where it cannot be used
    _called: ClassVar[str]
    _joint: ClassVar[str] = "joint"
    _instead: ClassVar[str]

    if TYPE_CHECKING:
        robot: RobotModel  # fields of the subclasses
        joint_names: tuple[str, ...]
        name: str
        mass: float
        gravity: Array
        base: Base
        link_names: tuple[str, ...]
        links: Mapping[str, LinkFrame]
        bodies: int
        tree: KinematicTree
        open_tree: RobotModel
        lower: Array
        upper: Array
        velocity_limit: Array
        effort_limit: Array

        @property
        def actuated(self) -> NDArray[np.int64]: ...
        def on_tree(self: _Self, robot: RobotModel) -> _Self: ...
    else:  # a type checker goes on to refuse what is not there
        open_tree = property(attrgetter("robot"))
        name, mass, gravity, base, link_names, links, bodies, tree = (
            property(attrgetter(f"robot.{taken}"))
            for taken in ("name", "mass", "gravity", "base", "link_names", "links", "bodies", "tree")
        )
        lower, upper, velocity_limit, effort_limit = map(_limit, ("lower", "upper", "velocity_limit", "effort_limit"))

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse what only an open rigid robot has, and say what to do instead."""
            if name in RobotModel.__dataclass_fields__ or hasattr(RobotModel, name):
                raise self.refusal()
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @cached_property
    def own_code(self) -> dict[Any, Any]:
        """Machine code and functions for this robot alone, by what they compute; as `RobotModel.own_code`."""
        return {}

    @property
    def specialised(self) -> bool:
        """Whether the plain functions compile machine code for this robot alone; as `RobotModel.specialised`."""
        return self.robot.specialised

    def with_own_code(self: _Self, wanted: bool = True) -> _Self:
        """The same robot, for which the plain functions compile machine code of its own, or do not; as an open arm."""
        return self.on_tree(self.robot.with_own_code(wanted))

    def with_shared_code(self: _Self) -> _Self:
        """The robot itself: only open arms have code that their payloads share."""
        return self

    def refusal(self) -> ModelError:
        """The error for what only an open rigid robot can do; it says what to do instead."""
        return ModelError(f"{self._called} {self.name!r} {self._instead}")

    @property
    def n(self) -> int:
        return len(self.joint_names)

    nq = n

    def joint_index(self, name: str) -> int:
        return index_of(name, self.joint_names, self._joint, f"{self._called} {self.name!r}")

    def with_payload(self: _Self, payload: Payload | None) -> _Self:
        return self if payload is None else self.on_tree(self.robot.with_payload(payload))

    def with_lock(self: _Self, lock: Mapping[str, float]) -> _Self:
        return self.on_tree(self.robot.with_lock(lock))

    def with_gravity(self: _Self, gravity: ArrayLike) -> _Self:
        return self.on_tree(self.robot.with_gravity(gravity))

    def with_effort_limit(self: _Self, limit: ArrayLike) -> _Self:
        limits = self.robot.effort_limit.copy()
        limits[self.actuated] = effort_limits(self.name, self.n, limit)
        return self.on_tree(self.robot.with_effort_limit(limits))

    def _of_joints(self, values: Array) -> Array:
        """The actuated joints' numbers among those of all joints of the tree."""
        return values
