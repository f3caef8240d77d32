"""`rne check`: what in a description would mislead a controller, each with its line and mend."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from rne_dynamics.cli.robot_argument import add_robot, console, robot_source
from rne_dynamics.description.findings import Report, Severity
from rne_dynamics.description.lint import lint

EXAMPLES = """\
examples:
  rne check puma560
  rne check my_arm.urdf
  rne check package://my_arm_description/urdf/arm.urdf.xacro --arg tool:=gripper
  ros2 param get --hide-type /robot_state_publisher robot_description | rne check -

exit code: 0 without errors, 1 with errors (with --strict also with warnings). Lines of a .xacro file are those of the
URDF it expands to.
"""

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings as well")


def run(args: argparse.Namespace) -> int:
    """Check the robot, print the findings, and return the exit code."""
    report = lint(robot_source(args))
    if args.json:
        print(json.dumps(as_json(report), indent=2))
    else:
        _print(report)
    failed = not report.ok or (args.strict and bool(report.of(Severity.WARNING)))
    return 1 if failed else 0


def as_json(report: Report) -> dict[str, object]:
    """The report as plain values: file, ok, how many of each severity, findings."""
    return {
        "file": report.file,
        "ok": report.ok,
        "counts": {severity.value: len(report.of(severity)) for severity in Severity},
        "findings": [{**asdict(f), "severity": f.severity.value} for f in report.findings],
    }


def _print(report: Report) -> None:
    out = console()
    if report.findings:
        table = Table("line", "severity", "element", "what", "mend", header_style="bold")
        for f in report.findings:
            line = str(f.line) if f.line else ""
            table.add_row(line, Text(f.severity.value, _STYLE[f.severity]), f.element, f.message, f.mend)
        out.print(table)
    counts = [f"{len(report.of(s))} {s.value}{'s' * (len(report.of(s)) != 1)}" for s in Severity if report.of(s)]
    print(f"{report.file}: {', '.join(counts) or 'nothing to mend'}")
