"""Shapes for links without meshes: capsules between joint frames, a short cylinder on every joint's axis."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import ONE_FREEDOM, JointKind

#: Radius of the capsules over the robot's size; a joint's cylinder is larger by `JOINT`.
SLENDER, JOINT = 0.018, 1.4
LINK_COLOUR, JOINT_COLOUR = (120, 144, 176, 255), (70, 78, 92, 255)
#: Distances below this share of the robot's size make no capsule.
NEAR = 0.01


def stand_ins(trimesh: Any, robot: Robot, links: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Meshes for `links`, in the link's frame; none for links that nothing is attached to and that have no mass."""
    size = reach(robot)
    radius = SLENDER * size
    for joint in robot.tree.joints:
        if joint.child in links and joint.kind in ONE_FREEDOM:
            long = 1.6 if joint.kind is JointKind.PRISMATIC else 2.2
            mesh = trimesh.creation.cylinder(radius=JOINT * radius, height=long * JOINT * radius, sections=24)
            mesh.apply_transform(trimesh.geometry.align_vectors([0.0, 0.0, 1.0], joint.axis))
            yield joint.child, _painted(mesh, JOINT_COLOUR)
        if joint.parent in links and np.linalg.norm(joint.position) > NEAR * size:
            yield joint.parent, _painted(_capsule(trimesh, joint.position, radius), LINK_COLOUR)
    parents = {joint.parent for joint in robot.tree.joints}
    for link in robot.tree.links:
        if link.name in links and link.name not in parents and link.inertia is not None and link.inertia.mass > 0.0:
            com = link.inertia.com
            if np.linalg.norm(com) > NEAR * size:
                yield link.name, _painted(_capsule(trimesh, com, radius), LINK_COLOUR)


def reach(robot: Robot) -> float:
    """The longest sum of joint distances from the root, at least 0.1; m."""
    far = {robot.tree.root: 0.0}
    joints = list(robot.tree.joints)
    for _ in range(len(joints)):  # joints may be listed in any order
        for joint in joints:
            if joint.parent in far:
                far[joint.child] = far[joint.parent] + float(np.linalg.norm(joint.position))
        if len(far) > len(joints):
            break
    return max(0.1, *far.values())


def _capsule(trimesh: Any, end: Array, radius: float) -> Any:
    """A capsule from the origin to `end`."""
    length = float(np.linalg.norm(end))
    mesh = trimesh.creation.capsule(height=length, radius=radius, count=(12, 16))
    mesh.apply_translation([0.0, 0.0, 0.5 * length - _middle(mesh)])
    mesh.apply_transform(trimesh.geometry.align_vectors([0.0, 0.0, 1.0], end))
    return mesh


def _middle(mesh: Any) -> float:
    return float(mesh.bounds[:, 2].mean())


def _painted(mesh: Any, colour: tuple[int, ...]) -> Any:
    mesh.visual.face_colors = colour
    return mesh
