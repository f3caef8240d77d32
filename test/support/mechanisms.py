"""Mechanisms with closed loops built in code, as the tree and loops that tests want."""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.loop import Loop, LoopFrame, LoopKind
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about

X, Y, Z = np.eye(3)


def bar(length: float, mass: float = 1.0, along=X) -> Inertia:
    """A bar that is no symmetric body, from the origin along an axis."""
    middle = 0.5 * length * along + np.array([0.0, 0.01, 0.02]) * length
    return Inertia(mass, middle, mass * length**2 * np.array([[0.02, 1e-3, 0], [1e-3, 0.085, -2e-3], [0, -2e-3, 0.09]]))


def revolute(name: str, parent: str, child: str, position=(0.0, 0.0, 0.0), axis=Z, rotor: float = 0.0) -> TreeJoint:
    return TreeJoint(name, JointKind.REVOLUTE, parent, child, position=np.array(position), axis=axis,
                     rotor_inertia=rotor)  # fmt: skip


def tree(name: str, inertias: dict[str, Inertia], joints: list[TreeJoint], gravity=(0.0, -9.81, 0.0)):
    links = (TreeLink("base"), *(TreeLink(link, inertia) for link, inertia in inertias.items()))
    return assemble(KinematicTree(name, links, tuple(joints)), gravity=gravity)


def _posture(robot, values: dict[str, float]) -> np.ndarray:
    return np.array([values.get(name, 0.0) for name in robot.joint_names])


def four_bar(cut: str = "rocker", kind: LoopKind = LoopKind.REVOLUTE, turned: bool = True) -> Mechanism:
    """Crank 0.2, coupler 0.5, rocker 0.4, ground 0.45 m; cut at one of its three moving joints.

    Modelled in space and turned out of the coordinate planes, so that three of five constraints are redundant.
    """
    a, b, c, d = 0.2, 0.5, 0.4, 0.45
    R = rotation_about(np.array([2.0, -3.0, 6.0]) / 7.0, 0.7) if turned else np.eye(3)
    inertias = {"frame": Inertia(), "crank": bar(a, 1.0), "coupler": bar(b, 2.0), "rocker": bar(c, 1.5)}
    joints = [
        TreeJoint("mount", JointKind.FIXED, "base", "frame", rotation=R),
        revolute("crank", "frame", "crank", rotor=0.02),
    ]
    rocker = revolute("rocker", "frame", "rocker", (d, 0.0, 0.0))
    if cut == "coupler":  # at the joint of coupler and rocker
        joints += [revolute("coupler", "crank", "coupler", (a, 0, 0)), rocker]
        ends = LoopFrame("rocker", position=c * X), LoopFrame("coupler", position=b * X)
        posture = {"crank": 0.8, "coupler": -0.6, "rocker": 1.5}
    elif cut == "rocker":  # at the ground: one chain of three
        inertias["rocker"] = bar(c, 1.5)
        joints += [
            revolute("coupler", "crank", "coupler", (a, 0, 0)),
            TreeJoint("knee", JointKind.REVOLUTE, "coupler", "rocker_flange", position=b * X),
            TreeJoint("turned", JointKind.FIXED, "rocker_flange", "rocker", rotation=rotation_about(Z, np.pi),
                      position=c * X),
        ]  # fmt: skip
        inertias["rocker_flange"] = Inertia()
        ends = LoopFrame("frame", position=d * X), LoopFrame("rocker")
        posture = {"crank": 0.8, "coupler": -0.4, "knee": -1.6}
    else:  # at the crank's end
        joints += [rocker, revolute("coupler", "rocker", "coupler_end", (c, 0, 0)),
                   TreeJoint("turned", JointKind.FIXED, "coupler_end", "coupler", position=b * X,
                             rotation=rotation_about(Z, np.pi))]  # fmt: skip
        inertias["coupler_end"] = Inertia()
        ends = LoopFrame("crank", position=a * X), LoopFrame("coupler")
        posture = {"crank": 0.8, "rocker": 1.5, "coupler": 1.2}
    robot = tree("four_bar", inertias, joints)
    return assembled(Mechanism(robot, (Loop.of_kind("knee", kind, *ends),), ("crank",), _posture(robot, posture)))
