"""What `rne simulate` says of a run: figures of tracking, energy, base and deflections; tables; the plot."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rne_dynamics.cli.answer import Rows, records
from rne_dynamics.cli.arguments import argument
from rne_dynamics.cli.simulated.motion import DT, start_configuration
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.dynamics.free_bodies.state import body_states
from rne_dynamics.errors import ArgumentError, refuse
from rne_dynamics.figures.skeleton import draw_robot
from rne_dynamics.figures.style import WIDE
from rne_dynamics.figures.tracking import (
    Draw,
    configuration,
    curves,
    draw_stack,
    joint_rows,
    joint_units,
    panels,
    tracking_rows,
)
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import Stabilization, free_motion, simulate_maximal
from rne_dynamics.simulation.runs.log import Log

#: Time that is simulated by default, s: a step takes about 2 ms.
DAE_SECONDS = 2.0


DAE = argument(
    "--dae", nargs="?", const="projection", choices=get_args(Stabilization),
    help="free motion as differential-algebraic equations: every body for itself, the reactions of the joints as "
    "unknowns, without friction and stops. How drift of the joints is corrected: projection (default), baumgarte, "
    "or none, to see it",
)  # fmt: skip


def check_dae(args: argparse.Namespace, robot: Robot) -> None:
    """`ArgumentError` for a robot or an option that makes no sense with --dae."""
    if robot.kind != "arm":
        what = "closed loops" if robot.kind == "mechanism" else "flexible links"
        raise ArgumentError(f"--dae is for open rigid arms, and robot {robot.name!r} has {what}; leave it out")
    if not robot.n:
        raise ArgumentError(f"--dae: robot {robot.name!r} has no joint that moves")
    whys = {
        "preset": "is a simulation in joint coordinates", "base_motion": "moves the base, which is at rest there",
        "method": "is for joint coordinates; its steps are Runge-Kutta's of fourth order",
    }  # fmt: skip
    refuse(ArgumentError, *((getattr(args, name) is not None, f"--{name.replace('_', '-')} {why}; leave it out with "
                             "--dae") for name, why in whys.items()))  # fmt: skip


def simulate_dae(args: argparse.Namespace, robot: RobotModel, progress: Callable[[float], None]) -> Log:
    """The motion from the start at rest."""
    start = body_states(robot, start_configuration(robot, args.start), np.zeros(robot.n))
    return simulate_maximal(
        robot, start, args.seconds, args.dt or DT, stabilization=args.dae, progress=progress,
        baumgarte_rate=0.05 / (args.dt or DT),
    )  # fmt: skip


def dae_figures(args: argparse.Namespace, robot: RobotModel, log: Log) -> dict[str, Any]:
    """Drift of the joints, largest reactions, and the difference from the recursion in joint coordinates."""
    assert log.reactions is not None
    assert log.position_error is not None
    assert log.velocity_error is not None
    plant = ArmPlant(robot, friction=False, stops=False, limit_effort=False)
    other = free_motion(plant, log.q[0], seconds=args.seconds, dt=args.dt or DT, method="rk4")
    rows = min(len(log.time), len(other.time))
    force, moment = (np.linalg.norm(log.reactions[:, :, part], axis=2).max(axis=0) for part in (slice(3), slice(3, 6)))
    return {
        "stabilization": args.dae,
        "position_error": float(log.position_error.max()),
        "velocity_error": float(log.velocity_error.max()),
        "recursion_difference": float(np.abs(log.q[:rows] - other.q[:rows]).max()),
        "reactions": records(joint=log.body_names, largest_force=force, largest_moment=moment),
    }


def dae_parts(found: dict[str, Any]) -> Iterator[str | Rows]:
    """The reactions as a table, and what the figures say about the joints and the recursion."""
    rows = [[r["joint"], f"{r['largest_force']:.4g}", f"{r['largest_moment']:.4g}"] for r in found["reactions"]]
    yield Rows(("joint", "largest reaction force (N)", "largest reaction moment (N m)"), rows)
    yield (
        f"joints kept to {found['position_error']:.1e} (m, rad) and {found['velocity_error']:.1e} per s, "
        f"stabilization {found['stabilization']}"
    )
    yield (
        "largest difference from the O(n) recursion in joint coordinates: "
        f"{found['recursion_difference']:.1e} (m, rad)"
    )


#: Deflections below this part of the largest are not drawn.
DRAWN = 1e-3


def plot(path: Path, robot: Robot, log: Log) -> None:
    """Write the figure; raises as `canvas`."""
    units, names, time = joint_units(robot), log.joint_names, log.time
    shown = panels(units)
    if log.reference_q is None:
        columns, units_q = configuration(names, units)
        rows: list[Draw] = [
            *joint_rows("position", panels(units_q), columns, time, log.q, width=WIDE),
            *joint_rows("velocity", shown, names, time, log.qd),
        ]
    else:
        rows = [
            *tracking_rows(shown, names, time, log.q, log.reference_q),
            *joint_rows("effort", shown, names, time, log.effort),
        ]
    title = f"{robot.name}: {'free motion' if log.reference_q is None else 'controlled move'}, simulated"
    side = partial(draw_robot, robot=robot, time=time, q=log.q, q_tree=log.tree_q)
    draw_stack(path, title, (time[0], max(time[-1], time[0] + 1e-9)), [*rows, *_more_rows(log)], side=side)


def _more_rows(log: Log) -> Iterator[Draw]:
    """Rows of what a simulation has besides its joints: energy, tips, base, reactions and drift of the joints."""
    if log.reference_q is None:
        energies = {"kinetic": log.kinetic, "potential, from the start": log.potential - log.potential[0]}
        elastic = {} if log.elastic is None else {"elastic part of potential": log.elastic}
        total = {"total, from the start": log.energy - log.energy[0]}
        yield curves("energy (J)", log.time, energies | elastic | total)
    if log.flexible_links and log.tip is not None:
        moved = {
            f"{link} {name}": 1e3 * log.tip[:, k, direction]
            for k, link in enumerate(log.flexible_links) for direction, name in enumerate("xyz")
        }  # fmt: skip
        least = DRAWN * max((float(np.abs(values).max()) for values in moved.values()), default=0.0)
        drawn = {name: values for name, values in moved.items() if np.abs(values).max() > least}
        yield curves("tip deflection (mm)", log.time, drawn)
    if log.base_position is not None:
        yield curves("base (m)", log.time, {f"base {name}": log.base_position[:, k] for k, name in enumerate("xyz")})
    if (R := log.base_rotation) is not None:
        angles = {
            "base roll": np.arctan2(R[:, 2, 1], R[:, 2, 2]), "base pitch": np.arcsin(np.clip(-R[:, 2, 0], -1.0, 1.0)),
            "base yaw": np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0])),
        }  # fmt: skip
        yield curves("base (rad)", log.time, angles)
    if log.contact is not None:
        sizes = np.linalg.norm(log.contact, axis=2)
        yield curves("contact (N)", log.time, dict(zip(log.touching, sizes.T, strict=True)))
    if log.reactions is not None:
        sizes = np.linalg.norm(log.reactions[:, :, :3], axis=2)
        yield curves("reaction (N)", log.time, dict(zip(log.body_names, sizes.T, strict=True)))
    if log.position_error is not None and log.velocity_error is not None:
        drift = {"position (m, rad)": log.position_error, "velocity, per s": log.velocity_error}
        least_drawn = np.finfo(float).eps
        yield curves("joint error", log.time, {k: np.maximum(v, least_drawn) for k, v in drift.items()}, scale="log")


def tracking_figures(log: Log, plant: ArmPlant, *, ends: bool = False) -> dict[str, Any]:
    """Tracking per joint as plain values; rad or m, N·m or N; with `ends` also efforts and static efforts there."""
    robot, q, rest = plant.robot, log.q[[0, -1]], np.zeros((2, log.q.shape[1]))
    static = balance(robot, q, rest, rest).tau if robot.kind == "flexible" else gravity_torque(robot, q)
    there = {"effort_start": log.effort[0], "static_start": static[0], "effort_end": log.effort[-1],
             "static_end": static[1]} if ends else {}  # fmt: skip
    joints = records(
        name=log.joint_names, rms_error=log.rms_error, largest_error=log.largest_error, final_error=log.error[-1],
        largest_effort=log.largest_effort, effort_limit=robot.effort_limit, **there,
    )  # fmt: skip
    return {"kind": "controlled", "seconds": float(log.time[-1]), "joints": joints}


def free_figures(log: Log) -> dict[str, Any]:
    """Velocities of a free motion, and of a base at rest the energy's change over the largest kinetic energy."""
    scale = float(log.kinetic.max())
    drift = float(np.abs(log.energy - log.energy[0]).max())
    energy = {
        "energy_start": float(log.energy[0]), "energy_end": float(log.energy[-1]), "largest_kinetic_energy": scale,
        "energy_change": drift / scale if scale > 0.0 else 0.0,
    }
    return {
        "kind": "free",
        "seconds": float(log.time[-1]),
        **(energy if log.base_position is None else {}),
        "joints": records(
            name=log.joint_names, velocity_end=log.qd[-1], largest_velocity=np.abs(log.qd).max(axis=0)
        ),
    }


def base_figures(log: Log, plant: ArmPlant, known: bool | None) -> dict[str, Any]:
    """Largest tilt, rad, and acceleration, m/s², of a moving base; whether it is known to the controller, if any."""
    assert log.base_rotation is not None
    assert plant.base_motion is not None
    acceleration = np.array([np.asarray(plant.base_motion.motion(t).linear_acceleration) for t in log.time.tolist()])
    return {
        "largest_tilt": float(np.arccos(np.clip(log.base_rotation[:, 2, 2], -1.0, 1.0)).max()),
        "largest_acceleration": float(np.linalg.norm(acceleration, axis=1).max()), "known": known,
    }


def tip_figures(log: Log, after: float | None) -> list[dict[str, Any]]:
    """Largest deflection of each flexible link's tip, m, and its vibration, peak to peak, `after` the last move, s."""
    figures = []
    for k, name in enumerate(log.flexible_links):
        assert log.tip is not None
        moved = log.tip[:, k, :3]
        row = {"name": name, "largest_deflection": float(np.linalg.norm(moved, axis=1).max())}
        if after is not None:
            row["residual_vibration"] = float(np.ptp(moved[log.time >= after - 1e-9], axis=0).max())
        figures.append(row)
    return figures


def contact_figures(log: Log) -> list[dict[str, Any]]:
    """Of each touching point the largest force, N, its time and that of the first touch, s; None without any."""
    assert log.contact is not None
    sizes = np.linalg.norm(log.contact, axis=2)
    return [
        {
            "name": name, "largest_force": float(size.max()), "at": float(log.time[size.argmax()]),
            "first_touch": float(log.time[(size > 0.0).argmax()]) if size.any() else None,
            "force_end": float(size[-1]),
        }
        for name, size in zip(log.touching, sizes.T, strict=True)
    ]  # fmt: skip


#: Of each column: key in the figures, heading, number format, and the quantity whose unit it has (`Units`).
COLUMNS = (
    ("travel_made", "travel", ".3g", "position"),
    ("travel_asked", "of", ".3g", "position"),
    ("moved", "moved", "+.4f", "position"),
    ("rest", "at rest after (s)", ".2f", ""),
    ("drift", "drift then", "+.4f", "position"),
    ("rms_error", "RMS error", ".2e", "position"),
    ("largest_error", "largest error", ".2e", "position"),
    ("final_error", "final error", ".2e", "position"),
    ("largest_effort", "largest effort", ".4g", "effort"),
    ("effort_limit", "effort limit", ".4g", "effort"),
    ("used", "used", ".0%", ""),
    ("effort_start", "effort at the start", ".3f", "effort"),
    ("static_start", "static there", ".3f", "effort"),
    ("effort_end", "effort at the end", ".3f", "effort"),
    ("static_end", "static there", ".3f", "effort"),
    ("velocity_end", "velocity at the end", ".4g", "velocity"),
    ("largest_velocity", "largest velocity", ".4g", "velocity"),
)


def joint_table(robot: Robot, joints: Sequence[Mapping[str, Any]], title: str) -> Rows:
    """The figures of the joints, with the units of each joint."""
    columns = [column for column in COLUMNS if joints and column[0] in joints[0]]
    rows = [
        [row["name"], *(_cell(row[key], form, getattr(units, what, "")) for key, _, form, what in columns)]
        for row, units in zip(joints, joint_units(robot), strict=False)
    ]
    return Rows(("joint", *(heading for _, heading, _, _ in columns)), rows, title)


def _cell(value: float | None, form: str, unit: str) -> str:
    if value is None:
        return "-"
    # adding 0 removes the sign of a rounded zero
    return f"{format(round(value, 3) + 0.0 if form == '.3f' else value, form)} {unit}".rstrip()


_DEFLECTIONS = {
    "largest_deflection": "largest deflection of its tip (mm)",
    "residual_vibration": "vibration after the last move, peak to peak (mm)",
}


def parts_of(robot: Robot, figures: dict[str, Any]) -> Iterator[str | Rows]:
    """The figures of one simulation as tables and sentences."""
    yield joint_table(robot, figures["joints"], f"{robot.name}: {figures['seconds']:g} s")
    if figures.get("links"):
        _, *parts = figures["links"][0]
        deflections = [[link["name"], *(f"{1e3 * link[part]:.3g}" for part in parts)] for link in figures["links"]]
        yield Rows(("flexible link", *(_DEFLECTIONS[part] for part in parts)), deflections)
    if figures.get("contacts"):
        heads = ("touching", "largest force (N)", "at (s)", "first touch (s)", "force at the end (N)")
        yield Rows(heads, [["-" if x is None else x if isinstance(x, str) else f"{x:.4g}" for x in each.values()]
                           for each in figures["contacts"]])  # fmt: skip
    if "base" in figures:
        base = figures["base"]
        yield (
            f"base: tilt up to {base['largest_tilt']:.3g} rad, acceleration up to "
            f"{base['largest_acceleration']:.3g} m/s^2"
            + {None: "", True: ", known to the controller", False: ", not known to the controller"}[base["known"]]
        )
    if "energy_start" in figures:
        yield (
            f"energy {figures['energy_start']:.6g} J -> {figures['energy_end']:.6g} J, largest change "
            f"{figures['energy_change']:.2e} of the largest kinetic energy ({figures['largest_kinetic_energy']:.4g} J)"
        )
    if "constraints" in figures:
        yield from dae_parts(figures["constraints"])
