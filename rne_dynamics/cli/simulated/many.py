"""`rne simulate --samples`: one move simulated with many random variations of the arm."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.cli.answer import Answer, Picture, Verdict, progress_bar, records
from rne_dynamics.cli.arguments import Group, argument, several, whole
from rne_dynamics.cli.simulated.report import joint_table
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.style import COLORS, INK, THIN, canvas
from rne_dynamics.figures.tracking import joint_units
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.many import ManyRollouts, Outcome
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.rollouts.samples import PARTS, WIDTHS, Variation

#: Approximate number of rows that are kept for the figure.
_ROWS = 300
#: Number of failed samples that are printed.
_PRINTED = 10


ARGUMENTS = Group("many arms", (
    argument("--samples", type=whole(1, 1_000_000), metavar="N", help="simulate the move N times, varied as in --vary"),
    several("--vary", "WHAT=WIDTH", f"{', '.join(PARTS)}: of each link or joint, percent to either side (mass=5%%); "
            "start=0.02: start positions, rad or m; tilt=0.01: of the base, rad; payload=LINK:KG: a point mass from 0 "
            "to KG. All but the gains are unknown to the controller. May be given several times"),
    argument("--seed", type=whole(0, 2**63 - 1), default=0, help="seed of the random numbers (default 0)"),
    argument("--threads", type=whole(1, 1024),
             help="number of threads; does not change the results (default: all cores)"),
))  # fmt: skip


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


def simulate_many(args: argparse.Namespace, rollout: Rollout, outputs: list[Path]) -> Answer:
    """Run and save; it fails if no sample was completed."""
    varies = variation(args.vary)
    plant: ArmPlant = rollout.plant
    samples = rollout.samples(args.samples)
    robot = plant.robot
    lower, upper = np.outer((-np.inf, np.inf), np.ones(robot.n))
    if plant.stops:
        lower, upper = samples.robot.lower, samples.robot.upper
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
        plot(Path(args.plot), robot, many)
    figures, any_done = figures_of(many, args), bool(many.done.any())
    pictures: list[Picture] = [
        (partial(plot, robot=robot, many=many), "Tracking errors of all samples over time")
    ] * any_done
    failed = [f"sample {f['sample']}: {f['outcome'].replace('_', ' ')}: {f['message']}" for f in figures["failed"]]
    if len(failed) > _PRINTED:
        failed[_PRINTED:] = [f"and {len(failed) - _PRINTED} more samples that were not completed; --out has all"]
    count = f"{figures['done']} of {figures['samples']}"
    return Answer(
        figures, [joint_table(robot, figures["joints"], f"{robot.name}: {count} samples"), *failed],
        Verdict(bool(many.done.all()), f"{count} simulations were completed"),
        [f"Varied: {', '.join(figures['vary']) or 'nothing'}; seed {figures['seed']}."],
        [*outputs, args.plot if any_done else None],
        f"{robot.name}: {figures['samples']} simulations of one move, varied", pictures, code=int(not any_done),
    )  # fmt: skip


def figures_of(many: ManyRollouts, args: argparse.Namespace) -> dict[str, Any]:
    """Tracking per joint over all completed samples, as plain values; rad or m, N·m or N."""
    done, joints = many.done, []
    if done.any():
        rms = many.rms_error[done]
        joints = records(
            name=many.joint_names, rms_error_median=np.median(rms, axis=0),
            rms_error_95=np.percentile(rms, 95.0, axis=0), rms_error_worst=rms.max(axis=0),
            largest_error=many.largest_error[done].max(axis=0), largest_effort=many.largest_effort[done].max(axis=0),
            cut_samples=(many.cut[done] > 0.0).sum(axis=0),
        )  # fmt: skip
    failed = [
        {"sample": int(s), "outcome": Outcome(int(many.outcome[s])).name.lower(), "message": many.messages[s]}
        for s in np.flatnonzero(~done)
    ]
    return {
        "kind": "samples", "samples": len(done), "done": int(done.sum()), "seed": args.seed, "vary": args.vary,
        "joints": joints, "failed": failed,
    }  # fmt: skip


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
