"""`rne simulate --dae`: free motion in maximal coordinates, with the reactions of all joints (document 001, 4.6.1)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, get_args

import numpy as np

from rne_dynamics.cli.answer import Rows
from rne_dynamics.cli.arguments import argument
from rne_dynamics.cli.simulated.motion import DT, start_configuration
from rne_dynamics.dynamics.free_bodies.state import body_states
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.free_motion import Stabilization, free_motion, simulate_maximal
from rne_dynamics.simulation.runs.log import Log

#: Time that is simulated by default, s: a step takes about 2 ms.
SECONDS = 2.0


ARGUMENT = argument(
    "--dae", nargs="?", const="projection", choices=get_args(Stabilization),
    help="free motion as differential-algebraic equations: every body for itself, the reactions of the joints as "
    "unknowns, without friction and stops. How drift of the joints is corrected: projection (default), baumgarte, "
    "or none, to see it",
)  # fmt: skip


def check(args: argparse.Namespace, robot: Robot) -> None:
    """`ArgumentError` for a robot or an option that makes no sense with --dae."""
    if robot.kind != "arm":
        what = "closed loops" if robot.kind == "mechanism" else "flexible links"
        raise ArgumentError(f"--dae is for open rigid arms, and robot {robot.name!r} has {what}; leave it out")
    if not robot.n:
        raise ArgumentError(f"--dae: robot {robot.name!r} has no joint that moves")
    for name, why in (
        ("preset", "is a simulation in joint coordinates"), ("base_motion", "moves the base, which is at rest there"),
        ("method", "is for joint coordinates; its steps are Runge-Kutta's of fourth order"),
    ):  # fmt: skip
        if getattr(args, name) is not None:
            raise ArgumentError(f"--{name.replace('_', '-')} {why}; leave it out with --dae")


def simulate(args: argparse.Namespace, robot: RobotModel, progress: Callable[[float], None], seconds: float) -> Log:
    """The motion from the start at rest."""
    start = body_states(robot, start_configuration(robot, args.start), np.zeros(robot.n))
    return simulate_maximal(
        robot, start, seconds, args.dt or DT, stabilization=args.dae, progress=progress,
        baumgarte_rate=0.05 / (args.dt or DT),
    )  # fmt: skip


def figures(args: argparse.Namespace, robot: RobotModel, log: Log) -> dict[str, Any]:
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
        "reactions": [
            {"joint": name, "largest_force": float(f), "largest_moment": float(m)}
            for name, f, m in zip(log.body_names, force, moment, strict=True)
        ],
    }


def parts(found: dict[str, Any]) -> Iterator[str | Rows]:
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
