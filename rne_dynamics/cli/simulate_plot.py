"""The picture of a simulation: tracking and torque, or motion and energy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.advice import install
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.simulation.runs.log import Log

#: Deflections below this part of the largest are not drawn.
SEEN = 1e-3


def plot(path: Path, name: str, log: Log) -> None:
    """Write the picture; its format follows the ending of `path`.

    Raises
    ------
    MissingDependencyError
        matplotlib is not installed.
    """
    figure, save = figure_of(11.0, 9.0)
    drawn = ((_tips, bool(log.flexible_links)), (_base, log.base_position is not None))
    more = [draw for draw, wanted in drawn if wanted]
    rows = figure.subplots(3 + len(more), 1, sharex=True)
    upper, middle, lower = rows[:3]
    upper.set_title(f"{name}: {'free motion' if log.reference_q is None else 'controlled move'}, simulated")
    if log.reference_q is None:
        _free(upper, middle, lower, log)
    else:
        _tracking(upper, middle, lower, log)
    for draw, axes in zip(more, rows[3:], strict=True):
        draw(axes, log)
    rows[-1].set_xlabel("time (s)")
    for axes in rows:
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
        columns = 1 + len(log.joint_names) // 10
        if axes.lines:
            axes.legend(fontsize="small", ncols=columns, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(path)


def figure_of(width: float, height: float) -> tuple[Any, Callable[[Path], None]]:
    """A figure of that size, inches, and what writes it.

    Raises
    ------
    MissingDependencyError
        matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        how = install("matplotlib", "python3-matplotlib")
        raise MissingDependencyError(f"a plot needs matplotlib: {how}") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)

    def save(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)

    return figure, save


def _tracking(upper: Any, middle: Any, lower: Any, log: Log) -> None:
    assert log.reference_q is not None
    for j, joint in enumerate(log.joint_names):
        (line,) = upper.plot(log.time, log.q[:, j], label=joint)
        upper.plot(log.time, log.reference_q[:, j], "--", color="black", linewidth=0.7)
        middle.plot(log.time, 1e3 * log.error[:, j], color=line.get_color(), linewidth=0.9, label=joint)
        lower.plot(log.time, log.effort[:, j], color=line.get_color(), linewidth=0.9, label=joint)
    upper.plot([], [], "--", color="black", linewidth=0.7, label="reference")
    upper.set_ylabel("position (rad, m)")
    middle.set_ylabel("error (mrad, mm)")
    lower.set_ylabel("effort (N m, N)")


def _tips(axes: Any, log: Log) -> None:
    """Displacements of the tips in the directions in which they move."""
    assert log.tip is not None
    for k, link in enumerate(log.flexible_links):
        for direction, name in enumerate("xyz"):
            moved = log.tip[:, k, direction]
            if np.abs(moved).max() > SEEN * np.abs(log.tip[:, :, :3]).max():
                axes.plot(log.time, 1e3 * moved, linewidth=0.9, label=f"{link} {name}")
    axes.set_ylabel("tip deflection (mm)")


def _base(axes: Any, log: Log) -> None:
    """Where a moving base is and how it is turned: yaw, pitch and roll about z, y and x."""
    assert log.base_position is not None
    assert log.base_rotation is not None
    R = log.base_rotation
    for k, name in enumerate("xyz"):
        axes.plot(log.time, log.base_position[:, k], linewidth=0.9, label=f"base {name} (m)")
    for name, angle in (
        ("roll", np.arctan2(R[:, 2, 1], R[:, 2, 2])), ("pitch", np.arcsin(np.clip(-R[:, 2, 0], -1.0, 1.0))),
        ("yaw", np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))),
    ):  # fmt: skip
        axes.plot(log.time, angle, "--", linewidth=0.9, label=f"base {name} (rad)")
    axes.set_ylabel("base (m, rad)")


def _free(upper: Any, middle: Any, lower: Any, log: Log) -> None:
    if log.q.shape == log.qd.shape:
        for j, joint in enumerate(log.joint_names):
            upper.plot(log.time, log.q[:, j], label=joint)
        upper.set_ylabel("position (rad, m)")
    else:  # quaternions do not read as joint positions
        for k in range(log.q.shape[1]):
            upper.plot(log.time, log.q[:, k], label=f"q[{k}]")
        upper.set_ylabel("configuration")
    for j, joint in enumerate(log.joint_names):
        middle.plot(log.time, log.qd[:, j], linewidth=0.9, label=joint)
    middle.set_ylabel("velocity (rad/s, m/s)")
    lower.plot(log.time, log.kinetic, label="kinetic")
    lower.plot(log.time, log.potential - log.potential[0], label="potential, from the start")
    if log.elastic is not None:
        lower.plot(log.time, log.elastic, label="elastic part of potential")
    lower.plot(log.time, log.energy - log.energy[0], color="black", linewidth=0.9, label="total, from the start")
    lower.set_ylabel("energy (J)")
