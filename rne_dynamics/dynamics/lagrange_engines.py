"""Forward and inverse dynamics from Lagrange's equations (document 004): W q̈ = P + V solved for either side.

A base in prescribed motion is six coordinates more, a floating joint at the root; the equations are formed for all and
the rows of the joints kept: W_qq q̈ + W_qb z̈ = P + V_q with z̈ given. A base that does not turn needs none of that:
its acceleration acts as gravity does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.dynamics.inertia_scale import inertia_scale
from rne_dynamics.dynamics.lagrange import form_terms
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    COLUMNS,
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    POSITION_INDEX,
    ROTATION,
    VELOCITY_INDEX,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve

#: Rows are worked through in pieces whose matrices have about this many entries, so that long batches fit the memory.
ENTRIES = 2**20


def lagrange_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows; `SingularInertiaError` names a joint that moves no inertia."""
    qdd, scale = np.empty_like(tau), inertia_scale(robot, q)
    for piece, W, V in _pieces(robot, base, q, qd, wrenches):
        for matrix, left, size, solution in zip(W, tau[piece] + V, scale[piece], qdd[piece], strict=True):
            coordinate = scaled_cholesky_solve(matrix, left, size, solution)
            if coordinate >= 0:
                raise no_inertia(robot.joint_names[coordinate], robot.name)
    return qdd


def lagrange_inverse(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Joint efforts P = W q̈ − V, (B, n) over checked rows."""
    tau = np.empty_like(qdd)
    for piece, W, V in _pieces(robot, base, q, qd, wrenches):
        tau[piece] = (W @ qdd[piece, :, None])[:, :, 0] - V
    return tau


def _pieces(
    robot: RobotModel, base: Array, q: Array, qd: Array, wrenches: Array
) -> Iterator[tuple[slice, Array, Array]]:
    """Slices of the rows, each with its W (rows, n, n) and V (rows, n)."""
    rows = max(1, ENTRIES // max(1, robot.n**2))
    for start in range(0, len(q), rows):
        piece = slice(start, start + rows)
        moving = base[piece] if len(base) > 1 else base
        loads = wrenches[piece] if len(wrenches) > 1 else wrenches
        W, V = _equations(robot, moving, q[piece], qd[piece], loads)
        yield piece, W, V


def _equations(robot: RobotModel, base: Array, q: Array, qd: Array, wrenches: Array) -> tuple[Array, Array]:
    """W (B, n, n) and V (B, n) of the joints for a base that moves as `base` (1 or B, 12) says."""
    v, w, dv, dw = base[:, 0:3], base[:, 3:6], base[:, 6:9], base[:, 9:12]
    if not (w.any() or dw.any()):
        terms = form_terms(robot.topology, robot.parameters, -dv, q, qd, wrenches)
        return terms.W, terms.V
    rows = len(q)
    origin = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    topology, parameters = _with_floating_root(robot)
    terms = form_terms(
        topology,
        parameters,
        np.zeros((1, 3)),  # the base's acceleration holds −g
        np.concatenate([np.broadcast_to(origin, (rows, 7)), q], axis=1),
        np.concatenate([np.broadcast_to(base[:, :6], (rows, 6)), qd], axis=1),
        np.concatenate([np.zeros((len(wrenches), 1, 6)), wrenches], axis=1) if wrenches.size else wrenches,
    )
    # the rate of the base's velocity components, whose axes turn with it
    acceleration = np.broadcast_to(np.concatenate([dv - np.cross(w, v), dw], axis=1), (rows, 6))
    V = terms.V[:, 6:] - (terms.W[:, 6:, :6] @ acceleration[:, :, None])[:, :, 0]
    return np.ascontiguousarray(terms.W[:, 6:, 6:]), V


def _with_floating_root(robot: RobotModel) -> tuple[NDArray[np.int64], Array]:
    """The packed model with a floating body of no mass below all others."""
    root = np.zeros((1, robot.topology.shape[1]), dtype=np.int64)
    root[0, PARENT], root[0, KIND] = -1, FLOATING
    above = robot.topology.copy()
    above[:, PARENT] += 1
    above[:, POSITION_INDEX] += 7
    above[:, VELOCITY_INDEX] += 6
    row = np.zeros((1, COLUMNS))
    row[0, [ROTATION, ROTATION + 4, ROTATION + 8]] = 1.0
    row[0, MULTIPLIER] = 1.0
    topology, parameters = np.concatenate([root, above]), np.concatenate([row, robot.parameters])
    topology.flags.writeable = parameters.flags.writeable = False  # as the model's own: kernels are compiled for these
    return topology, parameters
