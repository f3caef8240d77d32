"""The figure of `rne plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.figures.style import INK, REFERENCE, THIN, WIDE, canvas, color_of, legend_right, line_style
from rne_dynamics.figures.tracking import MIXED, draw_joints, joint_units, units_of
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.recording.recording import Recording, Series

#: Of the axes for the efforts of single joints.
COLUMNS = 3


def draw(path: Path, recording: Recording, joints: list[int], robot: RigidRobot | None, model: Series | None) -> None:
    """Write the figure: positions, errors, efforts, and for each joint the efforts term by term; raises as `canvas`.

    Parameters
    ----------
    path
        The file.
    recording
        What is drawn.
    joints
        Numbers of the joints to draw.
    robot
        Its effort limits are drawn, if given.
    model
        Efforts that inverse dynamics says, if given.
    """
    error = recording.error
    single = recording.torque or model is not None
    top = ["positions", *(["errors"] if error is not None else []), *(["efforts"] if _efforts(recording) else [])]
    columns = min(len(joints), COLUMNS)
    rows = -(-len(joints) // columns) if single else 0
    units = MIXED if robot is None else units_of(robot)
    names = [recording.joint_names[j] for j in joints]
    with canvas(path, 13.0, 2.8 * len(top) + 2.4 * rows) as figure:
        grid = figure.add_gridspec(len(top) + rows, columns)
        axes = {name: figure.add_subplot(grid[k, :]) for k, name in enumerate(top)}
        _draw_positions(axes["positions"], recording, joints)
        axes["positions"].set_ylabel(f"position ({units.position})")
        if error is not None:
            draw_joints(axes["errors"], names, error.t, 1e3 * error.values[:, joints])
            axes["errors"].set_ylabel(f"error ({units.error})")
        if "efforts" in axes:
            _draw_efforts(axes["efforts"], recording, joints, robot)
            axes["efforts"].set_ylabel(f"{'command' if recording.effort is None else 'effort'} ({units.effort})")
        for name in top:
            axes[name].margins(x=0.0)
            legend_right(axes[name])
        axes[top[-1]].set_xlabel("time (s)")
        for k, j in enumerate(joints if single else []):
            own = figure.add_subplot(grid[len(top) + k // columns, k % columns])
            _draw_terms(own, recording, j, model)
            unit = units.effort if robot is None else joint_units(robot)[j].effort
            own.set_title(f"{recording.joint_names[j]} ({unit})")
            if k == min(columns, len(joints)) - 1:
                legend_right(own)


def _efforts(recording: Recording) -> Series | None:
    """Measured efforts, or those that were sent."""
    return recording.command if recording.effort is None else Series(recording.t, recording.effort)


def _draw_positions(axes: Any, recording: Recording, joints: list[int]) -> None:
    whole = recording.q.shape[1] == recording.n
    shown = joints if whole else list(range(recording.q.shape[1]))
    names = [recording.joint_names[j] if whole else f"q[{j}]" for j in shown]
    draw_joints(axes, names, recording.t, recording.q[:, shown], WIDE)
    if recording.reference_q is not None:
        t, desired = recording.reference_q
        for k, j in enumerate(joints):
            label = None if k else "reference"
            axes.plot(t, desired[:, j], linestyle=(0, (4, 3)), color=INK, linewidth=REFERENCE, label=label)
    axes.set_title(recording.source)


def _draw_efforts(axes: Any, recording: Recording, joints: list[int], robot: RigidRobot | None) -> None:
    efforts = _efforts(recording)
    assert efforts is not None
    draw_joints(axes, [recording.joint_names[j] for j in joints], efforts.t, efforts.values[:, joints])
    for k, j in enumerate(joints if robot is not None else []):
        limit = 0.0 if robot is None else float(robot.effort_limit[j])
        if 0.0 < limit < np.inf:
            for sign in (-1.0, 1.0):
                axes.axhline(sign * limit, linestyle=":", color=color_of(k), linewidth=REFERENCE)


def _draw_terms(axes: Any, recording: Recording, j: int, model: Series | None) -> None:
    """Efforts of one joint: measured, the model's, and the terms of the control law."""
    for k, (term, series) in enumerate(recording.torque.items()):
        axes.plot(series.t, series.values[:, j], line_style(k), color=color_of(k), linewidth=THIN, label=term)
    if recording.effort is not None:
        axes.plot(recording.t, recording.effort[:, j], color=INK, linewidth=THIN, label="measured")
    if model is not None:
        axes.plot(model.t, model.values[:, j], linestyle=(0, (4, 3)), color=INK, linewidth=WIDE, label="model")
    axes.margins(x=0.0)
