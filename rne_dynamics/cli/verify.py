"""`rne verify`: all formulations on random states of one robot or mechanism: how far apart, operations, times."""

from __future__ import annotations

import argparse
import itertools
import json
import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rne_dynamics.cli.robot_argument import add_no_rotors, add_robot, console, robot_source, xacro_arguments
from rne_dynamics.cli.verify_flexible import run_flexible
from rne_dynamics.cli.verify_plot import plot
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.sources import is_model_file
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.mechanism import Machine, Mechanism, open_tree
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.agreement import Agreement, Disagreement, compare, engines_of
from rne_dynamics.verification.closed_counting import count_closed
from rne_dynamics.verification.counting import Driven, count_operations, published
from rne_dynamics.verification.engines import QUANTITIES, Engine
from rne_dynamics.verification.operations import Operations
from rne_dynamics.verification.scaling import SIZES, Sample, sweep
from rne_dynamics.verification.states import bare_states
from rne_dynamics.verification.timing import seconds_per_state

EXAMPLES = """\
examples:
  rne verify puma560
  rne verify my_arm.urdf --states 1000 --seed 7
  rne verify my_humanoid.urdf --base floating --json
  rne verify panda --plot verify.png        also: operations and times for 2 to 200 joints
  rne verify pantograph                     closed loops: actuated coordinates, constraint forces, free bodies
  rne verify flexible_arm6                  flexible links: recursion, energies, chains of rigid segments

exit code: 0 if every two formulations agree but for round-off (1e-9 relative, 1e-11 between O(n) recursions), 1 if not
"""

#: Operations are counted by running the kernels as plain Python: beyond so many bodies O(n³) engines take too long.
_COUNTED_BODIES = 120
_TIMED_STATES = 20
_DRIVEN: tuple[Driven, ...] = ("inverse", "forward")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_no_rotors(parser)
    parser.add_argument("--base", choices=("fixed", "floating"), default="fixed", help="what the root link stands on")
    parser.add_argument("--states", type=int, default=200, help="random states of each kind (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="where the random numbers start (default: 0)")
    parser.add_argument("--bare", action="store_true", help="gravity alone: no external loads, base at rest")
    parser.add_argument("--plot", type=Path, default=None, metavar="PNG",
                        help="count and time generated chains and trees of 2 to 200 joints too and plot them: minutes")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Compare, print, and return 0 where all agree."""
    if not 1 <= args.states <= 1_000_000:
        raise ArgumentError(f"--states is {args.states}; it must be between 1 and 1000000")
    if args.seed < 0:
        raise ArgumentError(f"--seed is {args.seed}; it must not be negative")
    source = robot_source(args)
    robot: Machine
    if is_model_file(source):
        machine = load_model(source, mappings=xacro_arguments(args), rotors=not args.no_rotors)
        if args.base != "fixed" and not isinstance(machine, RobotModel):
            raise ArgumentError("--base floating is for a URDF or table of an open arm; this robot stands on its base")
        if isinstance(machine, FlexibleArm):
            return run_flexible(machine, args)
        if args.plot and isinstance(machine, Mechanism):
            raise ArgumentError("--plot shows open arms over their joints; benchmarks/closed_loops.py --plot has loops")
        robot = machine
        if isinstance(robot, RobotModel):
            robot = assemble(robot.tree, base=args.base, gravity=robot.gravity)
    else:
        robot = load_urdf(source, base=args.base, rotors=not args.no_rotors)
    bar = Progress(
        TextColumn("{task.description:32}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=1.0)
        agreement = compare(
            robot, args.states, args.seed, loaded=not args.bare,
            progress=lambda what, done: bar.update(task, description=what, completed=done),
        )  # fmt: skip
        costs = [_cost(robot, engine) for engine in bar.track(engines_of(robot), description="operations and times")]
        samples = _sweep(bar) if args.plot else []
    if args.plot:
        plot(args.plot, samples)
    if args.json:
        print(json.dumps(_report(robot, args, agreement, costs, samples), indent=2))
    else:
        _print(robot, args, agreement, costs)
    return 0 if agreement.agrees else 1


def _sweep(bar: Progress) -> list[Sample]:
    task = bar.add_task("", total=len(SIZES))
    samples = []
    for sample in sweep():
        samples.append(sample)
        bar.update(task, description=f"{sample.mechanism} of {sample.n}", completed=SIZES.index(sample.n))
    return samples


def _cost(robot: Machine, engine: Engine[Any]) -> dict[str, Any]:
    """Operations and seconds of one engine for one state, inverse and forward."""
    rows = bare_states(robot, _TIMED_STATES, 0)
    cost: dict[str, Any] = {"engine": engine.name, "title": engine.title, "document": engine.document}
    for quantity in _DRIVEN:
        operations = None
        if engine.linear or open_tree(robot).bodies <= _COUNTED_BODIES:
            count: Any = count_closed if isinstance(robot, Mechanism) else count_operations
            operations = count(engine.name, quantity, robot)
        cost[quantity] = {
            "operations": None if operations is None else vars(operations),
            "seconds": seconds_per_state(engine, quantity, robot, rows),
        }
    return cost


def _report(
    robot: Machine,
    args: argparse.Namespace,
    agreement: Agreement,
    costs: list[dict[str, Any]],
    samples: list[Sample],
) -> dict[str, Any]:
    tree, closed = open_tree(robot), isinstance(robot, Mechanism)
    paper = None if closed else {"engine": "nasser", "quantity": "forward", **vars(published(tree.bodies))}
    return {
        "robot": robot.name,
        "base": tree.base,
        "n": robot.n,
        "bodies": tree.bodies,
        "loops": len(robot.loops) if isinstance(robot, Mechanism) else 0,
        "states": args.states,
        "seed": args.seed,
        "agrees": agreement.agrees,
        "pairs": [
            {key: _finite(value) for key, value in vars(d).items()} | {"agrees": d.agrees}
            for d in agreement.disagreements
        ],
        "remarks": list(agreement.remarks),
        "engines": costs,
        "published": paper,
        "scaling": [vars(sample) for sample in samples],
    }


def _finite(value: object) -> object:
    """JSON has no infinity; a string says it."""
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def _print(robot: Machine, args: argparse.Namespace, agreement: Agreement, costs: list[dict[str, Any]]) -> None:
    out = console()
    kinds = "bare" if args.bare else "bare, and as many with external loads" + (
        " and a moving base" if open_tree(robot).base == "fixed" else ""
    )
    out.print(_engine_table(robot, costs))
    if not isinstance(robot, Mechanism):
        paper = published(robot.bodies)
        out.print(
            f"document 000 gives 258 n - 119 = {paper.multiplications} multiplications and 191 n - 83 = "
            f"{paper.additions} additions for nasser, n = {robot.bodies}"
        )
    out.print(f"µs: one state in a batch of {_TIMED_STATES}")
    out.print(f"largest relative disagreement in {args.states} random states {kinds}, seed {args.seed}:")
    out.print(_pair_table(robot, agreement))
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


def _engine_table(robot: Machine, costs: list[dict[str, Any]]) -> Table:
    tree, loops = open_tree(robot), ""
    if isinstance(robot, Mechanism):
        loops = f", {len(robot.loops)} loop{'s' * (len(robot.loops) > 1)}"
    title = f"{robot.name}: {robot.n} coordinates, {tree.bodies} bodies{loops}, {tree.base} base"
    table = Table(title=title, header_style="bold")
    for column in ("engine", "formulation", "document"):
        table.add_column(column)
    for quantity in _DRIVEN:
        for column in (f"{quantity}: mul", "add", "other", "µs"):
            table.add_column(column, justify="right")
    for cost in costs:
        cells: list[str] = []
        for quantity in _DRIVEN:
            operations, seconds = cost[quantity]["operations"], cost[quantity]["seconds"]
            cells += _operation_cells(operations)
            cells.append("" if seconds is None else f"{1e6 * seconds:.3g}")
        table.add_row(cost["engine"], cost["title"], cost["document"], *cells)
    return table


def _operation_cells(operations: dict[str, int] | None) -> list[str]:
    if operations is None:
        return ["", "", ""]
    counted = Operations(**operations)
    return [str(counted.multiplications), str(counted.additions), str(counted.divisions + counted.functions)]


def _pair_table(robot: Machine, agreement: Agreement) -> Table:
    table = Table("pair", header_style="bold")
    for quantity in QUANTITIES:
        table.add_column(quantity, justify="right")
    found = {(d.first, d.second, d.quantity): d for d in agreement.disagreements}
    for a, b in itertools.combinations((engine.name for engine in engines_of(robot)), 2):
        row = [found.get((a, b, quantity)) for quantity in QUANTITIES]
        if any(row):
            table.add_row(f"{a} / {b}", *(_cell(d) for d in row))
    return table


def _cell(found: Disagreement | None) -> Text:
    if found is None:
        return Text("")
    return Text(f"{found.relative:.1e}", "" if found.agrees else "bold red")
