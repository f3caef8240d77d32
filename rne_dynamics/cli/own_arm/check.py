"""`rne check`: faults of a description that would mislead a controller, with lines and fixes.

For a model file, its URDF is checked too, and its loops or flexible links.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

from rich.text import Text

from rne_dynamics.cli.answer import Answer, Rows
from rne_dynamics.cli.arguments import ROBOT, flag, robot_source, xacro_arguments
from rne_dynamics.cli.own_arm.check_inertia import lint_dynamics, lint_sizes
from rne_dynamics.cli.own_arm.check_parts import lint_flexible, lint_mechanism, without_passive_efforts
from rne_dynamics.description.lint.description import Examination, examine
from rne_dynamics.description.lint.findings import Finding, Report, Severity, note
from rne_dynamics.description.markup import Element
from rne_dynamics.description.model_file import examine_model, urdf_source
from rne_dynamics.description.sources import Source, is_model_file
from rne_dynamics.model.assembly import assemble

EXAMPLES = """\
examples:
  rne check puma560
  rne check my_arm.urdf
  rne check pantograph                                the model file, its URDF, and their mechanism
  rne check package://my_arm_description/urdf/arm.urdf.xacro --arg tool:=gripper
  rne check my_arm.urdf --lenient                     repairable faults as warnings
  ros2 param get --hide-type /robot_state_publisher robot_description | rne check -

exit code: 0 without errors, 1 with errors (with --strict also with warnings). Lines of a .xacro file are those of the
URDF it expands to.
"""

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}

_WORST = tuple(_STYLE)
#: Most findings in the table, the worst first if there are more: thousands take seconds to lay out.
_SHOWN = 200


ARGUMENTS = (*ROBOT, flag("--json", "print the findings as JSON"), flag("--strict", "exit with 1 on warnings as well"))


def run(args: argparse.Namespace) -> Answer:
    """The findings on the robot."""
    source = robot_source(args)
    reports, freedoms = (
        check_model(source, xacro_arguments(args)) if is_model_file(source) else ([check_urdf(source)], None)
    )
    figures = as_json(reports[0])
    if is_model_file(source):
        figures["ok"] = all(report.ok for report in reports)
        figures["urdf"] = as_json(reports[1]) if len(reports) > 1 else None
        figures["mechanism"] = freedoms
    failed = any(not report.ok or (args.strict and bool(report.of(Severity.WARNING))) for report in reports)
    parts = [part for report in reversed(reports) for part in _shown(report)]  # the model file last
    if freedoms is not None:
        parts.append(
            f"degrees of freedom: {freedoms['freedoms']} (by Grübler's count {freedoms['gruebler']}), "
            f"{freedoms['actuated']} actuated and {freedoms['passive']} passive joints, {freedoms['constraints']} "
            f"blocked directions, {freedoms['redundant']} of them redundant; distance to a singular posture "
            f"{freedoms['distance_to_singular']:.3g}"
        )
    return Answer(figures, parts, code=int(failed))


def check_urdf(source: Source) -> Report:
    """The report on a URDF, with findings on its dynamics and of urdf_parser_py."""
    examination = examine(source)
    report = examination.report
    if examination.tree is None or examination.outline is None:
        return report
    refused = refusal_of_urdf_parser_py(source, examination.outline.element)
    found = lint_dynamics(assemble(examination.tree), examination.outline)
    return _with(_with_sizes(examination, source), [*found, *([] if refused is None else [refused])])


def check_model(source: Source, mappings: dict[str, str]) -> tuple[list[Report], dict[str, Any] | None]:
    """Reports on a model file and, if it can be read, on its URDF; freedoms of a mechanism whose loops close."""
    examination = examine_model(source, mappings)
    report, urdf, freedoms = examination.report, examination.urdf, None
    if urdf is None:
        return [report], None
    about_urdf = _with_sizes(urdf, urdf_source(source))
    if examination.mechanism is not None:
        found, freedoms = lint_mechanism(examination.mechanism, examination.values)
        report = _with(report, found)
        about_urdf = without_passive_efforts(about_urdf, examination.mechanism)
    elif examination.tree is not None and urdf.outline is not None:
        robot = assemble(examination.tree, gravity=examination.gravity)
        about_urdf = _with(about_urdf, lint_dynamics(robot, urdf.outline))
    if examination.arm is not None:
        found = lint_flexible(examination.arm, examination.flexible)
        report = _with(report, found)
    return [report, about_urdf], freedoms


def _with_sizes(examination: Examination, source: Source) -> Report:
    """The report on a URDF, with findings on sizes of links that the description's own checks have not reported."""
    report = examination.report
    known = {finding.element for finding in report.findings}
    return _with(report, (f for f in lint_sizes(examination, source) if f.element not in known))


def _with(report: Report, found: Iterable[Finding]) -> Report:
    return replace(report, findings=tuple(sorted((*report.findings, *found), key=lambda f: f.line)))


def as_json(report: Report) -> dict[str, object]:
    """The report as plain values: file, ok, number of findings by severity, findings."""
    return {
        "file": report.file, "ok": report.ok, "repairs": len(report.repairs), "repairable": report.repairable,
        "counts": {severity.value: len(report.of(severity)) for severity in Severity},
        "findings": [{**asdict(f), "severity": f.severity.value} for f in report.findings],
    }


def _shown(report: Report) -> Iterator[str | Rows]:
    """The findings on one file, the worst first if they are too many."""
    found = report.findings
    if len(found) > _SHOWN:
        found = tuple(sorted(found, key=lambda f: _WORST.index(f.severity))[:_SHOWN])
    if found:
        rows: list[list[str | Text]] = [
            [str(f.line or ""), Text(f.severity.value, _STYLE[f.severity]), f.element, f.message, f.fix] for f in found
        ]
        yield Rows(("line", "severity", "element", "what", "fix"), rows, words=range(5))
    if len(report.findings) > _SHOWN:
        yield f"... and {len(report.findings) - _SHOWN} more; --json prints all of them"
    counts = [f"{len(report.of(s))} {s.value}{'s' * (len(report.of(s)) != 1)}" for s in Severity if report.of(s)]
    if report.repairable:
        counts[-1] += "; loads with --lenient"
    yield f"{report.file}: {', '.join(counts) or 'nothing to fix'}"


_PLACE = re.compile(r"/robot\[@name='[^']*'\]/(\w+)\[@name='([^']*)'\]")


def refusal_of_urdf_parser_py(source: Source, root: Element) -> Finding | None:
    """A note why urdf_parser_py refuses a description that `load_urdf` accepts; `None` if it accepts it."""
    from urdf_parser_py.urdf import URDF  # imported late: it takes longer than reading a robot

    chatter = io.StringIO()  # unknown tags are printed
    try:
        with contextlib.redirect_stderr(chatter), contextlib.redirect_stdout(chatter):
            URDF.from_xml_string(source.data)
    except Exception as refusal:  # noqa: BLE001 - its conversions raise anything
        said = [line.strip() for line in str(refusal).splitlines() if line.strip()] or [type(refusal).__name__]
        place = _PLACE.search(said[0])
        line, element = root.line, "<robot>"
        if place is not None:
            tag, name = place.groups()
            line = next((x.line for x in root.all(tag) if x.attributes.get("name") == name), root.line)
            element = f"{tag} {name!r}"
        what = f"urdf_parser_py refuses the file here ({said[-1]}); this package reads it, ROS programs on it cannot"
        return note(line, element, what, "correct the element if another program reads the file")
    return None
