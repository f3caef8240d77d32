"""Trees with what the shipped robots and the wheel's lack, for tests of every formulation."""

from __future__ import annotations

import numpy as np
from support.arms import chain, gripper

from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, Mimic, TreeJoint, TreeLink


def body(rng: np.random.Generator) -> Inertia:
    half = rng.normal(size=(3, 3))
    return Inertia(rng.uniform(0.5, 2.0), 0.2 * rng.normal(size=3), 0.05 * (half @ half.T + np.eye(3)))


def turn(rng: np.random.Generator) -> np.ndarray:
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return R * np.sign(np.linalg.det(R))


def tree(*joints: TreeJoint, massless: tuple[str, ...] = ()) -> RobotModel:
    rng = np.random.default_rng(3)
    names = ("base", *(j.child for j in joints))
    links = tuple(TreeLink(name, None if name in massless else body(rng)) for name in names)
    return assemble(KinematicTree("tree", links, joints))


def joint(name: str, kind: JointKind, parent: str, **more) -> TreeJoint:
    rng = np.random.default_rng((0, *name.encode()))
    return TreeJoint(
        name, kind, parent, f"{name}_link", rotation=turn(rng), position=rng.normal(size=3), axis=rng.normal(size=3),
        **more,
    )  # fmt: skip


def floating_in_the_middle() -> RobotModel:
    return tree(
        joint("waist", JointKind.REVOLUTE, "base", rotor_inertia=0.3),
        joint("loose", JointKind.FLOATING, "waist_link"),
        joint("out", JointKind.PRISMATIC, "loose_link"),
        joint("free", JointKind.FLOATING, "out_link"),
        joint("side", JointKind.REVOLUTE, "loose_link"),
    )


def coupled_finger() -> RobotModel:
    """Mimics on their leader's own path, before and behind it, with rotors."""
    return tree(
        joint("near", JointKind.REVOLUTE, "base", mimic=Mimic("middle", 0.7, 0.2), rotor_inertia=0.1),
        joint("middle", JointKind.REVOLUTE, "near_link", rotor_inertia=0.2),
        joint("slide", JointKind.PRISMATIC, "middle_link", mimic=Mimic("middle", -1.3, 0.1), rotor_inertia=0.3),
        joint("tip", JointKind.REVOLUTE, "slide_link", mimic=Mimic("middle", 0.4)),
        joint("other", JointKind.REVOLUTE, "near_link"),
    )


def light() -> RobotModel:
    """A link without mass that its rotor alone accelerates."""
    first = joint("first", JointKind.REVOLUTE, "base")
    empty = joint("empty", JointKind.REVOLUTE, "first_link", rotor_inertia=0.1)
    return tree(first, empty, massless=("empty_link",))


#: By name: floating joints anywhere, mimics, rotors, massless links.
TREES = {
    "floating_in_the_middle": floating_in_the_middle,
    "coupled_finger": coupled_finger,
    "gripper": gripper,
    "chain40_with_rotors": lambda: chain(40, rotor=0.3),
    "light": light,
    "loose_body": lambda: tree(joint("loose", JointKind.FLOATING, "base")),
}
