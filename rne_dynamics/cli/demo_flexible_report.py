"""Figures, table and plot of `rne demo` for flexible links: deflection, and vibration of the tip after each move."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rne_dynamics.cli.demo_flexible import PLAIN, Programme, vibrations
from rne_dynamics.cli.demo_tracking import Tracking
from rne_dynamics.cli.demo_vibration import Vibration
from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.figures.style import INK, canvas, color_of, legend_below, legend_right
from rne_dynamics.figures.tracking import draw_tracking, joint_units, panels
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


def flexible_figures(
    arm: FlexibleArm, moves: Sequence[Quintic], bandwidth: float, programmes: Sequence[Programme],
    trackings: Sequence[Tracking], seen: Sequence[Vibration],
) -> dict[str, Any]:
    """The figures as plain values, SI units; `moves` as planned, other arguments one per programme."""
    return {
        "bandwidth": bandwidth,
        "frequencies": [(vibrations(arm, m.end, 2)[0] / (2.0 * np.pi)).tolist() for m in moves],
        "plans": [
            {
                "name": p.name, "seconds_a_move": p.seconds, "largest_bend": v.largest_bend,
                "residual": list(v.residual), "largest_rms_error": float(t.rms.max()),
                "missed_replies": t.missed,
            }
            for p, t, v in zip(programmes, trackings, seen, strict=True)
        ],
    }


def print_flexible(out: Console, figures: dict[str, Any]) -> None:
    """Print a table, one row per programme."""
    plans = figures["plans"]
    moves = len(plans[0]["residual"])
    table = Table("plan", title="tip vibration, peak to peak after the end of each move", title_justify="left")
    for heading in ("time a move", "largest bend", *(f"after move {k + 1}" for k in range(moves)), "RMS error"):
        table.add_column(heading, justify="right")
    plain = next((max(p["residual"]) for p in plans if p["name"] == PLAIN), 0.0)
    if len(plans) > 1:
        table.add_column("of plain", justify="right")
    for p in plans:
        share = [f"{100.0 * max(p['residual']) / plain:.1f} %"] if len(plans) > 1 and plain else []
        table.add_row(
            p["name"], f"{p['seconds_a_move']:.2f} s", f"{100.0 * p['largest_bend']:.1f} %",
            *(f"{1e3 * r:.2f} mm" for r in p["residual"]), f"{p['largest_rms_error']:.1e}", *share,
        )
    print_table(out, table)
    lowest = min(f[0] for f in figures["frequencies"])
    out.print(
        f"slowest vibration {lowest:.2f} Hz with the joints held; the controller uses the rigid model, with a "
        f"bandwidth of {figures['bandwidth']:.1f} rad/s"
    )


def plot_flexible(
    path: Path, arm: FlexibleArm, programmes: Sequence[Programme], trackings: Sequence[Tracking],
    seen: Sequence[Vibration],
) -> None:
    """Write a figure of joints, tip deflection, tip path and vibration after the moves; raises as `canvas`."""
    with canvas(path, 14.0, 10.0) as figure:
        grid = figure.add_gridspec(3, 5, height_ratios=[1.0, 0.8, 1.2])
        shown = panels(joint_units(arm))
        joints, errors = (
            [figure.add_subplot(part) for part in grid[row, :3].subgridspec(len(shown), 1)] for row in (0, 1)
        )
        bends, paths = figure.add_subplot(grid[2, :3]), figure.add_subplot(grid[:2, 3:])
        dots = figure.add_subplot(grid[2, 3:])

        tracking = trackings[0]
        pairs = list(zip(joints, errors, strict=True))
        draw_tracking(pairs, shown, arm.joint_names, tracking.time, tracking.q, tracking.reference)
        joints[0].set_title(f"{arm.name}: joint encoders, {programmes[0].name} moves")
        for axes in joints:
            legend_right(axes)

        across, centre = _plane(seen[0].planned), seen[0].planned.mean(axis=0)
        planned = 1e3 * (seen[0].planned - centre) @ across.T
        paths.plot(*planned.T, color=INK, linewidth=2.2, label="rigid plan", zorder=1)
        for k, (programme, vibration) in enumerate(zip(programmes, seen, strict=True)):
            style: dict[str, Any] = {"linewidth": 1.0, "color": color_of(k), "label": programme.name, "zorder": 10 - k}
            bends.plot(vibration.time, 1e3 * vibration.bent, **style)
            for end in vibration.ends:
                bends.axvline(end, color=color_of(k), linewidth=0.5, linestyle=":")
            paths.plot(*(1e3 * (vibration.tip - centre) @ across.T).T, **style)
        bends.set(title="tip deflection from the rigid arm (dotted: end of a move)", ylabel="mm", xlabel="time (s)")
        bends.margins(x=0.0)
        paths.set(title="tip path in its main plane", xlabel="mm", ylabel="mm")
        paths.set_aspect("equal", adjustable="datalim")

        moves = np.arange(len(seen[0].residual))
        spread = 0.5 / max(len(seen), 2)
        for k, (programme, vibration) in enumerate(zip(programmes, seen, strict=True)):
            place, residual = moves + (k - 0.5 * (len(seen) - 1)) * spread, 1e3 * np.array(vibration.residual)
            dots.plot(place, residual, "o", color=color_of(k), label=programme.name)
            for x, y in zip(place, residual, strict=True):
                dots.annotate(f"{y:.3g}", (x, y), xytext=(0, 6), textcoords="offset points", ha="center",
                              fontsize="x-small")  # fmt: skip
        dots.set(title="tip vibration after the end of a move, peak to peak", ylabel="mm", yscale="log")
        dots.margins(x=0.1, y=0.2)
        dots.set_xticks(moves, [f"move {k + 1}" for k in moves])
        legend_below(figure, paths, len(seen) + 1)


def _plane(points: Array) -> Array:
    """Two directions, (2, 3), that span the best-fit plane of points, (samples, 3)."""
    directions = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:2]
    largest = directions[np.arange(2), np.argmax(np.abs(directions), axis=1)]
    upright: Array = directions * np.sign(largest)[:, None]  # so that the base's axes point right and up
    return upright
