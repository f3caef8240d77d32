"""All checks of a robot description, for `load_urdf` and `rne check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from rne_dynamics.description.lint.bodies import lint_bodies
from rne_dynamics.description.lint.findings import FaultyDescriptionError, Finding, Report, Severity, collect, error
from rne_dynamics.description.lint.joints import lint_joint
from rne_dynamics.description.lint.links import lint_link
from rne_dynamics.description.lint.structure import lint_structure
from rne_dynamics.description.markup import Element, read_markup
from rne_dynamics.description.outline import Outline, read_outline
from rne_dynamics.description.repairs import repaired
from rne_dynamics.description.sources import Source, SourceLike, read_source
from rne_dynamics.description.transmissions import read_rotors
from rne_dynamics.description.urdf_tree import build_tree
from rne_dynamics.errors import ModelError
from rne_dynamics.model.tree import KinematicTree

#: Most coordinates of all joints: `rne check` takes 10 s and 1 GB for twice as many. A joint has one, but:
MOST_COORDINATES = 5000
_COORDINATES = {"planar": 3, "floating": 6}


@dataclass(frozen=True, eq=False)
class Examination:
    """A description with its findings, and its tree if there are no errors."""

    #: All findings.
    report: Report
    #: `None` where there are errors.
    tree: KinematicTree | None
    #: The elements that the tree was made of, for their lines.
    outline: Outline | None = None


def lint(source: SourceLike, *, mappings: Mapping[str, str] | None = None, lenient: bool = False) -> Report:
    """All findings on a description.

    Faults that prevent further reading (invalid XML) are findings too; others are searched as far as possible.

    Parameters
    ----------
    source, mappings, lenient
        As for `load_urdf`.

    Raises
    ------
    DescriptionError
        There is no such file or robot.
    """
    return examine(read_source(source, mappings, lenient=lenient)).report


def examine(source: Source) -> Examination:
    """Read and check a description; see `lint`."""
    found: list[Finding] = []
    try:
        root = read_markup(source.data, source.name, source.encoding, found if source.lenient else None)
    except FaultyDescriptionError as fault:
        return _refused(source, (fault.finding,))
    large = _too_large(root)
    if large is not None:
        return Examination(Report(source.name, (large,)), None)
    unbounded = collect(repaired(root), found) if source.lenient else {}
    repairs = tuple(found)
    stem = "robot" if source.name.startswith("<") else PurePath(source.name).name.partition(".")[0] or "robot"
    outline = collect(read_outline(root, stem, unbounded), found)
    if outline.element.tag == "robot":
        found.extend(_lint_parts(outline))
    rotors = collect(read_rotors(outline), found)
    tree = None
    if not any(f.severity is Severity.ERROR for f in found):
        try:
            tree = build_tree(outline, rotors)
        except ModelError as fault:  # a fault that the checks above do not find
            found.append(error(root.line, "<robot>", str(fault), "correct the description"))
        else:
            found.extend(lint_bodies(outline, tree))
    findings = tuple(sorted(found, key=lambda f: f.line))
    if any(f.severity is Severity.ERROR for f in findings):
        return _refused(source, findings)
    findings = _with_lines(source, findings)
    return Examination(Report(source.name, findings, repairs), tree, outline)


def _too_large(root: Element) -> Finding | None:
    """The finding on a robot of more than `MOST_COORDINATES`, which commands could not check in a few seconds."""
    count = sum(_COORDINATES.get(joint.attributes.get("type", ""), 1) for joint in root.all("joint"))
    if count <= MOST_COORDINATES:
        return None
    message = f"has joints with {count} coordinates; at most {MOST_COORDINATES} are allowed"
    return error(root.line, "<robot>", message, "split it into several robots, or build it by `rne_dynamics.model`")


def _refused(source: Source, findings: tuple[Finding, ...]) -> Examination:
    """Examination of a description with errors; reports whether it loads with repairs."""
    repairable = not source.lenient and examine(replace(source, lenient=True)).report.ok
    return Examination(Report(source.name, _with_lines(source, findings), (), repairable), None)


def _with_lines(source: Source, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings with their lines, if those are of a text that the user has."""
    return findings if source.lines else tuple(replace(finding, line=0) for finding in findings)


def _lint_parts(outline: Outline) -> Iterator[Finding]:
    if outline.links:
        yield from lint_structure(outline)
    for link in outline.links.values():
        yield from lint_link(link)
    for joint in outline.joints.values():
        yield from lint_joint(outline, joint)
