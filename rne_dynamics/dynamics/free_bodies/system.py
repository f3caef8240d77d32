"""The differential-algebraic equations of a robot as sparse matrices, filled state by state and solved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale
from rne_dynamics.dynamics.free_bodies.blocks import MOTION_COLUMNS, free_body_kernel, joint_motion_kernel
from rne_dynamics.dynamics.free_bodies.pattern import (
    INERTIA_COLUMNS,
    INERTIA_ROWS,
    TRANSFER_NUMBERS,
    MaximalPattern,
    maximal_pattern,
)
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.generalized_inertia import generalized_inertia, rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import SINGULAR

#: A solution that one step of refinement still changes by more than this part of itself means nothing.
_UNCERTAIN = 1e-4


class Blocks(NamedTuple):
    """Arrays that `free_body_kernel` fills for one state: transfer (bodies, 18), drift and force (bodies, 6)."""

    transfer: Array
    drift: Array
    force: Array


class Solution(NamedTuple):
    """Wrenches on the bodies F (bodies, 6), accelerations less gravity a (bodies, 6), joint accelerations q̈ (n,)."""

    force: Array
    acceleration: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class MaximalSystem:
    """A robot's equations in maximal coordinates: the pattern, and the entries that never change."""

    #: The model.
    robot: RobotModel
    #: Sparsity of its topology.
    pattern: MaximalPattern
    #: 𝓜: every body's 6×6 inertia about its frame's origin; shape (bodies, 6, 6).
    inertia: Array
    #: Multiplier of every joint axis; shape (axes,).
    gear: Array
    #: J: rotor inertia of every coordinate; shape (n,).
    rotor: Array

    @staticmethod
    @lru_cache(maxsize=16)
    def of(robot: RobotModel) -> MaximalSystem:
        """The system of a robot; those of the last few models are kept, which never change."""
        pattern = maximal_pattern(robot.topology)
        inertia = generalized_inertia(robot)
        gear = robot.parameters[pattern.axis_body, MULTIPLIER]
        gear[robot.topology[pattern.axis_body, KIND] == FLOATING] = 1.0
        return MaximalSystem(robot, pattern, inertia, gear, rotor_inertia(robot))

    def blocks(self, base: Array, q: Array, qd: Array, wrenches: Array) -> Blocks:
        """The blocks of one state of the joints: base (12,), q (nq,), qd (n,), wrenches (bodies or 0, 6)."""
        motion = np.empty((self.robot.bodies, MOTION_COLUMNS))
        joint_motion_kernel(self.robot.topology, self.robot.parameters, base, q, qd, motion)
        return self.blocks_of_motion(base, motion, wrenches)

    def blocks_of_motion(self, base: Array, motion: Array, wrenches: Array) -> Blocks:
        """The blocks where every joint's placement and velocity are known; motion (bodies, MOTION_COLUMNS)."""
        bodies = self.robot.bodies
        blocks = Blocks(np.empty((bodies, 18)), np.empty((bodies, 6)), np.empty((bodies, 6)))
        free_body_kernel(self.robot.topology, self.robot.parameters, base, motion, wrenches, *blocks)
        return blocks

    def matrix(self, transfer: Array) -> Any:
        """The whole matrix, scipy CSC."""
        numbers = transfer[self.pattern.children][:, TRANSFER_NUMBERS].ravel()
        inertias, signs = self.inertia[:, INERTIA_ROWS, INERTIA_COLUMNS].ravel(), -np.ones(12 * self.robot.bodies)
        data = np.concatenate([inertias, signs, self.gear, self.gear, self.rotor, numbers, numbers])
        return _csc(data, self.pattern.system, self.pattern.size)

    def constraint_matrix(self, transfer: Array) -> Any:
        """K, scipy CSC; unit lower triangular, since parents come first."""
        numbers = transfer[self.pattern.children][:, TRANSFER_NUMBERS].ravel()
        size = 6 * self.robot.bodies
        return _csc(np.concatenate([np.ones(size), -numbers]), self.pattern.constraint, size)

    def right_side(self, balance: Array, joints: Array, drives: Array) -> Array:
        """The right sides in the matrix's order: (bodies, 6), (bodies, 6) and (n,), with any trailing dimension."""
        side = np.empty((self.pattern.size, *drives.shape[1:]))
        side[self.pattern.force] = balance
        side[self.pattern.motion] = joints
        side[self.pattern.coordinate] = drives
        return side

    def solution(self, x: Array) -> Solution:
        """F, a and q̈ out of the unknowns."""
        return Solution(x[self.pattern.force], x[self.pattern.motion], x[self.pattern.coordinate])

    def along_axes(self, qdd: Array) -> Array:
        """S q̈; shape (bodies, 6), with any trailing dimension that q̈ (n, …) has."""
        out = np.zeros((self.robot.bodies, 6, *qdd.shape[1:]))
        gear = self.gear.reshape(-1, *(1,) * (qdd.ndim - 1))
        out[self.pattern.axis_body, self.pattern.axis_component] = gear * qdd[self.pattern.axis_coordinate]
        return out

    def onto_axes(self, force: Array) -> Array:
        """Sᵀ F; shape (n,) and any trailing dimension that F (bodies, 6, …) has."""
        out = np.zeros((self.robot.n, *force.shape[2:]))
        gear = self.gear.reshape(-1, *(1,) * (force.ndim - 2))
        parts = gear * force[self.pattern.axis_body, self.pattern.axis_component]
        np.add.at(out, self.pattern.axis_coordinate, parts)
        return out

    def factorised(self, matrix: Any) -> Any:
        """LU factors (SuperLU) of the whole matrix, pivots down the diagonal; `SingularInertiaError`."""
        try:
            return factorised(matrix)
        except RuntimeError:  # SuperLU met a pivot that is exactly zero
            raise self.singular(matrix) from None

    def solve(self, matrix: Any, right: Array, q: Array) -> Array:
        """Solve matrix · x = right (size,) with one step of iterative refinement, at joint positions `q` (nq,).

        `SingularInertiaError` names a joint that moves no inertia.
        """
        factors = self.factorised(matrix)
        # Besides, every drive is pushed. In coordinates scaled to a mass matrix of ones or less, the answer is about as
        # long as 1 over the least eigenvalue, unless the push has nothing along that eigenvector: joints that do the
        # same are pushed unequally.
        scale = inertia_scale(self.robot, q[None])[0]
        if not (scale > 0.0).all():
            raise self.singular(matrix)
        unequal = 1.0 + 0.5 * np.sin(np.arange(1.0, 1.0 + len(scale)))
        sides = np.zeros((len(right), 2), order="F")
        sides[:, 0] = right
        sides[self.pattern.coordinate, 1] = np.sqrt(scale) * unequal
        x = factors.solve(sides)
        correction = factors.solve(np.asfortranarray(sides - matrix @ x))
        pushed = np.sqrt(scale) * x[self.pattern.coordinate, 1]
        certain = (np.abs(correction).max(axis=0) <= _UNCERTAIN * np.abs(x).max(axis=0)).all()
        if not (certain and SINGULAR * np.abs(pushed).max(initial=0.0) < 1.0):
            raise self.singular(matrix)
        return np.asarray(x[:, 0] + correction[:, 0])

    def singular(self, matrix: Any) -> Exception:
        """The error that names the joint moving most in the motion that meets no resistance."""
        _, _, right = np.linalg.svd(matrix.toarray())
        joint = int(np.argmax(np.abs(right[-1][self.pattern.coordinate])))
        return no_inertia(self.robot.joint_names[joint], self.robot.name)


def factorised(matrix: Any) -> Any:
    """SuperLU factors without a search for pivots: down the diagonal in the order given."""
    from scipy.sparse.linalg import splu  # here: the ROS nodes start without scipy

    own_order = {"SymmetricMode": True}
    return splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=0.0, relax=1, panel_size=4, options=own_order)


def _csc(data: Array, entries: tuple[NDArray[np.int64], NDArray[np.int64]], size: int) -> Any:
    from scipy.sparse import csc_matrix  # here: the ROS nodes start without scipy

    return csc_matrix((data, entries), shape=(size, size))
