"""Checks of structure: joints form one tree of the links, and mimic joints follow joints that move."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches

from rne_dynamics.description.lint.findings import Finding, error, first_of, note, warning
from rne_dynamics.description.outline import JointOutline, Outline
from rne_dynamics.model.tree import ONE_FREEDOM, JointKind


def lint_structure(outline: Outline) -> Iterator[Finding]:
    """Yield joints without links, second parents, several or no roots, loops, and faulty mimics."""
    yield from _lint_ends(outline)
    yield from _lint_tree(outline)
    yield from _lint_mimics(outline)


def _lint_ends(outline: Outline) -> Iterator[Finding]:
    parent_joint: dict[str, JointOutline] = {}
    root = _missing_root(outline)
    for joint in outline.joints.values():
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in outline.links:
                near = _near(link, outline.links)
                hint = f"write {' or '.join(map(repr, near))}, or " if near else ""
                what = f"there is no link {link!r}" + (", which is the root of the robot" if link == root else "")
                fix = f'{hint}add the link: <link name="{link}"/>'
                yield error(joint.element.at(end).line, f"{joint.where} <{end}>", what, fix)
        if joint.parent == joint.child:
            yield error(
                joint.element.line, joint.where, f"connects link {joint.child!r} with itself",
                "name two different links as parent and child",
            )
        elif joint.child in parent_joint:
            first = parent_joint[joint.child]
            yield error(
                joint.element.line, joint.where,
                f"link {joint.child!r} has two parents: {first.parent!r} (joint {first.name!r}, line "
                f"{first.element.line}) and {joint.parent!r}; a tree allows one", "delete one of the two joints",
            )
        parent_joint.setdefault(joint.child, joint)


def _missing_root(outline: Outline) -> str | None:
    """Name of the missing link that all others descend from; `None` where there is a root, or several are missing."""
    children = {joint.child for joint in outline.joints.values()}
    missing = {joint.parent for joint in outline.joints.values()} - set(outline.links)
    return missing.pop() if len(missing) == 1 and children >= set(outline.links) else None


def _lint_tree(outline: Outline) -> Iterator[Finding]:
    # joints with faults are missing in `outline.joints`; they are reported elsewhere
    children = {child.attributes.get("link") for joint in outline.element.all("joint") for child in joint.all("child")}
    roots = [name for name in outline.links if name not in children]
    if len(roots) > 1:
        for name in roots[1:]:
            yield error(
                outline.links[name].element.line, f"link {name!r}",
                f"is a second root, besides {roots[0]!r}: no joint has it as child; there must be one root",
                f"add a joint with child {name!r}, or delete the link",
            )
    # descendants of a missing link are not a loop: `_lint_ends` reports that link
    attached = {j.child for j in outline.joints.values() if j.parent in outline.links}
    orphans = [name for name in outline.links if name in children and name not in attached]
    reached = _reached(outline, [*roots, *orphans])
    lost = [name for name in outline.links if name not in reached]
    if lost:
        shown = ", ".join(map(repr, lost[:6])) + (", ..." if len(lost) > 6 else "")
        yield error(
            outline.links[lost[0]].element.line, f"link {lost[0]!r}",
            f"the joints between {shown} form a loop; they must form a tree", "cut the loop at one joint",
        )


def _reached(outline: Outline, start: Collection[str]) -> set[str]:
    """Links and all their descendants."""
    by_parent: dict[str, list[JointOutline]] = {}
    for joint in outline.joints.values():
        by_parent.setdefault(joint.parent, []).append(joint)
    reached, waiting = set(start), list(start)
    while waiting:
        for joint in by_parent.get(waiting.pop(), []):
            if joint.child not in reached:
                reached.add(joint.child)
                waiting.append(joint.child)
    return reached


def _lint_mimics(outline: Outline) -> Iterator[Finding]:
    in_circle: set[str] = set()
    for joint in outline.joints.values():
        mimic = joint.element.first("mimic")
        if mimic is None:
            continue
        leader_name = mimic.attributes.get("joint", "")
        leader = outline.joints.get(leader_name)
        near = _near(leader_name, outline.joints) if leader is None else []
        fixed, moves = joint.kind is JointKind.FIXED, joint.kind in ONE_FREEDOM
        circle = [] if joint.name in in_circle or leader is None else _circle(outline, joint)
        in_circle.update(circle)
        yield from first_of(
            mimic.line, f"{joint.where} <mimic>",
            (fixed, note, "a fixed joint cannot mimic; this is ignored", "delete the <mimic>"),
            (not moves, error, f"a {joint.kind.value} joint cannot mimic; one coordinate is needed",
             "delete the <mimic>"),
            (leader is None, warning,
             f"there is no joint {leader_name!r}; the mimic is ignored and the joint moves by itself",
             f"write {' or '.join(map(repr, near))}" if near else "name a joint that exists"),
            (leader is not None and leader.kind not in ONE_FREEDOM, error,
             f"follows joint {leader_name!r}, which is {leader.kind.value if leader else ''}; it must be revolute, "
             "continuous or prismatic", "name a joint that moves, or make this one fixed"),
            (bool(circle), error, f"joints mimic each other in a circle: {' -> '.join([*circle, *circle[:1]])}",
             "let one of them move by itself"),
        )  # fmt: skip


def _circle(outline: Outline, joint: JointOutline) -> list[str]:
    """Joint names along the mimics from `joint` back to itself; empty if it is on no such circle."""
    path = [joint.name]
    while True:
        leader = outline.joints[path[-1]].element.at("mimic").attributes.get("joint", "")
        if leader not in outline.joints:
            return []
        if leader in path:
            return path if leader == joint.name else []
        path.append(leader)


def mimic_holds(outline: Outline, joint: JointOutline) -> bool:
    """Whether a joint has a valid <mimic>: it can move and its leader exists."""
    leader = joint.element.at("mimic").attributes.get("joint", "")
    return joint.kind in ONE_FREEDOM and leader in outline.joints


def _near(name: str, known: Collection[str]) -> list[str]:
    """Names similar to one that does not exist; none among more than 1000, which would take long."""
    return [] if len(known) > 1000 else get_close_matches(name, known, n=2, cutoff=0.5)
