"""Generated chains, trees and combs of any size, for operation counts, times over n, and tests."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.solids import box
from rne_dynamics.model.tree import JointKind, KinematicTree, TreeJoint, TreeLink, rotation_about

#: From a joint to the next, m; off the axes, so that nothing is zero by chance.
_STEP = np.array([0.1, 0.02, 0.01])


def chain(n: int, seed: int = 0) -> RobotModel:
    """A serial chain of `n` revolute joints about z, x, y, z, … in turn.

    `n`: at least 1; `seed`: of the links' inertia: boxes of a decimetre and about a kilogram, turned and shifted in
    their links. Raises ArgumentError: no joint.
    """
    return generated(f"chain{n}", n, lambda i: i - 1, seed)


def tree(n: int, seed: int = 0) -> RobotModel:
    """A balanced tree of `n` revolute joints, every link carrying two; else as `chain`."""
    return generated(f"tree{n}", n, lambda i: (i - 1) // 2 if i else -1, seed)


def comb(n: int, seed: int = 0) -> RobotModel:
    """A comb of `n` revolute joints: about √n links in a chain, each with a tooth as long; else as `chain`."""
    pitch = max(1, math.isqrt(max(n, 0)))
    return generated(f"comb{n}", n, lambda i: i - 1 if i % pitch else i - pitch, seed)


def generated(name: str, n: int, parent: Callable[[int], int], seed: int) -> RobotModel:
    """`n` revolute joints; `parent` gives the number of the joint before each one, -1 for the base."""
    if n < 1:
        raise ArgumentError(f"n is {n}; a generated robot needs at least one joint")
    random = np.random.default_rng(seed)
    links, joints = [TreeLink("base")], []
    for i in range(n):
        links.append(TreeLink(f"link{i}", _inertia(random)))
        joints.append(
            TreeJoint(
                f"joint{i}",
                JointKind.REVOLUTE,
                "base" if parent(i) < 0 else f"link{parent(i)}",
                f"link{i}",
                position=_STEP,
                axis=np.eye(3)[(i + 2) % 3],
            )
        )
    return assemble(KinematicTree(name, tuple(links), tuple(joints)))


def _inertia(random: np.random.Generator) -> Inertia:
    body = box(*random.uniform((0.08, 0.04, 0.04), (0.12, 0.08, 0.08)), mass=random.uniform(0.5, 1.5))
    axis = random.normal(size=3)
    turn = rotation_about(axis / np.linalg.norm(axis), random.uniform(-0.5, 0.5))
    return body.moved(turn, 0.5 * _STEP + random.uniform(-0.02, 0.02, 3))
