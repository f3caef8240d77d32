"""Schematic drawing of a robot: links as bars, joints, actuators and closed loops, at one or several postures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rne_dynamics.figures.skeleton import Skeleton, View, skeleton, tree_positions, view_of
from rne_dynamics.figures.style import GUIDE, INK, POINT_LABEL, SHADE, THIN, color_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.tree import JointKind

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


def draw_schematic(axes: Any, drawn: Skeleton, view: View, row: int = 0, ghosts: Sequence[int] = ()) -> None:
    """Draw the posture `row` with names of actuated joints; `ghosts` faintly behind, with dotted paths of the tips."""
    for ghost in ghosts:
        _draw_bars(axes, drawn, view, ghost, alpha=0.25)
    for tip in drawn.tips if len(ghosts) else ():
        path = view.project(np.atleast_2d(tip))[: row + 1]
        axes.plot(path[:, 0], path[:, 1], color=GUIDE, linewidth=THIN, linestyle=(0, (1, 1.5)), zorder=2)
    _draw_bars(axes, drawn, view, row, alpha=1.0)
    _draw_joints(axes, drawn, view, row)
    _draw_labels(axes, drawn, view, row)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.18, 0.12)
    axes.set_axis_off()
    _draw_scale(axes, drawn)


def _row(values: Array, row: int) -> Array:
    return np.asarray(np.atleast_2d(values)[row])


def _draw_bars(axes: Any, drawn: Skeleton, view: View, row: int, alpha: float) -> None:
    ends = [view.project(np.array([_row(b.start, row), _row(b.end, row)])) for b in drawn.bars]
    for k in np.argsort([e[:, 2].mean() for e in ends]):  # farther ones first
        bar, (x, y, _) = drawn.bars[k], ends[k].T
        fill = SHADE if not bar.ground else "0.65"
        z = 3.0 + 0.01 * float(np.mean(ends[k][:, 2]) / drawn.size)
        if alpha < 1.0:
            axes.plot(x, y, color=fill, linewidth=0.7 * BAR, solid_capstyle="round", alpha=0.6, zorder=1)
            continue
        axes.plot(x, y, color="0.35", linewidth=BAR, solid_capstyle="round", zorder=z)
        axes.plot(x, y, color=fill, linewidth=BAR - 2.2, solid_capstyle="round", zorder=z + 1e-4)


def _draw_joints(axes: Any, drawn: Skeleton, view: View, row: int) -> None:
    for joint in drawn.joints:
        x, y, _ = view.project(_row(joint.origin, row))
        passive = joint.actuated is None
        marker = "s" if joint.kind is JointKind.PRISMATIC else "o"
        color = "white" if joint.actuated is None else color_of(joint.actuated)
        axes.plot([x], [y], marker, markersize=0.65 * JOINT if passive else JOINT, markerfacecolor=color,
                  markeredgecolor=INK, markeredgewidth=1.0, zorder=4 if passive else 5)  # fmt: skip
    for closure in drawn.closures:
        x, y, _ = view.project(0.5 * (_row(closure.a, row) + _row(closure.b, row)))
        axes.plot([x], [y], "o", markersize=1.25 * JOINT, markerfacecolor="none", markeredgecolor=INK,
                  markeredgewidth=1.0, zorder=6)  # fmt: skip
        axes.plot([x], [y], ".", markersize=4, color=INK, zorder=6)


def _draw_labels(axes: Any, drawn: Skeleton, view: View, row: int) -> None:
    """Write the names of the actuated joints without their common beginning; those at one place share a label."""
    driven = [joint.name for joint in drawn.joints if joint.actuated is not None]
    shared = os.path.commonprefix(driven) if len(driven) > 1 else ""  # noqa: RUF071 (names, not paths)
    shared = shared[: shared.rfind("_") + 1]
    groups: list[tuple[Array, list[str]]] = []
    for joint in drawn.joints:
        if joint.actuated is None:
            continue
        at = view.project(_row(joint.origin, row))[:2]
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
