"""What every kind of robot has: an open arm, a mechanism with closed loops, an arm with flexible links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError

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
    """

    @property
    def kind(self) -> Literal["arm", "mechanism", "flexible"]:
        """Open rigid arm, mechanism with closed loops, or arm with flexible links."""
        ...

    @property
    def name(self) -> str:
        """The robot's name."""
        ...

    @property
    def n(self) -> int:
        """Number of joint velocities: length of `joint_names`."""
        ...

    @property
    def nq(self) -> int:
        """Number of joint positions: `n`, and one more for each floating joint."""
        ...

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the actuated joints; length n."""
        ...

    @property
    def lower(self) -> Array:
        """Lower position limits, rad or m, infinite where there are none; shape (n,)."""
        ...

    @property
    def upper(self) -> Array:
        """Upper position limits, rad or m; shape (n,)."""
        ...

    @property
    def velocity_limit(self) -> Array:
        """Velocity limits, rad/s or m/s; shape (n,)."""
        ...

    @property
    def effort_limit(self) -> Array:
        """Effort limits, N·m or N; shape (n,)."""
        ...

    @property
    def neutral(self) -> Array:
        """Every joint at zero, of a mechanism as in its posture; shape (nq,)."""
        ...

    @property
    def gravity(self) -> Array:
        """In world axes, m/s²; shape (3,)."""
        ...

    @property
    def mass(self) -> float:
        """Total mass, the fixed base included, kg."""
        ...

    @property
    def base(self) -> Base:
        """``"fixed"`` or ``"floating"``."""
        ...

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, in the order of the description."""
        ...

    @property
    def links(self) -> Mapping[str, LinkFrame]:
        """Frame of every link in its body, by link name."""
        ...

    @property
    def bodies(self) -> int:
        """Number of moving bodies of the open tree, dependent ones included."""
        ...

    @property
    def tree(self) -> KinematicTree:
        """Links and joints as described."""
        ...

    @property
    def open_tree(self) -> RobotModel:
        """The rigid robot with every loop cut: an open arm itself."""
        ...

    @property
    def rigid(self) -> RigidRobot:
        """What a controller computes with: an arm with flexible links as if it were rigid, others themselves."""
        ...

    @property
    def body_model(self) -> RobotModel:
        """The bodies that are simulated: `open_tree`, on flexible links with whatever is fixed there as bodies."""
        ...

    @property
    def actuated(self) -> NDArray[np.int64]:
        """Places of the actuated joints in the vectors of `open_tree`; shape (n,)."""
        ...

    @property
    def passive(self) -> NDArray[np.int64]:
        """Places of the joints that no motor drives in the vectors of `open_tree`; none but in mechanisms."""
        ...

    @property
    def passive_names(self) -> tuple[str, ...]:
        """Names of the joints that no motor drives."""
        ...

    @property
    def posture(self) -> Array | None:
        """Of a mechanism the positions of all joints near which it works, (n of the open tree,); otherwise `None`."""
        ...

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The closed loops; none but in mechanisms."""
        ...

    @property
    def flexible_links(self) -> tuple[ModalLink, ...]:
        """The flexible links; none in rigid robots."""
        ...

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the deflection coordinates δ, ``link/mode``; none in rigid robots."""
        ...

    @property
    def modes(self) -> int:
        """Number of deflection coordinates δ."""
        ...

    @property
    def nz(self) -> int:
        """Number of generalised coordinates, n + modes."""
        ...

    def joint_index(self, name: str) -> int:
        """Place of a joint in every joint vector; `ModelError` with the nearest names if there is none."""
        ...

    def on_tree(self: _Self, robot: RobotModel) -> _Self:
        """The same loops, motors, posture and flexible links on another open tree."""
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


def not_a_robot(value: object) -> ModelError:
    """The error for a `robot` that is none, such as the path of one."""
    given = repr(value[:80]) if isinstance(value, str) else f"a {type(value).__name__}"
    path = given if isinstance(value, str) else '"arm.urdf"'
    return ModelError(
        f"robot is {given}; it must be a loaded model: robot = rne.load_urdf({path}), of a model file rne.load_model"
    )
