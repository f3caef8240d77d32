"""Figure of `rne simulate`: tracking and effort, or motion and energy."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.figures.schematic import draw_robot
from rne_dynamics.figures.style import INK, THIN, WIDE, color_of
from rne_dynamics.figures.tracking import (
    Draw,
    configuration,
    draw_stack,
    joint_rows,
    joint_units,
    panels,
    tracking_rows,
)
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.runs.log import Log

#: Deflections below this part of the largest are not drawn.
DRAWN = 1e-3


def plot(path: Path, robot: Robot, log: Log) -> None:
    """Write the figure; raises as `canvas`."""
    units, names, time = joint_units(robot), log.joint_names, log.time
    shown = panels(units)
    if log.reference_q is None:
        columns, units_q = configuration(names, units)
        rows: list[Draw] = [
            *joint_rows("position", panels(units_q), columns, time, log.q, width=WIDE),
            *joint_rows("velocity", shown, names, time, log.qd),
            partial(_draw_energy, log=log),
        ]
    else:
        rows = [
            *tracking_rows(shown, names, time, log.q, log.reference_q),
            *joint_rows("effort", shown, names, time, log.effort),
        ]
    for draw, wanted in (
        (_draw_tips, log.flexible_links), (_draw_base_position, log.base_position is not None),
        (_draw_base_rotation, log.base_rotation is not None), (_draw_reactions, log.reactions is not None),
        (_draw_drift, log.position_error is not None),
    ):  # fmt: skip
        rows += [partial(draw, log=log)] if wanted else []
    title = f"{robot.name}: {'free motion' if log.reference_q is None else 'controlled move'}, simulated"
    side = partial(draw_robot, robot=robot, time=time, q=log.q, q_tree=log.tree_q)
    draw_stack(path, title, (time[0], max(time[-1], time[0] + 1e-9)), rows, side=side)


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


def _draw_energy(axes: Any, log: Log) -> None:
    """Draw kinetic, potential and elastic energy, and their sum."""
    curves = [("kinetic", log.kinetic), ("potential, from the start", log.potential - log.potential[0])]
    if log.elastic is not None:
        curves.append(("elastic part of potential", log.elastic))
    for k, (label, values) in enumerate(curves):
        axes.plot(log.time, values, color=color_of(k + 5), label=label)
    axes.plot(log.time, log.energy - log.energy[0], color=INK, linewidth=THIN, label="total, from the start")
    axes.set_ylabel("energy (J)")
