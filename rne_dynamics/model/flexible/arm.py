"""An arm with flexible links: the rigid arm, the modes of its flexible links, and the rigid loads that these carry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import ModelError, index_of, refuse
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array, Inertia, Rebuilt, frozen_array, set_fields
from rne_dynamics.model.layout import FLOATING, KIND
from rne_dynamics.model.on_tree import OnTree
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import (
    ONE_FREEDOM,
    JointKind,
    KinematicTree,
    Limits,
    Payload,
    TreeJoint,
    TreeLink,
    accumulated,
)

#: How far before the tip a joint may sit and still be at it, as a part of the distance from root to tip.
_AT_TIP = 1e-6


class Load(NamedTuple):
    """Subtree of one joint of a link, as a rigid body."""

    #: The joint's place in the link's frame, m; shape (3,).
    position: Array
    #: In the link's axes, from that place.
    inertia: Inertia


def loads(robot: RobotModel, link: str, *, posture: ArrayLike | None = None) -> tuple[Load, ...]:
    """Subtrees of the joints of a link as rigid bodies, in a posture (n,), by default all zero; `ModelError`."""
    robot.link(link)
    q = frozen_array(robot.neutral if posture is None else posture, (robot.nq,), "posture")
    kinds = {joint.name: joint.kind for joint in robot.tree.joints}
    places = [name for name in robot.joint_names if kinds.get(name) in ONE_FREEDOM]
    tree = robot.tree.with_locked({name: q[robot.joint_index(name)] for name in places})
    moved = accumulated(tree)
    return tuple(
        Load(joint.position, moved[joint.child].moved(joint.rotation, np.zeros(3)))
        for joint in tree.depth_first if joint.parent == link
    )  # fmt: skip


def carried(
    robot: RobotModel, link: str, tip: ArrayLike, *, root: ArrayLike = (0.0, 0.0, 0.0),
    posture: ArrayLike | None = None,
) -> Inertia:  # fmt: skip
    """The subtree of a link at its tip or beyond it, as one rigid body, in the link's axes from the tip; `ModelError`.

    `tip`, `root` (3,), m: where the beam ends and begins; beyond is behind the plane through the tip square to the
    beam.
    """
    end = frozen_array(tip, (3,), f"link {link!r}: tip")
    along = end - frozen_array(root, (3,), f"link {link!r}: root")
    length = float(np.linalg.norm(along))
    if not length > 0.0:
        raise ModelError(f"link {link!r}: its tip is at its root, {end.tolist()}; a beam must have a length")
    whole = Inertia()
    for load in loads(robot, link, posture=posture):
        if (load.position - end) @ along / length > -_AT_TIP * length:
            whole = whole + load.inertia.moved(np.eye(3), load.position - end)
    return whole


def bolted(tree: KinematicTree, payload: Payload) -> KinematicTree:
    """The tree with a payload as a link of its own at its mass centre, to move with that place of a link that bends."""
    carrier = tree.link(payload.link).name
    load = Inertia(payload.mass, np.zeros(3), np.asarray(payload.inertia))
    taken = {part.name for part in tree.links} | {joint.name for joint in tree.joints}
    name = f"{carrier} payload"
    while name in taken or f"{name} joint" in taken:
        name += "'"
    joint = TreeJoint(f"{name} joint", JointKind.FIXED, carrier, name, position=np.asarray(payload.com))
    return replace(tree, links=(*tree.links, TreeLink(name, load)), joints=(*tree.joints, joint))


def clamped_frequencies(modal: ModalLink, carrying: Iterable[Load] = ()) -> Array:
    """Undamped frequencies of a flexible link clamped at its root, no gravity, `loads` on it, rad/s; (modes,).

    K x = ω² M x with M_kl = tr C_ikl (25), and for every load the kinetic energy of its translation and turn.
    """
    from scipy.linalg import eigvalsh

    if not modal.modes:
        return np.zeros(0)
    M = np.einsum("klii->kl", modal.second).copy()
    for load in carrying:
        there = modal.at(load.position)
        moved = there.translation + np.cross(there.rotation, load.inertia.com)
        M += load.inertia.mass * moved @ moved.T + there.rotation @ load.inertia.inertia @ there.rotation.T
    return np.asarray(np.sqrt(eigvalsh(modal.stiffness, 0.5 * (M + M.T))))


#: What is left of an inertia by round-off when one part of it is taken away, relative to the whole.
_ROUND_OFF = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class FlexibleArm(OnTree, Rebuilt):
    """An arm some links of which bend; never changed afterwards.

    Its generalised coordinates are z = [q, δ]: the joints in the order of `joint_names`, then the amplitudes of all
    modes in the order of `mode_names`. The joint coordinates are what encoders see: a flexible link is clamped in its
    joint.

    Parameters
    ----------
    robot
        The rigid arm, every link's inertia that of the whole undeformed link. Controllers compute with it.
    flexible_links
        The flexible ones; put in the order of their bodies.

    Raises
    ------
    ModelError
        No flexible link, an unknown or repeated one, the root link, a floating base or joint, mimic joints, or a link
        that weighs less than its own beam.
    """

    robot: RobotModel
    flexible_links: tuple[ModalLink, ...]
    #: the robot with whatever is fixed on a flexible link as a body of its own
    body_model: RobotModel = field(init=False)
    #: names of the bodies that have no joint to move in
    fixed_bodies: frozenset[str] = field(init=False)
    joint_names: tuple[str, ...] = field(init=False)
    mode_names: tuple[str, ...] = field(init=False)

    kind: ClassVar[Literal["flexible"]] = "flexible"
    posture: ClassVar[None] = None
    loops: ClassVar[tuple[()]] = ()
    passive_names: ClassVar[tuple[()]] = ()
    _called = "arm"
    _instead = (
        "has flexible links, and this function is for rigid robots; take its rigid arm, arm.robot, or the "
        "functions of rne_dynamics.flexible"
    )

    def __post_init__(self) -> None:
        robot, tree = self.robot, self.robot.tree
        where, names = f"arm {robot.name!r}", [link.link for link in self.flexible_links]
        refuse(
            ModelError,
            (robot.base != "fixed" or (robot.topology[:, KIND] == FLOATING).any(),
             f"{where} has a floating base or joint; flexible links are supported on a fixed base with revolute, "
             "prismatic and planar joints"),
            (robot.has_mimic, f"{where} has mimic joints, which arms with flexible links cannot have; lock them"),
            (not any(link.modes for link in self.flexible_links),
             f"{where} has no flexible link with a mode; without one it is an ordinary robot"),
            *((names.count(name) > 1, f"{where}: link {name!r} is flexible twice; describe it once") for name in names),
            (tree.root in names,
             f"{where}: the root link {tree.root!r} cannot be flexible; put a link and a fixed joint in front of it"),
        )  # fmt: skip
        for link in self.flexible_links:
            index_of(link.link, robot.link_names, "link", f"flexible links of {robot.name!r}")
            _check_part(tree, link)
        tree, fixed = _with_bodies_of_their_own(tree, {link.link: link for link in self.flexible_links})
        split = RobotModel.of(tree, base="fixed", gravity=robot.gravity)
        links = tuple(sorted(self.flexible_links, key=lambda link: split.links[link.link].body))
        set_fields(
            self, body_model=split, fixed_bodies=fixed, flexible_links=links, joint_names=robot.joint_names,
            mode_names=tuple(f"{link.link}/{mode}" for link in links for mode in link.mode_names),
        )  # fmt: skip

    @property
    def modes(self) -> int:
        """Number of deflection coordinates δ."""
        return len(self.mode_names)

    @property
    def nz(self) -> int:
        """Number of generalised coordinates, n + modes."""
        return self.n + self.modes

    @property
    def neutral(self) -> Array:
        """Every joint at zero; shape (n,)."""
        return self.robot.neutral

    @property
    def rigid(self) -> RobotModel:
        """The arm as if nothing bent."""
        return self.robot

    @property
    def actuated(self) -> NDArray[np.int64]:
        """Places of the joints, all of them; shape (n,)."""
        return self.robot.actuated

    @property
    def passive(self) -> NDArray[np.int64]:
        """Places of the undriven joints; empty."""
        return self.robot.passive

    def flexible_link(self, name: str) -> ModalLink:
        """The flexible link of that name; `ModelError` with the nearest names if there is none."""
        names = [link.link for link in self.flexible_links]
        return self.flexible_links[index_of(name, names, "flexible link", f"arm {self.name!r}")]

    def mode_slice(self, link: str) -> slice:
        """Places of the modes of a flexible link among the deflection coordinates δ."""
        wanted = self.flexible_link(link)
        start = sum(other.modes for other in self.flexible_links[: self.flexible_links.index(wanted)])
        return slice(start, start + wanted.modes)

    def on_tree(self, robot: RobotModel) -> FlexibleArm:
        """The same flexible links, their mode shapes as they were, on another rigid arm."""
        return replace(self, robot=robot)

    def with_shared_code(self) -> FlexibleArm:
        """The same arm, whose `rigid` one has machine code that its payloads share."""
        return self.on_tree(self.robot.with_shared_code())

    def with_payload(self, payload: Payload | None) -> FlexibleArm:
        """The same arm carrying a payload, the mode shapes as they were; `ModelError` for an unknown link.

        On a flexible link it moves with the place of its mass centre.
        """
        if payload is None or all(link.link != payload.link for link in self.flexible_links):
            return super().with_payload(payload)
        return self.on_tree(RobotModel.of(bolted(self.tree, payload), base="fixed", gravity=self.gravity))


def _check_part(tree: KinematicTree, modal: ModalLink) -> None:
    """`ModelError` where a link's inertia does not hold that of its elastic part."""
    whole = tree.link(modal.link).inertia or Inertia()
    part, where = modal.inertia, f"flexible link {modal.link!r}"
    least = float(np.linalg.eigvalsh(whole.second_moments - part.second_moments)[0])
    refuse(
        ModelError,
        (part.mass > whole.mass * (1.0 + _ROUND_OFF),
         f"{where}: its elastic part has {part.mass:.6g} kg, the whole link only {whole.mass:.6g} kg; the link's "
         "inertia must hold all of it (in a model file, `inertial: hub` adds the beam to what the URDF gives)"),
        (least < -1e-6 * max(float(np.linalg.eigvalsh(whole.second_moments)[-1]), 1e-300),
         f"{where}: no rigid body is left when its elastic part is taken from its inertia (the second moments of mass "
         f"that are left have the eigenvalue {least:.6g}); correct mass, mass centre or inertia of the link, or the "
         "beam's length and mass per length"),
    )  # fmt: skip


def _with_bodies_of_their_own(
    tree: KinematicTree, flexible: dict[str, ModalLink]
) -> tuple[KinematicTree, frozenset[str]]:
    """The tree with joints in place of the fixed ones that a bending link moves, and the names of these joints."""
    joints, fixed = [], set()
    for joint in tree.joints:
        moved = joint.child in flexible
        if joint.parent in flexible:
            attachment = flexible[joint.parent].at(joint.position)
            moved = moved or bool(attachment.translation.any() or attachment.rotation.any())
        if joint.kind is JointKind.FIXED and moved:
            fixed.add(joint.name)
            joints.append(replace(joint, kind=JointKind.REVOLUTE, axis=np.array([0.0, 0.0, 1.0]), limits=Limits()))
        else:
            joints.append(joint)
    return replace(tree, joints=tuple(joints)), frozenset(fixed)
