"""Derivatives of forward dynamics with respect to q, q̇ and τ in closed form.

Where τ is held, 0 = ∂τ/∂q δq + ∂τ/∂q̇ δq̇ + M δq̈ with the derivatives of inverse dynamics at the acceleration that τ
gives (J. Carpentier and N. Mansard, Analytical derivatives of rigid body dynamics algorithms, Robotics: Science and
Systems 2018), so that ∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇ and ∂q̈/∂τ = M⁻¹.

M is factored once, as LᵀL from the free ends to the base: then L is zero wherever M is (Featherstone, Rigid Body
Dynamics Algorithms, section 6.5), and a branched robot costs O(n·depth) for each column. Robots with mimic joints
couple coordinates across branches; for them the same loops run over a chain, which leaves out nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.inverse_derivatives import inverse_derivatives_batch
from rne_dynamics.dynamics.nasser import nasser_forward
from rne_dynamics.dynamics.walker_orin import SINGULAR
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, PARENT, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.jit import helper, kernel


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations, each of shape (…, n, n): row = acceleration, column = coordinate.

    Parameters
    ----------
    q
        ∂q̈/∂q, along displacements in velocity coordinates (`integrate_configuration`).
    qd
        ∂q̈/∂q̇.
    tau
        ∂q̈/∂τ, which is the inverse of the mass matrix.
    """

    q: Array
    qd: Array
    tau: Array


@helper
def _coordinate_parents(topology: NDArray[np.int64], independent: bool, before: NDArray[np.int64]) -> None:
    """The next coordinate towards the base for each of `before` (n,), −1 for the last; a superset for mimic joints."""
    for k in range(before.shape[0]):
        before[k] = k - 1
    if independent:
        for i in range(topology.shape[0]):
            parent = topology[i, PARENT]
            last = -1
            if parent >= 0:
                last = topology[parent, VELOCITY_INDEX] + (5 if topology[parent, KIND] == FLOATING else 0)
            before[topology[i, VELOCITY_INDEX]] = last


@helper
def _factor(M: Array, before: NDArray[np.int64]) -> int:
    """L of M = LᵀL in place of M's lower half; −1, or a coordinate at which M is not positive definite."""
    n = M.shape[0]
    size = np.empty(n)
    for k in range(n):
        size[k] = M[k, k]
    for k in range(n - 1, -1, -1):
        if not M[k, k] > SINGULAR * size[k]:
            return k
        root = np.sqrt(M[k, k])
        M[k, k] = root
        i = before[k]
        while i >= 0:
            M[k, i] /= root
            i = before[i]
        i = before[k]
        while i >= 0:
            j = i
            while j >= 0:
                M[i, j] -= M[k, i] * M[k, j]
                j = before[j]
            i = before[i]
    return -1


@helper
def _solve_rows(L: Array, before: NDArray[np.int64], X: Array) -> None:
    """X ← (LᵀL)⁻¹ X, all columns of X (n, n) at once, row by row."""
    n = L.shape[0]
    for i in range(n - 1, -1, -1):
        for c in range(n):
            X[i, c] /= L[i, i]
        j = before[i]
        while j >= 0:
            for c in range(n):
                X[j, c] -= L[i, j] * X[i, c]
            j = before[j]
    for i in range(n):
        j = before[i]
        while j >= 0:
            for c in range(n):
                X[i, c] -= L[i, j] * X[j, c]
            j = before[j]
        for c in range(n):
            X[i, c] /= L[i, i]


@kernel
def accelerations_from_efforts(topology: NDArray[np.int64], independent: bool, out: Array) -> int:
    """Turn ∂τ/∂q, ∂τ/∂q̇, M of `out` (3, B, n, n) into ∂q̈/∂q, ∂q̈/∂q̇, M⁻¹; −1, or a coordinate without inertia."""
    n = out.shape[2]
    before = np.empty(n, np.int64)
    _coordinate_parents(topology, independent, before)
    L = np.empty((n, n))
    for b in range(out.shape[1]):
        for i in range(n):
            for k in range(n):
                L[i, k] = out[2, b, i, k]
                out[0, b, i, k] = -out[0, b, i, k]
                out[1, b, i, k] = -out[1, b, i, k]
                out[2, b, i, k] = 1.0 if i == k else 0.0
        singular = _factor(L, before)
        if singular >= 0:
            return singular
        for part in range(3):
            _solve_rows(L, before, out[part, b])
    return -1


def forward_dynamics_derivatives(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics` with respect to q, q̇ and τ, analytic.

    Parameters
    ----------
    robot
        The model.
    q, qd, tau
        Positions (…, nq), velocities and efforts (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `inverse_dynamics`; the loads are held constant in their links' axes.

    Returns
    -------
    ForwardDynamicsDerivatives
        ``q``, ``qd``, ``tau``, each of shape (…, n, n). A displacement of q has n components: for a floating joint
        (linear, angular) in the moving frame's axes, as in `integrate_configuration`.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    SingularInertiaError
        A joint that moves no inertia (massless links, no rotor); the message names it.
    ModelError
        An unknown link in `wrenches`.
    """
    lead, (positions, velocities, efforts) = state_arrays(robot, q=q, qd=qd, tau=tau)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    accelerations = nasser_forward(robot, base, positions, velocities, efforts, loads)
    out = np.empty((3, positions.shape[0], robot.n, robot.n))
    inverse_derivatives_batch(robot.topology, robot.parameters, base, positions, velocities, accelerations, loads, out)
    coordinate = accelerations_from_efforts(robot.topology, not robot.has_mimic, out)
    if coordinate >= 0:
        raise no_inertia(robot.joint_names[coordinate], robot.name)
    return ForwardDynamicsDerivatives(*out.reshape((3, *lead, robot.n, robot.n)))
