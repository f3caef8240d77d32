"""Figures that `rne simulate` prints: tracking or energy, motion of the base, deflection of flexible links."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.cli.terminal import console
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.figures.tracking import units_of
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

    Parameters
    ----------
    after
        End of the last move, s: the vibration from then on, peak to peak, is added; None in free motion.
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


def print_figures(robot: Robot, figures: dict[str, Any]) -> None:
    """Print figures as tables."""
    columns = [c for c in COLUMNS if c[0] in figures["joints"][0]] if figures["joints"] else []
    table = Table("joint", title=f"{robot.name}: {figures['seconds']:g} s")
    given, units = "", units_of(robot)
    for _, heading, _, what in columns:  # the unit where it changes
        table.add_column(heading if what == given else f"{heading} ({getattr(units, what)})")
        given = what
    for column in table.columns[1:]:
        column.justify = "right"
    for row in figures["joints"]:
        table.add_row(row["name"], *("-" if row[key] is None else _text(row[key], form) for key, _, form, _ in columns))
    out = console()
    print_table(out, table)
    _print_links(figures.get("links", []))
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


def _print_links(links: list[dict[str, Any]]) -> None:
    if not links:
        return
    vibration = "residual_vibration" in links[0]
    table = Table("flexible link", "largest deflection of its tip (mm)", title_justify="left")
    if vibration:
        table.add_column("vibration after the last move, peak to peak (mm)")
    for column in table.columns[1:]:
        column.justify = "right"
    for link in links:
        values = [link["largest_deflection"], *([link["residual_vibration"]] if vibration else [])]
        table.add_row(link["name"], *(f"{1e3 * value:.3g}" for value in values))
    print_table(console(), table)
