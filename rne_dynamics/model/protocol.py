"""Protocol of every kind of robot: open arms, mechanisms with closed loops, arms with flexible links."""
# ruff: noqa: D102  (the class says what its attributes are)

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ArgumentError

if TYPE_CHECKING:
    from rne_dynamics.model.bodies import Base, LinkFrame
    from rne_dynamics.model.flexible.modal import ModalLink
    from rne_dynamics.model.inertia import Array
    from rne_dynamics.model.loop import Loop
    from rne_dynamics.model.mechanism import RigidRobot
    from rne_dynamics.model.robot import RobotModel
    from rne_dynamics.model.tree import KinematicTree, Payload

_Self = TypeVar("_Self", bound="Robot")


class Robot(Protocol):
    """The attributes and methods that `RobotModel`, `Mechanism` and `FlexibleArm` share.

    Joint vectors hold the actuated joints, in the order of `joint_names`: all joints of an open arm, the driven ones of
    a mechanism.

    Attributes: `kind`: open rigid arm, mechanism with closed loops, or arm with flexible links. `name`, `mass`,
    `gravity`, `base`: the robot's name; total mass, kg, the base included; in world axes, m/s², (3,); ``"fixed"`` or
    ``"floating"``. `joint_names`, `n`, `nq`: names of the actuated joints, number of their velocities and of their
    positions. `lower`, `upper`, `velocity_limit`, `effort_limit`: limits of these joints, infinite where there are
    none; shape (n,). `neutral`: every joint at zero, of a mechanism as in its posture; shape (nq,). `link_names`,
    `links`, `bodies`: names of all links, the frame of each in its body by name, and the number of moving bodies.
    `tree`: links and joints as described. `open_tree`, `rigid`, `body_model`: the rigid robot with every loop cut; what
    a controller computes with (of an arm with flexible links the rigid one, otherwise the robot itself); the bodies
    that are simulated, more in an arm with flexible links. `actuated`, `passive`, `passive_names`: places of the
    actuated joints in the vectors of `open_tree`, (n,), of the undriven ones, and their names. `posture`: of a
    mechanism the positions of all joints near which it works, (n of `open_tree`,); otherwise `None`. `loops`,
    `flexible_links`: closed loops, none but in mechanisms; flexible links, none in rigid robots. `mode_names`, `modes`,
    `nz`: names ``link/mode`` and number of the deflection coordinates δ; number of generalised coordinates, n + modes.
    """

    @property
    def kind(self) -> Literal["arm", "mechanism", "flexible"]: ...
    @property
    def name(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def nq(self) -> int: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def lower(self) -> Array: ...
    @property
    def upper(self) -> Array: ...
    @property
    def velocity_limit(self) -> Array: ...
    @property
    def effort_limit(self) -> Array: ...
    @property
    def neutral(self) -> Array: ...
    @property
    def gravity(self) -> Array: ...
    @property
    def mass(self) -> float: ...
    @property
    def base(self) -> Base: ...
    @property
    def link_names(self) -> tuple[str, ...]: ...
    @property
    def links(self) -> Mapping[str, LinkFrame]: ...
    @property
    def bodies(self) -> int: ...
    @property
    def tree(self) -> KinematicTree: ...
    @property
    def open_tree(self) -> RobotModel: ...
    @property
    def rigid(self) -> RigidRobot: ...
    @property
    def body_model(self) -> RobotModel: ...
    @property
    def actuated(self) -> NDArray[np.int64]: ...
    @property
    def passive(self) -> NDArray[np.int64]: ...
    @property
    def passive_names(self) -> tuple[str, ...]: ...
    @property
    def posture(self) -> Array | None: ...
    @property
    def loops(self) -> tuple[Loop, ...]: ...
    @property
    def flexible_links(self) -> tuple[ModalLink, ...]: ...
    @property
    def mode_names(self) -> tuple[str, ...]: ...
    @property
    def modes(self) -> int: ...
    @property
    def nz(self) -> int: ...

    def joint_index(self, name: str) -> int:
        """Place of a joint in every joint vector; `ModelError` with the nearest names if there is none."""
        ...

    def on_tree(self: _Self, robot: RobotModel) -> _Self:
        """The same loops, motors, posture and flexible links on another open tree."""
        ...

    def with_own_code(self: _Self, wanted: bool = True) -> _Self:
        """The same robot, for which the plain functions compile machine code of its own, or do not."""
        ...

    def with_shared_code(self: _Self) -> _Self:
        """The same robot, with machine code that serves all its payloads where there is such code."""
        ...

    def with_payload(self: _Self, payload: Payload | None) -> _Self:
        """The robot with a payload, itself for `None`; `ModelError` for an unknown link."""
        ...

    def with_lock(self: _Self, lock: Mapping[str, float]) -> _Self:
        """The robot with joints fixed at the given values, rad or m; `ModelError` for joints that cannot be."""
        ...

    def with_gravity(self: _Self, gravity: ArrayLike) -> _Self:
        """The robot in another gravity, in world axes, m/s², shape (3,)."""
        ...

    def with_effort_limit(self: _Self, limit: ArrayLike) -> _Self:
        """The robot with other effort limits of its joints, N·m or N, shape (n,)."""
        ...


def not_a_robot(value: object) -> ArgumentError:
    """The error for an argument `robot` that is something else, such as a path."""
    path = str(value) if isinstance(value, str | PathLike) else ""
    given = f"the {type(value).__name__} {path[:80]!r}" if path else f"a {type(value).__name__}"
    source = repr(path[:80]) if path else '"arm.urdf"'
    return ArgumentError(
        f"robot is {given}, not a loaded model; load it first: rne.load_urdf({source}), of a model file rne.load_model"
    )


def check_loaded(robot: object) -> None:
    """Refuse with `ArgumentError` what is not a robot, such as a path."""
    if not hasattr(robot, "joint_names"):
        raise not_a_robot(robot)
