"""Figures of `rne demo` for flexible links: deflection, and vibration of the tip after each move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rne_dynamics.cli.demo_flexible import PLAIN, Programme, vibrations
from rne_dynamics.cli.demo_tracking import Tracking
from rne_dynamics.cli.demo_vibration import Vibration
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.model.flexible.arm import FlexibleArm


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
    out.print(table)
    lowest = min(f[0] for f in figures["frequencies"])
    out.print(
        f"slowest vibration {lowest:.2f} Hz with the joints held; the controller uses the rigid model, with a "
        f"bandwidth of {figures['bandwidth']:.1f} rad/s"
    )
