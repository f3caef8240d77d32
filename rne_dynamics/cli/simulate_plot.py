"""The picture of a simulation: tracking and torque, or motion and energy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.simulation.log import Log


def plot(path: Path, name: str, log: Log) -> None:
    """Write the picture; its format follows the ending of `path`.

    Raises
    ------
    MissingDependencyError
        matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("a plot needs matplotlib: pip install 'rne_dynamics[plot]'") from None
    figure = Figure(figsize=(11.0, 9.0), layout="constrained")
    FigureCanvasAgg(figure)
    upper, middle, lower = figure.subplots(3, 1, sharex=True)
    upper.set_title(f"{name}: {'free motion' if log.reference_q is None else 'controlled move'}, simulated")
    if log.reference_q is None:
        _free(upper, middle, lower, log)
    else:
        _tracking(upper, middle, lower, log)
    lower.set_xlabel("time (s)")
    for axes in (upper, middle, lower):
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
        columns = 1 + len(log.joint_names) // 10
        axes.legend(fontsize="small", ncols=columns, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


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
    lower.plot(log.time, log.energy - log.energy[0], color="black", linewidth=0.9, label="total, from the start")
    lower.set_ylabel("energy (J)")
