"""Checks of mass and inertia of links, and of the inertia that each joint moves.

Impossible values are errors (a negative mass or moment of inertia). Faults of published robots that leave the dynamics
computable are warnings (triangle inequality, products slightly too large, an inertia out of proportion to the robot).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rne_dynamics.description.lint.findings import Finding, Reading, error, first_of, note, warning
from rne_dynamics.description.lint.joints import lint_origin
from rne_dynamics.description.markup import Element, lint_numbers, read_number
from rne_dynamics.description.outline import INERTIAL_ELEMENTS, NamedElement, Outline, lint_children
from rne_dynamics.model.inertia import Inertia, symmetric
from rne_dynamics.model.principal import principal_moments
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, accumulated

MOMENTS = INERTIAL_ELEMENTS["inertia"]
#: URDFs have about six digits: smaller numbers, relative to the largest principal moment, are round-off.
_ROUND_OFF = 1e-6
#: A principal moment more negative than this part of the largest is an error: wrong signs or units.
_GROSS = 0.5
#: Inertia of a millimetre-sized body of that mass; below its round-off an inertia counts as zero (m²).
_SMALL = 1e-6
_HEAVIEST = 1000.0
#: Mass centres farther from their frame are in wrong units, m.
FARTHEST = 10.0


def lint_link(link: NamedElement) -> Iterator[Finding]:
    """Yield what is wrong with the <inertial> of one link."""
    inertial = link.element.first("inertial")
    if inertial is None:
        return
    where = f"{link.where} <inertial>"
    yield from lint_children(inertial, where, INERTIAL_ELEMENTS, once=tuple(INERTIAL_ELEMENTS))
    yield from lint_origin(inertial, where)
    origin = inertial.at("origin")
    if (distance := math.hypot(*origin.numbers.get("xyz", ()))) > FARTHEST:
        yield warning(
            origin.line, f"{where} <origin>", f"the mass centre is {distance:g} m from the link's frame",
            "convert from millimetres if that is what it is",
        )
    mass = yield from _mass(inertial, link.where)
    moments = yield from _moments(inertial, link.where)
    if mass is not None and moments is not None:
        yield from _lint_body(inertial, link.where, mass, moments)


def _mass(inertial: Element, where: str) -> Reading[float | None]:
    element, where = inertial.at("mass"), f"{where} <mass>"
    if "value" not in element.attributes:
        yield error(
            element.line, where, "the mass is missing; it must be one finite number",
            'write <mass value="..."/>, in kg',
        )  # fmt: skip
        return None
    mass = yield from read_number(element, "value", where)
    if mass is None:
        return None
    yield from first_of(
        element.line, where,
        (mass < 0.0, error, f"value is {mass:g} kg; a mass must not be negative", "write the mass in kg"),
        (mass > _HEAVIEST, warning, f"value is {mass:g} kg, heavier than {_HEAVIEST:g} kg",
         "convert from grams if that is what it is, or correct the density the CAD export used"),
    )  # fmt: skip
    return None if mass < 0.0 else mass


def _moments(inertial: Element, where: str) -> Reading[tuple[float, ...] | None]:
    element = inertial.first("inertia")
    where = f"{where} <inertia>"
    if element is None:
        yield warning(
            inertial.line, where, "is missing: the link counts as a point mass",
            "add <inertia> with the values about the mass centre",
        )
        return None
    missing = [name for name in MOMENTS if name not in element.attributes]
    for name in missing:
        yield error(
            element.line, where, f"{name} is missing; all of {', '.join(MOMENTS)} are needed", f'write {name}="..."'
        )
    usable = yield from lint_numbers(element, where, *MOMENTS)
    return tuple(element.number(name, 0.0) for name in MOMENTS) if usable and not missing else None


def _lint_body(inertial: Element, where: str, mass: float, moments: tuple[float, ...]) -> Iterator[Finding]:
    low, middle, high = principal_moments(symmetric(moments)).tolist()
    size = max(abs(low), abs(high))
    tolerance = _ROUND_OFF * max(size, _SMALL * mass)
    shown = f"{low:.4g}, {middle:.4g}, {high:.4g} kg m^2"
    about_axes = {"ixx": moments[0], "iyy": moments[3], "izz": moments[5]}
    negative = [f"{name} is {value:g}" for name, value in about_axes.items() if value < -tolerance]
    indefinite = f"is not positive definite: its principal moments are {shown}"
    signs = "correct signs and units of the products ixy, ixz, iyz (URDF's are negative integrals)"
    yield from first_of(
        inertial.at("inertia").line, f"{where} <inertia>",
        (bool(negative), error, f"{', '.join(negative)}; a moment of inertia must not be negative", "correct its sign"),
        (low < min(-tolerance, -_GROSS * high), error, indefinite, signs),
        (low < -tolerance, warning, f"{indefinite}; the mass matrix may become indefinite", signs),
        (low + middle - high < -_ROUND_OFF * high - tolerance, warning,
         f"breaks the triangle inequality, which every body obeys: principal moments {shown}, and "
         f"{low:.4g} + {middle:.4g} < {high:.4g}", "export the inertia about the mass centre from CAD again"),
        (mass == 0.0 and size > 0.0, warning,
         f"the mass is 0, but the largest moment is {high:g}; a body with inertia has mass", "write the mass"),
        (mass > 0.0 and size == 0.0, note, f"is zero for a mass of {mass:g} kg: a point mass",
         "write the inertia if it matters"),
        (mass > 0.01 and 0.0 < high < 1e-8 * mass, warning,
         f"its largest moment is {high:g} kg m^2 for a mass of {mass:g} kg: a body of less than a millimetre",
         "correct its units, or write 0 if a point mass is meant"),
    )  # fmt: skip


#: Radius of gyration over the robot's reach, above which an inertia is in wrong units.
_VAST = 3.0
#: Bodies below this part of the robot's mass are dummies, whose inertia is not checked.
_DUMMY = 1e-4
#: Mass of a moving link over that of all other ones, above which it is in wrong units.
_OUTWEIGHS = 20.0
#: Length of a link over that of its neighbours, and least length (m), above which it is in wrong units.
_OUTREACHES = 100.0
_LONG = 1.0
#: Distance of a mass centre over the longest one between joints, above which it is in wrong units.
_CENTRE_OUTREACHES = 5.0
_TURNING = (JointKind.REVOLUTE, JointKind.CONTINUOUS)


def lint_bodies(outline: Outline, tree: KinematicTree) -> Iterator[Finding]:
    """Yield joints that move no or a negative inertia, and links with inertia out of proportion."""
    own = {link.name: link.inertia or Inertia() for link in tree.links}
    weighs, moved = _weighs(tree, own), accumulated(tree)
    led: dict[str, list[tuple[TreeJoint, float]]] = {}
    for joint in tree.depth_first:
        if joint.kind is not JointKind.FIXED:
            leader = tree.leader(joint)
            led.setdefault(leader.joint, []).append((joint, leader.multiplier))
            yield from _lint_massless(outline, joint, weighs[joint.child], moved[joint.child])
    joints = {joint.name: joint for joint in tree.joints}
    for name, group in led.items():
        yield from _lint_felt(outline, joints[name], group, moved)
    yield from _lint_lengths(outline, tree, own)
    yield from _lint_proportion(outline, tree, own)


def _weighs(tree: KinematicTree, own: dict[str, Inertia]) -> dict[str, bool]:
    """By link, whether its body (with fixed links) has inertia."""
    weighs = {name: inertia.mass > 0.0 or bool(inertia.inertia.any()) for name, inertia in own.items()}
    for joint in reversed(tree.depth_first):
        if joint.kind is JointKind.FIXED:
            weighs[joint.parent] |= weighs[joint.child]
    return weighs


def _lint_massless(outline: Outline, joint: TreeJoint, weighs: bool, moved: Inertia) -> Iterator[Finding]:
    """Yield a moving body without inertia whose subtree has mass."""
    link = outline.links[joint.child]
    if not weighs and moved.mass > 0.0:
        what = "has no <inertial>" if link.element.first("inertial") is None else "has no mass"
        # a link with a shape should have mass; one without is how URDF describes joints of several axes
        shape = link.element.first("visual") or link.element.first("collision")
        make = note if shape is None else warning
        yield make(
            link.element.line, link.where,
            f"moves with joint {joint.name!r} and {what}; its gravity and inertia are missing", "add its <inertial>",
        )


def _lint_felt(
    outline: Outline, joint: TreeJoint, group: list[tuple[TreeJoint, float]], moved: dict[str, Inertia]
) -> Iterator[Finding]:
    """Yield a joint that, with those that mimic it, moves no inertia or a negative one."""
    link = outline.links[joint.child]
    felt = size = rotors = 0.0
    for member, multiplier in group:
        inertia = moved[member.child]
        about = inertia.about_origin
        turning = member.kind in _TURNING
        felt += multiplier * multiplier * (float(member.axis @ about @ member.axis) if turning else inertia.mass)
        size += multiplier * multiplier * max(float(np.abs(about).max()), inertia.mass)
        rotors += multiplier * multiplier * member.rotor_inertia
    what = "inertia about its axis" if joint.kind in _TURNING else "mass"
    yield from first_of(
        link.element.line, link.where,
        (felt < -1e-9 * size, error,
         f"joint {joint.name!r} would move an inertia of {felt:.4g} about its axis; it must be positive",
         "correct the inertias of the links it moves"),
        (felt <= 1e-12 * size and rotors == 0.0, warning,
         f"joint {joint.name!r} moves no {what}: its acceleration is undefined",
         "add the <inertial>, make the joint fixed, or lock it"),
    )  # fmt: skip


def _lint_lengths(outline: Outline, tree: KinematicTree, own: dict[str, Inertia]) -> Iterator[Finding]:
    """Yield joints much farther from the previous joint than neighbouring joints and mass centres are."""
    length = {joint.name: math.hypot(*joint.position.tolist()) for joint in tree.joints}
    yield from _lint_centres(outline, own, max(length.values(), default=0.0))
    if max(length.values(), default=0.0) < _LONG:
        return
    joined: dict[str, list[str]] = {link.name: [] for link in tree.links}
    for joint in tree.joints:
        for link in (joint.parent, joint.child):
            joined[link].append(joint.name)
    for joint in tree.joints:
        if length[joint.name] < _LONG or (joint.kind is JointKind.FIXED and joint.parent == tree.root):
            continue  # the robot's placement is not a length of a link
        around = [length[x] for end in (joint.parent, joint.child) for x in joined[end] if x != joint.name]
        longest = max(*around, *[math.hypot(*own[end].com.tolist()) for end in (joint.parent, joint.child)])
        if 0.0 < longest * _OUTREACHES <= length[joint.name]:
            yield warning(
                outline.joints[joint.name].element.at("origin").line, f"joint {joint.name!r} <origin>",
                f"is {length[joint.name]:.4g} m from the joint before it; neighbouring links reach at most "
                f"{longest:.3g} m", "convert from millimetres if that is what it is",
            )


def _lint_centres(outline: Outline, own: dict[str, Inertia], longest: float) -> Iterator[Finding]:
    """Yield mass centres that are much farther from their frame than any joint from the joint before it."""
    for name, inertia in own.items():
        distance = math.hypot(*inertia.com.tolist())
        if max(_LONG, _CENTRE_OUTREACHES * longest) <= distance <= FARTHEST:
            link = outline.links[name]
            yield warning(
                link.element.at("inertial").at("origin").line, f"{link.where} <inertial> <origin>",
                f"the mass centre is {distance:.4g} m from the link's frame; no joint is more than {longest:.3g} m "
                "from the joint before it", "convert from millimetres if that is what it is",
            )


def _lint_proportion(outline: Outline, tree: KinematicTree, own: dict[str, Inertia]) -> Iterator[Finding]:
    reach: dict[str, float] = {tree.root: 0.0}
    for joint in tree.depth_first:
        reach[joint.child] = reach[joint.parent] + math.hypot(*joint.position.tolist())
    farthest = max(1.0, *(reach[name] + math.hypot(*i.com.tolist()) for name, i in own.items()))
    total = sum(i.mass for i in own.values())
    moving = {name: i.mass for name, i in own.items() if name != tree.root and i.mass > 0.0}
    total_moving = sum(moving.values())
    for name, mass in moving.items():
        rest = total_moving - mass
        if len(moving) > 3 and mass > _OUTWEIGHS * rest:
            yield warning(
                outline.links[name].element.line, f"{outline.links[name].where} <mass>",
                f"{mass:g} kg, while all other moving links weigh {rest:.4g} kg together",
                "convert from grams if that is what it is, or correct the density the CAD export used",
            )
    for name, inertia in own.items():
        if inertia.mass <= _DUMMY * total:
            continue
        gyration = math.sqrt(max(0.0, sum(inertia.inertia.diagonal().tolist()) / (2.0 * inertia.mass)))
        if gyration > _VAST * farthest:
            yield warning(
                outline.links[name].element.line, f"{outline.links[name].where} <inertia>",
                f"is that of a body {gyration:.3g} m across for a mass of {inertia.mass:g} kg, on a robot that reaches "
                f"{farthest:.3g} m", "correct mass or inertia: grams, or kg mm^2?",
            )
