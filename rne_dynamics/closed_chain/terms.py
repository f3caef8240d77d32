"""Mass matrix and bias of a mechanism in its actuated coordinates, by one kernel that other kernels may call.

With T the motion map and q̈ = T q̈_a + γ (γ what velocities alone give), virtual work turns the open tree's equations
into

    M_a = Tᵀ M T,      bias_a = Tᵀ (M γ + c + g − Jᵀ f),

the second of which is one run of inverse dynamics: the loops' forces do no work on the way and do not appear.
"""

from __future__ import annotations

import numpy as np

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
from rne_dynamics.spatial.rows import add_scaled, transposed_times


@helper
def open_torque(
    packed: Packed, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array, tau: Array
) -> None:
    """Efforts tau of the open tree for a motion of all its joints, (tree n,) each."""
    apart(inverse_dynamics_kernel, (Arm(packed.topology, packed.parameters, base, wrenches), q, qd, qdd, tau))


@helper
def closed_bias_helper(
    packed: Packed, work: Work, base: Array, posture: Array, T: Array, qd: Array, wrenches: Array, bias: Array
) -> None:
    """bias_a for a motion map T."""
    n = posture.shape[0]
    velocity, acceleration, tau = np.empty(n), np.empty(n), np.empty(n)
    apart(drift_kernel, (packed, work, T, posture, qd, velocity, acceleration))
    open_torque(packed, base, posture, velocity, acceleration, wrenches, tau)
    transposed_times(T, tau, bias)


@helper
def closed_mass_matrix_helper(packed: Packed, q: Array, T: Array, M: Array) -> None:
    """M = Tᵀ M_tree T, with the zeros of T (joints of other loops) left out."""
    n, actuated = T.shape
    tree, moved = np.empty((n, n)), np.zeros((actuated, n))
    apart(mass_matrix_kernel, (Arm(packed.topology, packed.parameters, None, None), q, tree))
    for j in range(n):
        for k in range(actuated):
            if T[j, k] != 0.0:
                add_scaled(moved[k], T[j, k], tree[j])
    M[:, :] = 0.0
    for k in range(actuated):
        for i in range(n):
            if T[i, k] != 0.0:
                for c in range(k + 1):
                    M[k, c] += T[i, k] * moved[c, i]
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
    """M_a (n, n) and bias_a (n,) for one state q, qd (n,): τ_a = M_a q̈_a + bias_a.

    `base` is as `BaseMotion.packed` gives it, gravity included, `wrenches` (bodies, 6) external loads at the bodies'
    origins in their axes, or (0, 6). `posture` (tree n,) is where to assemble from, and becomes the one at q; T (tree
    n, n) becomes the motion map. Returns a status of `closing`; `refusals.refusal` makes the error of it.
    """
    status = apart(assemble_kernel, (packed, work, q, posture))
    if status != DONE:
        return status
    status, _ = apart(motion_map_kernel, (packed, work, T))
    if status != DONE:
        return status
    closed_bias_helper(packed, work, base, posture, T, qd, wrenches, bias)
    closed_mass_matrix_helper(packed, posture, T, M)
    return DONE
