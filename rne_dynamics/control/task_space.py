"""Effective inertia of a tool near singular postures, null space, and the error of a pose: parts of Cartesian laws.

Directions are in 1/kg by measuring rotations at a length ℓ. One with the mobility a of (S J M⁻¹ Jᵀ S), below a₀, is
near a singularity: the tool feels heavier than 1/a₀ there. Its inertia is 1/a₀ for damping and stiffness in proportion,
and fades to 0 for feedforward and null space: the direction becomes a part of the null space. Nothing is inverted that
has no inverse, whatever the posture, and with fewer than six joints.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import call
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.model_terms import inertia_terms_kernel, shared_terms
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.kinematics.jacobian import jacobian_kernel, motions_in_world
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import columns
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import jacobi
from rne_dynamics.spatial.pairs import acceleration_at, motion_at, put_slice_pair
from rne_dynamics.spatial.rows import add_scaled, product, put, put_matrix, slice_vector
from rne_dynamics.spatial.vector import Matrix, add, compose, compose_back, rotate, rotate_back, rotation_vector
from rne_dynamics.straight_line.recipe import VALID

# Motion of the tool at a state: turn R, place p, velocity (v, ω), acceleration (v̇, ω̇), in axes of the base. The
# measured one is that at q̈ = 0, J̇ q̇; that of the reference follows.
TURN, PLACE, VELOCITY, ACCELERATION, MOTION = columns(9, 3, 6, 6)


class TaskModel(NamedTuple):
    """An open arm with a tool: what `task_terms` takes."""

    topology: NDArray[np.int64]
    parameters: Array
    #: Motion of the base, (12,), and the body of the tool.
    base: Array
    body: int
    #: Turn and origin of the tool's frame in that body, (12,).
    frame: Array
    #: Of ``i32 (q, qd, aim, aim_qd, aim_qdd, base, frame, inertia, terms)``, (1,), 0 for none; and `inertia_of`.
    address: NDArray[np.int64]
    inertia: Array


def task_size(n: int) -> int:
    """Numbers of `terms`: M, c, g and the Jacobian, (n + 8, n), and two motions of the tool."""
    return n * (n + 8) + 2 * MOTION


@helper
def _put_motion(
    topology: NDArray[np.int64], parameters: Array, body: int, frame: Array, q: Array, qd: Array, out: Array, row: int
) -> None:
    """Motion of the tool at q̈ = 0 into a row of `out`, (…, MOTION)."""
    X, V, a = motions_in_world(topology, parameters, q, qd, q)
    R, p = X[body]
    arm = rotate(R, slice_vector(frame, PLACE))
    put_matrix(out, row, TURN, compose(R, matrix_of(frame)))
    put(out, row, PLACE, add(p, arm))
    put_slice_pair(out[row], VELOCITY, motion_at(V[body], arm))
    put_slice_pair(out[row], ACCELERATION, acceleration_at(a[body], V[body][1], arm))


@helper
def matrix_of(a: Array) -> Matrix:
    """The first nine numbers of an array."""
    return a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]


@kernel
def task_terms_kernel(
    topology: NDArray[np.int64], parameters: Array, base: Array, body: int, frame: Array, q: Array, qd: Array,
    reference: Reference, terms: Array,
) -> None:
    """Fill `terms`, (`task_size`,): rows M, c(q, q̇), g(q), J; motion of the tool, and that of the reference."""
    n = qd.shape[0]
    inertia_terms_kernel(topology, parameters, base, q, qd, terms[: n * (n + 2)].reshape((n + 2, n)))
    arm, point = Arm(topology, parameters, base, np.zeros((0, 6))), frame[PLACE:]
    J, wanted = terms[n * (n + 2) : n * (n + 8)].reshape((6, n)), np.zeros((6, n))
    jacobian_kernel(arm, body, point, q, J)
    jacobian_kernel(arm, body, point, reference.q, wanted)
    motions = terms[n * (n + 8) :].reshape((2, MOTION))
    _put_motion(topology, parameters, body, frame, q, qd, motions, 0)
    _put_motion(topology, parameters, body, frame, reference.q, reference.qd, motions, 1)
    for i in range(6):
        motions[1, ACCELERATION + i] += product(wanted[i], reference.qdd)


@helper
def task_terms(model: TaskModel, q: Array, qd: Array, reference: Reference, terms: Array) -> None:
    """As `task_terms_kernel`, by machine code if there is some; NaN for a state that this refuses."""
    if model.address[0] == 0:
        task_terms_kernel(
            model.topology, model.parameters, model.base, model.body, model.frame, q, qd, reference, terms
        )
    elif call(
        model.address[0],
        (q, qd, reference.q, reference.qd, reference.qdd, model.base, model.frame, model.inertia, terms),
    ) != VALID:
        terms[:] = np.nan


def task_model(robot: RobotModel, link: str, tool: Array) -> TaskModel:
    """A tool at the point `tool`, (3,), of a link, the base at rest; compiles where machine code is to be made."""
    at = robot.link(link)
    frame = np.concatenate([at.rotation.ravel(), at.position + at.rotation @ tool])
    generic = frame + 0.1 * Dice(2).normal(size=24)[12:]
    own = shared_terms(
        robot, "task terms", _rows, ("q", "qd", "q", "qd", "qd"), (task_size(robot.n),), (at.body,), (generic,)
    )
    address, inertia = (np.zeros(1, np.int64), np.zeros(1)) if own is None else (own.address, own.inertia)
    return TaskModel(robot.topology, robot.parameters, robot.base_at_rest, at.body, frame, address, inertia)


def _rows(arm: Arm, body: int, *arrays: Array) -> None:
    """Of each state."""
    *inputs, out = arrays
    for b in range(out.shape[0]):
        q, qd, aim, aim_qd, aim_qdd, base, frame = (x[b] for x in inputs)
        wanted = Reference(aim, aim_qd, aim_qdd)
        task_terms_kernel(arm.topology, arm.parameters, base, body, frame, q, qd, wanted, out[b])


#: Exactness of `jacobi`: a posture's torque must not reach the tool.
EXACT = 1e-18



@helper
def effective_inertia(A: Array, length: float, least: float, work: Array, light: Array, heavy: Array) -> None:
    """The two inertias, (6, 6), from J M⁻¹ Jᵀ, overwritten: `light` fades to 0 near singularities, `heavy` does not."""
    for i in range(6):
        for j in range(6):
            A[i, j] *= (length if i > 2 else 1.0) * (length if j > 2 else 1.0)
            light[i, j] = heavy[i, j] = 0.0
    jacobi(A, work, EXACT)
    for m in range(6):
        a = max(A[m, m], 0.0)
        x = a / least
        fading = 1.0 / a if x >= 1.0 else x * x * x * (4.0 - 3.0 * x) / least  # value and slope of 1/a at a₀
        lasting = 1.0 / max(a, least)
        for i in range(6):
            u = work[m, i] * (length if i > 2 else 1.0)
            for j in range(6):
                both = u * work[m, j] * (length if j > 2 else 1.0)
                light[i, j] += fading * both
                heavy[i, j] += lasting * both





@helper
def put_pose_error(wanted: Array, found: Array, e: Array) -> None:
    """(p_d − p, rotation vector) into `e`, (6,), from two motions as in `task_terms`, in axes of the base."""
    turn = rotation_vector(compose_back(matrix_of(wanted), matrix_of(found)))
    for k in range(3):
        e[k], e[3 + k] = wanted[PLACE + k] - found[PLACE + k], turn[k]


@helper
def turn_rows(motion: Array, J: Array, rows: Array) -> None:
    """Turn the Jacobian and vectors of six, the rows of `rows`, from axes of the base to those of the tool."""
    R = matrix_of(motion)
    for half in range(2):
        at = 3 * half
        for j in range(J.shape[1]):
            v = rotate_back(R, (J[at, j], J[at + 1, j], J[at + 2, j]))
            J[at, j], J[at + 1, j], J[at + 2, j] = v
        for i in range(rows.shape[0]):
            v = rotate_back(R, (rows[i, at], rows[i, at + 1], rows[i, at + 2]))
            rows[i, at], rows[i, at + 1], rows[i, at + 2] = v


@helper
def limit_part(wrench: Array, first: int, limit: float) -> None:
    """Scale the force or the moment of a wrench, (6,), down to a limit; 0 for none."""
    size = math.sqrt(product(wrench[first : first + 3], wrench[first : first + 3]))
    if size > limit > 0.0:
        for k in range(first, first + 3):
            wrench[k] *= limit / size


@helper
def add_wrench(
    motion: Array, J: Array, local: float, more: Array, spring: Array, force: float, moment: float, torque: Array
) -> None:
    """Add the torque of a wrench `more`, (2, 6): base axes, tool axes, besides the spring's, both within the limits."""
    R, both, any_more = matrix_of(motion), np.empty(6), False
    for half in range(2):
        at = 3 * half
        base, tool = slice_vector(more[0], at), slice_vector(more[1], at)
        part = add(rotate_back(R, base), tool) if local != 0.0 else add(base, rotate(R, tool))
        for k in range(3):
            any_more |= part[k] != 0.0
            both[at + k] = spring[at + k] + part[k]
    if not any_more:
        return
    limit_part(both, 0, force)
    limit_part(both, 3, moment)
    for k in range(6):
        add_scaled(torque, both[k] - spring[k], J[k])
