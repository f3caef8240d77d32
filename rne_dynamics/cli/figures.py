"""The robot at the side of curves over time, as the plots of several commands show it."""

from __future__ import annotations

from typing import Any

import numpy as np

from rne_dynamics.figures.schematic import draw_schematic
from rne_dynamics.figures.skeleton import skeleton, tree_positions
from rne_dynamics.figures.style import canvas
from rne_dynamics.figures.view import view_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot

__all__ = ["canvas", "draw_robot"]

#: Postures that are computed of a motion.
ROWS = 120


def draw_robot(axes: Any, robot: Robot, time: Array, q: Array, q_tree: Array | None = None) -> None:
    """Draw the robot at the posture farthest from its start, and faintly at the start and half-way.

    Parameters
    ----------
    axes
        Where to draw.
    robot
        The robot.
    time
        s; shape (samples,).
    q
        Positions of the actuated joints, rad or m; shape (samples, nq).
    q_tree
        Positions of all joints of a mechanism's tree, if known; shape (samples, tree nq).
    """
    rows = np.unique(np.linspace(0, len(time) - 1, ROWS).astype(int))
    drawn = skeleton(robot, tree_positions(robot, q[rows]) if q_tree is None else q_tree[rows])
    moved = np.linalg.norm(drawn.points - drawn.points[:, :, :1], axis=-1).max(axis=(0, 1))
    far = int(np.argmax(moved))
    half = int(np.argmin(np.abs(moved[: far + 1] - 0.5 * moved[far])))
    draw_schematic(axes, drawn, view_of(drawn), far, [k for k in (0, half) if k != far])
    at = time[rows] - time[0]
    axes.set_title(f"at {at[far]:.2g} s (faint: 0 s, {at[half]:.2g} s)" if far else "at rest", fontweight="normal")
