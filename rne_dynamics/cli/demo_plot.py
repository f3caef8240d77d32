"""Figure of `rne demo`: positions and references, tracking errors, torque terms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rne_dynamics.cli.demo_tracking import Tracking
from rne_dynamics.cli.figures import canvas, draw_tracking
from rne_dynamics.model.mechanism import RigidRobot

if TYPE_CHECKING:
    from rne_dynamics.ros.session_recorder import Recording


def plot(path: Path, robot: RigidRobot, tracking: Tracking, recording: Recording) -> None:
    """Write the figure; raises as `canvas`."""
    columns = min(robot.n, 3)
    rows = -(-robot.n // columns)
    with canvas(path, 13.0, 6.0 + 2.4 * rows) as figure:
        grid = figure.add_gridspec(2 + rows, columns, height_ratios=[1.6, 1.0, *[1.0] * rows])
        positions, errors = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :])
        draw_tracking(positions, errors, robot.joint_names, tracking.time, tracking.q, tracking.reference)
        positions.set_title(f"{robot.name}: computed torque over ROS 2 at {tracking.rate:.0f} Hz")
        positions.legend(ncols=min(robot.n + 1, 8), fontsize="small", loc="upper right")
        errors.set_xlabel("time (s)")
        for j, name in enumerate(robot.joint_names):
            axes = figure.add_subplot(grid[2 + j // columns, j % columns])
            for term, (stamps, values) in recording.terms.items():
                time = (stamps - recording.begins[0]) * 1e-9
                shown = (time >= 0.0) & (time <= tracking.time[-1])
                axes.plot(time[shown], values[shown, j], label=term, linewidth=1.0)
            axes.set_title(f"{name}: torque terms (N m, N)", fontsize="small")
            axes.margins(x=0.0)
            if j == 0:
                axes.legend(fontsize="x-small", ncols=2)
