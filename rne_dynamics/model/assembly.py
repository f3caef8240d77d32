"""Models of trees, and of Denavit–Hartenberg tables in the standard and in the modified convention.

With R(·) a turn and T(·) a shift along an axis, the row of link i places its frame by

- standard (Denavit and Hartenberg 1955, Paul 1981): ``Rz(θ) Tz(d) Tx(a) Rx(α)`` after frame i − 1. Joint i moves along
  z of frame i − 1, frame i sits at the far end of the link.
- modified (Craig 1986, Khalil and Kleinfinger 1986): ``Rx(α) Tx(a) Rz(θ) Tz(d)``. Joint i moves along z of frame i
  itself. The row of link i holds the α and a that Craig writes with index i − 1.

The variable is added to θ of a revolute joint and to d of a prismatic one, so θ and d of the table are offsets there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ModelError, check_loaded, refuse
from rne_dynamics.model.bodies import Base
from rne_dynamics.model.inertia import Array, Inertia, rotation_matrix
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Limits, Payload, TreeJoint, TreeLink

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


Convention = Literal["standard", "modified"]
DHKind = Literal["revolute", "prismatic"]


@dataclass(frozen=True, eq=False)
class DHLink:
    """One row of a Denavit–Hartenberg table, and the link it describes.

    Parameters
    ----------
    a, d
        Lengths, m.
    alpha, theta
        Angles, rad.
    kind
        ``"revolute"`` or ``"prismatic"``: what the joint variable is added to, `theta` or `d`.
    inertia
        Mass, mass centre and inertia of the link in its Denavit–Hartenberg frame; `None` for a link without mass.
        `Inertia.from_origin` takes an inertia about the origin of that frame.
    limits, friction, rotor_inertia
        Of the joint, as in `TreeJoint`. A revolute joint without position limits is continuous.
    name, joint
        Names of the link and of its joint; ``link3`` and ``joint3`` for the third row if not given.

    Raises
    ------
    ModelError
        A number that is not finite, or an unknown `kind`.
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    kind: DHKind = "revolute"
    inertia: Inertia | None = None
    limits: Limits = field(default_factory=Limits)
    friction: Friction = field(default_factory=Friction)
    rotor_inertia: float = 0.0
    name: str | None = None
    joint: str | None = None

    def __post_init__(self) -> None:
        numbers = {label: getattr(self, label) for label in ("a", "alpha", "d", "theta")}
        refuse(
            ModelError,
            *((not math.isfinite(value), f"Denavit-Hartenberg row: {label} is {value}; it must be finite")
              for label, value in numbers.items()),
            (self.kind not in get_args(DHKind),
             f"Denavit-Hartenberg row: kind is {self.kind!r}; it must be 'revolute' or 'prismatic'"),
        )  # fmt: skip

    @property
    def joint_kind(self) -> JointKind:
        """The kind of the joint in a description."""
        if self.kind == "prismatic":
            return JointKind.PRISMATIC
        free = math.isinf(self.limits.lower) and math.isinf(self.limits.upper)
        return JointKind.CONTINUOUS if free else JointKind.REVOLUTE


def from_dh(
    links: Sequence[DHLink],
    *,
    convention: Convention = "standard",
    name: str = "dh_arm",
    tool: tuple[ArrayLike, ArrayLike] | None = None,
    base: Base = "fixed",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> RobotModel:
    """Build a robot from a Denavit–Hartenberg table.

    Parameters
    ----------
    links
        The rows of the table, from the base to the tip.
    convention
        ``"standard"`` or ``"modified"``; see the module's docstring.
    name
        The robot's name.
    tool
        ``R`` (3, 3) and ``p`` (3,) of a further frame ``tool0`` fixed to the last link's, m; none by default.
    base, gravity
        As for `assemble`; gravity in the axes of frame 0, m/s².

    Returns
    -------
    RobotModel
        Its root link ``base_link`` is frame 0 of the table. The frame of every named link is its Denavit–Hartenberg
        frame, so `forward_kinematics` gives the products of the table's matrices, and payloads and wrenches are taken
        in these frames. A URDF wants the child link's frame on the joint's axis: where the standard convention has it
        elsewhere (a revolute joint with a ≠ 0), a frame without mass, ``link3_axis``, comes between.

    Raises
    ------
    ModelError
        An empty table, an unknown convention, names that are there twice, or a `tool` that is no placement.

    Examples
    --------
    >>> import numpy as np
    >>> import rne_dynamics as rne
    >>> rod = rne.Inertia(2.0, [-0.2, 0.0, 0.0], np.diag([0.001, 0.027, 0.027]))
    >>> arm = rne.from_dh([rne.DHLink(a=0.4, inertia=rod), rne.DHLink(a=0.4, inertia=rod)], gravity=(0, -9.81, 0))
    >>> rne.gravity_torque(arm, [0.0, 0.0]).round(3).tolist()
    [15.696, 3.924]
    """
    return assemble(dh_tree(links, convention=convention, name=name, tool=tool), base=base, gravity=gravity)


def dh_tree(
    links: Sequence[DHLink],
    *,
    convention: Convention = "standard",
    name: str = "dh_arm",
    tool: tuple[ArrayLike, ArrayLike] | None = None,
) -> KinematicTree:
    """The kinematic tree of a Denavit–Hartenberg table; parameters and errors as for `from_dh`."""
    refuse(
        ModelError,
        (convention not in get_args(Convention), f"convention is {convention!r}; it must be 'standard' or 'modified'"),
        (not links, f"robot {name!r}: the Denavit-Hartenberg table is empty; give it a row for every joint"),
    )
    place = _standard if convention == "standard" else _modified
    bodies, joints, parent = [TreeLink("base_link")], list[TreeJoint](), "base_link"
    for number, link in enumerate(links, 1):
        child = link.name or f"link{number}"
        made = place(link, parent, child, link.joint or f"joint{number}")
        bodies += [TreeLink(joint.child, link.inertia if joint.child == child else None) for joint in made]
        joints += made
        parent = child
    if tool is not None:
        R, p = rotation_matrix(tool[0], "tool rotation"), np.asarray(tool[1], dtype=np.float64)
        bodies.append(TreeLink("tool0"))
        joints.append(TreeJoint("tool0_joint", JointKind.FIXED, parent, "tool0", R, p))
    return KinematicTree(name, tuple(bodies), tuple(joints))


def _standard(link: DHLink, parent: str, child: str, joint: str) -> list[TreeJoint]:
    at, along = _turn(2, link.theta), np.array([0.0, 0.0, link.d])
    end, out = _turn(0, link.alpha), np.array([link.a, 0.0, 0.0])
    if link.kind == "revolute" and link.a != 0.0:
        carrier = f"{child}_axis"
        return [
            _moving(link, joint, parent, carrier, at, along, np.array([0.0, 0.0, 1.0])),
            TreeJoint(f"{child}_frame", JointKind.FIXED, carrier, child, end, out),
        ]
    # z of the frame before, in the axes of this one
    return [_moving(link, joint, parent, child, at @ end, along + at @ out, end[2])]


def _modified(link: DHLink, parent: str, child: str, joint: str) -> list[TreeJoint]:
    R = _turn(0, link.alpha)
    p = np.array([link.a, 0.0, 0.0]) + R @ [0.0, 0.0, link.d]
    return [_moving(link, joint, parent, child, R @ _turn(2, link.theta), p, np.array([0.0, 0.0, 1.0]))]


def _moving(link: DHLink, joint: str, parent: str, child: str, R: Array, p: Array, axis: Array) -> TreeJoint:
    return TreeJoint(
        joint, link.joint_kind, parent, child, R, p, axis, link.limits, link.friction, link.rotor_inertia
    )  # fmt: skip


def _turn(axis: int, angle: float) -> Array:
    """A rotation about x (0) or z (2); right angles are exact, as tables mean them."""
    c, s = math.cos(angle), math.sin(angle)
    if min(abs(c), abs(s)) < 1e-15:
        c, s = round(c), round(s)
    i, j = (1, 2) if axis == 0 else (0, 1)
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R
