"""Rigid-body loads on a link from its subtree, for the mode shapes of a link that carries the rest of the arm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ModelError, unknown_name
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array, Inertia, frozen_array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import ONE_FREEDOM, JointKind, KinematicTree, Payload, TreeJoint, TreeLink

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
    if link not in robot.links:
        raise unknown_name("link", link, robot.links, f"robot {robot.name!r}")
    q = frozen_array(robot.neutral if posture is None else posture, (robot.nq,), "posture")
    kinds = {joint.name: joint.kind for joint in robot.tree.joints}
    places = [name for name in robot.joint_names if kinds.get(name) in ONE_FREEDOM]
    tree = robot.tree.with_locked({name: q[robot.joint_index(name)] for name in places})
    behind = {part.name: part.inertia or Inertia() for part in tree.links}
    found = []
    for joint in reversed(tree.depth_first):  # children before their parents
        if joint.parent == link:
            at_joint = behind[joint.child].moved(joint.rotation, np.zeros(3))
            found.append(Load(joint.position, at_joint))
        else:
            behind[joint.parent] = behind[joint.parent] + behind[joint.child].moved(joint.rotation, joint.position)
    return tuple(reversed(found))


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
