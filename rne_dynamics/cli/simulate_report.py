"""What `rne simulate` says of a run: tracking or energy, motion of the base, deflections; tables and pages."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from rne_dynamics.cli import simulate_dae
from rne_dynamics.cli.reports import finish
from rne_dynamics.cli.simulate_plot import plot
from rne_dynamics.cli.table_layout import print_rows
from rne_dynamics.cli.verdict import Verdict
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.figures.report import Report
from rne_dynamics.figures.tracking import joint_units, units_of
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.log import Log


def tracking_figures(log: Log, plant: ArmPlant, *, ends: bool = False) -> dict[str, Any]:
    """Tracking per joint as plain values; rad or m, N·m or N.

    With `ends` also the efforts at the start and end of a single move, and the static efforts there.
    """
    robot, q = plant.robot, log.q[[0, -1]]
    if robot.kind == "flexible":
        static = balance(robot, q, np.zeros_like(q), np.zeros_like(q)).tau
    else:
        static = gravity_torque(robot, q)
    return {
        "kind": "controlled",
        "seconds": float(log.time[-1]),
        "joints": [
            {
                "name": name,
                "rms_error": float(log.rms_error[j]),
                "largest_error": float(log.largest_error[j]),
                "final_error": float(log.error[-1, j]),
                "largest_effort": float(log.largest_effort[j]),
                "effort_limit": float(robot.effort_limit[j]) if np.isfinite(robot.effort_limit[j]) else None,
                **(
                    {
                        "effort_start": float(log.effort[0, j]),
                        "static_start": float(static[0, j]),
                        "effort_end": float(log.effort[-1, j]),
                        "static_end": float(static[1, j]),
                    }
                    if ends
                    else {}
                ),
            }
            for j, name in enumerate(log.joint_names)
        ],
    }


def free_figures(log: Log) -> dict[str, Any]:
    """Energy and final velocities of a free motion; the energy change is relative to the largest kinetic energy.

    A moving base does work, so that energy is not conserved and not reported.
    """
    scale = float(log.kinetic.max())
    drift = float(np.abs(log.energy - log.energy[0]).max())
    energy = {
        "energy_start": float(log.energy[0]),
        "energy_end": float(log.energy[-1]),
        "largest_kinetic_energy": scale,
        "energy_change": drift / scale if scale > 0.0 else 0.0,
    }
    return {
        "kind": "free",
        "seconds": float(log.time[-1]),
        **(energy if log.base_position is None else {}),
        "joints": [
            {"name": name, "velocity_end": float(log.qd[-1, j]), "largest_velocity": float(np.abs(log.qd[:, j]).max())}
            for j, name in enumerate(log.joint_names)
        ],
    }


def base_figures(log: Log, plant: ArmPlant, known: bool | None) -> dict[str, Any]:
    """Largest tilt, rad, and acceleration, m/s², of a moving base; whether it is known to the controller, if any."""
    assert log.base_rotation is not None
    assert plant.base_motion is not None
    acceleration = np.array([np.asarray(plant.base_motion.motion(t).linear_acceleration) for t in log.time.tolist()])
    return {
        "largest_tilt": float(np.arccos(np.clip(log.base_rotation[:, 2, 2], -1.0, 1.0)).max()),
        "largest_acceleration": float(np.linalg.norm(acceleration, axis=1).max()),
        "known": known,
    }


def tip_figures(log: Log, after: float | None) -> list[dict[str, Any]]:
    """Largest deflection of the tip of every flexible link, m.

    `after` is the end of the last move, s: the vibration from then on, peak to peak, is added; None in free motion.
    """
    figures = []
    for k, name in enumerate(log.flexible_links):
        assert log.tip is not None
        moved = log.tip[:, k, :3]
        row = {"name": name, "largest_deflection": float(np.linalg.norm(moved, axis=1).max())}
        if after is not None:
            row["residual_vibration"] = float(np.ptp(moved[log.time >= after - 1e-9], axis=0).max())
        figures.append(row)
    return figures


#: Of each column: key in the figures, heading, number format, and the quantity whose unit it has (`Units`).
COLUMNS = (
    ("rms_error", "RMS error", ".2e", "position"),
    ("largest_error", "largest error", ".2e", "position"),
    ("final_error", "final error", ".2e", "position"),
    ("largest_effort", "largest effort", ".4g", "effort"),
    ("effort_limit", "effort limit", ".4g", "effort"),
    ("effort_start", "effort at the start", ".3f", "effort"),
    ("static_start", "static there", ".3f", "effort"),
    ("effort_end", "effort at the end", ".3f", "effort"),
    ("static_end", "static there", ".3f", "effort"),
    ("velocity_end", "velocity at the end", ".4g", "velocity"),
    ("largest_velocity", "largest velocity", ".4g", "velocity"),
)


def _text(value: float, form: str) -> str:
    # adding 0 removes the sign of a rounded zero
    return format(round(value, 3) + 0.0 if form == ".3f" else value, form)


def print_figures(out: Console, robot: Robot, figures: dict[str, Any]) -> None:
    """Print figures as tables."""
    joints = figures["joints"]
    columns, given, units = _columns(joints), "", units_of(robot)
    headings = ["joint"]
    for _, heading, _, what in columns:  # the unit where it changes
        headings.append(heading if what == given else f"{heading} ({getattr(units, what)})")
        given = what
    rows = [
        [row["name"], *("-" if row[key] is None else _text(row[key], form) for key, _, form, _ in columns)]
        for row in joints
    ]
    print_rows(out, headings, rows, title=f"{robot.name}: {figures['seconds']:g} s")
    if figures.get("links"):
        _, *parts = figures["links"][0]
        deflections = [[link["name"], *(f"{1e3 * link[part]:.3g}" for part in parts)] for link in figures["links"]]
        print_rows(out, ["flexible link", *(_DEFLECTIONS[part] for part in parts)], deflections)
    if "base" in figures:
        base = figures["base"]
        out.print(
            f"base: tilt up to {base['largest_tilt']:.3g} rad, acceleration up to "
            f"{base['largest_acceleration']:.3g} m/s^2"
            + {None: "", True: ", known to the controller", False: ", not known to the controller"}[base["known"]]
        )
    if "energy_start" in figures:
        out.print(
            f"energy {figures['energy_start']:.6g} J -> {figures['energy_end']:.6g} J, largest change "
            f"{figures['energy_change']:.2e} of the largest kinetic energy ({figures['largest_kinetic_energy']:.4g} J)"
        )
    if "constraints" in figures:
        simulate_dae.show(out, figures["constraints"])


_DEFLECTIONS = {
    "largest_deflection": "largest deflection of its tip (mm)",
    "residual_vibration": "vibration after the last move, peak to peak (mm)",
}


def _columns(joints: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Those of `COLUMNS` that the figures of the joints have."""
    return [column for column in COLUMNS if joints and column[0] in joints[0]]


def write_report(
    args: argparse.Namespace, robot: Robot, log: Log, figures: dict[str, Any], verdict: Verdict | None
) -> None:
    """Write the page of one simulation to --report; free motion has no verdict."""
    page = Report(f"{robot.name}: {'free motion' if figures['kind'] == 'free' else 'controlled move'}, simulated")
    page.text(f"{figures['seconds']:g} s simulated with {len(log.time)} control cycles.")
    if verdict is not None:
        page.verdict(verdict.passed, verdict.text)
    columns = _columns(figures["joints"])
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
        for line in simulate_dae.lines(figures["constraints"]):
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
