"""The terms of Lagrange's equations over states: for a base at rest and for one that moves.

W q̈ = P + V (document 004) is solved for either side. A base in prescribed motion is six coordinates more, a floating
joint at the root; the equations are formed for all and the rows of the joints kept: W_qq q̈ + W_qb z̈ = P + V_q with z̈
given. A base that does not turn needs none of that: its acceleration acts as gravity does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale, solved_accelerations
from rne_dynamics.dynamics.declared.arguments import BaseMotion, packed_base, state_arrays, with_floating_root
from rne_dynamics.dynamics.lagrange import LagrangeTerms, lagrange_batch
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


def form_terms(
    topology: NDArray[np.int64], parameters: Array, field: Array, q: Array, qd: Array, wrenches: Array
) -> LagrangeTerms:
    """The terms over rows, shapes as for `lagrange_batch`; nothing is checked."""
    rows, n = qd.shape
    terms = LagrangeTerms(
        np.empty((rows, n, n)), np.empty((rows, n)), np.empty((rows, n, n)), np.empty((rows, n)), np.empty((rows, n)),
        np.zeros((rows, n)),
    )  # fmt: skip
    lagrange_batch(topology, parameters, field, q, qd, wrenches, terms)
    return terms


def form_terms_on_moving_base(
    robot: RobotModel, base: Array, field: Array, q: Array, qd: Array, wrenches: Array
) -> LagrangeTerms:
    """The terms of the joints for a base that moves as `base` (1 or B, 12: v, ω, v̇, ω̇) says; nothing is checked.

    A base in prescribed motion is six coordinates more, a floating joint at the root. The equations are formed for all
    of them, and the rows of the joints kept: W_qq q̈ + W_qb ż = P + V_q with ż given.
    """
    v, w, dv, dw = base[:, 0:3], base[:, 3:6], base[:, 6:9], base[:, 9:12]
    rows = len(q)
    origin = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    velocity = np.broadcast_to(base[:, :6], (rows, 6))
    whole = form_terms(
        *with_floating_root(robot), field, np.concatenate([np.broadcast_to(origin, (rows, 7)), q], axis=1),
        np.concatenate([velocity, qd], axis=1),
        np.concatenate([np.zeros((len(wrenches), 1, 6)), wrenches], axis=1) if wrenches.size else wrenches,
    )
    # the rate of the base's velocity components, whose axes turn with it
    acceleration = np.broadcast_to(np.concatenate([dv - np.cross(w, v), dw], axis=1), (rows, 6))
    given = (whole.W[:, 6:, :6] @ acceleration[:, :, None])[:, :, 0]
    return LagrangeTerms(
        np.ascontiguousarray(whole.W[:, 6:, 6:]), whole.V[:, 6:] - given, np.ascontiguousarray(whole.W_dot[:, 6:, 6:]),
        whole.dT_dq[:, 6:], whole.Y[:, 6:], (whole.W_dot[:, 6:, :6] @ velocity[:, :, None])[:, :, 0] + given,
    )


def lagrange_terms(
    robot: RobotModel, q: ArrayLike, qd: ArrayLike, *, base_motion: BaseMotion | None = None
) -> LagrangeTerms:
    """W and V of Lagrange's equations W q̈ = P + V, and Ẇ, ∂T/∂q, Y, ṡ that V is made of (document 004).

    Parameters
    ----------
    robot
        The model.
    q, qd
        Positions (…, nq) and velocities (…, n). Leading dimensions broadcast.
    base_motion
        As for `inverse_dynamics`. The kinetic energy is that of the motion in the world then.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    """
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    unloaded = np.empty((1, 0, 6))
    if base_motion is None:
        field = robot.gravity.reshape(1, 3).copy()
        terms = form_terms(robot.topology, robot.parameters, field, positions, velocities, unloaded)
    else:
        base = packed_base(robot, base_motion, lead)
        field = robot.gravity @ np.asarray(base_motion.rotation, dtype=np.float64)  # in base axes; checked just now
        field = np.array(np.broadcast_to(field, (*lead, 3)).reshape(-1, 3))
        base = np.array(np.broadcast_to(base, (len(field), 12)))
        base[:, 6:9] += field  # its own acceleration, without −g
        terms = form_terms_on_moving_base(robot, base, field, positions, velocities, unloaded)
    return LagrangeTerms(*(term.reshape((*lead, *term.shape[1:])) for term in terms))


def lagrange_forward(robot: RobotModel, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    """Joint accelerations (B, n) over checked rows; `SingularInertiaError` names a joint that moves no inertia."""
    W, V = _equations(robot, base, q, qd, wrenches)
    return solved_accelerations(W, tau + V, inertia_scale(robot, q), robot.name, robot.joint_names)


def lagrange_inverse(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Joint efforts P = W q̈ − V, (B, n) over checked rows."""
    W, V = _equations(robot, base, q, qd, wrenches)
    return np.asarray((W @ qdd[:, :, None])[:, :, 0] - V)


def _equations(robot: RobotModel, base: Array, q: Array, qd: Array, wrenches: Array) -> tuple[Array, Array]:
    """W (B, n, n) and V (B, n) of the joints for a base that moves as `base` (1 or B, 12) says."""
    if not (base[:, 3:6].any() or base[:, 9:12].any()):
        terms = form_terms(robot.topology, robot.parameters, -base[:, 6:9], q, qd, wrenches)
    else:
        # the base's acceleration holds −g
        terms = form_terms_on_moving_base(robot, base, np.zeros((1, 3)), q, qd, wrenches)
    return terms.W, terms.V
