"""Mass matrix and bias of a mechanism in its actuated coordinates, by one kernel that other kernels may call.

With T the motion map and q̈ = T q̈_a + γ (γ what velocities alone give), virtual work turns the open tree's equations
into

    M_a = Tᵀ M T,      bias_a = Tᵀ (M γ + c + g − Jᵀ f),

the second of which is one run of inverse dynamics: the loops' forces do no work on the way and do not appear.
"""

from __future__ import annotations

from rne_dynamics.closed_chain.closing import (
    DONE,
    assemble_kernel,
    drift_kernel,
    motion_map_kernel,
)
from rne_dynamics.closed_chain.packed import Packed, Work
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.model.inertia import Array


@helper
def open_torque(packed: Packed, work: Work, base: Array, q: Array, qdd: Array, wrenches: Array) -> None:
    """`work.tau`: inverse dynamics of the open tree at velocities `work.qd`."""
    arm = Arm(packed.topology, packed.parameters, base, wrenches)
    apart(inverse_dynamics_kernel, (arm, q, work.qd, qdd, work.tau))


@helper
def projected(T: Array, tau: Array, out: Array) -> None:
    """out = Tᵀ tau."""
    for k in range(out.shape[0]):
        x = 0.0
        for i in range(tau.shape[0]):
            x += T[i, k] * tau[i]
        out[k] = x


@helper
def closed_mass_matrix_helper(packed: Packed, work: Work, q: Array, T: Array, M: Array) -> None:
    """M = Tᵀ M_tree T, with the zeros of T (joints of other loops) left out."""
    apart(mass_matrix_kernel, (Arm(packed.topology, packed.parameters, None, None), q, work.M))
    n, actuated = T.shape
    for i in range(n):
        for k in range(actuated):
            work.MT[i, k] = 0.0
    for j in range(n):
        for k in range(actuated):
            t = T[j, k]
            if t != 0.0:
                for i in range(n):
                    work.MT[i, k] += work.M[i, j] * t
    for k in range(actuated):
        for c in range(k + 1):
            M[k, c] = 0.0
        for i in range(n):
            t = T[i, k]
            if t != 0.0:
                for c in range(k + 1):
                    M[k, c] += t * work.MT[i, c]
        for c in range(k):
            M[c, k] = M[k, c]


@kernel
def closed_terms_kernel(
    packed: Packed,
    work: Work,
    base: Array,
    q: Array,
    qd: Array,
    wrenches: Array,
    posture: Array,
    T: Array,
    M: Array,
    bias: Array,
) -> int:
    """M_a and bias_a for one state: τ_a = M_a q̈_a + bias_a.

    Parameters
    ----------
    packed, work
        From `pack` and `workspace`.
    base
        Base motion as `BaseMotion.packed` gives it, gravity included, shape (12,).
    q, qd
        Positions and velocities of the actuated joints, shape (n,).
    wrenches
        External (force, moment) at every body frame's origin in body axes, shape (bodies, 6), or (0, 6) for none.
    posture
        In: positions of all joints of the tree from which to assemble, shape (tree n,). Out: those at q. Velocities
        are in `work.qd`, accelerations at q̈_a = 0 in `work.qdd`.
    T
        Filled, shape (tree n, n): velocities of the tree's joints are T q̇_a.
    M, bias
        Filled, shapes (n, n), (n,).

    Returns
    -------
    int
        `closing.DONE`, or else `NOT_CLOSED`, `SINGULAR` or `OVER_ACTUATED`: then T, M and bias mean nothing.
        `assembly.refusal` makes the error of it.
    """
    status = apart(assemble_kernel, (packed, work, q, posture))
    if status != DONE:
        return status
    status, _ = apart(motion_map_kernel, (packed, work, T))
    if status != DONE:
        return status
    apart(drift_kernel, (packed, work, T, posture, qd))
    open_torque(packed, work, base, posture, work.qdd, wrenches)
    projected(T, work.tau, bias)
    closed_mass_matrix_helper(packed, work, posture, T, M)
    return DONE
