"""The demo's picture: positions against reference, errors, torque terms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rne_dynamics.advice import install
from rne_dynamics.cli.demo_tracking import Tracking
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.model.mechanism import Machine

if TYPE_CHECKING:
    from rne_dynamics.ros.session_recorder import Recording


def plot(path: Path, robot: Machine, tracking: Tracking, recording: Recording) -> None:
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
        how = install("matplotlib", "python3-matplotlib")
        raise MissingDependencyError(f"a plot needs matplotlib: {how}") from None
    columns = 3 if robot.n > 2 else robot.n
    rows = -(-robot.n // columns)
    figure = Figure(figsize=(13.0, 6.0 + 2.4 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2 + rows, columns, height_ratios=[1.6, 1.0, *[1.0] * rows])
    upper, middle = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
    for j, name in enumerate(robot.joint_names):
        (line,) = upper.plot(tracking.time, tracking.q[:, j], label=name, linewidth=1.6)
        upper.plot(tracking.time, tracking.reference[:, j], "--", color="black", linewidth=0.7)
        middle.plot(tracking.time, 1e3 * tracking.error[:, j], color=line.get_color(), linewidth=0.8)
    upper.plot([], [], "--", color="black", linewidth=0.7, label="reference")
    upper.set(title=f"{robot.name}: computed torque over ROS 2 at {tracking.rate:.0f} Hz", ylabel="position (rad, m)")
    upper.legend(ncols=min(robot.n + 1, 8), fontsize="small", loc="upper right")
    middle.set(ylabel="error (mrad, mm)", xlabel="time (s)")
    for j, name in enumerate(robot.joint_names):
        axes = figure.add_subplot(grid[2 + j // columns, j % columns])
        for term, (stamps, values) in recording.terms.items():
            time = (stamps - recording.begins[0]) * 1e-9
            shown = (time >= 0.0) & (time <= tracking.time[-1])
            axes.plot(time[shown], values[shown, j], label=term, linewidth=1.0)
        axes.set_title(f"{name}: torque terms (N m, N)", fontsize="small")
        if j == 0:
            axes.legend(fontsize="x-small", ncols=2)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
