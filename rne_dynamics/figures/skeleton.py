"""A robot as bars and joints in the world, from forward kinematics, and the direction from which it is drawn."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses, forward_kinematics
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import JointKind, TreeJoint

#: Parts shorter than this fraction of the robot's extent are not drawn.
SHORT = 5e-3


class Bar(NamedTuple):
    """A straight part of a link: its ends in the world, m; (rows, 3) each."""

    link: str
    start: Array
    end: Array
    ground: bool


class DrawnJoint(NamedTuple):
    """A joint: origin, m, and axis in the world, (rows, 3) each; its place among the actuated joints or None."""

    name: str
    kind: JointKind
    origin: Array
    axis: Array
    actuated: int | None


class Closure(NamedTuple):
    """A loop that holds two points together: the points in the world, m; (rows, 3) each."""

    loop: str
    a: Array
    b: Array


class Skeleton(NamedTuple):
    """Drawing of a robot, over the rows of a motion.

    `tips` are the frames without mass at the ends of the tree (tools), or the ends of its last links, (rows, 3) each;
    `size` is the largest extent over all rows, m.
    """

    bars: tuple[Bar, ...]
    joints: tuple[DrawnJoint, ...]
    closures: tuple[Closure, ...]
    tips: tuple[Array, ...]
    size: float

    @property
    def points(self) -> Array:
        """Ends of all bars; shape (bars, 2, rows, 3)."""
        return np.array([(bar.start, bar.end) for bar in self.bars])


def tree_positions(robot: Robot, q: ArrayLike) -> Array:
    """Positions of all joints of `robot.open_tree` along q, (rows, nq), loops closed; or `AssemblyError`."""
    rows = np.atleast_2d(np.asarray(q, dtype=np.float64))
    mechanism = mechanism_of(robot.rigid)
    return rows if mechanism is None else assemble(mechanism, rows, start="previous")


def skeleton(robot: Robot, q_tree: Array) -> Skeleton:
    """Bars, joints and loop closures for the rows of `tree_positions`; shape (rows, nq of the open tree)."""
    tree = robot.open_tree.tree
    poses = forward_kinematics(robot.open_tree, q_tree)
    places = {name: k for k, name in enumerate(poses.robot.link_names)}
    own = {joint.child: joint for joint in tree.joints}
    loops = [loop for loop in robot.loops if loop.blocked[:3].any()]
    closures = tuple(
        Closure(loop.name, *(_at(poses, places[frame.link], frame.position) for frame in (loop.a, loop.b)))
        for loop in loops
    )
    ends: dict[str, list[Array]] = {link.name: [] for link in tree.links}
    for joint in tree.joints:
        ends[joint.parent].append(joint.position)
    for loop in loops:
        for frame in (loop.a, loop.b):
            ends[frame.link].append(frame.position)
    tips: dict[bool, list[Array]] = {True: [], False: []}
    for link in tree.links:
        if ends[link.name] or link.name not in own:
            continue
        # of a link that carries nothing, only the centre of mass is known: half of a uniform bar
        com = np.zeros(3) if link.inertia is None else link.inertia.com
        ends[link.name].append(2.0 * com)
        tips[not com.any()].append(_at(poses, places[link.name], 2.0 * com))
    bars = [bar for name, points in ends.items() for bar in _bars(poses, places[name], name, points, own)]
    for joint in tree.joints:
        if joint.kind is JointKind.PRISMATIC:  # the rail, from where the joint is at zero
            rail = _at(poses, places[joint.parent], joint.position)
            bars.append(Bar(joint.parent, rail, poses.position[..., places[joint.child], :], joint.parent not in own))
    every = np.array([(bar.start, bar.end) for bar in bars]).reshape(-1, 3)
    size = float(np.ptp(every, axis=0).max()) if len(every) else 1.0
    kept = tuple(b for b in bars if np.linalg.norm(b.end - b.start, axis=-1).max() > SHORT * size)
    return Skeleton(kept, _joints(robot, poses, places), closures, tuple(tips[True] or tips[False]), size)


def _at(poses: LinkPoses, place: int, point: Array) -> Array:
    return np.asarray(poses.position[..., place, :] + poses.rotation[..., place, :, :] @ point)


def _bars(poses: LinkPoses, place: int, name: str, points: list[Array], own: dict[str, TreeJoint]) -> list[Bar]:
    """Bars from a link's joint to each of its points, first along the joint's axis as real links are built."""
    joint = own.get(name)
    axis = np.zeros(3) if joint is None else joint.axis
    found = []
    for point in points:
        corner = (point @ axis) * axis
        if min(np.linalg.norm(corner), np.linalg.norm(point - corner)) < 0.1 * np.linalg.norm(point):
            corner = np.zeros(3)
        stations = [np.zeros(3), *([corner] if corner.any() else []), point]
        for start, end in pairwise(stations):
            found.append(Bar(name, _at(poses, place, start), _at(poses, place, end), name not in own))
    return found


def _joints(robot: Robot, poses: LinkPoses, places: dict[str, int]) -> tuple[DrawnJoint, ...]:
    driven = {name: k for k, name in enumerate(robot.joint_names)}
    return tuple(
        DrawnJoint(
            joint.name, joint.kind, poses.position[..., places[joint.child], :],
            poses.rotation[..., places[joint.child], :, :] @ joint.axis, driven.get(joint.name),
        )
        for joint in robot.open_tree.tree.joints
        if joint.kind is not JointKind.FIXED
    )  # fmt: skip


#: Of the view of a robot that moves in space, degrees.
AZIMUTH, ELEVATION = -58.0, 24.0
#: Largest angle between parallel axes, rad.
PARALLEL = 1e-3


class View(NamedTuple):
    """Parallel projection: `axes` has the rows right, up, and towards the reader, unit vectors in the world."""

    axes: Array
    planar: bool

    def project(self, points: Array) -> Array:
        """Coordinates right, up, and towards the reader, m; the shape of the points, (…, 3)."""
        return np.asarray(points @ self.axes.T)


def view_of(drawn: Skeleton) -> View:
    """The view of a robot whose motion is given; planar if everything moves in parallel planes."""
    normals = [j.axis.reshape(-1, 3) for j in drawn.joints if j.kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS)]
    sliding = [j.axis.reshape(-1, 3) for j in drawn.joints if j.kind is JointKind.PRISMATIC]
    if normals:
        normal = normals[0][0]
        turn_alike = all(np.abs(np.cross(axes, normal)).max() < PARALLEL for axes in normals)
        in_plane = all(np.abs(axes @ normal).max() < PARALLEL for axes in sliding)
        if turn_alike and in_plane:
            return _along(normal)
    a, e = math.radians(AZIMUTH), math.radians(ELEVATION)
    towards = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    return View(np.array([right, np.cross(towards, right), towards]), planar=False)


def _along(normal: Array) -> View:
    """View onto a plane: the base's x points right, or its y if x is the normal."""
    k = int(np.argmax(np.abs(normal)))
    towards = normal * np.sign(normal[k]) * (-1.0 if k == 1 else 1.0)  # in the plane x, z the reader looks along +y
    right = np.array([0.0, 1.0, 0.0]) if k == 0 else np.array([1.0, 0.0, 0.0])
    right = right - (right @ towards) * towards
    right /= np.linalg.norm(right)
    return View(np.array([right, np.cross(towards, right), towards]), planar=True)
