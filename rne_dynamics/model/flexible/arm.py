"""An arm with flexible links: the rigid arm, and the modes of its flexible links."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.errors import ModelError, index_of, unknown_name
from rne_dynamics.model.flexible.carried import bolted
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.layout import FLOATING, KIND
from rne_dynamics.model.on_tree import OnTree
from rne_dynamics.model.rebuilt import Rebuilt, set_fields
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, Limits, Payload

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
        if robot.base != "fixed" or (robot.topology[:, KIND] == FLOATING).any():
            raise ModelError(
                f"arm {robot.name!r} has a floating base or joint; flexible links are supported on a fixed base with "
                "revolute, prismatic and planar joints"
            )
        if robot.has_mimic:
            raise ModelError(
                f"arm {robot.name!r} has mimic joints, which arms with flexible links cannot have; lock them"
            )
        if not any(link.modes for link in self.flexible_links):
            raise ModelError(
                f"arm {robot.name!r} has no flexible link with a mode; without one it is an ordinary robot"
            )
        names = [link.link for link in self.flexible_links]
        for link in self.flexible_links:
            if link.link not in robot.links:
                raise unknown_name("link", link.link, robot.links, f"flexible links of {robot.name!r}")
            if names.count(link.link) > 1:
                raise ModelError(f"arm {robot.name!r}: link {link.link!r} is flexible twice; describe it once")
            if link.link == tree.root:
                raise ModelError(
                    f"arm {robot.name!r}: the root link {link.link!r} cannot be flexible; put a link and a fixed joint "
                    "in front of it"
                )
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
        wanted, start = self.flexible_link(link), 0
        for other in self.flexible_links:
            if other is wanted:
                break
            start += other.modes
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
    part = modal.inertia
    if part.mass > whole.mass * (1.0 + _ROUND_OFF):
        raise ModelError(
            f"flexible link {modal.link!r}: its elastic part has {part.mass:.6g} kg, the whole link only "
            f"{whole.mass:.6g} kg; the link's inertia must hold all of it (in a model file, `inertial: hub` adds the "
            "beam to what the URDF gives)"
        )
    left = whole.second_moments - part.second_moments
    least = float(np.linalg.eigvalsh(left)[0])
    if least < -1e-6 * max(float(np.linalg.eigvalsh(whole.second_moments)[-1]), 1e-300):
        raise ModelError(
            f"flexible link {modal.link!r}: no rigid body is left when its elastic part is taken from its inertia (the "
            f"second moments of mass that are left have the eigenvalue {least:.6g}); correct mass, mass centre or "
            "inertia of the link, or the beam's length and mass per length"
        )


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
