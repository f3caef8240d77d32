"""`rne verify`: compare all formulations in random states of one robot: disagreement and times."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterable
from typing import Any

from rich.text import Text

from rne_dynamics.cli.answer import Answer, Rows, progress
from rne_dynamics.cli.arguments import MOST_SAMPLED, NO_ROTORS, ROBOT, argument, base, flag, load_robot, whole
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.verification.agreement import (
    ENERGY,
    RECURSION,
    Agreement,
    Disagreement,
    Progress,
    compare,
    compare_flexible,
    engines_of,
    flexible_seconds_per_state,
)
from rne_dynamics.verification.engines import QUANTITIES, Quantity, bare_states, seconds_per_state

EXAMPLES = """\
examples:
  rne verify puma560
  rne verify my_arm.urdf --states 1000 --seed 7
  rne verify my_humanoid.urdf --base floating --json
  rne verify pantograph                     closed loops: actuated coordinates, constraint forces, free bodies
  rne verify flexible_arm6                  flexible links: recursion, energies

exit code: 0 if every two formulations agree but for round-off (1e-9 relative, 1e-11 between O(n) recursions), 1 if not
"""


_TIMED_STATES = 20
_DRIVEN: tuple[Quantity, ...] = ("inverse", "forward")
_TITLES = {RECURSION: "recursive Lagrange, Book", ENERGY: "energies, Lagrange"}

ARGUMENTS = (
    *ROBOT, NO_ROTORS, base(),
    argument("--states", type=whole(1, 1_000_000), default=200, help="random states of each kind (default: 200)"),
    argument("--seed", type=whole(0, 2**63 - 1), default=0, help="seed of the random numbers (default: 0)"),
    flag("--bare", "gravity only: no external loads, base at rest"),
    flag("--json", "print the figures as JSON"),
)  # fmt: skip


def run(args: argparse.Namespace) -> Answer:
    """Compare; it succeeds if all agree."""
    robot = load_robot(args, MOST_SAMPLED)
    with progress() as update:
        if robot.kind == "flexible":
            return _verify_flexible(robot, args, update)
        return _verify_rigid(robot, args, update)


def _answer(args: argparse.Namespace, agreement: Agreement, own: dict[str, Any], parts: Iterable[str | Rows],
            compared: Iterable[str | Rows], kinds: str) -> Answer:  # fmt: skip
    """The answer on any robot: what is known of it, the pairs compared, remarks, and whether all agree."""
    report = own | {
        "states": args.states, "seed": args.seed, "agrees": agreement.agrees, "remarks": list(agreement.remarks),
        # JSON has no infinity
        "pairs": [{key: "inf" if value == math.inf else value for key, value in vars(d).items()} | {"agrees": d.agrees}
                  for d in agreement.disagreements],
    }  # fmt: skip
    found = [f"largest relative disagreement in {args.states} random states {kinds}, seed {args.seed}:", *compared]
    remarks, worst = [f"not compared: {remark}" for remark in agreement.remarks], agreement.worst()
    verdict = "nothing to compare"
    if worst is not None:
        verdict = (
            f"{'all agree' if agreement.agrees else 'DISAGREEMENT beyond round-off'}; nearest its bound: "
            f"{worst.quantity}, {worst.first} and {worst.second}, {worst.relative:.1e} (allowed {worst.tolerance:.0e})"
        )
    return Answer(report, [*parts, *(found if worst else ()), *remarks, verdict], code=int(not agreement.agrees))


def _verify_rigid(robot: RigidRobot, args: argparse.Namespace, progress: Progress) -> Answer:
    """Compare the formulations and measure times."""
    agreement = compare(robot, args.states, args.seed, loaded=not args.bare, progress=progress)
    engines, states = engines_of(robot), bare_states(robot, _TIMED_STATES, 0)
    costs: list[dict[str, Any]] = []
    for k, engine in enumerate(engines):
        progress(f"times: {engine.name}", k / len(engines))
        seconds = {quantity: seconds_per_state(engine, quantity, robot, states) for quantity in _DRIVEN}
        costs.append({"engine": engine.name, "title": engine.title, "document": engine.document, "seconds": seconds})
    tree = robot.open_tree
    report = {
        "robot": robot.name, "base": tree.base, "n": robot.n, "bodies": tree.bodies, "loops": len(robot.loops),
        "engines": costs,
    }  # fmt: skip
    kinds = "bare" if args.bare else "bare, and as many with external loads" + (
        " and a moving base" if tree.base == "fixed" else ""
    )
    found = {(d.first, d.second, d.quantity): d for d in agreement.disagreements}
    pairs = [(a, b, [found.get((a, b, q)) for q in QUANTITIES]) for a, b in itertools.combinations(
        (engine.name for engine in engines), 2)]  # fmt: skip
    cells: list[list[str | Text]] = [[f"{a} / {b}", *map(_cell, row)] for a, b, row in pairs if any(row)]
    loops = f", {len(robot.loops)} loop{'s' * (len(robot.loops) > 1)}" if robot.loops else ""
    rows = [
        [cost["engine"], cost["title"], cost["document"], *map(_microseconds, cost["seconds"].values())]
        for cost in costs
    ]
    headings = ("engine", "formulation", "document", *(f"{q}: µs" for q in _DRIVEN))
    title = f"{robot.name}: {robot.n} coordinates, {tree.bodies} bodies{loops}, {tree.base} base"
    parts: list[str | Rows] = [
        Rows(headings, rows, title, words=range(3)), f"µs: one state in a batch of {_TIMED_STATES}",
    ]  # fmt: skip
    return _answer(args, agreement, report, parts, [Rows(("pair", *QUANTITIES), cells)], kinds)


def _microseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e6 * seconds:.3g}"


def _cell(found: Disagreement | None) -> Text:
    return Text("") if found is None else Text(f"{found.relative:.1e}", "" if found.agrees else "bold red")


def _verify_flexible(arm: FlexibleArm, args: argparse.Namespace, progress: Progress) -> Answer:
    """Compare the derivations, and measure times."""
    agreement = compare_flexible(arm, args.states, args.seed, loaded=not args.bare, progress=progress)
    progress("times", 0.0)
    seconds = flexible_seconds_per_state(arm, _TIMED_STATES)
    report = {
        "robot": arm.name, "n": arm.n, "modes": arm.modes,
        "flexible_links": {link.link: list(link.mode_names) for link in arm.flexible_links}, "seconds": seconds,
    }  # fmt: skip
    kinds = "bare" if args.bare else "bare, and as many with external loads and a moving base"
    pairs = [
        f"  {d.quantity}: {d.first} / {d.second}: {d.relative:.1e} (allowed {d.tolerance:.0e})"
        for d in agreement.disagreements
    ]
    rows: list[list[str | Text]] = [[_TITLES.get(name, name), _microseconds(took)] for name, took in seconds.items()]
    title = f"{arm.name}: {arm.n} joints, {arm.modes} modes"
    return _answer(args, agreement, report, [Rows(("J and R", "µs"), rows, title, words=range(1))], pairs, kinds)
