"""Small arms built in code, for control and simulation tests."""

from __future__ import annotations

import numpy as np

from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Limits, Mimic, TreeJoint, TreeLink

MASS = 2.0
NO_FRICTION, NO_LIMITS = Friction(), Limits()


def slider(friction: Friction = NO_FRICTION, limits: Limits = NO_LIMITS, axis=(1.0, 0.0, 0.0)) -> RobotModel:
    """A cart of `MASS` on a straight rail, horizontal by default."""
    joint = TreeJoint(
        "rail", JointKind.PRISMATIC, "base", "cart", axis=np.array(axis), limits=limits, friction=friction
    )
    links = (TreeLink("base"), TreeLink("cart", Inertia(MASS)))
    return assemble(KinematicTree("slider", links, (joint,)))


def chain(n: int, friction: Friction = NO_FRICTION, limits: Limits = NO_LIMITS, rotor: float = 0.0) -> RobotModel:
    """A chain of `n` revolute joints about z, x, y, z, … with offset bodies."""
    links, joints = [TreeLink("base")], []
    for i in range(n):
        body = Inertia(1.0, np.array([0.1, 0.02, 0.05]), np.diag([0.02, 0.03, 0.04]))
        joints.append(
            TreeJoint(
                f"joint{i + 1}", JointKind.REVOLUTE, links[-1].name, f"link{i + 1}",
                position=np.array([0.2, 0.0, 0.1]), axis=np.eye(3)[(i + 2) % 3], friction=friction, limits=limits,
                rotor_inertia=rotor,
            )
        )  # fmt: skip
        links.append(TreeLink(f"link{i + 1}", body))
    return assemble(KinematicTree(f"chain{n}", tuple(links), tuple(joints)))


def gripper() -> RobotModel:
    """A turning wrist with two fingers of which the second mimics the first, backwards and with an offset."""
    finger = Inertia(0.3, np.array([0.03, 0.0, 0.02]), np.diag([1e-4, 1e-4, 1e-4]))
    joints = (
        TreeJoint("wrist", JointKind.REVOLUTE, "base", "palm", axis=np.array([1.0, 0.0, 0.0])),
        TreeJoint(
            "left", JointKind.REVOLUTE, "palm", "left_finger", position=np.array([0.1, 0.05, 0.0]),
            limits=Limits(-0.5, 0.5), friction=Friction(0.0, 0.02, 0.02),
        ),
        TreeJoint(
            "right", JointKind.REVOLUTE, "palm", "right_finger", position=np.array([0.1, -0.05, 0.0]),
            mimic=Mimic("left", -1.5, 0.1), friction=Friction(0.001, 0.01, 0.03),
        ),
    )  # fmt: skip
    palm = Inertia(0.8, np.array([0.05, 0.01, 0.0]), np.diag([1e-3, 2e-3, 2e-3]))
    fingers = (TreeLink("left_finger", finger), TreeLink("right_finger", finger))
    links = (TreeLink("base"), TreeLink("palm", palm), *fingers)
    return assemble(KinematicTree("gripper", links, joints))


def floating_arm() -> RobotModel:
    """A two-joint arm on a free base, without gravity."""
    body = Inertia(1.5, np.array([0.1, 0.0, 0.05]), np.diag([0.02, 0.03, 0.04]))
    joints = (
        TreeJoint("first", JointKind.REVOLUTE, "base", "upper", position=np.array([0.1, 0.0, 0.2])),
        TreeJoint(
            "second", JointKind.REVOLUTE, "upper", "lower", position=np.array([0.3, 0.0, 0.0]),
            axis=np.array([0.0, 1.0, 0.0]),
        ),
    )  # fmt: skip
    links = (TreeLink("base", Inertia(4.0, np.zeros(3), np.diag([0.1, 0.2, 0.15]))), TreeLink("upper", body),
             TreeLink("lower", body))  # fmt: skip
    return assemble(KinematicTree("floating_arm", links, joints), base="floating", gravity=(0.0, 0.0, 0.0))


def docked_vehicle() -> RobotModel:
    """All kinds of joints in one tree: a geared slide that carries a free body, and mimic joints across its branches.

    Joint `a` mimics `c`, which comes later and on another branch, `d` mimics `b`, from which it hangs.
    """
    body = Inertia(
        1.5, np.array([0.1, -0.03, 0.05]), np.array([[0.03, 0.002, 0.0], [0.002, 0.04, -0.003], [0, -0.003, 0.05]])
    )
    x, y, z = np.eye(3)
    place = np.array([0.2, 0.1, -0.05])
    joints = (
        TreeJoint("slide", JointKind.PRISMATIC, "base", "sled", axis=y, rotor_inertia=0.7),
        TreeJoint("dock", JointKind.FLOATING, "sled", "vehicle", position=place),
        TreeJoint("a", JointKind.REVOLUTE, "vehicle", "la", position=place, axis=x, mimic=Mimic("c", 0.6, 0.2)),
        TreeJoint("b", JointKind.REVOLUTE, "la", "lb", position=place, axis=z, rotor_inertia=0.3),
        TreeJoint(
            "d", JointKind.PRISMATIC, "lb", "ld", position=place, axis=x, mimic=Mimic("b", -1.5, 0.1),
            rotor_inertia=0.2,
        ),
        TreeJoint("c", JointKind.REVOLUTE, "vehicle", "lc", position=-place, axis=y),
        TreeJoint("e", JointKind.REVOLUTE, "sled", "le", position=-place, axis=x),
    )  # fmt: skip
    links = (TreeLink("base"), *(TreeLink(n, body) for n in ("sled", "vehicle", "la", "lb", "ld", "lc", "le")))
    return assemble(KinematicTree("docked_vehicle", links, joints))
