"""From urdf_parser_py's robot to the kinematic tree."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from urdf_parser_py.urdf import URDF

from rne_dynamics.description.clean import clean_text
from rne_dynamics.description.outline import Outline
from rne_dynamics.errors import DescriptionError
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Limits, Mimic, TreeJoint, TreeLink

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


def build_tree(outline: Outline, rotors: Mapping[str, float], file: str) -> KinematicTree:
    """The tree of an outline that has no error.

    Parameters
    ----------
    outline
        Checked links and joints.
    rotors
        Reflected rotor inertia by joint name.
    file
        The description's name, for messages.

    Raises
    ------
    DescriptionError
        urdf_parser_py refuses what the checks let through.
    ModelError
        The tree contradicts itself.
    """
    chatter = io.StringIO()  # nothing is expected; should a new version speak, it does so here and not on the terminal
    try:
        with contextlib.redirect_stderr(chatter), contextlib.redirect_stdout(chatter):
            robot = URDF.from_xml_string(clean_text(outline))
    except Exception as error:
        said = " ".join(str(error).split())
        raise DescriptionError(f"{file}: urdf_parser_py cannot read it: {said}; run `rne check` on it") from error
    return KinematicTree(
        outline.name,
        tuple(TreeLink(link.name, _inertia(link.inertial)) for link in robot.links),
        tuple(_joint(joint, rotors.get(joint.name, 0.0)) for joint in robot.joints),
    )


def _pose(origin: Any) -> tuple[Array, Array]:
    if origin is None:
        return np.eye(3), np.zeros(3)
    rpy: Sequence[float] = origin.rpy or (0.0, 0.0, 0.0)
    return rotation_rpy(*rpy), np.array(origin.xyz or (0.0, 0.0, 0.0), dtype=np.float64)


def _inertia(inertial: Any) -> Inertia | None:
    if inertial is None:
        return None
    R, com = _pose(inertial.origin)
    if inertial.inertia is None:
        return Inertia(inertial.mass, com)
    turned = R @ np.array(inertial.inertia.to_matrix(), dtype=np.float64) @ R.T
    return Inertia(inertial.mass, com, 0.5 * (turned + turned.T))


def _joint(joint: Any, rotor: float) -> TreeJoint:
    kind = JointKind(joint.type)
    R, p = _pose(joint.origin)
    limits = Limits()
    if joint.limit is not None:
        bounded = kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        limits = Limits(
            lower=joint.limit.lower if bounded else -math.inf,
            upper=joint.limit.upper if bounded else math.inf,
            velocity=joint.limit.velocity,
            effort=joint.limit.effort,
        )
    friction = Friction()
    if joint.dynamics is not None:
        coulomb = joint.dynamics.friction or 0.0
        friction = Friction(joint.dynamics.damping or 0.0, coulomb, coulomb)
    mimic = None
    if joint.mimic is not None:
        multiplier = 1.0 if joint.mimic.multiplier is None else joint.mimic.multiplier
        mimic = Mimic(joint.mimic.joint, multiplier, joint.mimic.offset or 0.0)
    return TreeJoint(
        joint.name,
        kind,
        joint.parent,
        joint.child,
        R,
        p,
        np.array(_X if joint.axis is None else joint.axis, dtype=np.float64),
        limits,
        friction,
        rotor,
        mimic,
    )
