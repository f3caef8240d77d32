"""Whole turns of continuous joints: positions that differ by them are the same posture."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.tree import JointKind, KinematicTree

Angle = TypeVar("Angle", float, Array)

#: Half a turn, less round-off: what is half a turn away is not moved to the other side.
_HALF = 0.5 + 1e-9


def endless(tree: KinematicTree) -> frozenset[str]:
    """Names of the joints that turn without end."""
    return frozenset(joint.name for joint in tree.joints if joint.kind is JointKind.CONTINUOUS)


def continuous(robot: RigidRobot) -> NDArray[np.bool_]:
    """Joints that turn without end, whose encoders may wrap; shape (n,)."""
    names = endless(robot.tree)
    return np.array([name in names for name in robot.joint_names], dtype=np.bool_)


def turns_off(angle: Angle, near: Angle) -> Angle:
    """Whole turns by which `angle` lies further up than necessary from `near`, rad; numbers or arrays.

    ``angle - 2 * pi * turns_off(angle, near)`` is the same posture, at most half a turn from `near`.
    """
    off = (angle - near) / (2.0 * np.pi)
    turns: Angle = np.copysign(np.ceil(np.abs(off) - _HALF), off)
    return turns


#: `turns_off` in kernels.
turns_off_kernel = helper(turns_off)
