"""`rne simulate --samples`: one move simulated with many random variations of the arm."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from rne_dynamics.cli.numbers import whole
from rne_dynamics.cli.simulate_report import write_many
from rne_dynamics.cli.table_layout import print_table
from rne_dynamics.cli.terminal import console, progress_bar
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.style import COLORS, INK, THIN, canvas
from rne_dynamics.figures.tracking import joint_units, units_of
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.many import ManyRollouts, Outcome
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.rollouts.variation import PARTS, WIDTHS, Variation

#: Approximate number of rows that are kept for the figure.
_ROWS = 300
#: Number of failed samples that are printed.
_PRINTED = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    many = parser.add_argument_group("many arms")
    many.add_argument("--samples", type=whole(1, 1_000_000), metavar="N",
                      help="simulate the move N times, varied as in --vary")
    many.add_argument(
        "--vary", action="append", default=[], metavar="WHAT=WIDTH",
        help=f"{', '.join(PARTS)}: of each link or joint, percent to either side (mass=5%%); start=0.02: start "
        "positions, rad or m; tilt=0.01: of the base, rad; payload=LINK:KG: a point mass from 0 to KG. All but the "
        "gains are unknown to the controller. May be given several times",
    )  # fmt: skip
    many.add_argument("--seed", type=whole(0, 2**63 - 1), default=0, help="seed of the random numbers (default 0)")
    many.add_argument("--threads", type=whole(1, 1024),
                      help="number of threads; does not change the results (default: all cores)")


def variation(texts: list[str]) -> Variation:
    """The variation of --vary; `ArgumentError` if it is invalid."""
    found: dict[str, Any] = {}
    for text in texts:
        what, _, width = text.partition("=")
        wrong = ArgumentError(
            f"--vary is {text!r}; write one of {', '.join(PARTS)} as WHAT=PERCENT% (mass=5%), {' or '.join(WIDTHS)} as "
            "WHAT=WIDTH (start=0.02), or payload=LINK:KG"
        )
        try:
            if what in found:
                raise ArgumentError(f"--vary {what} is given twice")
            if what == "payload":
                link, _, mass = width.rpartition(":")
                found[what] = (link, float(mass))
            elif what in PARTS and width.endswith("%"):
                found[what] = 0.01 * float(width[:-1])
            elif what in WIDTHS:
                found[what] = float(width)
            else:
                raise wrong
        except ValueError:
            raise wrong from None
    return Variation(**found)


def simulate_many(args: argparse.Namespace, rollout: Rollout, outputs: list[Path]) -> int:
    """Run, save and print; the exit code is 1 if no sample was completed."""
    varies = variation(args.vary)
    plant: ArmPlant = rollout.plant
    samples = rollout.samples(args.samples)
    robot = samples.robot
    lower, upper = (robot.lower, robot.upper) if plant.stops else (np.full(robot.n, -np.inf), np.full(robot.n, np.inf))
    samples = varies.drawn(samples, args.seed, lower, upper, plant.positions)
    kept = args.plot or args.report or any(p.suffix == ".npz" for p in outputs)
    keep = max(1, rollout.clock.cycles // _ROWS) if kept else 0
    with progress_bar(quiet=args.json or not sys.stderr.isatty()) as bar:
        task = bar.add_task("samples", total=args.samples)
        many = rollout.run_many(
            samples, threads=args.threads, keep_every=keep, progress=lambda over: bar.update(task, completed=over)
        )
    for path in outputs:
        (many.save_csv if path.suffix == ".csv" else many.save_npz)(path)
    if args.plot and many.done.any():
        plot(Path(args.plot), rollout.plant.robot, many)
    figures = figures_of(many, args)
    if args.report:
        write_many(args, rollout.plant.robot, figures, partial(plot, robot=rollout.plant.robot, many=many))
    if args.json:
        print(json.dumps(figures, indent=2))
    else:
        _print(rollout.plant.robot, figures)
        for path in (*outputs, *filter(None, (args.plot if many.done.any() else None, args.report))):
            console().print(f"wrote {path}")
    return 0 if many.done.any() else 1


def figures_of(many: ManyRollouts, args: argparse.Namespace) -> dict[str, Any]:
    """Tracking per joint over all completed samples, as plain values; rad or m, N·m or N."""
    done = many.done
    joints = []
    for j, joint in enumerate(many.joint_names) if done.any() else ():
        rms = many.rms_error[done, j]
        joints.append(
            {
                "name": joint,
                "rms_error_median": float(np.median(rms)),
                "rms_error_95": float(np.percentile(rms, 95.0)),
                "rms_error_worst": float(rms.max()),
                "largest_error": float(many.largest_error[done, j].max()),
                "largest_effort": float(many.largest_effort[done, j].max()),
                "cut_samples": int((many.cut[done, j] > 0.0).sum()),
            }
        )
    failed = [
        {"sample": int(s), "outcome": Outcome(int(many.outcome[s])).name.lower(), "message": many.messages[s]}
        for s in np.flatnonzero(~done)
    ]
    return {
        "kind": "samples", "samples": len(done), "done": int(done.sum()), "seed": args.seed, "vary": args.vary,
        "joints": joints, "failed": failed,
    }  # fmt: skip


def _print(robot: Robot, figures: dict[str, Any]) -> None:
    out, units = console(), units_of(robot)
    table = Table(
        "joint", f"RMS error: median ({units.position})", "95 %", "worst", "largest error",
        f"largest effort ({units.effort})", "samples at the effort limit",
        title=f"{robot.name}: {figures['done']} of {figures['samples']} samples",
    )  # fmt: skip
    for column in table.columns[1:]:
        column.justify = "right"
    for row in figures["joints"]:
        errors = (row[k] for k in ("rms_error_median", "rms_error_95", "rms_error_worst", "largest_error"))
        table.add_row(
            row["name"], *(f"{x:.2e}" for x in errors), f"{row['largest_effort']:.4g}", str(row["cut_samples"])
        )
    print_table(out, table)
    failed = figures["failed"]
    for row in failed[:_PRINTED]:
        out.print(f"sample {row['sample']}: {row['outcome'].replace('_', ' ')}: {row['message']}")
    if len(failed) > _PRINTED:
        out.print(f"and {len(failed) - _PRINTED} more samples that were not completed; --out has all")


def plot(path: Path, robot: Robot, many: ManyRollouts) -> None:
    """Write a figure with bands of tracking errors for every joint: all samples, 90 % of them, and the median."""
    n = len(many.joint_names)
    columns = 1 if n == 1 else 2
    units = joint_units(robot)
    with canvas(path, 11.0, 1.2 + 1.9 * -(-n // columns)) as figure:
        axes = np.atleast_1d(figure.subplots(-(-n // columns), columns, sharex=True, squeeze=False)).ravel()
        error = 1e3 * (many.reference_q - many.kept_q[many.done])
        for j, joint in enumerate(many.joint_names):
            low, five, half, ninety_five, high = np.percentile(error[:, :, j], [0.0, 5.0, 50.0, 95.0, 100.0], axis=0)
            for lower, upper, alpha, label in ((low, high, 0.2, "all"), (five, ninety_five, 0.4, "5 to 95 %")):
                axes[j].fill_between(many.time, lower, upper, color=COLORS[0], alpha=alpha, linewidth=0.0, label=label)
            axes[j].plot(many.time, half, color=INK, linewidth=THIN, label="median")
            axes[j].set_title(f"{joint}: error ({units[j].error})", fontsize="small")
            axes[j].margins(x=0.0)
        for empty in axes[n:]:
            empty.set_axis_off()
        for last in axes[max(n - columns, 0) : n]:
            last.set_xlabel("time (s)")
            last.tick_params(labelbottom=True)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize="small")
        figure.suptitle(f"{robot.name}: tracking error of {int(many.done.sum())} samples", x=0.01, ha="left")
