"""Figure of `rne simulate`: tracking and effort, or motion and energy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.figures import draw_robot
from rne_dynamics.figures.style import INK, THIN, WIDE, canvas, color_of, legend_right
from rne_dynamics.figures.tracking import (
    Panel,
    Units,
    configuration,
    draw_joints,
    draw_tracking,
    joint_units,
    panels,
)
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.runs.log import Log

#: Deflections below this part of the largest are not drawn.
DRAWN = 1e-3


def plot(path: Path, robot: Robot, log: Log) -> None:
    """Write the figure; raises as `canvas`."""
    choices = (
        (_draw_tips, bool(log.flexible_links)), (_draw_base_position, log.base_position is not None),
        (_draw_base_rotation, log.base_rotation is not None), (_draw_reactions, log.reactions is not None),
        (_draw_drift, log.position_error is not None),
    )  # fmt: skip
    more = [draw for draw, wanted in choices if wanted]
    units = joint_units(robot)
    shown, free = panels(units), log.reference_q is None
    columns, units_q = configuration(log.joint_names, units)
    main = len(panels(units_q)) + len(shown) + 1 if free else 3 * len(shown)
    with canvas(path, 12.0, 2.2 * main + 2.0 * len(more)) as figure:
        grid = figure.add_gridspec(main + len(more), 2, width_ratios=[1.0, 2.2])
        rows = [figure.add_subplot(grid[0, 1])]
        rows += [figure.add_subplot(grid[k, 1], sharex=rows[0]) for k in range(1, main + len(more))]
        draw_robot(figure.add_subplot(grid[:, 0]), robot, log.time, log.q, log.tree_q)
        figure.suptitle(f"{robot.name}: {'free motion' if free else 'controlled move'}, simulated", x=0.01, ha="left")
        if log.reference_q is None:
            _draw_free(rows[:main], log, columns, units_q, shown)
        else:
            pairs = list(zip(rows[: len(shown)], rows[len(shown) :], strict=False))
            draw_tracking(pairs, shown, log.joint_names, log.time, log.q, log.reference_q)
            for axes, panel in zip(rows[2 * len(shown) : main], shown, strict=True):
                draw_joints(axes, log.joint_names, log.time, log.effort, joints=panel.joints)
                axes.set_ylabel(f"effort ({panel.units.effort})")
        for draw, axes in zip(more, rows[main:], strict=True):
            draw(axes, log)
        rows[-1].set_xlabel("time (s)")
        for axes in rows[:-1]:
            axes.tick_params(labelbottom=False)
        figure.align_ylabels(rows)
        first = len(panels(units_q)) if free else len(shown)
        for axes in (*rows[:first], *([rows[main - 1]] if free else []), *rows[main:]):  # the others: as the first
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


def _draw_base_position(axes: Any, log: Log) -> None:
    assert log.base_position is not None
    for k, name in enumerate("xyz"):
        axes.plot(log.time, log.base_position[:, k], linewidth=THIN, label=f"base {name}")
    axes.set_ylabel("base (m)")


def _draw_base_rotation(axes: Any, log: Log) -> None:
    """Draw roll, pitch and yaw of a moving base."""
    assert log.base_rotation is not None
    R = log.base_rotation
    for name, angle in (
        ("roll", np.arctan2(R[:, 2, 1], R[:, 2, 2])), ("pitch", np.arcsin(np.clip(-R[:, 2, 0], -1.0, 1.0))),
        ("yaw", np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))),
    ):  # fmt: skip
        axes.plot(log.time, angle, linewidth=THIN, label=f"base {name}")
    axes.set_ylabel("base (rad)")


def _draw_free(
    rows: Sequence[Any], log: Log, columns: Sequence[str], units_q: Sequence[Units], shown: Sequence[Panel]
) -> None:
    """Draw positions and velocities, by unit, and energy."""
    *above, lower = rows
    positions = panels(units_q)
    for axes, panel in zip(above, positions, strict=False):
        draw_joints(axes, columns, log.time, log.q, WIDE, panel.joints)
        axes.set_ylabel(f"position ({panel.units.position})")
    for axes, panel in zip(above[len(positions) :], shown, strict=True):
        draw_joints(axes, log.joint_names, log.time, log.qd, joints=panel.joints)
        axes.set_ylabel(f"velocity ({panel.units.velocity})")
    curves = [("kinetic", log.kinetic), ("potential, from the start", log.potential - log.potential[0])]
    if log.elastic is not None:
        curves.append(("elastic part of potential", log.elastic))
    for k, (label, values) in enumerate(curves):
        lower.plot(log.time, values, color=color_of(k + 5), label=label)
    lower.plot(log.time, log.energy - log.energy[0], color=INK, linewidth=THIN, label="total, from the start")
    lower.set_ylabel("energy (J)")
    lower.margins(x=0.0)
