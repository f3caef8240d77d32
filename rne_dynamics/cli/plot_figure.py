"""The figure of `rne plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.figures import REFERENCE, THIN, WIDE, canvas
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
    with canvas(path, 13.0, 2.8 * len(top) + 2.4 * rows) as figure:
        grid = figure.add_gridspec(len(top) + rows, columns)
        axes = {name: figure.add_subplot(grid[k, :]) for k, name in enumerate(top)}
        _draw_positions(axes["positions"], recording, joints)
        if error is not None:
            for j in joints:
                axes["errors"].plot(error.t, 1e3 * error.values[:, j], linewidth=THIN, label=recording.joint_names[j])
            axes["errors"].set_ylabel("error (mrad, mm)")
        if "efforts" in axes:
            _draw_efforts(axes["efforts"], recording, joints, robot)
        for name in top:
            axes[name].margins(x=0.0)
            axes[name].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        axes[top[-1]].set_xlabel("time (s)")
        for k, j in enumerate(joints if single else []):
            own = figure.add_subplot(grid[len(top) + k // columns, k % columns])
            _draw_terms(own, recording, j, model)
            if k == 0:
                own.legend(fontsize="x-small", ncols=2)


def _efforts(recording: Recording) -> Series | None:
    """Measured efforts, or those that were sent."""
    return recording.command if recording.effort is None else Series(recording.t, recording.effort)


def _draw_positions(axes: Any, recording: Recording, joints: list[int]) -> None:
    whole = recording.q.shape[1] == recording.n
    for j in joints if whole else range(recording.q.shape[1]):
        label = recording.joint_names[j] if whole else f"q[{j}]"
        axes.plot(recording.t, recording.q[:, j], linewidth=WIDE, label=label)
    if recording.reference_q is not None:
        t, desired = recording.reference_q
        axes.plot(t, desired[:, joints], "--", color="black", linewidth=REFERENCE)
        axes.plot([], [], "--", color="black", linewidth=REFERENCE, label="reference")
    axes.set_ylabel("position (rad, m)")
    axes.set_title(recording.source)


def _draw_efforts(axes: Any, recording: Recording, joints: list[int], robot: RigidRobot | None) -> None:
    efforts = _efforts(recording)
    assert efforts is not None
    for j in joints:
        (line,) = axes.plot(efforts.t, efforts.values[:, j], linewidth=THIN, label=recording.joint_names[j])
        limit = np.inf if robot is None else float(robot.effort_limit[j])
        if 0.0 < limit < np.inf:
            for sign in (-1.0, 1.0):
                axes.axhline(sign * limit, linestyle=":", color=line.get_color(), linewidth=REFERENCE)
    axes.set_ylabel("effort (N m, N)" if recording.effort is not None else "command (N m, N)")


def _draw_terms(axes: Any, recording: Recording, j: int, model: Series | None) -> None:
    """Efforts of one joint: measured, the model's, and the terms of the control law."""
    for term, series in recording.torque.items():
        axes.plot(series.t, series.values[:, j], linewidth=THIN, label=term)
    if recording.effort is not None:
        axes.plot(recording.t, recording.effort[:, j], color="black", linewidth=THIN, label="measured")
    if model is not None:
        axes.plot(model.t, model.values[:, j], "--", color="black", linewidth=WIDE, label="model")
    axes.set_title(f"{recording.joint_names[j]} (N m, N)", fontsize="small")
    axes.margins(x=0.0)
