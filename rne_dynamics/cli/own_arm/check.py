"""`rne check`: faults of a description that would mislead a controller, with lines and fixes.

For a model file, its URDF is checked too, and its loops or flexible links.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from rich.text import Text

from rne_dynamics.cli.answer import Answer, Rows
from rne_dynamics.cli.arguments import ROBOT, flag, robot_source, xacro_arguments
from rne_dynamics.cli.own_arm.check_parts import lint_flexible, lint_mechanism, without_passive_efforts
from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.description.lint.description import Examination, examine
from rne_dynamics.description.lint.findings import Finding, Report, Severity, note, warning
from rne_dynamics.description.model_file import examine_model, urdf_source
from rne_dynamics.description.outline import Outline
from rne_dynamics.description.sources import Source, is_model_file
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.errors import MissingDependencyError
from rne_dynamics.figures.tracking import joint_units
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, accumulated
from rne_dynamics.viewer.meshes import Visual, farthest, visuals

#: A body within R of its mass centre has no moment above m R², which is all its mass at R; a solid ball has 0.4 m R².
#: Shapes may be drawn smaller than the body (cables, covers), so 1.5 times that passes. Links of published robots with
#: meshes and inertias from CAD stay below 1.1 times; those above 1.5 have placeholders or identified values.
_MOST, _BALL = 1.5, 0.4
#: Mass of a ball of steel of radius 1 m, kg, and the mass below which links are not compared with it.
_STEEL, _HEAVY = 8000.0 * 4.0 / 3.0 * math.pi, 30.0
#: Least part of the inertia about the joint that moves it: less does not mislead a controller.
_MATTERS = 0.1
#: Units of inertia that URDF does not have, and their size in kg m².
_UNITS = {"kg cm^2": 1e-4, "kg mm^2": 1e-6, "g mm^2": 1e-9}
#: Number of random postures, and most numbers of all of them: more take more than a few seconds and 100 MB.
_POSTURES, _NUMBERS = 1000 if COMPILED else 100, 1_000_000
#: Relative excess over effort limits that is ignored as rounding.
_NOTICED = 0.01


def lint_sizes(examination: Examination, source: Source) -> Iterator[Finding]:
    """Yield moving links whose mass or largest moment of inertia is impossible for their size.

    The size is the largest distance from the mass centre to the link's own joint, to the joints on it, and to its
    shapes. Where the shapes are not known, the sizes of the neighbouring links count too, for the last link twice.
    """
    tree, outline = examination.tree, examination.outline
    if tree is None or outline is None:
        return
    own = {link.name: link.inertia for link in tree.links if link.inertia is not None and link.inertia.mass > 0.0}
    sizes = _joint_sizes(tree)
    around = _neighbours(tree, sizes)
    moved, above = accumulated(tree), {joint.child: joint for joint in tree.joints}
    ends = {link.name for link in tree.links} - {joint.parent for joint in tree.joints}
    shapes: dict[str, list[Visual]] | None = None
    for name, inertia in own.items():
        joint, share = _moving_joint(above, moved, name, inertia.inertia)
        largest = float(np.linalg.eigvalsh(inertia.inertia).max()) if share >= _MATTERS else 0.0
        if not joint or not _impossible(inertia, largest, sizes[name]):
            continue
        if shapes is None:  # read late: few robots have such a link
            shapes = visuals(source, ("visual", "collision"))
        reach = _reach(shapes.get(name, []), source, inertia)
        size = max(sizes[name], around[name] if reach is None else reach)
        if reach is None and name in ends:
            size *= 2.0  # nothing marks its far end, so that it may reach that far
        if size == 0.0 or not (impossible := _impossible(inertia, largest, size)):
            continue
        element = outline.links[name].element.first("inertial")
        assert element is not None  # it has mass
        within = (f"within {size:.3g} m of its mass centre, where its joints and "
                  f"{'neighbours' if reach is None else 'shapes'} are")
        most = inertia.mass * size**2
        if impossible == "mass":
            message = f"{inertia.mass:g} kg are more than a ball of steel has {within}"
            fix = "convert from grams if that is what it is, or correct the density the CAD export used"
        else:
            message = (
                f"its largest moment is {largest:.4g} kg m^2 for {inertia.mass:g} kg; a body of this mass has at most "
                f"{most:.3g} kg m^2 {within} ({100.0 * share:.0f} % of what joint {joint!r} turns)"
            )
            converted = [u for u, factor in _UNITS.items() if 0.01 * most <= factor * largest <= most]
            unit = f"convert from {converted[0]} if that is what it is, or " if converted else ""
            fix = f"{unit}export mass and inertia from CAD again, or compute them with `rne inertia`"
        line = (element.first(impossible) or element).line
        yield warning(line, f"{outline.links[name].where} <{impossible}>", message, fix)


def _impossible(inertia: Inertia, largest: float, size: float) -> str:
    """The element that no body of this size has, "mass" or "inertia"; empty if one may have both."""
    if inertia.mass > max(_HEAVY, _STEEL * size**3):
        return "mass"
    # 1, 1, 1 is what exporters and editors write where nothing is known
    placeholder = np.array_equal(inertia.inertia, np.eye(3))
    return "inertia" if largest > (_BALL if placeholder else _MOST) * inertia.mass * size**2 else ""


def _joint_sizes(tree: KinematicTree) -> dict[str, float]:
    """By link, the distance from its mass centre to the farthest joint on it, its own among them."""
    centres = {link.name: np.zeros(3) if link.inertia is None else link.inertia.com for link in tree.links}
    sizes = {name: math.hypot(*centre.tolist()) for name, centre in centres.items()}
    for joint in tree.joints:
        sizes[joint.parent] = max(sizes[joint.parent], math.dist(joint.position, centres[joint.parent]))
    return sizes


def _neighbours(tree: KinematicTree, sizes: dict[str, float]) -> dict[str, float]:
    """By link, the largest size of the links that a joint connects to it."""
    largest = dict.fromkeys(sizes, 0.0)
    for joint in tree.joints:
        for a, b in ((joint.parent, joint.child), (joint.child, joint.parent)):
            largest[a] = max(largest[a], sizes[b])
    return largest


def _moving_joint(
    above: dict[str, TreeJoint], moved: dict[str, Inertia], name: str, tensor: Array
) -> tuple[str, float]:
    """The nearest joint that turns a link, and the part of the link's own inertia in what it turns; 0 without one.

    `above`: joints by their child links; `tensor`: the link's inertia about its mass centre, kg m².
    """
    while name in above and above[name].kind not in (JointKind.REVOLUTE, JointKind.CONTINUOUS):
        tensor, name = above[name].rotation @ tensor @ above[name].rotation.T, above[name].parent
    if name not in above:
        return "", 0.0
    joint = above[name]
    total = float(joint.axis @ moved[name].about_origin @ joint.axis) + joint.rotor_inertia
    return joint.name, float(joint.axis @ tensor @ joint.axis) / total if total > 0.0 else 0.0


def _reach(shapes: list[Visual], source: Source, inertia: Inertia) -> float | None:
    """Distance from the mass centre to the farthest point of the link's shapes; None where they are not known."""
    try:
        return farthest(shapes, source.name, inertia.com) if shapes else None
    except MissingDependencyError:
        return None


def lint_dynamics(robot: RobotModel, outline: Outline) -> Iterator[Finding]:
    """Yield joints whose effort limit is below gravity in some random posture."""
    if robot.n == 0:
        return
    q = random_configuration(robot, np.random.default_rng(0), max(min(_POSTURES, _NUMBERS // robot.n), 1))
    needed, units = np.abs(gravity_torque(robot, q)), joint_units(robot)
    for k, (name, limit) in enumerate(zip(robot.joint_names, robot.effort_limit.tolist(), strict=True)):
        joint, most = outline.joints.get(name), needed[:, k].max()
        if joint is not None and 0.0 < limit < np.inf and most > limit * (1.0 + _NOTICED):
            share, unit = 100.0 * float((needed[:, k] > limit).mean()), units[k].effort
            yield note(
                (joint.element.first("limit") or joint.element).line, f"{joint.where} <limit>",
                f"effort is {limit:g} {unit}, while gravity needs up to {most:.4g} {unit}, and more than the limit in "
                f"{share:.1f} % of random postures",
                "correct the masses, or the limit if it is that of the motor without its gears; a URDF has no springs, "
                "counterweights or weightlessness",
            )  # fmt: skip


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
        urdf = as_json(reports[1]) if len(reports) > 1 else None
        figures |= {"ok": all(report.ok for report in reports), "urdf": urdf, "mechanism": freedoms}
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
    """The report on a URDF, with findings on sizes of its links and on its dynamics."""
    examination = examine(source)
    if examination.tree is None or examination.outline is None:
        return examination.report
    found = lint_dynamics(assemble(examination.tree), examination.outline)
    return _with(_with_sizes(examination, source), found)


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
