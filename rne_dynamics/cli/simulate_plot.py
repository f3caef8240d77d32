"""Figure of `rne simulate`: tracking and effort, or motion and energy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.figures import THIN, canvas, draw_tracking
from rne_dynamics.simulation.runs.log import Log

#: Deflections below this part of the largest are not drawn.
DRAWN = 1e-3


def plot(path: Path, name: str, log: Log) -> None:
    """Write the figure; raises as `canvas`."""
    choices = ((_draw_tips, bool(log.flexible_links)), (_draw_base, log.base_position is not None))
    more = [draw for draw, wanted in choices if wanted]
    with canvas(path, 11.0, 9.0) as figure:
        rows = figure.subplots(3 + len(more), 1, sharex=True)
        rows[0].set_title(f"{name}: {'free motion' if log.reference_q is None else 'controlled move'}, simulated")
        if log.reference_q is None:
            _draw_free(rows[0], rows[1], rows[2], log)
        else:
            draw_tracking(rows[0], rows[1], log.joint_names, log.time, log.q, log.reference_q)
            for j, joint in enumerate(log.joint_names):
                rows[2].plot(log.time, log.effort[:, j], linewidth=THIN, label=joint)
            rows[2].set_ylabel("effort (N m, N)")
        for draw, axes in zip(more, rows[3:], strict=True):
            draw(axes, log)
        rows[-1].set_xlabel("time (s)")
        for axes in rows:
            axes.margins(x=0.0)
            if axes.lines:
                columns = 1 + len(log.joint_names) // 10
                axes.legend(fontsize="small", ncols=columns, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_tips(axes: Any, log: Log) -> None:
    """Draw tip displacements, without directions in which a tip hardly moves."""
    assert log.tip is not None
    for k, link in enumerate(log.flexible_links):
        for direction, name in enumerate("xyz"):
            moved = log.tip[:, k, direction]
            if np.abs(moved).max() > DRAWN * np.abs(log.tip[:, :, :3]).max():
                axes.plot(log.time, 1e3 * moved, linewidth=THIN, label=f"{link} {name}")
    axes.set_ylabel("tip deflection (mm)")


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


def _draw_free(upper: Any, middle: Any, lower: Any, log: Log) -> None:
    if log.q.shape == log.qd.shape:
        for j, joint in enumerate(log.joint_names):
            upper.plot(log.time, log.q[:, j], label=joint)
        upper.set_ylabel("position (rad, m)")
    else:  # with quaternions
        for k in range(log.q.shape[1]):
            upper.plot(log.time, log.q[:, k], label=f"q[{k}]")
        upper.set_ylabel("configuration")
    for j, joint in enumerate(log.joint_names):
        middle.plot(log.time, log.qd[:, j], linewidth=THIN, label=joint)
    middle.set_ylabel("velocity (rad/s, m/s)")
    lower.plot(log.time, log.kinetic, label="kinetic")
    lower.plot(log.time, log.potential - log.potential[0], label="potential, from the start")
    if log.elastic is not None:
        lower.plot(log.time, log.elastic, label="elastic part of potential")
    lower.plot(log.time, log.energy - log.energy[0], color="black", linewidth=THIN, label="total, from the start")
    lower.set_ylabel("energy (J)")
