"""Forward and inverse dynamics from Lagrange's equations (document 004): W q̈ = P + V solved for either side.

A base in prescribed motion is six coordinates more, a floating joint at the root; the equations are formed for all and
the rows of the joints kept: W_qq q̈ + W_qb z̈ = P + V_q with z̈ given. A base that does not turn needs none of that:
its acceleration acts as gravity does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale, solved_accelerations
from rne_dynamics.dynamics.lagrange.terms import form_terms, form_terms_on_moving_base
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Rows are worked through in pieces whose matrices have about this many entries, so that long batches fit the memory.
ENTRIES = 2**20


def lagrange_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows; `SingularInertiaError` names a joint that moves no inertia."""
    qdd, scale = np.empty_like(tau), inertia_scale(robot, q)
    for piece, W, V in _pieces(robot, base, q, qd, wrenches):
        qdd[piece] = solved_accelerations(W, tau[piece] + V, scale[piece], robot.name, robot.joint_names)
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
    if not (base[:, 3:6].any() or base[:, 9:12].any()):
        terms = form_terms(robot.topology, robot.parameters, -base[:, 6:9], q, qd, wrenches)
    else:
        # the base's acceleration holds −g
        terms = form_terms_on_moving_base(robot, base, np.zeros((1, 3)), q, qd, wrenches)
    return terms.W, terms.V
