"""Quantities of a flexible arm: their kernels, machine code for one arm alone, and the functions that take either.

All answers of a quantity are rows of one array, since machine code fills one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.declared import specialised
from rne_dynamics.dynamics.declared.arguments import (
    Arm,
    BaseMotion,
    Wrenches,
    arm_of,
    bodies_wrenches,
    packed_base,
)
from rne_dynamics.dynamics.declared.specialised import kept_code, rounded_turns, rows_by
from rne_dynamics.errors import no_inertia
from rne_dynamics.flexible.inertia import flexible_terms_kernel
from rne_dynamics.flexible.packed import Packed, check_flexible, coordinates, pack
from rne_dynamics.model.dice import Dice
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.spatial.cholesky import cholesky_solve, scaled_cholesky_solve
from rne_dynamics.straight_line.recipe import Recipe

if TYPE_CHECKING:  # with LLVM
    from rne_dynamics.straight_line.state_code import StateCode

F = TypeVar("F", bound=Callable[..., Any])
_STATE = ("q", "delta", "qd", "deltad")
#: Size of sample amplitudes: small, as the theory has them, but no zeros.
_AMPLITUDE = 1e-2


@helper
def _put_terms(
    packed: Packed, rigid: Arm, q: Any, delta: Any, qd: Any, deltad: Any, J: Array, bias: Array
) -> None:
    apart(flexible_terms_kernel, (packed, rigid.base, _joined(q, delta), _joined(qd, deltad), rigid.wrenches, J, bias))


@helper
def _joined(q: Any, delta: Any) -> Any:
    n = q.shape[1]
    z = np.zeros(n + delta.shape[1])
    z[:n], z[n:] = q[0], delta[0]
    return z


# kernels of one state, with a row each of its inputs; base and loads are those of `rigid`, whose inertia is what
# round-off is measured by; they return −1 or the joint or mode that moves no inertia


@kernel
def equations_rows(packed: Packed, rigid: Arm, q: Any, delta: Any, qd: Any, deltad: Any, out: Any) -> int:
    """J, and the bias forces in one row more; out (1, n + modes + 1, n + modes)."""
    J, bias = out[0, : out.shape[2]], out[0, out.shape[2]]
    _put_terms(packed, rigid, q, delta, qd, deltad, J, bias)
    return -1


@kernel
def inverse_rows(packed: Packed, rigid: Arm, q: Any, delta: Any, qd: Any, deltad: Any, qdd: Any, out: Any) -> int:
    """Joint efforts, then accelerations of the modes; out (1, n + modes)."""
    n, nz = q.shape[1], out.shape[1]
    J, bias, zdd = np.zeros((nz, nz)), np.zeros(nz), np.zeros(nz)
    _put_terms(packed, rigid, q, delta, qd, deltad, J, bias)
    for k in range(nz):
        zdd[k] = -bias[k]
        for j in range(n):
            zdd[k] -= J[k, j] * qdd[0, j]
    singular = cholesky_solve(J[n:, n:].copy(), zdd[n:], zdd[n:])
    zdd[:n] = qdd[0]
    for k in range(n):
        out[0, k] = bias[k]
        for j in range(nz):
            out[0, k] += J[k, j] * zdd[j]
    out[0, n:] = zdd[n:]
    return n + singular if singular >= 0 else singular


@kernel
def forward_rows(packed: Packed, rigid: Arm, q: Any, delta: Any, qd: Any, deltad: Any, tau: Any, out: Any) -> int:
    """Accelerations of the joints, then of the modes; out (1, n + modes)."""
    n, nz = q.shape[1], out.shape[1]
    J, rest, scale = np.zeros((nz, nz)), np.zeros(nz), np.zeros(nz)
    _put_terms(packed, rigid, q, delta, qd, deltad, J, rest)
    for k in range(nz):
        rest[k] = (tau[0, k] if k < n else 0.0) - rest[k]
    inertia_scale_kernel(rigid.topology, rigid.parameters, q[0], scale[:n])
    return scaled_cholesky_solve(J, rest, scale, out[0])


#: The public functions that have machine code: kernel and inputs.
WITH_CODE: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "equations_of_motion": (equations_rows, _STATE),
    "flexible_inverse_dynamics": (inverse_rows, (*_STATE, "qdd")),
    "flexible_forward_dynamics": (forward_rows, (*_STATE, "tau")),
}


def by_own_code(quantity: str) -> Callable[[F], F]:
    """Decorator of a function of an arm and states, see `declared.specialised.by_own_code`."""

    def code(arm: FlexibleArm) -> StateCode | None:
        check_flexible(arm)
        return arm_code(arm, quantity) if arm.specialised else None

    return specialised.by_own_code(quantity, WITH_CODE[quantity][1], coordinates, code)


def by_kernel(
    arm: FlexibleArm, quantity: str, vectors: tuple[ArrayLike, ...], wrenches: Wrenches | None,
    base_motion: BaseMotion | None,
) -> Array:  # fmt: skip
    """One of `WITH_CODE` for states of any leading shape, all checked; `SingularInertiaError` names joint or mode."""
    one_row, inputs = WITH_CODE[quantity]
    lead, rows = coordinates(arm, **dict(zip(inputs, vectors, strict=True)))
    base, loads = packed_base(arm.body_model, base_motion, lead), bodies_wrenches(arm.body_model, wrenches, lead)
    out = np.empty((len(rows[0]), *_shape(arm, quantity)))
    for b in range(len(out)):
        of_base, of_loads = (x[b if len(x) > 1 else 0] for x in (base, loads))
        rigid = Arm(arm.robot.topology, arm.robot.parameters, of_base, of_loads)
        fault = one_row(pack(arm), rigid, *(row[b : b + 1] for row in rows), out[b : b + 1])
        if fault >= 0:
            raise no_inertia((arm.joint_names + arm.mode_names)[fault], arm.name)
    return out.reshape((*lead, *out.shape[1:]))


def of_posture(
    arm: FlexibleArm, fill: Callable[[Packed, Array, Array], None], shape: tuple[int, ...], rows: list[Array]
) -> Array:
    """What the kernel ``fill(packed, z, out)`` gives, of this shape, for checked rows of q and δ; (B, …)."""

    def general(chosen: Any) -> Array:
        z = np.hstack(rows)[chosen]
        out = np.empty((len(z), *shape))
        for of_one, one in zip(z, out, strict=True):
            fill(pack(arm), of_one, one)
        return out

    def one_row(packed: Packed, rigid: Arm, q: Any, delta: Any, out: Any) -> None:
        fill(packed, _joined(q, delta), out[0])

    def recipe() -> Recipe:
        return _recipe(arm, fill.__name__, one_row, _STATE[:2], shape)

    return rows_by(kept_code(arm, (fill,), recipe) if arm.specialised else None, tuple(rows), shape, general)


def arm_code(arm: FlexibleArm, quantity: str, base: Array | None = None) -> StateCode | None:
    """Code of one of `WITH_CODE`, whatever the arm was made from, for a base at rest or of this motion (12,)."""
    one_row, inputs = WITH_CODE[quantity]
    shape = _shape(arm, quantity)
    return kept_code(arm, (one_row,), lambda: _recipe(arm, one_row.__name__, one_row, inputs, shape, base), base)


def _shape(arm: FlexibleArm, quantity: str) -> tuple[int, ...]:
    return (arm.nz + 1, arm.nz) if quantity == "equations_of_motion" else (arm.nz,)


def _recipe(
    arm: FlexibleArm, name: str, one_row: Callable[..., Any], inputs: tuple[str, ...], shape: tuple[int, ...],
    base: Array | None = None,
) -> Recipe:
    packed, rng = pack(arm), Dice(1)
    sample = tuple(
        _AMPLITUDE * rng.normal(size=arm.modes) if name.startswith("delta") else rng.normal(size=arm.n)
        for name in inputs
    )
    rounded = packed._replace(rotation=rounded_turns(packed.rotation, 0))
    return Recipe(name, arm.name, one_row, (rounded, arm_of(arm.robot, base)), sample, shape)
