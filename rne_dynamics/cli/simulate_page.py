"""Report of `rne simulate --report`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rne_dynamics.cli.reports import finish
from rne_dynamics.cli.simulate_dae import lines as constraint_lines
from rne_dynamics.cli.simulate_plot import plot
from rne_dynamics.cli.simulate_report import COLUMNS
from rne_dynamics.cli.verdict import Verdict
from rne_dynamics.figures.report import Report
from rne_dynamics.figures.tracking import joint_units
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.runs.log import Log


def write_report(
    args: argparse.Namespace, robot: Robot, log: Log, figures: dict[str, Any], verdict: Verdict | None
) -> None:
    """Write the page of one simulation to --report; free motion has no verdict."""
    page = Report(f"{robot.name}: {'free motion' if figures['kind'] == 'free' else 'controlled move'}, simulated")
    page.text(f"{figures['seconds']:g} s simulated with {len(log.time)} control cycles.")
    if verdict is not None:
        page.verdict(verdict.passed, verdict.text)
    columns = [c for c in COLUMNS if figures["joints"] and c[0] in figures["joints"][0]]
    rows = [
        [row["name"], *(_cell(row[key], form, getattr(units, what)) for key, _, form, what in columns)]
        for row, units in zip(figures["joints"], joint_units(robot), strict=True)
    ]
    page.table(["joint", *(heading for _, heading, _, _ in columns)], rows)
    if "energy_start" in figures:
        page.text(
            f"Energy {figures['energy_start']:.6g} J at the start, {figures['energy_end']:.6g} J at the end; largest "
            f"change {figures['energy_change']:.2e} of the largest kinetic energy."
        )
    if "constraints" in figures:
        for line in constraint_lines(figures["constraints"]):
            page.text(line)
    for finding in figures.get("findings", ()):
        page.text(finding)
    page.figure(lambda path: plot(path, robot, log), "Robot and curves over time")
    finish(page, args.report, args.command_line)


def write_many(
    args: argparse.Namespace, robot: Robot, figures: dict[str, Any], draw: Callable[[Path], None]
) -> None:
    """Write the page of `rne simulate --samples` to --report; `draw` writes the plot."""
    page = Report(f"{robot.name}: {figures['samples']} simulations of one move, varied")
    whole = figures["done"] == figures["samples"]
    page.verdict(whole, f"{figures['done']} of {figures['samples']} simulations were completed")
    page.text(f"Varied: {', '.join(figures['vary']) or 'nothing'}; seed {figures['seed']}.")
    header = ["joint", "RMS error, median", "95 %", "worst", "largest error", "largest effort", "at the effort limit"]
    rows = []
    for row, units in zip(figures["joints"], joint_units(robot) if figures["joints"] else (), strict=True):
        keys = ("rms_error_median", "rms_error_95", "rms_error_worst", "largest_error")
        errors = [f"{row[key]:.2e} {units.position}" for key in keys]
        rows.append([row["name"], *errors, f"{row['largest_effort']:.4g} {units.effort}", str(row["cut_samples"])])
    page.table(header, rows)
    for failed in figures["failed"]:
        page.text(f"Sample {failed['sample']}: {failed['outcome'].replace('_', ' ')}: {failed['message']}")
    if figures["done"]:
        page.figure(draw, "Tracking errors of all samples over time")
    finish(page, args.report, args.command_line)


def _cell(value: float | None, form: str, unit: str) -> str:
    return "none" if value is None else f"{format(value, form)} {unit}"
