"""Dynamics of a mechanism where its actuated joints are no coordinates, in the coordinates of its tree.

Forward dynamics is that of `tree_coordinates.py`. Inverse dynamics takes the accelerations of the actuated joints;
idle freedoms move as the equations of motion make them move without effort. With T, whose columns span the velocities
that the loops allow, and e the efforts that the open tree would take for the motion, the motors' efforts τ satisfy

    (S T)ᵀ τ = Tᵀ e,

S picking the actuated joints. Where there are more motors than freedoms τ is the one that is the nearest to
`Mechanism.preload`, in the metric of `Mechanism.effort_weights`: the least Σ w (τ − p)².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import least_velocity, nearest_motion, no_motion, unforced
from rne_dynamics.closed_chain.closing import SINGULAR
from rne_dynamics.closed_chain.independence import RANK, evaluated, generic_rank, refusal, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import Rows, closed_efforts, empty_rows, tree_vectors
from rne_dynamics.closed_chain.tree_coordinates import DETERMINED, open_torque, tree_accelerations, tree_of
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.declared.arguments import (
    BaseMotion,
    Wrenches,
    as_rows,
    bodies_wrenches,
    packed_base,
    vectors,
)
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

#: Part of an acceleration, or of the efforts, by which it may miss what loops and motors allow.
_MISSED = 1e-6


def tree_forward_dynamics(
    mechanism: Mechanism,
    q_tree: ArrayLike,
    qd_tree: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Array:
    """Accelerations of all joints of the tree that efforts of the actuated ones give, at any posture.

    `mechanism`: the mechanism; its actuated joints need not be coordinates. `q_tree`, `qd_tree`: positions and
    velocities of all joints of the tree, the loops closed; shape (…, tree n). `tau`: efforts of the actuated joints,
    N·m or N; shape (…, n). `wrenches`, `base_motion`: as for `rne_dynamics.inverse_dynamics`. Returns accelerations,
    rad/s² or m/s², shape (…, tree n). Raises SingularInertiaError: a freedom that moves no inertia; names a joint that
    it moves. ArgumentError: wrong shapes, NaN or infinity. ModelError: an unknown link in `wrenches`.
    """
    arrays = {name: tree_vectors(mechanism, name, x) for name, x in (("q_tree", q_tree), ("qd_tree", qd_tree))}
    efforts = vectors("tau", tau, mechanism.n, f"it must be (..., {mechanism.n}), one an actuated joint")
    lead, (q, v, rows) = as_rows(arrays | {"tau": efforts})
    base, loads = packed_base(mechanism.robot, base_motion, lead), bodies_wrenches(mechanism.robot, wrenches, lead)
    return tree_forward(mechanism, base, q, v, rows, loads).reshape((*lead, mechanism.robot.n))


def tree_forward(mechanism: Mechanism, base: Array, q: Array, v: Array, tau: Array, loads: Array) -> Array:
    """`tree_forward_dynamics` over checked rows: q, v (B, tree n), tau (B, n), base (1 or B, 12)."""
    tree, n = tree_of(pack(mechanism), generic_rank(mechanism).total), mechanism.robot.n
    drive, out, free = np.zeros(n), np.empty_like(q), np.zeros(n)
    for b in range(len(q)):
        drive[mechanism.actuated] = tau[b]
        at, load = base[b if len(base) > 1 else 0], loads[b if len(loads) > 1 else 0]
        failed = tree_accelerations(tree, at, load, free, False, q[b], v[b], drive, out[b])
        if failed != DETERMINED:
            raise no_inertia(mechanism.robot.joint_names[failed], mechanism.name)
    return out


def tree_inverse(mechanism: Mechanism, base: Array, q: Array, qd: Array, qdd: Array, loads: Array) -> Rows:
    """Inverse dynamics at postures q (B, tree n), qd, qdd (B, n) checked; `SingularPostureError` or `ArgumentError`."""
    packed, n, actuated = pack(mechanism), mechanism.robot.n, mechanism.actuated
    work, scales = workspace(packed), packed.column_scale
    found = empty_rows(mechanism, len(q))._replace(postures=q)
    for b in range(len(q)):
        at, load = base[b if len(base) > 1 else 0], loads[b if len(loads) > 1 else 0]
        v, a, e = found.velocity[b], found.acceleration[b], np.empty(n)
        v[:] = least_velocity(mechanism, q[b], qd[b])
        K = scaled_jacobian(packed, evaluated(packed, work, q[b], v))
        a[:], free, missed = nearest_motion(mechanism, K, -packed.row_scale * work.drift, qdd[b])
        refuse_loose(mechanism, q[b], free)
        if missed > 0.0:
            raise no_motion(mechanism, "qdd", missed)
        open_torque(packed, at, q[b], v, a, load, e)
        if free.shape[1]:
            a += unforced(free, mass_matrix(mechanism.robot, q[b]), e)
            open_torque(packed, at, q[b], v, a, load, e)
        tau = motor_efforts(mechanism, null_space(mechanism, K), e, mechanism.preloads)
        rest = scales * e
        rest[actuated] -= scales[actuated] * tau
        force = packed.row_scale * np.linalg.lstsq(K.T, rest, rcond=_MISSED)[0]
        closed_efforts(packed, work, at, q[b], v, a, force, load, found.cuts[b], found.tau[b])
    return found


def null_space(mechanism: Mechanism, K: Array) -> Array:
    """Velocities that the loops allow, as columns (tree n, freedoms), from the scaled Jacobian."""
    free: Array = np.linalg.svd(K)[2][generic_rank(mechanism).total :].T
    return pack(mechanism).column_scale[:, None] * free


def motor_efforts(mechanism: Mechanism, T: Array, efforts: Array, preload: Array) -> Array:
    """Efforts of the motors, (n,), that do what `efforts` of all joints of the open tree would, (tree n,).

    With T from `null_space`. Of many, the nearest to the preload, (n,), in the metric of the weights.
    """
    root = np.sqrt(mechanism.weights)
    onto = T[mechanism.actuated].T
    share, *_ = np.linalg.lstsq(onto / root, T.T @ efforts - onto @ preload, rcond=_MISSED)
    return np.asarray(preload + share / root)


def refuse_loose(mechanism: Mechanism, q: Array, free: Array) -> None:
    """`SingularPostureError` where not all freedoms that no motor holds, columns of `free`, are idle."""
    if free.shape[1] > generic_rank(mechanism).idle:
        raise refusal(mechanism, SINGULAR, q[mechanism.actuated], q)


def tree_terms(
    mechanism: Mechanism, viscous: Array, base: Array, posture: Array, velocity: Array, desired: Array, speeds: Array
) -> tuple[Array, Array, Array, Array]:
    """Efforts of the motors for control laws, term by term, at a state of all joints of the tree that the loops allow.

    What a law asks becomes the nearest motion that the loops allow, shared by `Mechanism.effort_weights`. From
    accelerations `desired` and velocities `speeds` (sets, n) of the motors: M·desired (sets, n), c(q, q̇) (n,), g(q)
    with the preload (n,), and viscous torque of passive joints (sets, n). `SingularPostureError`.
    """
    packed, n, actuated = pack(mechanism), mechanism.robot.n, mechanism.actuated
    work, none = workspace(packed), np.zeros(mechanism.n)
    K = scaled_jacobian(packed, evaluated(packed, work, posture, velocity))
    drift = -packed.row_scale * work.drift
    T, M = null_space(mechanism, K), mass_matrix(mechanism.robot, posture)
    onto, lengths = T[actuated], packed.column_scale[actuated]
    _, sizes, Vt = np.linalg.svd(onto / lengths[:, None])
    free = T @ Vt[int((sizes > RANK).sum()) :].T
    refuse_loose(mechanism, posture, free)
    back = np.linalg.pinv(onto / lengths[:, None], rcond=RANK) / lengths

    def shared(efforts: Array) -> Array:
        if free.shape[1]:
            efforts = efforts + M @ unforced(free, M, efforts)
        return motor_efforts(mechanism, T, efforts, none)

    # what the velocities alone accelerate, taken back as far as the motors can
    bent = packed.column_scale * np.linalg.lstsq(K, drift, rcond=RANK)[0]
    bent -= T @ (back @ bent[actuated])
    coriolis, gravity, rest = np.empty(n), np.empty(n), np.zeros(n)
    unloaded = np.empty((0, 6))
    turning, pulling = base.copy(), np.zeros(12)
    turning[0:3] = turning[6:9] = 0.0
    pulling[6:9] = base[6:9]
    open_torque(packed, turning, posture, velocity, bent, unloaded, coriolis)
    open_torque(packed, pulling, posture, rest, rest, unloaded, gravity)
    inertia = np.array([shared(M @ (T @ (back @ row))) for row in desired]).reshape(len(desired), mechanism.n)
    passive = np.array([shared(viscous * (T @ (back @ row))) for row in speeds]).reshape(len(speeds), mechanism.n)
    held = shared(gravity) + motor_efforts(mechanism, T, rest, mechanism.preloads)
    return inertia, shared(coriolis), held, passive
