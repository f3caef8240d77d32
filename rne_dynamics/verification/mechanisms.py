"""Generated chains and trees of any size, for counts and times over n."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink

#: Links of one mechanism are alike: 0.1 m, 1 kg, mass centre and inertia off the axes in general position.
_LENGTH = 0.1
_ABOUT_CENTRE = np.array([[3e-3, 2e-4, 1e-4], [2e-4, 4e-3, 3e-4], [1e-4, 3e-4, 5e-3]])
_INERTIA = Inertia(1.0, np.array([0.05, 0.01, 0.02]), _ABOUT_CENTRE)


def chain(n: int) -> RobotModel:
    """A serial chain of `n` revolute joints about z, x, y, z, … in turn."""
    return _mechanism(f"chain{n}", n, lambda i: i - 1)


def tree(n: int) -> RobotModel:
    """A balanced tree of `n` revolute joints: every link carries two."""
    return _mechanism(f"tree{n}", n, lambda i: (i - 1) // 2 if i else -1)


def _mechanism(name: str, n: int, parent: Callable[[int], int]) -> RobotModel:
    if n < 1:
        raise ArgumentError(f"n is {n}; a mechanism needs at least one joint")
    links = [TreeLink("base"), *(TreeLink(f"link{i}", _INERTIA) for i in range(n))]
    joints = [
        TreeJoint(
            f"joint{i}",
            JointKind.REVOLUTE,
            "base" if parent(i) < 0 else f"link{parent(i)}",
            f"link{i}",
            position=np.array([_LENGTH, 0.02, 0.01]),
            axis=np.eye(3)[(i + 2) % 3],
        )
        for i in range(n)
    ]
    return assemble(KinematicTree(name, tuple(links), tuple(joints)))
