"""The figure of `rne plot`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.figures.style import INK, REFERENCE, TERMS, THIN, WIDE, canvas, color_of, legend_right
from rne_dynamics.figures.tracking import (
    MIXED,
    ROUND_OFF,
    Panel,
    configuration,
    draw_joints,
    draw_references,
    error_span,
    joint_units,
    panels,
    span_at_least,
    thinned,
)
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.recording.recording import Recording, Series

#: Of the axes for the efforts of single joints.
COLUMNS = 3
#: An effort limit up to this many times the largest effort is drawn; higher ones would flatten the curves.
NEAR_LIMIT = 2.0


def draw(path: Path, recording: Recording, joints: list[int], robot: RigidRobot | None, model: Series | None) -> None:
    """Write the figure: positions, errors, efforts, and for each joint the efforts term by term; raises as `canvas`.

    All axes show the same time, and axes are shared by joints of one unit only.

    Parameters
    ----------
    path
        The file.
    recording
        What is drawn.
    joints
        Numbers of the joints to draw.
    robot
        Gives units and effort limits, if given.
    model
        Efforts that inverse dynamics says, if given.
    """
    single = recording.torque or model is not None
    units = (MIXED,) * recording.n if robot is None else joint_units(robot)
    names, shown = recording.joint_names, panels(units, joints)
    whole = recording.q.shape[1] == recording.n
    columns_q, units_q = (list(names), units) if whole else configuration(names, units)
    panels_q = shown if whole else panels(units_q)
    top = [partial(_draw_positions, recording=recording, names=columns_q, panel=panel) for panel in panels_q]
    if recording.error is not None:
        top += [partial(_draw_errors, recording=recording, panel=panel) for panel in shown]
    if _efforts(recording) is not None:
        top += [partial(_draw_efforts, recording=recording, panel=panel, robot=robot) for panel in shown]
    columns = min(len(joints), COLUMNS)
    rows = -(-len(joints) // columns) if single else 0
    with canvas(path, 13.0, 2.8 * len(top) + 2.4 * rows) as figure:
        grid = figure.add_gridspec(len(top) + rows, columns)
        first = figure.add_subplot(grid[0, :])
        every = [first, *(figure.add_subplot(grid[k, :], sharex=first) for k in range(1, len(top)))]
        for axes, draw_one in zip(every, top, strict=True):
            draw_one(axes)
            legend_right(axes)
        first.set_title(recording.source)
        every[-1].set_xlabel("time (s)")
        for k, j in enumerate(joints if single else []):
            own = figure.add_subplot(grid[len(top) + k // columns, k % columns], sharex=first)
            _draw_terms(own, recording, j, model)
            own.set_title(f"{names[j]} ({units[j].effort})")
            if k == min(columns, len(joints)) - 1:
                legend_right(own)
        first.set_xlim(recording.t[0], max(recording.t[-1], recording.t[0] + 1e-9))


def _efforts(recording: Recording) -> Series | None:
    """Measured efforts, or those that were sent."""
    return recording.command if recording.effort is None else Series(recording.t, recording.effort)


def _draw_positions(axes: Any, recording: Recording, names: list[str], panel: Panel) -> None:
    draw_joints(axes, names, recording.t, recording.q, WIDE, panel.joints)
    if recording.reference_q is not None and len(names) == recording.n:
        draw_references(axes, recording.reference_q.t, recording.reference_q.values, panel.joints)
    axes.set_ylabel(f"position ({panel.units.position})")


def _draw_errors(axes: Any, recording: Recording, panel: Panel) -> None:
    error = recording.error
    assert error is not None
    least = error_span(recording.q[:, panel.joints])
    draw_joints(axes, recording.joint_names, error.t, 1e3 * error.values, joints=panel.joints, least=least)
    axes.set_ylabel(f"error ({panel.units.error})")


def _draw_efforts(axes: Any, recording: Recording, panel: Panel, robot: RigidRobot | None) -> None:
    efforts = _efforts(recording)
    assert efforts is not None
    draw_joints(axes, recording.joint_names, efforts.t, efforts.values, joints=panel.joints)
    limits = np.zeros(recording.n) if robot is None else robot.effort_limit
    for j in panel.joints:
        limit = float(limits[j])
        if 0.0 < limit <= NEAR_LIMIT * float(np.nanmax(np.abs(efforts.values[:, j]), initial=0.0)):
            for sign in (-1.0, 1.0):
                axes.axhline(sign * limit, linestyle=":", color=color_of(j), linewidth=REFERENCE)
    axes.set_ylabel(f"{'command' if recording.effort is None else 'effort'} ({panel.units.effort})")


def _draw_terms(axes: Any, recording: Recording, j: int, model: Series | None) -> None:
    """Efforts of one joint: measured, the model's, and the terms of the control law."""
    for term, color in TERMS.items():
        if term in recording.torque:
            series = recording.torque[term]
            axes.plot(*thinned(series.t, series.values[:, j]), color=color, linewidth=THIN, label=term)
    if recording.effort is not None:
        measured = thinned(recording.t, recording.effort[:, j])
        axes.plot(*measured, color=INK, linewidth=THIN, label="measured")
    if model is not None:
        said = thinned(model.t, model.values[:, j])
        axes.plot(*said, linestyle=(0, (4, 3)), color=INK, linewidth=WIDE, label="model")
    efforts = _efforts(recording)
    if efforts is not None and len(efforts.values):
        span_at_least(axes, ROUND_OFF * float(np.nanmax(np.abs(efforts.values), initial=0.0)))
