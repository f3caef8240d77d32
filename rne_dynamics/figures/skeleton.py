"""A robot as bars and joints in the world, from forward kinematics, and its drawing at one or several postures."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.kinematics.kinematics import LinkPoses, forward_kinematics
from rne_dynamics.figures.style import GUIDE, INK, POINT_LABEL, SHADE, THIN, color_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import JointKind, TreeJoint

#: Parts shorter than this fraction of the robot's extent are not drawn.
SHORT = 5e-3


#: A straight part of a link: its ends in the world, m, (rows, 3) each, and whether the link is the root.
Bar = tuple[Array, Array, bool]


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

    #: Ends of all bars; shape (bars, 2, rows, 3). Whether each belongs to the root link.
    points: Array
    ground: tuple[bool, ...]
    joints: tuple[DrawnJoint, ...]
    closures: tuple[Closure, ...]
    tips: tuple[Array, ...]
    size: float


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
    at_loops = [(frame.link, frame.position) for loop in loops for frame in (loop.a, loop.b)]
    for name, point in [*((joint.parent, joint.position) for joint in tree.joints), *at_loops]:
        ends[name].append(point)
    tips: dict[bool, list[Array]] = {True: [], False: []}
    for link in tree.links:
        if ends[link.name] or link.name not in own:
            continue
        # of a link that carries nothing, only the centre of mass is known: half of a uniform bar
        com = np.zeros(3) if link.inertia is None else link.inertia.com
        ends[link.name].append(2.0 * com)
        tips[not com.any()].append(_at(poses, places[link.name], 2.0 * com))
    bars = [bar for name, points in ends.items() for bar in _bars(poses, places[name], name, points, own)]
    bars += [  # rails, from where the joints are at zero
        (_at(poses, places[joint.parent], joint.position), poses.position[..., places[joint.child], :],
         joint.parent not in own) for joint in tree.joints if joint.kind is JointKind.PRISMATIC
    ]  # fmt: skip
    every = np.array([ends for *ends, _ in bars]).reshape(-1, 3)
    size = (float(np.ptp(every, axis=0).max()) if len(every) else 0.0) or 1.0
    root = poses.position[..., places[tree.root], :]
    kept = [bar for bar in bars if np.linalg.norm(bar[1] - bar[0], axis=-1).max() > SHORT * size]
    kept = kept or [(root, root, True)]  # a wheel, or no joint
    return Skeleton(
        np.array([ends for *ends, _ in kept]), tuple(ground for *_, ground in kept), _joints(robot, poses, places),
        closures, tuple(tips[True] or tips[False]), size,
    )  # fmt: skip


def _at(poses: LinkPoses, place: int, point: Array) -> Array:
    return np.asarray(poses.position[..., place, :] + poses.rotation[..., place, :, :] @ point)


def _bars(poses: LinkPoses, place: int, name: str, points: list[Array], own: dict[str, TreeJoint]) -> list[Bar]:
    """Bars from a link's joint to each of its points, first along the joint's axis as real links are built."""
    joint = own.get(name)
    axis = np.zeros(3) if joint is None else joint.axis
    found: list[Bar] = []
    for point in points:
        corner = (point @ axis) * axis
        if min(np.linalg.norm(corner), np.linalg.norm(point - corner)) < 0.1 * np.linalg.norm(point):
            corner = np.zeros(3)
        for start, end in pairwise([np.zeros(3), *([corner] if corner.any() else []), point]):
            found.append((_at(poses, place, start), _at(poses, place, end), name not in own))
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


def view_of(drawn: Skeleton) -> Array:
    """The parallel projection of a robot whose motion is given; planar if everything moves in parallel planes.

    Its columns point right, up, and towards the reader, unit vectors in the world: points · view; shape (3, 3).
    """
    normals = [joint.axis for joint in drawn.joints if joint.kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS)]
    sliding = [joint.axis for joint in drawn.joints if joint.kind is JointKind.PRISMATIC]
    if normals:
        normal = normals[0][0]
        turn_alike = all(np.abs(np.cross(axes, normal)).max() < PARALLEL for axes in normals)
        in_plane = all(np.abs(axes @ normal).max() < PARALLEL for axes in sliding)
        if turn_alike and in_plane:
            return _along(normal)
    a, e = math.radians(AZIMUTH), math.radians(ELEVATION)
    towards = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    return np.column_stack([right, np.cross(towards, right), towards])


def _along(normal: Array) -> Array:
    """View onto a plane: the base's x points right, or its y if x is the normal."""
    k = int(np.argmax(np.abs(normal)))
    towards = normal * np.sign(normal[k]) * (-1.0 if k == 1 else 1.0)  # in the plane x, z the reader looks along +y
    right = np.array([0.0, 1.0, 0.0]) if k == 0 else np.array([1.0, 0.0, 0.0])
    right = right - (right @ towards) * towards
    right /= np.linalg.norm(right)
    return np.column_stack([right, np.cross(towards, right), towards])


#: Width of bars and size of joints, points.
BAR, JOINT = 7.0, 9.0
#: Joints nearer than this fraction of the robot's extent share a label.
NEAR = 0.06
#: Postures that are computed of a motion.
ROWS = 120


def draw_robot(axes: Any, robot: Robot, time: Array, q: Array, q_tree: Array | None = None) -> None:
    """Draw the robot where it is farthest from its start, and faintly at the start and half-way; q (samples, nq)."""
    rows = np.unique(np.linspace(0, len(time) - 1, ROWS).astype(int))
    drawn = skeleton(robot, tree_positions(robot, q[rows]) if q_tree is None else q_tree[rows])
    moved = np.linalg.norm(drawn.points - drawn.points[:, :, :1], axis=-1).max(axis=(0, 1))
    far = int(np.argmax(moved))
    half = int(np.argmin(np.abs(moved[: far + 1] - 0.5 * moved[far])))
    draw_schematic(axes, drawn, view_of(drawn), far, [k for k in (0, half) if k != far])
    at = time[rows] - time[0]
    axes.set_title(f"at {at[far]:.2g} s (faint: 0 s, {at[half]:.2g} s)" if far else "at rest", fontweight="normal")


def draw_schematic(axes: Any, drawn: Skeleton, view: Array, row: int = 0, ghosts: Sequence[int] = ()) -> None:
    """Draw the posture `row` with names of actuated joints; `ghosts` faintly behind, with dotted paths of the tips."""
    for ghost in ghosts:
        _draw_bars(axes, drawn, view, ghost, alpha=0.25)
    for tip in drawn.tips if len(ghosts) else ():
        x, y, _ = (tip[: row + 1] @ view).T
        axes.plot(x, y, color=GUIDE, linewidth=THIN, linestyle=(0, (1, 1.5)), zorder=2)
    _draw_bars(axes, drawn, view, row, alpha=1.0)
    _draw_joints(axes, drawn, view, row)
    _draw_labels(axes, drawn, view, row)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.18, 0.12)
    axes.set_axis_off()
    _draw_scale(axes, drawn)


def _draw_bars(axes: Any, drawn: Skeleton, view: Array, row: int, alpha: float) -> None:
    ends = drawn.points[:, :, row] @ view
    for k in np.argsort(ends[:, :, 2].mean(axis=1)):  # farther ones first
        x, y, depth = ends[k].T
        fill = "0.65" if drawn.ground[k] else SHADE
        z = 3.0 + 0.01 * float(depth.mean() / drawn.size)
        if alpha < 1.0:
            axes.plot(x, y, color=fill, linewidth=0.7 * BAR, solid_capstyle="round", alpha=0.6, zorder=1)
            continue
        axes.plot(x, y, color="0.35", linewidth=BAR, solid_capstyle="round", zorder=z)
        axes.plot(x, y, color=fill, linewidth=BAR - 2.2, solid_capstyle="round", zorder=z + 1e-4)


def _draw_joints(axes: Any, drawn: Skeleton, view: Array, row: int) -> None:
    for joint in drawn.joints:
        x, y, _ = joint.origin[row] @ view
        passive = joint.actuated is None
        marker = "s" if joint.kind is JointKind.PRISMATIC else "o"
        color = "white" if joint.actuated is None else color_of(joint.actuated)
        axes.plot([x], [y], marker, markersize=0.65 * JOINT if passive else JOINT, markerfacecolor=color,
                  markeredgecolor=INK, markeredgewidth=1.0, zorder=4 if passive else 5)  # fmt: skip
    for closure in drawn.closures:
        x, y, _ = 0.5 * (closure.a[row] + closure.b[row]) @ view
        axes.plot([x], [y], "o", markersize=1.25 * JOINT, markerfacecolor="none", markeredgecolor=INK,
                  markeredgewidth=1.0, zorder=6)  # fmt: skip
        axes.plot([x], [y], ".", markersize=4, color=INK, zorder=6)


def _draw_labels(axes: Any, drawn: Skeleton, view: Array, row: int) -> None:
    """Write the names of the actuated joints without their common beginning; those at one place share a label."""
    driven = [joint for joint in drawn.joints if joint.actuated is not None]
    names = [joint.name for joint in driven]
    shared = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071 (names, not paths)
    shared = shared[: shared.rfind("_") + 1]
    groups: list[tuple[Array, list[str]]] = []
    for joint in driven:
        at = (joint.origin[row] @ view)[:2]
        near = next((names for place, names in groups if np.linalg.norm(place - at) < NEAR * drawn.size), None)
        if near is None:
            groups.append((at, [joint.name.removeprefix(shared)]))
        else:
            near.append(joint.name.removeprefix(shared))
    for at, names in groups:
        text = f"{names[0]} … {names[-1]}" if len(names) > 2 else ", ".join(names)
        axes.annotate(text, at, xytext=(9, 5), textcoords="offset points", fontsize="small", zorder=8, gid=POINT_LABEL,
                      bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6})  # fmt: skip


def _draw_scale(axes: Any, drawn: Skeleton) -> None:
    """Draw a bar of a round length below the drawing."""
    power = 10.0 ** np.floor(np.log10(0.4 * drawn.size))
    length = max(f * power for f in (1.0, 2.0, 5.0) if f * power <= 0.4 * drawn.size)
    low, high = axes.dataLim.min, axes.dataLim.max
    y = low[1] - 0.12 * max(high[1] - low[1], 0.3 * drawn.size)
    x = 0.5 * (low[0] + high[0]) - 0.5 * length
    axes.plot([x, x + length], [y, y], color=INK, linewidth=1.2, marker="|", markersize=5)
    axes.annotate(f"{length:g} m", (x + 0.5 * length, y), xytext=(0, -4), textcoords="offset points", ha="center",
                  va="top", fontsize="small")  # fmt: skip
