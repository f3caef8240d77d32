"""Report of `rne demo --report`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rne_dynamics.cli.reports import finish
from rne_dynamics.figures.report import Report
from rne_dynamics.figures.tracking import joint_units
from rne_dynamics.model.mechanism import RigidRobot


def write_report(
    args: argparse.Namespace, robot: RigidRobot, figures: dict[str, Any], verdict: str, draw: Callable[[Path], None]
) -> None:
    """Write the page of a demo to --report; `figures` are those of --json, `draw` writes the plot."""
    page = Report(f"{robot.name}: three moves under computed torque over ROS 2")
    page.verdict(figures["tracked"], verdict)
    page.text("Simulator and controller ran as two ROS 2 processes; a third one recorded their topics.")
    rows = []
    for row, units in zip(figures["joints"], joint_units(robot), strict=True):
        used = 100.0 * row["largest_effort"] / row["effort_limit"]
        rows.append([
            row["name"], f"{row['rms_error']:.2e} {units.position}", f"{row['largest_error']:.2e} {units.position}",
            f"{row['largest_effort']:.2f} {units.effort}", f"{row['effort_limit']:.2f} {units.effort}", f"{used:.0f} %",
        ])  # fmt: skip
    page.table(["joint", "RMS error", "largest error", "largest effort", "effort limit", "used"], rows)
    page.heading("Communication")
    page.facts([
        ("joint states per second", f"{figures['rate']:.1f}"),
        ("reply latency, median", f"{1e3 * figures['reply_latency_p50']:.2f} ms"),
        ("reply latency, 99 %", f"{1e3 * figures['reply_latency_p99']:.2f} ms"),
        ("missed replies", f"{figures['missed_replies']} of {figures['replies'] + figures['missed_replies']}"),
        ("overruns of the simulator", str(figures["overruns"])),
    ])  # fmt: skip
    if "flexible" in figures:
        _add_flexible(page, figures["flexible"])
    page.heading("Robot and curves over time")
    page.figure(draw, "Robot, positions with references, errors, and what the efforts consist of")
    if args.movie:
        page.picture(args.movie, "The motion")
    finish(page, args.report, args.command_line)


def _add_flexible(page: Report, figures: dict[str, Any]) -> None:
    page.heading("Vibration of the tip, peak to peak after the end of each move")
    plans = figures["plans"]
    moves = [f"after move {k + 1}" for k in range(len(plans[0]["residual"]))]
    rows = [
        [p["name"], f"{p['seconds_a_move']:.2f} s", *(f"{1e3 * r:.2f} mm" for r in p["residual"])] for p in plans
    ]  # fmt: skip
    page.table(["plan", "time of a move", *moves], rows)
