"""Figure of `rne simulate`: tracking and effort, or motion and energy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.figures import draw_robot
from rne_dynamics.figures.style import INK, THIN, WIDE, canvas, color_of, legend_right
from rne_dynamics.figures.tracking import Units, draw_joints, draw_tracking, units_of
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.runs.log import Log

#: Deflections below this part of the largest are not drawn.
DRAWN = 1e-3


def plot(path: Path, robot: Robot, log: Log) -> None:
    """Write the figure; raises as `canvas`."""
    choices = (
        (_draw_tips, bool(log.flexible_links)), (_draw_base, log.base_position is not None),
        (_draw_reactions, log.reactions is not None), (_draw_drift, log.position_error is not None),
    )  # fmt: skip
    more = [draw for draw, wanted in choices if wanted]
    units = units_of(robot)
    with canvas(path, 12.0, 6.6 + 2.0 * len(more)) as figure:
        grid = figure.add_gridspec(3 + len(more), 2, width_ratios=[1.0, 2.2])
        rows = [figure.add_subplot(grid[0, 1])]
        rows += [figure.add_subplot(grid[k, 1], sharex=rows[0]) for k in range(1, 3 + len(more))]
        draw_robot(figure.add_subplot(grid[:, 0]), robot, log.time, log.q, log.tree_q)
        free = log.reference_q is None
        figure.suptitle(f"{robot.name}: {'free motion' if free else 'controlled move'}, simulated", x=0.01, ha="left")
        if log.reference_q is None:
            _draw_free(rows[0], rows[1], rows[2], log, units)
        else:
            draw_tracking(rows[0], rows[1], log.joint_names, log.time, log.q, log.reference_q, units)
            draw_joints(rows[2], log.joint_names, log.time, log.effort)
            rows[2].set_ylabel(f"effort ({units.effort})")
        for draw, axes in zip(more, rows[3:], strict=True):
            draw(axes, log)
        rows[-1].set_xlabel("time (s)")
        for axes in rows[:-1]:
            axes.tick_params(labelbottom=False)
        figure.align_ylabels(rows)
        for axes in (rows[0], *([rows[2]] if free else []), *rows[3:]):  # the others have the colours of the first
            axes.margins(x=0.0)
            legend_right(axes)


def _draw_tips(axes: Any, log: Log) -> None:
    """Draw tip displacements, without directions in which a tip hardly moves."""
    assert log.tip is not None
    for k, link in enumerate(log.flexible_links):
        for direction, name in enumerate("xyz"):
            moved = log.tip[:, k, direction]
            if np.abs(moved).max() > DRAWN * np.abs(log.tip[:, :, :3]).max():
                axes.plot(log.time, 1e3 * moved, linewidth=THIN, label=f"{link} {name}")
    axes.set_ylabel("tip deflection (mm)")


def _draw_reactions(axes: Any, log: Log) -> None:
    """Draw the size of the force in every joint."""
    assert log.reactions is not None
    for k, name in enumerate(log.body_names):
        size = np.linalg.norm(log.reactions[:, k, :3], axis=1)
        axes.plot(log.time, size, linewidth=THIN, color=color_of(k), label=name)
    axes.set_ylabel("reaction (N)")


def _draw_drift(axes: Any, log: Log) -> None:
    """Draw by how much the bodies leave their joints."""
    for k, (label, error) in enumerate(
        (("position (m, rad)", log.position_error), ("velocity, per s", log.velocity_error))
    ):
        assert error is not None
        axes.semilogy(log.time, np.maximum(error, np.finfo(float).eps), color=color_of(k), linewidth=THIN, label=label)
    axes.set_ylabel("joint error")


def _draw_base(axes: Any, log: Log) -> None:
    """Draw position, roll, pitch and yaw of a moving base."""
    assert log.base_position is not None
    assert log.base_rotation is not None
    R = log.base_rotation
    for k, name in enumerate("xyz"):
        axes.plot(log.time, log.base_position[:, k], linewidth=THIN, label=f"base {name} (m)")
    for name, angle in (
        ("roll", np.arctan2(R[:, 2, 1], R[:, 2, 2])), ("pitch", np.arcsin(np.clip(-R[:, 2, 0], -1.0, 1.0))),
        ("yaw", np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))),
    ):  # fmt: skip
        axes.plot(log.time, angle, "--", linewidth=THIN, label=f"base {name} (rad)")
    axes.set_ylabel("base (m, rad)")


def _draw_free(upper: Any, middle: Any, lower: Any, log: Log, units: Units) -> None:
    if log.q.shape == log.qd.shape:
        draw_joints(upper, log.joint_names, log.time, log.q, WIDE)
        upper.set_ylabel(f"position ({units.position})")
    else:  # with quaternions
        draw_joints(upper, [f"q[{k}]" for k in range(log.q.shape[1])], log.time, log.q, WIDE)
        upper.set_ylabel("configuration")
    draw_joints(middle, log.joint_names, log.time, log.qd)
    middle.set_ylabel(f"velocity ({units.velocity})")
    curves = [("kinetic", log.kinetic), ("potential, from the start", log.potential - log.potential[0])]
    if log.elastic is not None:
        curves.append(("elastic part of potential", log.elastic))
    for k, (label, values) in enumerate(curves):
        lower.plot(log.time, values, color=color_of(k + 5), label=label)
    lower.plot(log.time, log.energy - log.energy[0], color=INK, linewidth=THIN, label="total, from the start")
    lower.set_ylabel("energy (J)")
    lower.margins(x=0.0)
