"""The part of `rne verify` for open arms and mechanisms of rigid links."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from rne_dynamics.cli.table_layout import print_rows
from rne_dynamics.cli.terminal import Answer
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.style import INK, canvas, color_of, legend_below
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.verification.agreement import Agreement, Disagreement, Progress, compare, engines_of
from rne_dynamics.verification.counting import Driven, count_closed, count_operations, published
from rne_dynamics.verification.engines import ENGINES, QUANTITIES, Engine
from rne_dynamics.verification.operations import Operations
from rne_dynamics.verification.scaling import MECHANISMS, SIZES, Sample, sweep
from rne_dynamics.verification.states import bare_states
from rne_dynamics.verification.timing import seconds_per_state

#: Operations are counted by running the kernels as plain Python; for more bodies, engines of O(n³) take too long.
_COUNTED_BODIES = 120
_TIMED_STATES = 20
_DRIVEN: tuple[Driven, ...] = ("inverse", "forward")
#: Numbers of joints at the axis of the figure.
_TICKS = (2, 5, 10, 20, 50, 100, 200)
#: Headings of `operation_cells` behind that of the multiplications.
COSTS = ("add", "other", "µs")


def verify(robot: RigidRobot, args: argparse.Namespace, progress: Progress) -> Answer:
    """Compare the formulations, count operations and measure times."""
    if args.plot and robot.loops:
        raise ArgumentError("--plot shows open arms over their joints; benchmarks/closed_loops.py --plot has loops")
    agreement = compare(robot, args.states, args.seed, loaded=not args.bare, progress=progress)
    engines = engines_of(robot)
    costs = []
    for k, engine in enumerate(engines):
        progress(f"operations and times: {engine.name}", k / len(engines))
        costs.append(_cost(robot, engine))
    samples = _sweep(progress) if args.plot else []
    if args.plot:
        plot(args.plot, samples)
    report = _report(robot, args, agreement, costs, samples)
    return Answer(report, lambda out: _show(out, args, agreement, report), int(not agreement.agrees))


def _sweep(progress: Progress) -> list[Sample]:
    samples = []
    for sample in sweep():
        samples.append(sample)
        progress(f"{sample.mechanism} of {sample.n}", SIZES.index(sample.n) / len(SIZES))
    return samples


def _cost(robot: RigidRobot, engine: Engine[Any]) -> dict[str, Any]:
    """Operations and seconds of one engine for one state, inverse and forward."""
    rows = bare_states(robot, _TIMED_STATES, 0)
    cost: dict[str, Any] = {"engine": engine.name, "title": engine.title, "document": engine.document}
    for quantity in _DRIVEN:
        operations = None
        if engine.linear or robot.open_tree.bodies <= _COUNTED_BODIES:
            count: Any = count_closed if robot.loops else count_operations
            operations = count(engine.name, quantity, robot)
        cost[quantity] = {
            "operations": None if operations is None else vars(operations),
            "seconds": seconds_per_state(engine, quantity, robot, rows),
        }
    return cost


def _report(
    robot: RigidRobot,
    args: argparse.Namespace,
    agreement: Agreement,
    costs: list[dict[str, Any]],
    samples: list[Sample],
) -> dict[str, Any]:
    tree, closed = robot.open_tree, bool(robot.loops)
    paper = None if closed else {"engine": "nasser", "quantity": "forward", **vars(published(tree.bodies))}
    return {
        "robot": robot.name,
        "base": tree.base,
        "n": robot.n,
        "bodies": tree.bodies,
        "loops": len(robot.loops),
        "states": args.states,
        "seed": args.seed,
        "agrees": agreement.agrees,
        "pairs": [
            # infinity as a string, since JSON has none
            {key: "inf" if value == math.inf else value for key, value in vars(d).items()} | {"agrees": d.agrees}
            for d in agreement.disagreements
        ],
        "remarks": list(agreement.remarks),
        "engines": costs,
        "published": paper,
        "scaling": [vars(sample) for sample in samples],
    }


def _show(out: Console, args: argparse.Namespace, agreement: Agreement, report: dict[str, Any]) -> None:
    kinds = "bare" if args.bare else "bare, and as many with external loads" + (
        " and a moving base" if report["base"] == "fixed" else ""
    )
    loops = f", {report['loops']} loop{'s' * (report['loops'] > 1)}" if report["loops"] else ""
    title = f"{report['robot']}: {report['n']} coordinates, {report['bodies']} bodies{loops}, {report['base']} base"
    costs = report["engines"]
    rows: list[list[str | Text]] = [
        [c["engine"], c["title"], c["document"], *(x for q in _DRIVEN for x in operation_cells(**c[q]))] for c in costs
    ]
    headings = ["engine", "formulation", "document", *(x for q in _DRIVEN for x in (f"{q}: mul", *COSTS))]
    print_rows(out, headings, rows, title=title, words=range(3))
    if report["published"] is not None:
        paper, n = report["published"], report["bodies"]
        out.print(
            f"document 000 gives 258 n - 119 = {paper['multiplications']} multiplications and 191 n - 83 = "
            f"{paper['additions']} additions for nasser, n = {n}"
        )
    out.print(f"µs: one state in a batch of {_TIMED_STATES}")
    out.print(f"largest relative disagreement in {args.states} random states {kinds}, seed {args.seed}:")
    found = {(d.first, d.second, d.quantity): d for d in agreement.disagreements}
    pairs = itertools.combinations([cost["engine"] for cost in costs], 2)
    compared = [(pair, [found.get((*pair, quantity)) for quantity in QUANTITIES]) for pair in pairs]
    rows = [[f"{a} / {b}", *map(_cell, row)] for (a, b), row in compared if any(row)]
    print_rows(out, ["pair", *QUANTITIES], rows)
    for remark in agreement.remarks:
        out.print(f"not compared: {remark}")
    worst = agreement.worst()
    if worst is None:
        out.print("nothing to compare")
        return
    verdict = "all agree" if agreement.agrees else "DISAGREEMENT beyond round-off"
    out.print(
        f"{verdict}; nearest its bound: {worst.quantity}, {worst.first} and {worst.second}, {worst.relative:.1e} "
        f"(allowed {worst.tolerance:.0e})"
    )


def _cell(found: Disagreement | None) -> Text:
    return Text("") if found is None else Text(f"{found.relative:.1e}", "" if found.agrees else "bold red")


def operation_cells(operations: Mapping[str, int] | None, seconds: float | None) -> list[str]:
    """Table cells: multiplications, additions, all other operations, and the time in µs."""
    time = "" if seconds is None else f"{1e6 * seconds:.3g}"
    if operations is None:
        return ["", "", "", time]
    counted = Operations(**operations)
    others = counted.divisions + counted.functions
    return [str(counted.multiplications), str(counted.additions), str(others), time]


def plot(path: Path, samples: Sequence[Sample]) -> None:
    """Write a figure of operations and times over the number of joints; raises as `canvas`."""
    with canvas(path, 12.0, 9.0) as figure:
        grid = figure.subplots(2, 2, sharex=True, sharey="row")
        for column, (mechanism, _) in enumerate(MECHANISMS):
            counts, times = grid[0][column], grid[1][column]
            for k, engine in enumerate(ENGINES):
                for quantity, style in (("inverse", "--"), ("forward", "-")):
                    chosen = [
                        s for s in samples
                        if (s.engine, s.quantity, s.mechanism) == (engine.name, quantity, mechanism)
                    ]  # fmt: skip
                    if not chosen:
                        continue
                    label = f"{engine.name}, {quantity}"
                    line = {"color": color_of(k), "linestyle": style, "marker": ".", "label": label}
                    n = [s.n for s in chosen]
                    counts.loglog(n, [s.operations for s in chosen], **line)
                    times.loglog(n, [1e6 * s.seconds for s in chosen], **line)
            if mechanism == "chain":
                n = sorted({s.n for s in samples})
                quoted = [published(k).total for k in n]
                counts.loglog(n, quoted, ":", color=INK, label="nasser in document 000: 449 n - 202")
            counts.set_title(f"{mechanism} of revolute joints")
            times.set_xlabel("joints n")
            times.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
            times.minorticks_off()
        grid[0][0].set_ylabel("operations for one state")
        grid[1][0].set_ylabel("time for one state (µs)")
        legend_below(figure, grid[0][0], 4)
