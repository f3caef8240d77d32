"""The kinematic tree of a checked URDF outline; URDF's roll, pitch and yaw."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rne_dynamics.description.lint.joints import LIMITED, narrowed_limits
from rne_dynamics.description.lint.structure import mimic_holds
from rne_dynamics.description.markup import Element
from rne_dynamics.description.outline import INERTIAL_ELEMENTS, UNBOUNDED, JointOutline, NamedElement, Outline
from rne_dynamics.model.inertia import Array, Inertia, symmetric
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Limits, Mimic, TreeJoint, TreeLink

_ZERO = (0.0, 0.0, 0.0)
_X = (1.0, 0.0, 0.0)


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """The rotation Rz(yaw) Ry(pitch) Rx(roll) of URDF's rpy; shape (3, 3)."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_of(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation, the inverse of `rotation_rpy`; rad.

    Accurate to round-off everywhere: pitch and roll are those of Rz(−yaw) R, so that roll compensates the ill-defined
    yaw near a pitch of a right angle.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def build_tree(outline: Outline, rotors: Mapping[str, float]) -> KinematicTree:
    """The tree of an outline without errors, with rotor inertias by joint name; `ModelError` if it is inconsistent."""
    return KinematicTree(
        outline.name, tuple(_link(link) for link in outline.links.values()),
        tuple(_joint(outline, joint, rotors.get(joint.name, 0.0)) for joint in outline.joints.values()),
    )


def _bound(limit: Element, attribute: str, default: float) -> float:
    value = limit.number(attribute, default)
    return math.copysign(math.inf, value) if abs(value) >= UNBOUNDED else value


def _link(link: NamedElement) -> TreeLink:
    inertial = link.element.first("inertial")
    if inertial is None:
        return TreeLink(link.name)
    origin, moments = inertial.at("origin").numbers, inertial.at("inertia")
    inertia = symmetric(moments.number(key, 0.0) for key in INERTIAL_ELEMENTS["inertia"])
    rpy = origin.get("rpy", _ZERO)
    if any(rpy):
        R = rotation_rpy(*rpy)
        turned = R @ inertia @ R.T
        inertia = 0.5 * (turned + turned.T)
    mass, com = inertial.at("mass").number("value", 0.0), np.array(origin.get("xyz", _ZERO))
    return TreeLink(link.name, Inertia(mass, com, inertia))


def _range(joint: JointOutline, limit: Element) -> tuple[float, float]:
    """Position limits: the intersection of <limit> and <safety_controller>."""
    if joint.kind not in LIMITED:
        return -math.inf, math.inf
    lower, upper = _bound(limit, "lower", 0.0), _bound(limit, "upper", 0.0)
    safety = joint.element.at("safety_controller")
    soft = safety.number("soft_lower_limit", -math.inf), safety.number("soft_upper_limit", math.inf)
    return narrowed_limits(lower, upper, *soft) or (lower, upper)


def _joint(outline: Outline, joint: JointOutline, rotor: float) -> TreeJoint:
    element, kind = joint.element, joint.kind
    origin = element.at("origin").numbers
    R, p = rotation_rpy(*origin.get("rpy", _ZERO)), np.array(origin.get("xyz", _ZERO))
    if kind in (JointKind.FIXED, JointKind.FLOATING):  # its other elements are ignored and not checked
        return TreeJoint(joint.name, kind, joint.parent, joint.child, R, p, rotor_inertia=rotor)
    limits, dynamics = Limits(), element.at("dynamics")
    limit = element.first("limit")
    if limit is not None:
        velocity, effort = (_bound(limit, name, math.inf) for name in ("velocity", "effort"))
        limits = Limits(*_range(joint, limit), velocity, effort)
    coulomb, follows = dynamics.number("friction", 0.0), None
    if mimic_holds(outline, joint):
        mimic = element.at("mimic")
        multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        follows = Mimic(mimic.attributes["joint"], multiplier, offset)
    return TreeJoint(
        joint.name, kind, joint.parent, joint.child, R, p, np.array(element.at("axis").numbers.get("xyz", _X)), limits,
        Friction(dynamics.number("damping", 0.0), coulomb, coulomb), rotor, follows,
    )
