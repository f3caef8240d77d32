"""The differential-algebraic equations of a robot as sparse matrices, filled state by state and solved.

Blocks: free-body equations of every body and the motion its joint allows (document 001, sections 4.3–4.5). Euler's laws
about the body frame's origin, a point fixed on the body (Theorems 4.11–4.14 and what follows them), in the body's own
axes, with a = (v̇, ω̇), v̇ the acceleration of the origin less gravity, h = m·c, I about the origin:

    f = m v̇ + ω̇ × h + ω × (ω × h)
    n = I ω̇ + h × v̇ + ω × I ω

The joint constrains the motion relative to the parent: differentiated twice,

    a_i = X a_λ + S q̈ + drift,    X = [Rᵀ, −Rᵀp̃; 0, Rᵀ],

where R, p place the body in its parent. Nothing is added up along the tree but angular velocity; which force and
which acceleration result is left to the linear solve. Only the placement of one body in its parent is shared with the
recursive engines (`joint_placement`).

Sparsity, from the topology alone: the unknowns of one state are, for every body i, the wrench F_i that its parent
exerts on it through the joint and the acceleration a_i of its frame (each 6), and the joint accelerations q̈ (n). The
equations are, for every body, the balance of forces and moments (Euler's two laws) and the motion that its joint allows
(each 6), and what the drives give (n):

    balance    𝓜 a − Kᵀ F       = wrenches − gyroscopic terms
    joints    −K a        + S q̈ = −drift
    drives          Sᵀ F + J q̈ = τ

K is the identity less the transfer of motion from every parent, S the joint axes (times the gear ratio where several
joints share a coordinate), J the rotor inertia. Bodies are put in from the tips to the base, F before a before q̈, so
that elimination down the diagonal meets only −1 and inertias felt by joints: no pivot search, and fill that stays
between a body and its parent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.block_operators import joint_map
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, joint_placement, joint_velocity, plus_along
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.body_inertia import generalized_inertia, rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, PARENT, PRISMATIC, VELOCITY_INDEX, columns
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import SINGULAR
from rne_dynamics.spatial.pairs import NONE, pair_at, plus, put_pair
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, slice_vector, vector_at
from rne_dynamics.spatial.vector import ZERO, add, cross, rotate_back, scale, times

# columns of the motion array, one row a body: R and p in the parent, the body's own ω, and the velocity of its origin
# and its angular velocity relative to the parent; all in the body's axes except p
ROTATION, POSITION, ANGULAR, RELATIVE_LINEAR, RELATIVE_ANGULAR, MOTION_COLUMNS = columns(9, 3, 3, 3, 3)
RELATIVE = RELATIVE_LINEAR


@kernel
def joint_motion_kernel(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, motion: Array
) -> None:
    """Fill `motion`, shape (bodies, MOTION_COLUMNS), for joint positions and velocities."""
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R, p = joint_placement(topology, parameters, i, q)
        w = rotate_back(R, slice_vector(base, 3) if parent < 0 else vector_at(motion, parent, ANGULAR))
        relative = joint_velocity(topology, parameters, i, qd)
        put_pair(motion, i, RELATIVE, relative)
        put_matrix(motion, i, ROTATION, R)
        put(motion, i, POSITION, p)
        put(motion, i, ANGULAR, add(w, relative[1]))


@kernel
def free_body_kernel(
    topology: NDArray[np.int64],
    parameters: Array,
    base: Array,
    motion: Array,
    wrenches: Array,
    transfer: Array,
    drift: Array,
    force: Array,
) -> None:
    """The blocks of one state, from `motion` (bodies, MOTION_COLUMNS) and what `inverse_dynamics_kernel` takes.

    Fills `transfer` (bodies, 18) with Rᵀ and −Rᵀp̃, row after row, `drift` (bodies, 6) with the acceleration that the
    joint's velocity, and a base's prescribed motion, gives, and `force` (bodies, 6) with the wrench less the gyroscopic
    terms.
    """
    loaded = wrenches.shape[0] > 0
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        kind = topology[i, KIND]
        R, p = matrix_at(motion, i, ROTATION), vector_at(motion, i, POSITION)
        for k in range(3):
            row = (R[k], R[3 + k], R[6 + k])
            put(transfer, i, 3 * k, row)
            put(transfer, i, 9 + 3 * k, cross(p, row))

        w_parent = slice_vector(base, 3) if parent < 0 else vector_at(motion, parent, ANGULAR)
        pull = cross(w_parent, cross(w_parent, p))
        turn = ZERO
        if parent < 0:
            dw_base = slice_vector(base, 9)
            pull = add(pull, add(slice_vector(base, 6), cross(dw_base, p)))
            turn = rotate_back(R, dw_base)
        pull = rotate_back(R, pull)
        w = rotate_back(R, w_parent)
        v_joint, w_joint = pair_at(motion, i, RELATIVE)
        if kind != FLOATING:  # what violates the joint does not count
            v_joint, w_joint = plus_along(kind, NONE, v_joint[2] if kind == PRISMATIC else w_joint[2])
        pull = add(pull, cross(add(scale(2.0, w), w_joint), v_joint))
        put_pair(drift, i, 0, (pull, add(turn, cross(w, w_joint))))

        _, h, J = inertia_of(parameters, i)
        w = vector_at(motion, i, ANGULAR)
        F = cross(w, cross(h, w)), cross(times(J, w), w)
        if loaded:
            F = plus(F, pair_at(wrenches, i, 0))
        put_pair(force, i, 0, F)


Integers = NDArray[np.int64]

_ROW, _COLUMN = np.divmod(np.arange(9), 3)

#: Entries (row, column) of a body's 6×6 inertia that are not always zero: m, ∓h̃, I; shape (24,) each.
_OFF = np.flatnonzero(_ROW != _COLUMN)
INERTIA_ROWS: Integers = np.concatenate([np.arange(3), _ROW[_OFF], 3 + _ROW[_OFF], 3 + _ROW])
INERTIA_COLUMNS: Integers = np.concatenate([np.arange(3), 3 + _COLUMN[_OFF], _COLUMN[_OFF], 3 + _COLUMN])

#: Entries of the transfer X = [Rᵀ, −Rᵀp̃; 0, Rᵀ], and which of the 18 numbers Rᵀ, −Rᵀp̃ each is; shape (27,).
TRANSFER_ROWS: Integers = np.concatenate([_ROW, _ROW, 3 + _ROW])
TRANSFER_COLUMNS: Integers = np.concatenate([_COLUMN, 3 + _COLUMN, 3 + _COLUMN])
TRANSFER_NUMBERS: Integers = np.concatenate([np.arange(18), np.arange(9)])


def _numbering(topology: Integers, n: int) -> tuple[Integers, Integers, Integers]:
    """Numbers of F, a and q̈: from the tips to the base, a coordinate after the last of the bodies it moves."""
    bodies = len(topology)
    last = {iv: i for i, iv in reversed(list(enumerate(topology[:, VELOCITY_INDEX].tolist())))}
    force, motion, coordinate = (np.empty(size, dtype=np.int64) for size in ((bodies, 6), (bodies, 6), n))
    number = 0
    for i in range(bodies - 1, -1, -1):
        force[i], motion[i] = number + np.arange(6), number + 6 + np.arange(6)
        number += 12
        iv = int(topology[i, VELOCITY_INDEX])
        if last[iv] == i:
            freedoms = 6 if topology[i, KIND] == FLOATING else 1
            coordinate[iv : iv + freedoms] = number + np.arange(freedoms)
            number += freedoms
    return force, motion, coordinate


def _entries(*blocks: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    rows, columns = (np.concatenate([block[k].ravel() for block in blocks]) for k in range(2))
    return rows, columns


#: A solution that one step of refinement still changes by more than this part of itself means nothing.
_UNCERTAIN = 1e-4


class Blocks(NamedTuple):
    """Arrays that `free_body_kernel` fills for one state: transfer (bodies, 18), drift and force (bodies, 6)."""

    transfer: Array
    drift: Array
    force: Array


class MaximalSystem:
    """A robot's equations in maximal coordinates: numbering, sparsity, and the entries that never change."""

    def __init__(self, robot: RobotModel) -> None:
        self.robot = robot
        #: 𝓜: every body's 6×6 inertia about its frame's origin; shape (bodies, 6, 6).
        self.inertia = generalized_inertia(robot)
        #: J: rotor inertia of every coordinate; shape (n,).
        self.rotor = rotor_inertia(robot)
        #: S, shape (6·bodies, n), and its entries that are not zero.
        self.axes = joint_map(robot)
        component, place = np.nonzero(self.axes)
        self.gear = self.axes[component, place]
        # number of each component of F (and of the balance that it enters with −1), and of a (and of its joint
        # equation), (bodies, 6); number of each q̈ (and of its drive equation), (n,)
        self.force, self.motion, self.coordinate = force, motion, coordinate = _numbering(robot.topology, robot.n)
        #: Bodies whose parent is not the base.
        self.children = children = np.flatnonzero(robot.topology[:, PARENT] >= 0)
        parents = robot.topology[children, PARENT]
        moved, pushed, drive = motion.ravel()[component], force.ravel()[component], coordinate[place]
        both, outward = np.concatenate([force.ravel(), motion.ravel()]), np.arange(force.size).reshape(force.shape)
        #: Rows and columns of the whole matrix's entries: those of inertias (bodies, 24), −1 (12·bodies,), axes twice
        #: (axes,) and rotors (n,); then those of the transfer to children (children, 27), and the same transposed.
        self.entries = _entries(
            (force[:, INERTIA_ROWS], motion[:, INERTIA_COLUMNS]), (both, both), (moved, drive), (drive, pushed),
            (coordinate, coordinate), (motion[children][:, TRANSFER_ROWS], motion[parents][:, TRANSFER_COLUMNS]),
            (force[parents][:, TRANSFER_COLUMNS], force[children][:, TRANSFER_ROWS]),
        )
        #: Those of K alone, bodies from the base outward: 1 (6·bodies,) and transfer (children, 27).
        self.constraint_entries = _entries(
            (outward, outward), (outward[children][:, TRANSFER_ROWS], outward[parents][:, TRANSFER_COLUMNS])
        )

    @staticmethod
    @lru_cache(maxsize=16)
    def of(robot: RobotModel) -> MaximalSystem:
        """The system of a robot; those of the last few models are kept, which never change."""
        return MaximalSystem(robot)

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
        numbers = transfer[self.children][:, TRANSFER_NUMBERS].ravel()
        inertias, signs = self.inertia[:, INERTIA_ROWS, INERTIA_COLUMNS].ravel(), -np.ones(12 * self.robot.bodies)
        data = np.concatenate([inertias, signs, self.gear, self.gear, self.rotor, numbers, numbers])
        return _csc(data, self.entries, 2 * self.force.size + len(self.coordinate))

    def constraint_matrix(self, transfer: Array) -> Any:
        """K, scipy CSC; unit lower triangular, since parents come first."""
        numbers = transfer[self.children][:, TRANSFER_NUMBERS].ravel()
        return _csc(np.concatenate([np.ones(self.force.size), -numbers]), self.constraint_entries, self.force.size)

    def right_side(self, balance: Array, joints: Array, drives: Array) -> Array:
        """The right sides in the matrix's order, of (bodies, 6), (bodies, 6) and (n,)."""
        side = np.empty(2 * self.force.size + len(self.coordinate))
        side[self.force], side[self.motion], side[self.coordinate] = balance, joints, drives
        return side

    def along_axes(self, qdd: Array) -> Array:
        """S q̈; shape (bodies, 6), with any trailing dimension that q̈ (n, …) has."""
        return np.asarray((self.axes @ qdd).reshape((self.robot.bodies, 6, *qdd.shape[1:])))

    def solve(self, matrix: Any, right: Array, q: Array) -> Array:
        """Solve matrix · x = right (size,) with one step of iterative refinement, at joint positions `q` (nq,).

        Of x, `force` has the numbers of the wrenches F on the bodies, `motion` those of their accelerations a less
        gravity, `coordinate` those of q̈. `SingularInertiaError` names a joint that moves no inertia.
        """
        try:
            factors = factorised(matrix)
        except RuntimeError:  # SuperLU met a pivot that is exactly zero
            raise self.singular(matrix) from None
        # Besides, every drive is pushed. In coordinates scaled to a mass matrix of ones or less, the answer is about as
        # long as 1 over the least eigenvalue, unless the push has nothing along that eigenvector: joints that do the
        # same are pushed unequally.
        scale = inertia_scale(self.robot, q[None])[0]
        if not (scale > 0.0).all():
            raise self.singular(matrix)
        unequal = 1.0 + 0.5 * np.sin(np.arange(1.0, 1.0 + len(scale)))
        sides = np.zeros((len(right), 2), order="F")
        sides[:, 0] = right
        sides[self.coordinate, 1] = np.sqrt(scale) * unequal
        x = factors.solve(sides)
        correction = factors.solve(np.asfortranarray(sides - matrix @ x))
        pushed = np.sqrt(scale) * x[self.coordinate, 1]
        certain = (np.abs(correction).max(axis=0) <= _UNCERTAIN * np.abs(x).max(axis=0)).all()
        if not (certain and SINGULAR * np.abs(pushed).max(initial=0.0) < 1.0):
            raise self.singular(matrix)
        return np.asarray(x[:, 0] + correction[:, 0])

    def singular(self, matrix: Any) -> Exception:
        """The error that names the joint moving most in the motion that meets no resistance."""
        _, _, right = np.linalg.svd(matrix.toarray())
        joint = int(np.argmax(np.abs(right[-1][self.coordinate])))
        return no_inertia(self.robot.joint_names[joint], self.robot.name)


def factorised(matrix: Any) -> Any:
    """SuperLU factors without a search for pivots: down the diagonal in the order given."""
    from scipy.sparse.linalg import splu  # here: the ROS nodes start without scipy

    own_order = {"SymmetricMode": True}
    return splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=0.0, relax=1, panel_size=4, options=own_order)


def _csc(data: Array, entries: tuple[NDArray[np.int64], NDArray[np.int64]], size: int) -> Any:
    from scipy.sparse import csc_matrix  # here: the ROS nodes start without scipy

    return csc_matrix((data, entries), shape=(size, size))
