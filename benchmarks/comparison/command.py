"""`make bench`: this package compared with Pinocchio, MuJoCo and CasADi, in alternating rounds of one process."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from comparison.measuring import measure
from comparison.page import BEGIN, END, around_figures, figures, read
from comparison.plan import Plan, installed_peers
from comparison.plots import plot
from comparison.results import Results
from comparison.robots import robots
from comparison.sections import SECTIONS
from comparison.summary import footing
from comparison.tables import tables
from rich.console import Console
from rich.text import Text

from rne_dynamics.advice import extra
from rne_dynamics.cli.answer import Rows, check_files, console, progress_bar
from rne_dynamics.cli.arguments import REPORT, argument, flag, several, whole
from rne_dynamics.cli.main import run_command
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.report import Report
from rne_dynamics.figures.style import output_file, output_folder, require_matplotlib

NAME = "python benchmarks"
ABOUT = "Compare this package with Pinocchio, MuJoCo and CasADi; in a checkout."
EXAMPLES = """\
sections (all by default):
{sections}

examples (or with make: make bench BENCH_ARGS="calls --quick"):
  python benchmarks                                a few minutes
  python benchmarks calls --robot puma560 --robot my_arm.urdf
  python benchmarks --quick --json
  python benchmarks --out results.json --page benchmarks/README.md
  python benchmarks --from results.json --plot pictures --report bench.html

Peers are pin, mujoco and casadi from PyPI; one that is not installed is left out. Measurements that need ROS or several
processes are other scripts there: reply_latency.py (control loop and an echo node), start_up.py (cold, warm, memory).

exit code: 0 if all answers agree, 1 if not (disagreeing answers are not timed) or, with --strict, if a goal is missed;
3 if no peer is installed, so that nothing was compared
""".format(sections="\n".join(f"  {name:10}{section.title}" for name, section in SECTIONS.items()))

REPEATS, QUICK_REPEATS = 40, 3
_CAPTIONS = {
    "bench_calls": "Speed of single calls from Python, relative to pin",
    "bench_scaling": "Time over the number of joints",
    "bench_batch": "Time for one state of many",
}
#: Exit code without any peer.
EXIT_NOTHING_COMPARED = 3
_STYLES = {True: "green", False: "red", None: ""}


def main(words: Sequence[str] | None = None) -> int:
    """Measure by the command line, or by `words`; returns the exit code."""
    return run_command(NAME, ABOUT, __name__, sys.argv[1:] if words is None else words)


ARGUMENTS = (
    argument("sections", nargs="*", metavar="SECTION", help=f"sections to run: {', '.join(SECTIONS)}"),
    several("--robot", "ROBOT", "name of a robot that ships, path or URI of a URDF; may be given several times "
            "(default: UR5, Panda, Baxter and Talos of the example-robot-data wheel, else arms that ship)"),
    argument("--repeats", type=whole(1, 10_000), metavar="N",
             help=f"rounds of each comparison (default: {REPEATS}, with --quick {QUICK_REPEATS})"),
    flag("--quick", "small sizes and short rounds, to test that it runs"),
    flag("--json", "print the results as JSON"),
    argument("--out", type=Path, metavar="FILE", help="write the results as JSON"),
    argument("--from", type=Path, metavar="FILE", dest="source",
             help="measure nothing; show and draw the results that --out has written"),
    argument("--plot", type=Path, metavar="DIR", help="write figures to this folder"),
    REPORT,
    argument("--page", type=Path, metavar="FILE", help=f"page whose tables between {BEGIN} and {END} are replaced"),
    flag("--strict", "exit with 1 if a goal is missed"),
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Compare and print; 0 if all agree."""
    unknown = [name for name in args.sections if name not in SECTIONS]
    if unknown:
        raise ArgumentError(f"there is no section {unknown[0]!r}; sections are {', '.join(SECTIONS)}")
    if args.out:
        output_file(args.out, (".json",), "--out")
    if args.plot:
        output_folder(args.plot, "--plot")
        require_matplotlib("--plot")
    page = around_figures(args.page.read_text(encoding="utf-8")) if args.page else ()
    repeats = args.repeats if args.repeats is not None else QUICK_REPEATS if args.quick else REPEATS
    sections = [name for name in SECTIONS if name in args.sections or not args.sections]
    check_files(args, "no_file")
    if args.source and (args.sections or args.robot or args.quick or args.repeats is not None):
        raise ArgumentError("--from measures nothing; leave out sections, --robot, --repeats and --quick")
    results = read(args.source) if args.source else _measure(args, sections, repeats)
    if args.out:
        args.out.write_text(json.dumps(results.as_json(), indent=1) + "\n", encoding="utf-8")
    if args.plot:
        args.plot.mkdir(exist_ok=True)
        plot(args.plot, results)
    if args.report:
        _write_report(args, results)
    if page:
        args.page.write_text(f"\n{figures(results)}\n".join(page), encoding="utf-8")
    if args.json:
        print(json.dumps(results.as_json(), indent=2))
    else:
        print_results(console(), results)
    if not installed_peers():
        print(
            f"{NAME}: nothing was compared, since no peer is installed; these are times of this package alone. "
            f"Peers: {extra('test')}", file=sys.stderr,
        )  # fmt: skip
        return EXIT_NOTHING_COMPARED
    return 0 if results.agrees and not (args.strict and results.missed) else 1


def _measure(args: argparse.Namespace, sections: list[str], repeats: int) -> Results:
    with progress_bar() as bar, tempfile.TemporaryDirectory(prefix="bench_") as folder:
        task = bar.add_task("robots", total=1.0)
        plan = Plan(robots(args.robot), installed_peers(), args.quick, Path(folder))
        return measure(
            plan, sections, repeats, lambda what, done: bar.update(task, description=what, completed=done)
        )


def print_results(out: Console, results: Results) -> None:
    """Print times and ratios of every section, goals, omissions, and the computer."""
    for table in tables(results):
        rows = [[Text(cell.text, _STYLES[cell.met]) for cell in row] for row in table.rows]
        Rows(table.header, rows, table.title, range(table.left)).show(out)
    for line in results.left_out:
        out.print(line)
    for disagreement in results.disagreements:
        out.print(Text(str(disagreement), "bold red"))
    for line in footing(results):
        out.print(line)


def _write_report(args: argparse.Namespace, results: Results) -> None:
    """Write the page of --report: goals, pictures, all tables."""
    page = Report("rne_dynamics compared with other dynamics libraries")
    missed = len(results.missed)
    answers = "all answers agree" if results.agrees else f"{len(results.disagreements)} answers disagree"
    goals = f"{missed or 'no'} goal{'s' * (missed != 1)} missed"
    page.verdict(results.agrees and not (args.strict and missed), f"{answers}; {goals}")
    for line in (*footing(results), *results.left_out, *map(str, results.disagreements)):
        page.text(line)
    with tempfile.TemporaryDirectory(prefix="bench_") as folder:
        for path in plot(Path(folder), results, ".svg"):
            page.picture(path, _CAPTIONS[path.stem])
    for table in sorted(tables(results), key=lambda t: t.title != "goals"):
        page.heading(table.title)
        rows = [[cell.text for cell in row] for row in table.rows]
        bad = [k for k, row in enumerate(table.rows) if any(cell.met is False for cell in row)]
        page.table(table.header, rows, left=table.left, bad=bad)
    page.circumstances(args.command_line)
    page.save(args.report)
