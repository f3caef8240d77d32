"""`inertia_terms` with the motion of a tool, measured and desired, in one call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import call
from rne_dynamics.control.inertia_terms import inertia_terms_kernel
from rne_dynamics.control.model_terms import shared_terms
from rne_dynamics.control.reference import Reference
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.kinematics.jacobian import jacobian_kernel, motions_in_world
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import columns
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import acceleration_at, motion_at, put_slice_pair
from rne_dynamics.spatial.rows import product, slice_vector
from rne_dynamics.spatial.vector import Matrix, add, compose, rotate
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
    topology: NDArray[np.int64], parameters: Array, body: int, frame: Array, q: Array, qd: Array, out: Array
) -> None:
    """Motion of the tool at q̈ = 0 into `out`, (MOTION,)."""
    X, V, a = motions_in_world(topology, parameters, q, qd, q)
    R, p = X[body]
    arm = rotate(R, slice_vector(frame, PLACE))
    turn, place = compose(R, matrix_of(frame)), add(p, arm)
    for k in range(9):
        out[k] = turn[k]
    for k in range(3):
        out[PLACE + k] = place[k]
    put_slice_pair(out, VELOCITY, motion_at(V[body], arm))
    put_slice_pair(out, ACCELERATION, acceleration_at(a[body], V[body][1], arm))


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
    _put_motion(topology, parameters, body, frame, q, qd, motions[0])
    _put_motion(topology, parameters, body, frame, reference.q, reference.qd, motions[1])
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
    code = shared_terms(
        robot, "task terms", _rows, ("q", "qd", "q", "qd", "qd"), (task_size(robot.n),), (at.body,), (generic,)
    )
    address, inertia = (0, np.zeros(1)) if code is None else (code.address, code.constant[0])
    return TaskModel(
        robot.topology, robot.parameters, robot.base_at_rest, at.body, frame, np.array([address]), inertia
    )


def _rows(arm: Arm, body: int, *arrays: Array) -> None:
    """Of each state."""
    *inputs, out = arrays
    for b in range(out.shape[0]):
        q, qd, aim, aim_qd, aim_qdd, base, frame = (x[b] for x in inputs)
        wanted = Reference(aim, aim_qd, aim_qdd)
        task_terms_kernel(arm.topology, arm.parameters, base, body, frame, q, qd, wanted, out[b])
