"""Links and joints of a <robot> element by name, with checks of names and required elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from rne_dynamics.description.lint.findings import Finding, Reading, error, first_of, warning
from rne_dynamics.description.markup import Element
from rne_dynamics.model.tree import JointKind

#: Elements that a link or joint may have once, and their attributes, to find misspelt ones.
LINK_ELEMENTS: dict[str, tuple[str, ...]] = {"inertial": (), "visual": (), "collision": ()}
INERTIAL_ELEMENTS: dict[str, tuple[str, ...]] = {
    "origin": ("xyz", "rpy"),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
}
JOINT_ELEMENTS: dict[str, tuple[str, ...]] = {
    "origin": ("xyz", "rpy"),
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
    "safety_controller": ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"),
}
#: Limits from here on are none: URDF requires a number, and `to_urdf` writes this one.
UNBOUNDED = 1e9
_KNOWN_AT_TOP = ("link", "joint", "transmission", "material", "gazebo", "ros2_control", "sensor")


@dataclass(frozen=True, eq=False)
class NamedElement:
    """A link, or what all outlines have: its name and its element."""

    name: str
    element: Element

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"{self.element.tag} {self.name!r}"


@dataclass(frozen=True, eq=False)
class JointOutline(NamedElement):
    """A joint: its name, its element, its kind and its links."""

    kind: JointKind
    parent: str
    child: str


@dataclass(frozen=True, eq=False)
class Outline:
    """Content of a <robot> element, in order, without links and joints that have no valid name."""

    #: The robot's name.
    name: str
    #: The <robot> element.
    element: Element
    #: By name.
    links: dict[str, NamedElement]
    joints: dict[str, JointOutline]


def read_outline(root: Element, default_name: str) -> Reading[Outline]:
    """Yield what is wrong with names and required elements; return the valid part.

    `default_name` is that of a robot without one.
    """
    links: dict[str, NamedElement] = {}
    joints: dict[str, JointOutline] = {}
    if root.tag != "robot":
        yield error(
            root.line, f"<{root.tag}>", f"the root element is <{root.tag}>; it must be <robot>",
            "give a URDF file, or convert this one to URDF",
        )
        return Outline(default_name, root, links, joints)
    name = root.attributes.get("name", "").strip()
    if not name:
        yield warning(
            root.line, "<robot>", f"has no name; it is called {default_name!r} here", 'add name="..." to <robot>'
        )
    for element in root.children:
        if element.tag == "link":
            named = yield from _name(element, "link", links)
            if named is not None:
                links[named] = NamedElement(named, element)
                yield from lint_children(element, f"link {named!r}", LINK_ELEMENTS, once=("inertial",))
        elif element.tag == "joint":
            named = yield from _name(element, "joint", joints)
            if named is not None:
                joint = yield from _joint(element, named)
                if joint is not None:
                    joints[named] = joint
        elif element.tag not in _KNOWN_AT_TOP:
            yield from _foreign(element, "", ("link", "joint", "transmission"), 0.75)
    if not any(root.all("link")):
        yield error(root.line, "<robot>", "has no <link>; a robot needs at least one", "give the file of a robot")
    return Outline(name or default_name, root, links, joints)


def _name(element: Element, kind: str, known: Mapping[str, NamedElement]) -> Reading[str | None]:
    name = element.attributes.get("name", "")
    first = known[name].element.line if name in known else 0
    yield from first_of(
        element.line, f"{kind} {name!r}" if name.strip() else f"<{kind}>",
        (not name.strip(), error, f"has no name; every {kind} must have one", f'add name="..." to the <{kind}>'),
        (first > 0, error, f"the name is there twice, first in line {first}; names must be unique",
         "rename or delete one of them"),
    )  # fmt: skip
    return None if first or not name.strip() else name


def _foreign(element: Element, within: str, known: Iterable[str], cutoff: float) -> Iterator[Finding]:
    """Yield an element of xacro, or one whose tag is similar to a known one."""
    where, near = f"{within}<{element.tag}>", get_close_matches(element.tag.lower(), known, n=1, cutoff=cutoff)
    yield from first_of(
        element.line, where,
        (element.tag.startswith("xacro:"), error, "is a xacro element in a plain URDF",
         "give the .xacro file by its path, or expand it first with `xacro`"),
        (bool(near), warning, "is no URDF element and is ignored", f"write <{''.join(near)}> if it is meant"),
    )  # fmt: skip


def _joint(element: Element, name: str) -> Reading[JointOutline | None]:
    where = f"joint {name!r}"
    kinds, kind = [k.value for k in JointKind], element.attributes.get("type", "").strip()
    usable = kind in kinds
    if not usable:
        near = get_close_matches(kind.lower(), kinds, n=1) or kinds
        found = f"type is {kind!r}" if "type" in element.attributes else "type is missing"
        yield error(element.line, where, f"{found}; it must be {', '.join(kinds)}", f"write type={near[0]!r}")
    yield from lint_children(element, where, JOINT_ELEMENTS, once=tuple(JOINT_ELEMENTS))
    ends: list[str] = []
    for end in ("parent", "child"):
        found_end = element.first(end)
        ends.append("" if found_end is None else found_end.attributes.get("link", ""))
        if not ends[-1].strip():
            what = "is missing" if found_end is None else "names no link"
            yield error(
                (found_end or element).line, f"{where} <{end}>", f"{what}; a joint needs a parent and a child",
                f'write <{end} link="..."/>',
            )
            usable = False
    return JointOutline(name, element, JointKind(kind), ends[0], ends[1]) if usable else None


def lint_children(
    element: Element, where: str, known: dict[str, tuple[str, ...]], once: tuple[str, ...]
) -> Iterator[Finding]:
    """Yield duplicate elements, and misspelt elements and attributes."""
    seen: dict[str, int] = {}
    for child in element.children:
        place = f"{where} <{child.tag}>"
        if child.tag in once and child.tag in seen:
            yield error(
                child.line, place, f"is there twice, first in line {seen[child.tag]}; one is allowed",
                "delete one of them",
            )
        seen.setdefault(child.tag, child.line)
        if child.tag in known:
            yield from misspelt_attributes(child, place, known[child.tag])
        else:
            yield from _foreign(child, f"{where} ", known, 0.8)


def misspelt_attributes(element: Element, where: str, known: tuple[str, ...]) -> Iterator[Finding]:
    """Yield unknown attributes that are similar to a known, missing one."""
    for attribute in element.attributes:
        if attribute in known:
            continue
        # a cheap test first: most unknown attributes are for other tools, and lengths that differ are never similar
        alike = [
            k for k in known
            if k not in element.attributes and 2 * min(len(k), len(attribute)) >= 0.7 * (len(k) + len(attribute))
        ]  # fmt: skip
        near = alike and get_close_matches(attribute.lower(), alike, n=1, cutoff=0.7)
        if near:
            yield warning(
                element.line, where, f"attribute {attribute!r} is unknown and is ignored",
                f"write {near[0]!r} if it is meant",
            )
