"""A robot with closed loops: its tree with the loops cut, the loops, and the actuated joints.

A loop is two frames on two links, and the relative motions that its joint blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError, index_of, refuse
from rne_dynamics.model.inertia import Array, Rebuilt, frozen_array, read_only, rotation_matrix, set_fields
from rne_dynamics.model.layout import FLOATING, KIND, columns
from rne_dynamics.model.on_tree import OnTree
from rne_dynamics.model.robot import RobotModel

#: Relative motions of frame B in frame A's axes, in the order of `Loop.blocked`.
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


class LoopKind(Enum):
    """Joints that close loops, by what they block; z is the axis of turning, or the normal of the plane."""

    WELD = ("x", "y", "z", "rx", "ry", "rz")
    REVOLUTE = ("x", "y", "z", "rx", "ry")
    CYLINDRICAL = ("x", "y", "rx", "ry")
    PRISMATIC = ("x", "y", "rx", "ry", "rz")
    UNIVERSAL = ("x", "y", "z", "rz")  # turns about y of frame A and x of frame B
    SPHERICAL = ("x", "y", "z")
    PLANAR = ("z", "rx", "ry")
    PLANAR_PIN = ("x", "y")  # a revolute joint between links that stay in one plane anyhow: nothing redundant


@dataclass(frozen=True, eq=False)
class LoopFrame:
    """Frame of a loop's joint on one link."""

    #: The link's name.
    link: str
    #: ``R_LF`` (3, 3) and ``p_LF`` (3,) in the link's frame; m.
    rotation: Array = field(default_factory=lambda: np.eye(3))
    position: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        what = f"loop frame on link {self.link!r}"
        set_fields(
            self, rotation=rotation_matrix(self.rotation, f"{what}: rotation"),
            position=frozen_array(self.position, (3,), f"{what}: position"),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop, closed by a joint that the tree does not have. Raises ModelError: nothing blocked, or a wrong shape."""

    #: The loop's name.
    name: str
    #: The frames that the joint holds together.
    a: LoopFrame
    b: LoopFrame
    #: Which relative motions of B in A's axes are blocked: translations along A's x, y, z, then turns about them; shape
    #: (6,). Three blocked turns hold the two attitudes together; two hold B's third axis on A's; one, say about z,
    #: holds B's next axis, x, square to A's one after, y (the universal joint). At least one must be blocked. Half a
    #: turn off is not closed: axes held together point the same way, and with one blocked turn x and y of B do not both
    #: point away from A's.
    blocked: NDArray[np.bool_]

    def __post_init__(self) -> None:
        blocked = np.array(self.blocked, dtype=np.bool_)
        if blocked.shape != (6,) or not blocked.any():
            raise ModelError(
                f"loop {self.name!r}: blocked is {np.asarray(self.blocked).tolist()}; it must be six booleans for "
                f"{', '.join(DIRECTIONS)}, at least one of them true"
            )
        set_fields(self, blocked=read_only(blocked))

    @staticmethod
    def of_kind(name: str, kind: LoopKind, a: LoopFrame, b: LoopFrame) -> Loop:
        """A loop closed by one of the usual joints."""
        return Loop(name, a, b, np.array([direction in kind.value for direction in DIRECTIONS]))


#: One row a loop: for each of the two frames its rotation and position in its body's frame, then six flags.
ROTATION_A, POSITION_A, ROTATION_B, POSITION_B, BLOCKED, LOOP_COLUMNS = columns(9, 3, 9, 3, 6)


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(OnTree, Rebuilt):
    """A mechanism ready for computation; never changed afterwards.

    Its joint vectors, in the order of `joint_names`, hold the actuated joints only: they are its coordinates, as for an
    open arm. All joints of the tree are in `robot.joint_names`; the text says where a vector holds those.

    Parameters
    ----------
    robot
        The open tree: the mechanism with every loop cut. Fixed base, joints of one freedom.
    loops
        What closes it.
    joint_names
        The actuated joints, independent joints of the tree.
    posture
        Positions of all joints of the tree, shape (nq of the tree,), near which the mechanism works: where assembly
        starts from, and so which branch (elbow up or down) it finds. Made exact by `closed_chain.assembly.assembled`.
    effort_weights, preload
        How more motors than freedoms share their work, by joint names: efforts τ are the ones of least
        Σ w (τ − p)², w the weights (1 unless given) and p the preload (0 unless given), N·m or N. What of the preload
        moves nothing remains: the tension against each other that takes the play out of gears.

    Raises
    ------
    ModelError
        No loops, an unknown link or joint, a floating base or joint, a joint driven twice, a posture of a wrong
        shape or outside finite numbers, a weight that is not above 0, a preload that is not finite.
    """

    robot: RobotModel
    loops: tuple[Loop, ...]
    joint_names: tuple[str, ...]
    posture: Array
    effort_weights: Mapping[str, float] = field(default_factory=dict)
    preload: Mapping[str, float] = field(default_factory=dict)
    #: `effort_weights` and `preload` of the actuated joints; shape (n,)
    weights: Array = field(init=False)
    preloads: Array = field(init=False)
    #: bodies of each loop's frames A and B, −1 for the base; shape (loops, 2)
    loop_bodies: NDArray[np.int64] = field(init=False)
    #: packed loops; shape (loops, LOOP_COLUMNS)
    loop_frames: Array = field(init=False)
    #: places of the actuated and of the other joints among the tree's coordinates
    actuated: NDArray[np.int64] = field(init=False)
    passive: NDArray[np.int64] = field(init=False)

    kind: ClassVar[Literal["mechanism"]] = "mechanism"
    flexible_links: ClassVar[tuple[()]] = ()
    mode_names: ClassVar[tuple[()]] = ()
    modes: ClassVar[int] = 0
    nz = OnTree.n
    _called, _joint = "mechanism", "actuated joint"
    _instead = (
        "has closed loops, and this function is for open robots; take its open tree, mechanism.robot, with all "
        "joints' positions from closed_chain.assembly.assemble"
    )

    def __post_init__(self) -> None:
        robot = self.robot
        where, names = f"mechanism {robot.name!r}", [loop.name for loop in self.loops]
        refuse(
            ModelError,
            (not self.loops, f"{where} has no loop; without one it is an ordinary robot"),
            ((robot.topology[:, KIND] == FLOATING).any(),
             f"{where} has a floating base or joint; closed loops are supported on a fixed base with joints of one "
             "freedom"),
            *((names.count(name) > 1, f"{where}: loop {name!r} is there twice; names must be unique")
              for name in names),
            *((self.joint_names.count(name) > 1, f"{where}: joint {name!r} is listed twice as actuated")
              for name in self.joint_names),
            (not self.joint_names, f"{where} has no actuated joint; name at least one"),
        )  # fmt: skip
        places = np.array([robot.joint_index(name) for name in self.joint_names], dtype=np.int64)
        set_fields(self, posture=frozen_array(self.posture, (robot.nq,), f"posture of {robot.name!r}"))
        weights = self._by_joint("effort_weights", self.effort_weights, 1.0)
        preloads = self._by_joint("preload", self.preload, 0.0)
        if not (weights > 0.0).all():
            name = self.joint_names[int(np.argmin(weights))]
            raise ModelError(f"effort_weights of joint {name!r} is {weights.min():g}; it must be above 0")
        bodies = np.empty((len(self.loops), 2), dtype=np.int64)
        frames = np.empty((len(self.loops), LOOP_COLUMNS))
        for k, loop in enumerate(self.loops):
            for side, frame in enumerate((loop.a, loop.b)):
                index_of(frame.link, robot.link_names, "link", f"loop {loop.name!r} of {robot.name!r}")
                link, start = robot.links[frame.link], (ROTATION_A, ROTATION_B)[side]
                bodies[k, side] = link.body
                frames[k, start : start + 9] = (link.rotation @ frame.rotation).ravel()
                frames[k, start + 9 : start + 12] = link.position + link.rotation @ frame.position
            if bodies[k, 0] == bodies[k, 1]:
                raise ModelError(
                    f"loop {loop.name!r} of {robot.name!r}: links {loop.a.link!r} and {loop.b.link!r} are one body, so "
                    "the loop closes nothing; name two links with a joint between them"
                )
            frames[k, BLOCKED:] = loop.blocked
        set_fields(
            self, loop_bodies=read_only(bodies), loop_frames=read_only(frames), weights=read_only(weights),
            preloads=read_only(preloads), actuated=read_only(places),
            passive=read_only(np.delete(np.arange(robot.n), places)),
        )  # fmt: skip

    def _by_joint(self, what: str, given: Mapping[str, float], default: float) -> Array:
        for joint, value in given.items():
            self.robot.joint_index(joint)
            if not np.isfinite(value):
                raise ModelError(f"{what} of joint {joint!r} is {value}; it must be finite")
        return np.array([given.get(joint, default) for joint in self.joint_names], dtype=np.float64)

    @property
    def passive_names(self) -> tuple[str, ...]:
        """The joints that no motor drives."""
        return tuple(self.robot.joint_names[k] for k in self.passive)

    @property
    def constraints(self) -> int:
        """Number of blocked directions of all loops, redundant ones included."""
        return int(self.loop_frames[:, BLOCKED:].sum())

    @property
    def neutral(self) -> Array:
        """Positions of the actuated joints in the posture; shape (n,)."""
        return self._of_joints(self.posture)

    @property
    def rigid(self) -> Mechanism:
        """The mechanism itself: nothing bends."""
        return self

    @property
    def body_model(self) -> RobotModel:
        """The open tree."""
        return self.robot

    def _of_joints(self, values: Array) -> Array:
        return np.asarray(values[self.actuated])

    def on_tree(self, robot: RobotModel) -> Mechanism:
        """The same loops, motors and posture on another tree, in which joints may have been locked."""
        kept = [self.robot.joint_index(name) for name in robot.joint_names]
        return replace(
            self,
            robot=robot,
            joint_names=tuple(name for name in self.joint_names if name in robot.joint_names),
            posture=self.posture[kept],
            effort_weights={name: w for name, w in self.effort_weights.items() if name in robot.joint_names},
            preload={name: p for name, p in self.preload.items() if name in robot.joint_names},
        )

    def with_posture(self, posture: ArrayLike) -> Mechanism:
        """The same mechanism working near another posture of all joints of the tree."""
        return replace(self, posture=np.asarray(posture, dtype=np.float64))


#: What control takes: an open arm in its joint coordinates, or a mechanism in its actuated ones.
RigidRobot = RobotModel | Mechanism
