"""`make faults`: inject faults into a running controller and check its reactions."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faults import campaign, table
from faults.campaign import Result
from faults.fault import Fault
from rich.markup import escape
from rich.text import Text

from rne_dynamics.cli.answer import Rows, console, ended_by_sigterm, progress_bar
from rne_dynamics.cli.arguments import argument, flag, several, whole
from rne_dynamics.cli.main import run_command
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.style import output_file

NAME = "python test/faults"
ABOUT = "Inject faults into a running controller and check its efforts; in a checkout."
EXAMPLES = """\
examples (or with make: make faults FAULTS_ARGS="--only process"):
  python test/faults                          the whole campaign, about a minute
  python test/faults --list                   all faults and the documented reactions
  python test/faults --only process           all faults of one kind
  python test/faults --only nan-position --only frozen
  python test/faults --only motor --arm panda
  python test/faults --foreign                on arms that are not the controller's model
  python test/faults --arm all                every fault on all of its arms
  python test/faults --law joint_impedance    under another law
  python test/faults --json > faults.json
  python test/faults --table test/faults/README.md   the whole campaign; write the table if all pass

Every fault is injected into a real controller process over real ROS 2 topics; the arm behind them is simulated.
In all cases every effort on the topic must be finite, within its limit, and within the effort rate of the previous one,
and none may remain on the topic after the controller has ended.

exit code: 0 if all reactions are as documented, 1 if not
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the campaign of the command line, or of `words`; returns the exit code."""
    return run_command(NAME, ABOUT, __name__, sys.argv[1:] if words is None else words)


ARGUMENTS = (
    several("--only", "NAME|KIND", "inject these faults only; may be given several times"),
    argument("--arm", default="", metavar="NAME|all",
             help="two-links, small, puma560, panda, ur10, or all (default: the first arm of each fault)"),
    flag("--foreign", "on arms that are not the model: other masses and friction, elastic gears, late efforts"),
    argument("--law", default="", metavar="NAME|all",
             help="the controllers that follow references have this law, or each in turn"),
    flag("--list", "list the faults and exit"),
    flag("--json", "print the results as JSON"),
    argument("--workers", type=whole(1, 16), metavar="N", help="number of controllers in parallel (default: 3)"),
    argument("--table", type=Path, metavar="FILE",
             help="page whose table of faults is updated if the whole campaign passes"),
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the campaign; 0 if every reaction was safe."""
    if args.table is not None and args.only:
        raise ArgumentError("--table is for the whole campaign; leave --only out")
    if args.table is not None and args.arm not in ("", "all"):
        raise ArgumentError("--table is for the whole campaign; leave --arm out, or give all")
    if args.table is not None:
        output_file(args.table, (), "--table")
    workers = campaign.WORKERS if args.workers is None else args.workers
    faults = campaign.chosen(args.only)
    if args.list:
        _list(faults, args.json)
        return 0
    cases = campaign.tried(faults, args.arm, args.law)
    if not cases:
        raise ArgumentError(f"none of these faults runs on the arm {args.arm!r}; --list shows the arms")
    page = None if args.table is None else table.inserted(args.table.read_text(encoding="utf-8"), faults)
    began = time.monotonic()
    results = _injected(cases, workers, args.foreign)
    seconds = time.monotonic() - began
    if args.json:
        print(json.dumps(figures(results, seconds), indent=2))
    else:
        _print(results, seconds)
    passed = all(result.passed for result in results)
    if page is not None and passed:
        args.table.write_text(page, encoding="utf-8")
    return 0 if passed else 1


def _injected(faults: Sequence[Fault], workers: int, foreign: bool) -> tuple[Result, ...]:
    """Run the campaign with a progress bar."""
    with ended_by_sigterm(), progress_bar(counted=True) as bar:
        task = bar.add_task("injecting faults", total=len(faults))

        def show(result: Result) -> None:
            bar.update(task, advance=1, description=result.fault.name)
            if not result.passed:
                bar.console.print(f"[red]{result.fault.name}[/]: {escape(result.failure)}")

        return campaign.run(faults, show, workers, foreign=foreign)


def figures(results: Sequence[Result], seconds: float) -> dict[str, Any]:
    """All results as plain values."""
    return {
        "passed": sum(r.passed for r in results),
        "failed": sum(not r.passed for r in results),
        "efforts": sum(r.efforts for r in results),
        "seconds": round(seconds, 3),
        "faults": [
            {
                "name": r.fault.name, "kind": r.fault.kind, "injected": r.fault.injected, "reaction": r.fault.reaction,
                "passed": r.passed, "seen": r.failure, "efforts": r.efforts, "seconds": round(r.seconds, 3),
            }
            for r in results
        ],
    }


def _list(faults: Sequence[Fault], as_json: bool) -> None:
    if as_json:
        rows = [
            {"name": f.name, "kind": f.kind, "injected": f.injected, "reaction": f.reaction, "arms": f.arms,
             "controllers": f.nodes}
            for f in faults
        ]
        print(json.dumps(rows, indent=2))
        return
    cells = [[f.kind, f.name, f.injected, f.reaction, ", ".join(f.arms)] for f in faults]
    Rows(("kind", "fault", "what is injected", "reaction", "arms"), cells, words=range(5)).show(console())
    kinds = Counter(f.kind for f in faults)
    console().print(f"{len(faults)} faults: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()))


def _print(results: Sequence[Result], seconds: float) -> None:
    out = console()
    rows: list[list[str | Text]] = []
    for r in results:
        verdict = Text("safe", "green") if r.passed else Text("NOT SAFE", "red")
        seen = Text(r.fault.reaction) if r.passed else Text(r.failure, "red")
        rows.append([r.fault.kind, r.fault.name, seen, str(r.efforts), f"{r.seconds:.1f}", verdict])
    Rows(("kind", "fault", "reaction", "efforts", "s", ""), rows, words=(0, 1, 2, 5)).show(out)
    failed = [r.fault.name for r in results if not r.passed]
    out.print(_summary(results, seconds))
    if failed:
        out.print(Text("NOT safe", "red").append(f": {', '.join(failed)}", "default"))


def _summary(results: Sequence[Result], seconds: float) -> str:
    return (
        f"{sum(r.passed for r in results)} of {len(results)} faults caused the documented reaction; "
        f"{sum(r.efforts for r in results)} efforts checked in {seconds:.0f} s"
    )
