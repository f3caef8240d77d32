"""Loop closure and answers of a mechanism as operations without decisions, for straight-line code.

`assemble_kernel` decides how to go on after every trial. Here a fixed step is repeated until it changes nothing, and
what the general kernel would decide otherwise is refused: the caller then computes the state by the general kernel.
Both follow the branch of a posture on a straight line of the actuated joints, in steps of the same length, shorter
near singular postures.

Why both find the same posture: after a Newton step the next one's length is η. With L the Lipschitz constant of the
constraints' Jacobian and σ its smallest singular value, a solution lies within 2 η if η L / σ ≤ ½ (Kantorovich), and no
other one nearby. Steps with η > σ / 4 are refused, and postures in which branches may meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.closed_chain.closing import (
    BRANCHES_MEET,
    DONE,
    MISFIT,
    NOT_CLOSED,
    SINGULAR,
    STRIDE,
    clusters_distance,
    drift_kernel,
    factor_clusters,
    largest_change,
    merit,
    motion_map_kernel,
    passive_answer,
    put_actuated,
    tangent,
)
from rne_dynamics.closed_chain.constraints import constraints_kernel
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.closed_chain.tree_coordinates import closed_bias_helper, closed_mass_matrix_helper, open_torque
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import scaled_cholesky_solve
from rne_dynamics.spatial.rows import product, transposed_times

#: Change of a joint, rad or lengths of the mechanism, after which a posture is closed to round-off: the next would be
#: its square.
SETTLED = 1e-7
#: Part of the smallest singular value that a Newton step may have.
_CERTAIN = 0.25


@helper
def advance(packed: Packed, work: Work, straight: bool, target: Array, q: Array, out: Array) -> int:
    """One step along the branch: a Newton step of the passive joints, the actuated ones going to `target` (n,).

    From the posture q (tree n,); where the passive joints move `straight`, in proportion to the actuated ones, one step
    is enough. Fills out (tree n + 1,): the next posture, then by how much it may change still, rad or lengths of the
    mechanism. Returns DONE, NOT_CLOSED or SINGULAR.
    """
    n = q.shape[0]
    step, way = np.empty(n), np.empty(n)
    apart(constraints_kernel, (packed, work, q, np.zeros(n)))
    factor_clusters(packed, work)
    passive_answer(packed, work, work.residual, step)
    correction = largest_change(packed, step)
    distance = clusters_distance(packed, work)
    if not distance > BRANCHES_MEET:
        return SINGULAR
    if not correction < _CERTAIN * distance:
        return NOT_CLOSED
    speed = tangent(packed, work, target, q, way)
    stride = min(STRIDE, distance)
    part = 1.0 if straight else stride / max(speed, stride)
    for j in range(n):
        out[j] = q[j] + step[j] + part * way[j]
    out[n] = max(correction, speed)
    return DONE


@helper
def _settle(packed: Packed, work: Work, T: Array, q: Array, posture: Array) -> int:
    """The motion map at a posture that `advance` found, the actuated joints at q."""
    put_actuated(packed, q, posture)
    apart(constraints_kernel, (packed, work, posture, np.zeros(posture.shape[0])))
    if not merit(packed, work) < MISFIT * MISFIT:
        return NOT_CLOSED
    factor_clusters(packed, work)
    status, distance = apart(motion_map_kernel, (packed, work, T))
    return SINGULAR if status == DONE and not distance > BRANCHES_MEET else status


def _settled(fill: Callable[..., Any]) -> Callable[..., int]:
    """A function of ``(packed, work, base, posture, q, …, out)`` that returns a status.

    It finds the motion map T and calls ``fill(packed, work, base, posture, T, …, out)``, which returns whether
    something is singular, or None.
    """

    def function(packed: Packed, work: Work, base: Array, posture: Array, q: Array, *rest: Array) -> int:
        T = np.zeros((posture.shape[0], q.shape[0]))
        status = _settle(packed, work, T, q, posture)
        is_singular = fill(packed, work, base, posture, T, *rest)
        return SINGULAR if is_singular and status == DONE else status

    return function


@_settled
def closed_posture(packed: Packed, work: Work, base: Array, posture: Array, T: Array, out: Array) -> None:
    """Positions of all joints of the tree, (tree n,)."""
    out[:] = posture


@_settled
def closed_inverse(
    packed: Packed, work: Work, base: Array, posture: Array, T: Array, qd: Array, qdd: Array, out: Array
) -> None:
    """Efforts of the actuated joints: those of the open tree by virtual work, Tᵀ τ.

    They are equal to the efforts with the forces at the cuts, K_aᵀ λ less, since K_pᵀ λ = τ_p and T_p = −K_p⁺ K_a.
    """
    n = posture.shape[0]
    velocity, acceleration, tau = np.zeros(n), np.zeros(n), np.zeros(n)
    apart(drift_kernel, (packed, work, T, posture, qd, velocity, acceleration))
    for i in range(n):
        acceleration[i] += product(T[i], qdd)
    open_torque(packed, base, posture, velocity, acceleration, np.zeros((0, 6)), tau)
    transposed_times(T, tau, out)


@_settled
def closed_bias(packed: Packed, work: Work, base: Array, posture: Array, T: Array, qd: Array, out: Array) -> None:
    """Coriolis, centrifugal and gravity efforts of the actuated joints."""
    closed_bias_helper(packed, work, base, posture, T, qd, np.zeros((0, 6)), out)


@_settled
def closed_gravity(packed: Packed, work: Work, base: Array, posture: Array, T: Array, out: Array) -> None:
    """Efforts of the actuated joints at rest."""
    closed_bias_helper(packed, work, base, posture, T, np.zeros(T.shape[1]), np.zeros((0, 6)), out)


@_settled
def closed_mass(packed: Packed, work: Work, base: Array, posture: Array, T: Array, out: Array) -> None:
    """The mass matrix of the actuated coordinates, (n, n)."""
    closed_mass_matrix_helper(packed, posture, T, out)


@_settled
def closed_forward(
    packed: Packed, work: Work, base: Array, posture: Array, T: Array, qd: Array, tau: Array, out: Array
) -> bool:
    """Accelerations of the actuated joints."""
    tree, n = T.shape
    M, inertia, scale = np.zeros((n, n)), np.zeros(tree), np.zeros(n)
    closed_bias_helper(packed, work, base, posture, T, qd, np.zeros((0, 6)), out)
    closed_mass_matrix_helper(packed, posture, T, M)
    inertia_scale_kernel(packed.topology, packed.parameters, posture, inertia)
    for k in range(n):
        out[k] = tau[k] - out[k]
        for i in range(tree):
            scale[k] += inertia[i] * T[i, k] * T[i, k]
    return scaled_cholesky_solve(M, out, scale, out) >= 0
