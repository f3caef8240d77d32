"""Repairs of lenient loading: faults of published files that other readers accept, and how they read them.

Every repair is a warning with its line. All other faults stay errors.

| in the file | read as | as |
|---|---|---|
| ``<xacro:...>`` in a plain URDF | nothing | urdfdom, Pinocchio |
| a second element where one is allowed | the first | urdfdom, Pinocchio |
| blanks before the XML declaration | a file without them (`read_markup`) | urdfdom, Pinocchio, MuJoCo |
| ``lower`` above ``upper`` | no position limits | PyBullet, MuJoCo |
| an ``effort`` or ``velocity`` of -1 | no limit | (Pinocchio refuses it) |
| ``quat_xyzw`` in place of ``rpy`` | that rotation | urdfdom in files of URDF 1.1 |
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rne_dynamics.description.lint.findings import Finding, warning
from rne_dynamics.description.markup import Element, parse_number
from rne_dynamics.description.outline import INERTIAL_ELEMENTS, JOINT_ELEMENTS, UNBOUNDED
from rne_dynamics.description.urdf_tree import rpy_of
from rne_dynamics.model.tree import JointKind
from rne_dynamics.spatial.vector import from_quaternion

_XACRO = "xacro:"


def repair(root: Element) -> Iterator[Finding]:
    """Repair a document in place: yield a warning for each repair."""
    yield from _without_xacro(root, "")
    for element in root.children:
        where = f"{element.tag} {element.attributes.get('name', '')!r}"
        if element.tag == "link":
            yield from _cleaned(element, where, ("inertial",))
            inertial = element.at("inertial")
            yield from _cleaned(inertial, f"{where} <inertial>", tuple(INERTIAL_ELEMENTS))
            yield from _turned_by_rpy(inertial, f"{where} <inertial>")
        elif element.tag == "joint":
            yield from _cleaned(element, where, tuple(JOINT_ELEMENTS))
            yield from _turned_by_rpy(element, where)
            yield from _without_limits(element, where)


def _without_xacro(element: Element, where: str) -> Iterator[Finding]:
    for child in element.children:
        if child.tag.startswith(_XACRO):
            yield warning(
                child.line, f"{where}<{child.tag}>",
                "is a xacro element in a plain URDF; it is ignored, and what it would expand to is missing",
                "give the .xacro file, or delete the element",
            )
    element.children = [child for child in element.children if not child.tag.startswith(_XACRO)]


def _cleaned(element: Element, where: str, once: tuple[str, ...]) -> Iterator[Finding]:
    """Yield xacro elements, and second ones of those allowed `once`; both are removed."""
    yield from _without_xacro(element, f"{where} ")
    first: dict[str, Element] = {}
    kept = []
    for child in element.children:
        known = first.setdefault(child.tag, child) if child.tag in once else child
        if known is child:
            kept.append(child)
            continue
        alike = "with the same values" if _same(known, child) else "with other values"
        yield warning(
            child.line, f"{where} <{child.tag}>",
            f"is there twice, first in line {known.line}, {alike}; the first is used", "delete one of them",
        )
    element.children = kept


def _same(a: Element, b: Element) -> bool:
    inside = len(a.children) == len(b.children) and all(map(_same, a.children, b.children))
    return (a.tag, a.attributes, a.text) == (b.tag, b.attributes, b.text) and inside


def _turned_by_rpy(element: Element, where: str) -> Iterator[Finding]:
    """Replace a valid quat_xyzw without rpy by rpy; the checks report an invalid one."""
    origin = element.at("origin")
    if "quat_xyzw" not in origin.attributes or "rpy" in origin.attributes:
        return
    words = origin.attributes["quat_xyzw"].split()
    quaternion = [number for word in words if (number := parse_number(word)) is not None]
    if not len(words) == len(quaternion) == 4 or not 1e-3 < math.hypot(*quaternion) < 1e3:
        return
    rpy = " ".join(map(repr, _rpy(*quaternion)))
    text = origin.attributes.pop("quat_xyzw")
    origin.attributes["rpy"] = rpy
    length = math.hypot(*quaternion)
    scaled = "" if abs(length - 1.0) < 1e-6 else f", of length {length:.6g}, scaled to 1"
    yield warning(
        origin.line, f"{where} <origin>",
        f"the rotation is given as quat_xyzw {text!r}{scaled}, which many readers ignore", f'write rpy="{rpy}"',
    )


def _rpy(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a quaternion of any length, rad."""
    return rpy_of(np.reshape(from_quaternion(x, y, z, w), (3, 3)))


def _without_limits(joint: Element, where: str) -> Iterator[Finding]:
    """Write limits that stand for none as `UNBOUNDED`."""
    limit, kind = joint.at("limit"), joint.attributes.get("type", "").strip()
    if kind in (JointKind.FIXED.value, JointKind.FLOATING.value):
        return
    where, none = f"{where} <limit>", f"{UNBOUNDED:.0f}"
    value = {name: parse_number(text) for name, text in limit.attributes.items()}
    lower, upper = value.get("lower"), value.get("upper")
    bounded = kind in (JointKind.REVOLUTE.value, JointKind.PRISMATIC.value)
    if bounded and lower is not None and upper is not None and lower > upper:
        limit.attributes.update(lower=f"-{none}", upper=none)
        yield warning(
            limit.line, where,
            f"lower is {lower:g}, above upper, which is {upper:g}; the joint has no position limits then",
            "write its limits; of a joint that turns freely, type='continuous'",
        )
    for name in ("effort", "velocity"):
        if value.get(name) == -1.0:
            limit.attributes[name] = none
            limit.repaired |= {name}
            yield warning(
                limit.line, where, f"{name} is -1, which means none: it has no bound",
                f'write {name}="..." from the data sheet',
            )
