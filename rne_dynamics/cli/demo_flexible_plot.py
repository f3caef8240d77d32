"""The demo's picture of an arm with flexible links: its joints, how its links bend, and the way of its tip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.advice import install
from rne_dynamics.cli.demo_flexible import Programme
from rne_dynamics.cli.demo_tracking import Tracking
from rne_dynamics.cli.demo_vibration import Vibration
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


def plot_flexible(
    path: Path, arm: FlexibleArm, programmes: Sequence[Programme], trackings: Sequence[Tracking],
    seen: Sequence[Vibration],
) -> None:
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
    figure = Figure(figsize=(14.0, 10.0), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(3, 5, height_ratios=[1.0, 0.8, 1.2])
    joints, errors = figure.add_subplot(grid[0, :3]), figure.add_subplot(grid[1, :3])
    bends, ways = figure.add_subplot(grid[2, :3]), figure.add_subplot(grid[:2, 3:])
    bars = figure.add_subplot(grid[2, 3:])

    tracking = trackings[0]
    for j, name in enumerate(arm.joint_names):
        (line,) = joints.plot(tracking.time, tracking.q[:, j], label=name, linewidth=1.6)
        joints.plot(tracking.time, tracking.reference[:, j], "--", color="black", linewidth=0.7)
        errors.plot(tracking.time, 1e3 * tracking.error[:, j], color=line.get_color(), linewidth=0.8)
    joints.plot([], [], "--", color="black", linewidth=0.7, label="reference")
    joints.set(title=f"{arm.name}: joints as encoders see them, {programmes[0].name} moves", ylabel="position (rad, m)")
    joints.legend(ncols=4, fontsize="small")
    errors.set(ylabel="error (mrad, mm)")

    across = _plane(seen[0].planned)
    (planned,) = [seen[0].planned - seen[0].planned.mean(axis=0)]
    ways.plot(*(1e3 * planned @ across.T).T, color="black", linewidth=2.2, label="rigid plan", zorder=1)
    for k, (programme, vibration) in enumerate(zip(programmes, seen, strict=True)):
        style: dict[str, Any] = {"linewidth": 1.0, "color": f"C{k}", "label": programme.name, "zorder": 10 - k}
        bends.plot(vibration.time, 1e3 * vibration.bent, **style)
        for end in vibration.ends:
            bends.axvline(end, color=f"C{k}", linewidth=0.5, linestyle=":")
        ways.plot(*(1e3 * (vibration.tip - seen[0].planned.mean(axis=0)) @ across.T).T, **style)
    bends.set(
        title="tip, away from where rigid links would have it (dotted: a move ends)", ylabel="mm", xlabel="time (s)"
    )
    bends.legend(fontsize="small", loc="upper right")
    ways.set(title="way of the tip, in the plane of most of it", xlabel="mm", ylabel="mm")
    ways.set_aspect("equal", adjustable="datalim")
    ways.legend(fontsize="small", loc="upper right")

    moves = np.arange(len(seen[0].residual))
    width = 0.8 / len(seen)
    for k, (programme, vibration) in enumerate(zip(programmes, seen, strict=True)):
        place = moves + (k - 0.5 * (len(seen) - 1)) * width
        drawn = bars.bar(place, 1e3 * np.array(vibration.residual), width, color=f"C{k}", label=programme.name)
        bars.bar_label(drawn, fmt="%.3g", fontsize="x-small")
    bars.set(title="tip vibration after the end of a move, peak to peak", ylabel="mm", yscale="log")
    bars.margins(y=0.2)
    bars.set_xticks(moves, [f"move {k + 1}" for k in moves])
    bars.legend(fontsize="small", ncols=len(seen))
    for axes in (joints, errors, bends):
        axes.margins(x=0.0)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _plane(points: Array) -> Array:
    """Two directions, (2, 3), that span the plane in which points, (samples, 3), lie best."""
    directions = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:2]
    largest = directions[np.arange(2), np.argmax(np.abs(directions), axis=1)]
    upright: Array = directions * np.sign(largest)[:, None]  # the base's axes point right and up, not left and down
    return upright
