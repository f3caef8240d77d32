"""Figures of `rne demo` as plain values, as a table, and as the page of --report."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from rne_dynamics.cli.demo_moves import Plan
from rne_dynamics.cli.demo_tracking import Tracking
from rne_dynamics.cli.reports import finish
from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.cli.terminal import console
from rne_dynamics.cli.verdict import Verdict
from rne_dynamics.figures.report import Report
from rne_dynamics.figures.tracking import joint_units
from rne_dynamics.model.mechanism import RigidRobot


def figures(
    robot: RigidRobot, plan: Plan, tracking: Tracking, ready: dict[str, float], simulator: dict[str, float],
    verdict: Verdict,
) -> dict[str, Any]:
    """All figures as plain values, SI units."""
    return {
        "robot": robot.name,
        "tracked": verdict.passed,
        "verdict": verdict.as_plain(),
        "joints": [
            {
                "name": name, "travel_asked": float(plan.travel[j]), "travel_made": float(np.ptp(tracking.q[:, j])),
                "rms_error": float(tracking.rms[j]), "largest_error": float(tracking.largest[j]),
                "largest_effort": float(tracking.effort[j]), "effort_limit": float(plan.effort_limit[j]),
            }
            for j, name in enumerate(robot.joint_names)
        ],
        "rate": tracking.rate,
        "reply_latency_p50": tracking.latency_p50,
        "reply_latency_p99": tracking.latency_p99,
        "replies": tracking.answered,
        "missed_replies": tracking.missed,
        "overruns": int(simulator["overruns"]),
        "received_states": tracking.received,
        "unheard_states": tracking.lost,
        "seconds_to_ready": ready,
    }


def print_figures(robot: RigidRobot, plan: Plan, tracking: Tracking) -> None:
    """Print the figures of tracking and communication."""
    out = console()
    table = Table("joint", title=f"{robot.name}: three quintic moves", title_justify="left")
    for heading in ("travel", "RMS error", "largest error", "largest effort", "limit", "used"):
        table.add_column(heading, justify="right")
    for j, (name, units) in enumerate(zip(robot.joint_names, joint_units(robot), strict=True)):
        length, force = units.position, units.effort
        used = tracking.effort[j] / plan.effort_limit[j]
        table.add_row(
            name, f"{np.ptp(tracking.q[:, j]):.3g} of {plan.travel[j]:.3g} {length}",
            f"{tracking.rms[j]:.2e} {length}", f"{tracking.largest[j]:.2e} {length}",
            f"{tracking.effort[j]:.2f} {force}", f"{plan.effort_limit[j]:.2f} {force}", f"{100.0 * used:.0f} %",
        )
    print_table(out, table)
    out.print(
        f"{tracking.rate:.1f} joint states per second; reply latency p50 {1e3 * tracking.latency_p50:.2f} ms, "
        f"p99 {1e3 * tracking.latency_p99:.2f} ms; {tracking.missed} of {tracking.answered + tracking.missed} replies "
        "missed"
    )


def write_report(
    args: argparse.Namespace, robot: RigidRobot, figures: dict[str, Any], verdict: Verdict, draw: Callable[[Path], None]
) -> None:
    """Write the page of a demo to --report; `figures` are those of --json, `draw` writes the plot."""
    page = Report(f"{robot.name}: three moves under computed torque over ROS 2")
    page.verdict(verdict.passed, verdict.text)
    page.text("Simulator and controller ran as two ROS 2 processes; a third one recorded their topics.")
    rows = []
    for row, units in zip(figures["joints"], joint_units(robot), strict=True):
        used = 100.0 * row["largest_effort"] / row["effort_limit"]
        rows.append([
            row["name"], f"{row['travel_made']:.3g} of {row['travel_asked']:.3g} {units.position}",
            f"{row['rms_error']:.2e} {units.position}", f"{row['largest_error']:.2e} {units.position}",
            f"{row['largest_effort']:.2f} {units.effort}", f"{row['effort_limit']:.2f} {units.effort}", f"{used:.0f} %",
        ])  # fmt: skip
    page.table(["joint", "travel", "RMS error", "largest error", "largest effort", "effort limit", "used"], rows)
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
