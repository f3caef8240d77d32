"""`rne faults`: named faults against the running controller, and whether its reactions were the safe ones."""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rne_dynamics.advice import rne
from rne_dynamics.cli.robot_argument import console
from rne_dynamics.errors import ArgumentError, MissingDependencyError

if TYPE_CHECKING:
    from rne_dynamics.faults.campaign import Result
    from rne_dynamics.faults.fault import Fault

EXAMPLES = """\
examples:
  rne faults                                  the whole campaign, about a minute
  rne faults --list                           what there is, and which reaction is promised
  rne faults --only process                   all faults of one kind
  rne faults --only nan-position --only frozen
  rne faults --only motor --arm panda         on another arm
  rne faults --arm all                        every fault on every arm it is meant for
  rne faults --json > faults.json
  rne faults --table docs/safety.md           the whole campaign; if all is well, write the page's table

Every fault is injected into a real controller process over real ROS 2 topics; the arm behind them is simulated.
Whatever is injected, every effort that reaches the topic must be finite, within its limit, and no further from the one
before than the effort rate allows; and none may be left standing.

exit code: 0 if every reaction was the one that is promised, 1 if not
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--only", action="append", default=[], metavar="NAME|KIND",
                        help="inject these faults only; may be given several times")
    parser.add_argument("--arm", default="", metavar="NAME|all",
                        help="two-links, small, puma560, panda, ur10, or all of each fault (default: its usual one)")
    parser.add_argument("--list", action="store_true", help="list the faults; inject none")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--workers", type=int, default=None, metavar="N",
                        help="controllers beside each other (default: 3)")
    parser.add_argument("--table", type=Path, default=None, metavar="FILE",
                        help="page whose table of faults is to be written, if the whole campaign passes")


def run(args: argparse.Namespace) -> int:
    """Run the campaign; 0 if every reaction was safe."""
    if find_spec("rclpy") is None:
        raise MissingDependencyError(
            "the campaign runs on ROS 2 and rclpy is not installed: pip install 'rne_dynamics[ros]', or source a ROS 2"
        )
    from rne_dynamics.faults import campaign, table

    if args.table is not None and args.only:
        raise ArgumentError("--table is for the whole campaign; leave --only out")
    if args.table is not None and args.arm not in ("", "all"):
        raise ArgumentError("--table is for the whole campaign; leave --arm out, or give all")
    workers = campaign.WORKERS if args.workers is None else args.workers
    if not 1 <= workers <= 16:
        raise ArgumentError(f"--workers is {workers}; it must be between 1 and 16")
    faults = campaign.chosen(args.only)
    if args.list:
        _list(faults, args.json)
        return 0
    cases = campaign.tried(faults, args.arm)
    if not cases:
        how = rne("faults --list")
        raise ArgumentError(f"no such fault is tried on the arm {args.arm!r}; `{how}` shows their arms")
    page = None if args.table is None else table.inserted(args.table.read_text(encoding="utf-8"), faults)
    began = time.monotonic()
    results = _injected(cases, workers, args.json)
    seconds = time.monotonic() - began
    if args.json:
        print(json.dumps(figures(results, seconds), indent=2))
    else:
        _print(results, seconds)
    passed = all(result.passed for result in results)
    if page is not None and passed:
        args.table.write_text(page, encoding="utf-8")
    return 0 if passed else 1


def _injected(faults: Sequence[Fault], workers: int, quiet: bool) -> tuple[Result, ...]:
    """The campaign, with a progress bar."""
    from rne_dynamics.faults import campaign

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True) if quiet else None,
    )
    before = signal.signal(signal.SIGTERM, _terminated)  # so that no controller outlives the campaign
    try:
        with bar:
            task = bar.add_task("injecting faults", total=len(faults))

            def told(result: Result) -> None:
                bar.update(task, advance=1, description=result.fault.name)
                if not result.passed:
                    bar.console.print(f"[red]{result.fault.name}[/]: {escape(result.failure)}")

            return campaign.run(faults, told, workers)
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


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
    table = Table("kind", "fault", "what is injected", "reaction", "arms")
    last = ""
    for f in faults:
        table.add_row("" if f.kind == last else f.kind, f.name, f.injected, f.reaction, ", ".join(f.arms))
        last = f.kind
    console().print(table)
    kinds = Counter(f.kind for f in faults)
    console().print(f"{len(faults)} faults: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()))


def _print(results: Sequence[Result], seconds: float) -> None:
    out = console()
    table = Table("kind", "fault", "reaction")
    for heading in ("efforts", "s"):
        table.add_column(heading, justify="right")
    table.add_column("")
    last = ""
    for r in results:
        kind, last = ("" if r.fault.kind == last else r.fault.kind), r.fault.kind
        verdict = Text("safe", "green") if r.passed else Text("NOT SAFE", "red")
        seen = Text(r.fault.reaction) if r.passed else Text(r.failure, "red")
        table.add_row(kind, r.fault.name, seen, str(r.efforts), f"{r.seconds:.1f}", verdict)
    out.print(table)
    failed = [r.fault.name for r in results if not r.passed]
    out.print(
        f"{len(results) - len(failed)} of {len(results)} faults met with the reaction that is promised; "
        f"{sum(r.efforts for r in results)} efforts judged in {seconds:.0f} s"
    )
    if failed:
        out.print(Text("NOT safe", "red").append(f": {', '.join(failed)}", "default"))
