"""The terms of control laws for a mechanism whose actuated joints are no coordinates.

What a law asks of the actuated joints becomes the nearest motion that the loops allow; what that takes is shared among
the motors by `Mechanism.effort_weights`. The preload is part of the gravity term: it is there at rest.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.generic_rank import RANK
from rne_dynamics.closed_chain.independence import evaluated, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.tree_dynamics import motor_efforts, null_space, open_efforts, refuse_loose, unforced
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


def tree_terms(
    mechanism: Mechanism, viscous: Array, base: Array, posture: Array, velocity: Array, desired: Array
) -> tuple[Array, Array, Array, Array]:
    """Efforts of the motors, term by term, at a state of all joints of the tree that the loops allow.

    Parameters
    ----------
    viscous
        `passive_viscous`, shape (tree n,).
    base
        Base motion as `BaseMotion.packed` gives it, gravity included, shape (12,).
    posture, velocity
        Of all joints of the tree, shape (tree n,).
    desired
        Accelerations of the actuated joints, one set a row, shape (sets, n).

    Returns
    -------
    tuple
        M·desired (sets, n), c(q, q̇) (n,), g(q) with the preload (n,), viscous torque of passive joints (n,).

    Raises
    ------
    SingularPostureError
        A freedom that no motor holds and that is not idle, or a singular posture.
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
    open_efforts(packed, work, turning, posture, velocity, bent, unloaded, coriolis)
    open_efforts(packed, work, pulling, posture, rest, rest, unloaded, gravity)
    inertia = np.array([shared(M @ (T @ (back @ row))) for row in desired]).reshape(len(desired), mechanism.n)
    held = shared(gravity) + motor_efforts(mechanism, T, rest, mechanism.preloads)
    return inertia, shared(coriolis), held, shared(viscous * velocity)
