"""Checks of the inertia that each joint moves: missing, negative, or out of proportion to the robot."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rne_dynamics.description.lint.findings import Finding, error, note, warning
from rne_dynamics.description.lint.links import FARTHEST
from rne_dynamics.description.outline import Outline
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint

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
    for name, group in led.items():
        yield from _lint_felt(outline, tree.joint(name), group, moved)
    yield from _lint_lengths(outline, tree, own)
    yield from _lint_proportion(outline, tree, own)


def _weighs(tree: KinematicTree, own: dict[str, Inertia]) -> dict[str, bool]:
    """By link, whether its body (with fixed links) has inertia."""
    weighs = {name: inertia.mass > 0.0 or bool(inertia.inertia.any()) for name, inertia in own.items()}
    for joint in reversed(tree.depth_first):
        if joint.kind is JointKind.FIXED:
            weighs[joint.parent] |= weighs[joint.child]
    return weighs


def accumulated(tree: KinematicTree) -> dict[str, Inertia]:
    """By link, the inertia of its subtree in its frame."""
    moved = {link.name: link.inertia or Inertia() for link in tree.links}
    for joint in reversed(tree.depth_first):
        moved[joint.parent] += moved[joint.child].moved(joint.rotation, joint.position)
    return moved


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
    if felt < -1e-9 * size:
        yield error(
            link.element.line, link.where,
            f"joint {joint.name!r} would move an inertia of {felt:.4g} about its axis; it must be positive",
            "correct the inertias of the links it moves",
        )
    elif felt <= 1e-12 * size and rotors == 0.0:
        what = "inertia about its axis" if joint.kind in _TURNING else "mass"
        yield warning(
            link.element.line, link.where, f"joint {joint.name!r} moves no {what}: its acceleration is undefined",
            "add the <inertial>, make the joint fixed, or lock it",
        )


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
        centres = [math.hypot(*own[end].com.tolist()) for end in (joint.parent, joint.child)]
        longest = max(*around, *centres)
        if 0.0 < longest * _OUTREACHES <= length[joint.name]:
            origin = outline.joints[joint.name].element.first("origin") or outline.joints[joint.name].element
            yield warning(
                origin.line, f"joint {joint.name!r} <origin>",
                f"is {length[joint.name]:.4g} m from the joint before it; neighbouring links reach at most "
                f"{longest:.3g} m", "convert from millimetres if that is what it is",
            )


def _lint_centres(outline: Outline, own: dict[str, Inertia], longest: float) -> Iterator[Finding]:
    """Yield mass centres that are much farther from their frame than any joint from the joint before it."""
    for name, inertia in own.items():
        distance = math.hypot(*inertia.com.tolist())
        if max(_LONG, _CENTRE_OUTREACHES * longest) <= distance <= FARTHEST:
            inertial = outline.links[name].element.first("inertial")
            origin = None if inertial is None else inertial.first("origin")
            assert origin is not None  # the mass centre is not at the frame
            yield warning(
                origin.line, f"{outline.links[name].where} <inertial> <origin>",
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
            element = outline.links[name].element
            yield warning(
                element.line, f"{outline.links[name].where} <inertia>",
                f"is that of a body {gyration:.3g} m across for a mass of {inertia.mass:g} kg, on a robot that reaches "
                f"{farthest:.3g} m", "correct mass or inertia: grams, or kg mm^2?",
            )
