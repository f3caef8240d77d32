"""Derivatives of forward dynamics with respect to q, q̇ and τ in closed form.

Where τ is held, 0 = ∂τ/∂q δq + ∂τ/∂q̇ δq̇ + M δq̈ with the derivatives of inverse dynamics at the acceleration that τ
gives (J. Carpentier and N. Mansard, Analytical derivatives of rigid body dynamics algorithms, Robotics: Science and
Systems 2018), so that ∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇ and ∂q̈/∂τ = M⁻¹.

M is factored once, as LᵀL from the free ends to the base, so that a branched robot costs O(n·depth) for each column. L
is zero wherever M is (R. Featherstone, Rigid Body Dynamics Algorithms, section 6.5). Robots with mimic joints couple
coordinates across branches; `elimination_tree` finds what then has to be filled. The diagonal of the array L has the
reciprocals 1/L_ii: each is used for every right side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.composite.mass_matrix import WALKER_ORIN, inertia_scale_kernel
from rne_dynamics.dynamics.declared.arguments import Arm, BaseMotion, Wrenches
from rne_dynamics.dynamics.declared.quantity import Compiled, N, Quantity
from rne_dynamics.dynamics.derivatives.inverse_derivatives import (
    derivatives_and_wrenches,
    inverse_derivatives_kernel,
)
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.kinematics.joint_motion import put_efforts
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import FLOATING, KIND, PARENT, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import SINGULAR
from rne_dynamics.straight_line.recipe import Columns


@helper
def _couple(before: NDArray[np.int64], inner: int, outer: int) -> None:
    """Change the tree `before` so that coordinate `inner` < `outer` lies on the way from `outer` to the base."""
    while inner >= 0:
        while before[outer] > inner:
            outer = before[outer]
        if before[outer] == inner:
            return
        # between `outer` and what came next: which must then lie on the way from `inner`
        following = before[outer]
        before[outer] = inner
        outer, inner = inner, following


@helper
def elimination_tree(topology: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """The next coordinate towards the base for each of n, −1 where there is none.

    Coordinates that M couples lie on one way to the base, and so do those that elimination couples (the elimination
    tree of sparse Cholesky). It is the kinematic tree, unless mimic joints tie branches together.
    """
    before = np.empty(n, np.int64)
    before[:] = -1
    for i in range(topology.shape[0]):
        iv = topology[i, VELOCITY_INDEX]
        last = iv + (5 if topology[i, KIND] == FLOATING else 0)
        for k in range(iv, last):
            _couple(before, k, k + 1)
        j = topology[i, PARENT]
        while j >= 0:
            jv = topology[j, VELOCITY_INDEX]
            if jv < iv:
                _couple(before, jv + (5 if topology[j, KIND] == FLOATING else 0), iv)
            elif jv > iv:  # joint j mimics a later one
                _couple(before, last, jv)
            j = topology[j, PARENT]
    return before


@helper
def factor(M: Array, before: NDArray[np.int64], size: Array) -> int:
    """L of M = LᵀL in place of M's lower half; −1, or a coordinate whose pivot is none relative to `size` (n,)."""
    n = M.shape[0]
    for k in range(n - 1, -1, -1):
        if not M[k, k] > SINGULAR * size[k]:
            return k
        s = 1.0 / np.sqrt(M[k, k])
        M[k, k] = s
        i = before[k]
        while i >= 0:
            M[k, i] *= s
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
def solve_rows(L: Array, before: NDArray[np.int64], X: Array) -> None:
    """X ← (LᵀL)⁻¹ X, all columns of X (n, columns) at once, row by row."""
    n, columns = X.shape
    for i in range(n - 1, -1, -1):
        s = L[i, i]
        for c in range(columns):
            X[i, c] *= s
        j = before[i]
        while j >= 0:
            s = L[i, j]
            for c in range(columns):
                X[j, c] -= s * X[i, c]
            j = before[j]
    for i in range(n):
        j = before[i]
        while j >= 0:
            s = L[i, j]
            for c in range(columns):
                X[i, c] -= s * X[j, c]
            j = before[j]
        s = L[i, i]
        for c in range(columns):
            X[i, c] *= s


@helper
def put_inverse(L: Array, before: NDArray[np.int64], X: Array) -> None:
    """X = (LᵀL)⁻¹, of shape (n, n): L X = L⁻ᵀ row by row, whose part below the diagonal is zero, and X is symmetric."""
    n = L.shape[0]
    for i in range(n):
        s = L[i, i]
        for c in range(i + 1):
            x = s if c == i else 0.0
            j = before[i]
            while j >= 0:
                x -= L[i, j] * X[j, c]
                j = before[j]
            X[i, c] = s * x
            X[c, i] = X[i, c]


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


def _general(forward_dynamics: Compiled, *, of_bodies: bool) -> Compiled:
    """The kernel that fills ∂q̈/∂q, ∂q̈/∂q̇, M⁻¹; `of_bodies`: whether faults of forward dynamics are bodies."""

    @kernel
    def forward_derivatives(arm: Arm, q: Array, qd: Array, tau: Array, out: tuple[Array, Array, Array]) -> int:
        topology, n = arm.topology, qd.shape[0]
        qdd, L, size = np.empty(n), np.empty((n, n)), np.empty(n)
        fault: int = forward_dynamics(arm, q, qd, tau, qdd)
        if fault >= 0:
            return int(topology[fault, VELOCITY_INDEX]) if of_bodies else fault
        inverse_derivatives_kernel(arm, q, qd, qdd, out)
        to_q, to_qd, M = out
        before = elimination_tree(topology, n)
        for i in range(n):
            size[i] = M[i, i]
            for k in range(n):
                L[i, k], to_q[i, k], to_qd[i, k] = M[i, k], -to_q[i, k], -to_qd[i, k]
        singular = factor(L, before, size)
        if singular < 0:
            solve_rows(L, before, to_q)
            solve_rows(L, before, to_qd)
            put_inverse(L, before, M)
        return singular

    return forward_derivatives


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
    if wrenches is None and base_motion is None:
        try:
            call: Callable[..., ForwardDynamicsDerivatives] = robot.own_code["forward_dynamics_derivatives"]
        except (AttributeError, KeyError):
            call = FORWARD_DYNAMICS_DERIVATIVES.first_call(robot)
        return call(q, qd, tau)
    return ForwardDynamicsDerivatives(
        *FORWARD_DYNAMICS_DERIVATIVES.answer(robot, q, qd, tau, wrenches=wrenches, base_motion=base_motion)
    )


@kernel
def _rows(arms: Arm, extra: tuple[()], q: Array, qd: Array, tau: Array, out: Array) -> int:
    """∂τ/∂q, ∂τ/∂q̇, M⁻¹ and M's factor, (B, 4, n, n), for straight-line code; `_column` makes the answer of them.

    M and the bias torque come from the derivatives of inverse dynamics at q̈ = 0, and q̈ from M's factor: for six joints
    87 % of the operations that another algorithm for q̈ takes.
    """
    topology, parameters, base, wrenches = arms
    n = out.shape[2]
    before = elimination_tree(topology, n)
    zero, bias, qdd, size = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    for b in range(out.shape[0]):
        arm = Arm(topology, parameters, base[0], wrenches[0])
        f = derivatives_and_wrenches(arm, q[b], qd[b], zero, (out[b, 0], out[b, 1], out[b, 2]))
        put_efforts(topology, parameters, f, zero, bias)
        for i in range(n):
            qdd[i] = tau[b, i] - bias[i]
            for k in range(i + 1):
                out[b, 3, i, k] = out[b, 2, i, k]
        inertia_scale_kernel(topology, parameters, q[b], size)
        singular = factor(out[b, 3], before, size)
        if singular >= 0:
            return singular
        solve_rows(out[b, 3], before, qdd.reshape((n, 1)))
        inverse_derivatives_kernel(arm, q[b], qd[b], qdd, (out[b, 0], out[b, 1], out[b, 2]))
        put_inverse(out[b, 3], before, out[b, 2])
    return -1


@kernel
def _column(topology: NDArray[np.int64], L: Array, x: Array, out: Array) -> None:
    """−M⁻¹ x for rows of factors (B, n²) and vectors (B, n)."""
    n = out.shape[1]
    before = elimination_tree(topology, n)
    for b in range(out.shape[0]):
        for i in range(n):
            out[b, i] = -x[b, i]
        solve_rows(L[b].reshape((n, n)), before, out[b].reshape((n, 1)))


def _declared(forward_dynamics: Quantity, mimic: Quantity | None) -> Quantity:
    kernel = _general(forward_dynamics.kernel, of_bodies=mimic is not None)
    return Quantity(
        "forward_dynamics_derivatives", kernel, ("q", "qd", "tau"), (3, N, N),
        base_motion=True, fault="joint_names", mimic=mimic, parts=ForwardDynamicsDerivatives, traced=_rows,
        columns=lambda robot: Columns(_column, (robot.topology,), matrices=2),
    )  # fmt: skip


FORWARD_DYNAMICS_DERIVATIVES = _declared(FORWARD_DYNAMICS, _declared(WALKER_ORIN, None))
FORWARD_DYNAMICS_DERIVATIVES.public(forward_dynamics_derivatives)
