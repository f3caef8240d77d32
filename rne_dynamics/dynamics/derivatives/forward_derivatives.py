"""Derivatives of forward dynamics with respect to q, q̇ and τ in closed form.

Where τ is held, 0 = ∂τ/∂q δq + ∂τ/∂q̇ δq̇ + M δq̈ with the derivatives of inverse dynamics at the acceleration that τ
gives (J. Carpentier and N. Mansard, Analytical derivatives of rigid body dynamics algorithms, Robotics: Science and
Systems 2018), so that ∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −M⁻¹ ∂τ/∂q̇ and ∂q̈/∂τ = M⁻¹.

M is factored once (`mass_factor`), so that a branched robot costs O(n·depth) for each column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.views import shaped
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.composite.walker_orin import WALKER_ORIN
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.declared import Declared
from rne_dynamics.dynamics.declared.forms import Compiled, N
from rne_dynamics.dynamics.declared.specialised import RowsForm
from rne_dynamics.dynamics.derivatives.inverse_derivatives import (
    INVERSE_DYNAMICS_DERIVATIVES,
    derivatives_and_wrenches,
    efforts_of_wrenches,
    inverse_derivatives_kernel,
)
from rne_dynamics.dynamics.derivatives.mass_factor import (
    elimination_tree,
    factor,
    put_inverse,
    solve_rows,
    solve_vector,
)
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import (
    NO_INERTIA,
    OK,
    topology_of,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Columns


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


_inverse_derivatives = INVERSE_DYNAMICS_DERIVATIVES.packed


@kernel
def accelerations_from_efforts(topology: NDArray[np.int64], out: Array) -> int:
    """Turn ∂τ/∂q, ∂τ/∂q̇, M of `out` (3, B, n, n) into ∂q̈/∂q, ∂q̈/∂q̇, M⁻¹; −1, or a coordinate without inertia."""
    n = out.shape[2]
    before, L, size = elimination_tree(topology, n), np.empty((n, n)), np.empty(n)
    for b in range(out.shape[1]):
        for i in range(n):
            size[i] = out[2, b, i, i]
            for k in range(n):
                L[i, k] = out[2, b, i, k]
                out[0, b, i, k] = -out[0, b, i, k]
                out[1, b, i, k] = -out[1, b, i, k]
        singular = factor(L, before, size)
        if singular >= 0:
            return singular
        for part in range(2):
            solve_rows(L, before, out[part, b])
        put_inverse(L, before, out[2, b])
    return -1


def _packed(forward_dynamics: Compiled) -> Compiled:
    """The form for one state: it fills `out` (3, n, n) with ∂q̈/∂q, ∂q̈/∂q̇, M⁻¹; otherwise as `compiled_forms`."""

    @kernel
    def forward_derivatives_packed(arm: Array, q: Array, qd: Array, tau: Array, out: Array) -> int:
        qdd = np.empty(qd.shape[0])
        code: int = forward_dynamics(arm, q, qd, tau, qdd)
        if code == OK:
            code = _inverse_derivatives(arm, q, qd, qdd, out)
        if code == OK:
            n = out.shape[1]
            if accelerations_from_efforts(topology_of(arm), shaped(out, (3, 1, n, n))) >= 0:
                code = NO_INERTIA
        return code

    return forward_derivatives_packed


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
            call = FORWARD_DYNAMICS_DERIVATIVES.first_call(robot, _checked)
        return call(q, qd, tau)
    return _checked(robot, q, qd, tau, wrenches, base_motion)


def _checked(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> ForwardDynamicsDerivatives:
    simple = wrenches is None and base_motion is None
    lead, (positions, velocities, efforts) = state_arrays(robot, q=q, qd=qd, tau=tau)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    rows = positions, velocities, efforts
    own = FORWARD_DYNAMICS_DERIVATIVES.own_rows(robot, rows, more=None if simple else (base, loads))
    if own is not None:
        return ForwardDynamicsDerivatives(*np.moveaxis(own, 1, 0).reshape((3, *lead, robot.n, robot.n)))
    accelerations = FORWARD_DYNAMICS.compute(robot, base, *rows, loads)
    out = INVERSE_DYNAMICS_DERIVATIVES.compute(robot, base, positions, velocities, accelerations, loads)
    coordinate = accelerations_from_efforts(robot.topology, out)
    if coordinate >= 0:
        raise no_inertia(robot.joint_names[coordinate], robot.name)
    return ForwardDynamicsDerivatives(*out.reshape((3, *lead, robot.n, robot.n)))


@kernel
def _rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array,
    out: Array,
) -> int:  # fmt: skip
    """∂τ/∂q, ∂τ/∂q̇, M⁻¹ and M's factor, (4, B, n, n), for straight-line code; `_column` makes the answer of them.

    M and the bias torque come from the derivatives of inverse dynamics at q̈ = 0, and q̈ from M's factor: for six joints
    87 % of the operations that another algorithm for q̈ takes.
    """
    n = out.shape[2]
    before = elimination_tree(topology, n)
    zero, bias, qdd, size = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    for b in range(out.shape[1]):
        arm = Arm(topology, parameters, base[0], wrenches[0])
        f = derivatives_and_wrenches(arm, q[b], qd[b], zero, (out[0, b], out[1, b], out[2, b]))
        efforts_of_wrenches(topology, parameters, f, bias)
        for i in range(n):
            qdd[i] = tau[b, i] - bias[i]
            for k in range(i + 1):
                out[3, b, i, k] = out[2, b, i, k]
        inertia_scale_kernel(topology, parameters, q[b], size)
        singular = factor(out[3, b], before, size)
        if singular >= 0:
            return singular
        solve_vector(out[3, b], before, qdd)
        inverse_derivatives_kernel(arm, q[b], qd[b], qdd, (out[0, b], out[1, b], out[2, b]))
        put_inverse(out[3, b], before, out[2, b])
    return -1


@kernel
def _column(topology: NDArray[np.int64], L: Array, x: Array, out: Array) -> None:
    """−M⁻¹ x for rows of factors (B, n²) and vectors (B, n)."""
    n = out.shape[1]
    before = elimination_tree(topology, n)
    for b in range(out.shape[0]):
        for i in range(n):
            out[b, i] = -x[b, i]
        solve_vector(L[b].reshape((n, n)), before, out[b])


def _rows_form(robot: RobotModel, link: str = "") -> RowsForm:
    columns = Columns(_column, (robot.topology,), matrices=2)
    return INVERSE_DYNAMICS_DERIVATIVES.rows_form(robot)._replace(kernel=_rows, columns=columns)


class _ForwardDerivatives(Declared):
    """Two compiled functions, one after the other."""

    made_of = FORWARD_DYNAMICS, INVERSE_DYNAMICS_DERIVATIVES
    _for_mimic = _packed(WALKER_ORIN.packed)

    def form(self, robot: RobotModel) -> Compiled:
        """As of `Quantity`."""
        return self._for_mimic if robot.has_mimic else self.packed


FORWARD_DYNAMICS_DERIVATIVES = _ForwardDerivatives(
    "forward_dynamics_derivatives", ("q", "qd", "tau"), (3, N, N), _packed(FORWARD_DYNAMICS.without_mimic),
    forward_dynamics_derivatives, ("base_motion",), ForwardDynamicsDerivatives, rows=_rows_form,
)  # fmt: skip
