"""Machine code of a quantity for one flexible arm alone: the recipe, and what the plain functions do with it.

All answers of a quantity are rows of one array, since machine code fills one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale_kernel
from rne_dynamics.dynamics.declared import specialised
from rne_dynamics.dynamics.declared.specialised import kept_code, own_function, rounded_turns, rows_by
from rne_dynamics.flexible.arguments import check_flexible, coordinates
from rne_dynamics.flexible.inertia import masses, put_first_moment, put_inertia
from rne_dynamics.flexible.motion import motions, put_bodies
from rne_dynamics.flexible.packed import Packed, pack
from rne_dynamics.flexible.remaining import put_bias
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


class Rigid(NamedTuple):
    """The rigid arm, whose inertia is what round-off is measured by."""

    topology: Any
    parameters: Array


def equations_rows(
    packed: Packed, rigid: Rigid, base: Array, q: Any, delta: Any, qd: Any, deltad: Any, out: Any
) -> None:
    """J, and the bias forces in one row more; out (1, n + modes + 1, n + modes)."""
    nz = out.shape[2]
    _terms(packed, base, q, delta, qd, deltad, out[0, :nz], out[0, nz])


def inverse_rows(
    packed: Packed, rigid: Rigid, base: Array, q: Any, delta: Any, qd: Any, deltad: Any, qdd: Any, out: Any
) -> int:
    """Joint efforts, then accelerations of the modes; out (1, n + modes)."""
    n, nz = q.shape[1], out.shape[1]
    J, bias, zdd = np.zeros((nz, nz)), np.zeros(nz), np.zeros(nz)
    _terms(packed, base, q, delta, qd, deltad, J, bias)
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
    return singular


def forward_rows(
    packed: Packed, rigid: Rigid, base: Array, q: Any, delta: Any, qd: Any, deltad: Any, tau: Any, out: Any
) -> int:
    """Accelerations of the joints, then of the modes; out (1, n + modes)."""
    n, nz = q.shape[1], out.shape[1]
    J, rest, scale = np.zeros((nz, nz)), np.zeros(nz), np.zeros(nz)
    _terms(packed, base, q, delta, qd, deltad, J, rest)
    for k in range(nz):
        rest[k] = (tau[0, k] if k < n else 0.0) - rest[k]
    inertia_scale_kernel(rigid.topology, rigid.parameters, q[0], scale[:n])
    return scaled_cholesky_solve(J, rest, scale, out[0])


def _terms(packed: Packed, base: Array, q: Any, delta: Any, qd: Any, deltad: Any, J: Any, bias: Any) -> None:
    z, zd = _joined(q, delta), _joined(qd, deltad)
    X, (G, D) = motions(packed, base, z, zd, None), masses(packed, z)
    put_bias(packed, X, G, D, z, zd, None, np.zeros((0, 6)), bias)
    put_inertia(packed, X, G, D, J)


def bodies_rows(packed: Packed, rigid: Rigid, base: Array, q: Any, delta: Any, out: Any) -> None:
    """W_i of every body, rotation before translation; out (1, bodies, 12)."""
    put_bodies(packed, _joined(q, delta), out[0])


def moment_rows(packed: Packed, rigid: Rigid, base: Array, q: Any, delta: Any, out: Any) -> None:
    """Σ W_i r_i (50); out (1, 3)."""
    put_first_moment(packed, _joined(q, delta), out[0])


def _joined(q: Any, delta: Any) -> Any:
    n = q.shape[1]
    z = np.zeros(n + delta.shape[1])
    z[:n], z[n:] = q[0], delta[0]
    return z


#: The public functions that have machine code: kernel and inputs.
WITH_CODE: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "equations_of_motion": (equations_rows, _STATE),
    "flexible_inverse_dynamics": (inverse_rows, (*_STATE, "qdd")),
    "flexible_forward_dynamics": (forward_rows, (*_STATE, "tau")),
}


def by_own_code(parts: type[Any]) -> Callable[[F], F]:
    """Decorator of a function of an arm and its state, see `declared.specialised.by_own_code`.

    `parts` is the named tuple of the two parts that the function returns.
    """

    def decorate(function: F) -> F:
        kernel, inputs = WITH_CODE[function.__name__]
        split, joined = (_rows_apart, _rows_joined) if kernel is equations_rows else (_numbers_apart, _numbers_joined)

        def own(arm: FlexibleArm, general: F) -> Callable[..., Any] | None:
            check_flexible(arm)

            def rows(*vectors: ArrayLike) -> tuple[tuple[int, ...], list[Array]]:
                return coordinates(arm, **dict(zip(inputs, vectors, strict=True)))

            code = _code_of(arm, kernel, inputs) if arm.specialised else None
            call = own_function(arm, function.__name__, code, rows, general, lambda answer: joined(*answer))
            return None if call is None else lambda *vectors: parts(*split(arm, call(*vectors)))

        return specialised.by_own_code(kernel.__name__, len(inputs), own)(function)

    return decorate


def of_posture(
    arm: FlexibleArm, kernel: Callable[..., Any], rows: Sequence[Array], general: Callable[..., Array]
) -> Array:
    """What `bodies_rows` or `moment_rows` fills, for checked rows of q and δ; by `general` where there is no code."""
    code = _code_of(arm, kernel, _STATE[:2]) if arm.specialised else None
    return rows_by(code, tuple(rows), _shape(arm, kernel), lambda chosen: general(*(row[chosen] for row in rows)))


def _rows_apart(arm: FlexibleArm, out: Array) -> tuple[Array, Array]:
    nz = arm.nz
    if out.ndim == 2:
        return out[:nz], out[nz]
    return np.ascontiguousarray(out[..., :nz, :]), np.ascontiguousarray(out[..., nz, :])


def _rows_joined(J: Array, bias: Array) -> Array:
    return np.concatenate([J, bias[..., None, :]], axis=-2)


def _numbers_apart(arm: FlexibleArm, out: Array) -> tuple[Array, Array]:
    return np.ascontiguousarray(out[..., : arm.n]), np.ascontiguousarray(out[..., arm.n :])


def _numbers_joined(joints: Array, modes: Array) -> Array:
    return np.concatenate([joints, modes], axis=-1)


def _shape(arm: FlexibleArm, kernel: Callable[..., Any]) -> tuple[int, ...]:
    if kernel is bodies_rows:
        return arm.body_model.bodies, 12
    if kernel is moment_rows:
        return (3,)
    return (arm.nz + 1, arm.nz) if kernel is equations_rows else (arm.nz,)


def joined_answer(arm: FlexibleArm, quantity: str, *vectors: ArrayLike, **options: Any) -> Array:
    """A quantity of `WITH_CODE` by its public function, in one array as machine code has it."""
    joined = _rows_joined if quantity == "equations_of_motion" else _numbers_joined
    return joined(*getattr(import_module("rne_dynamics.flexible"), quantity)(arm, *vectors, **options))


def arm_code(arm: FlexibleArm, quantity: str, base: Array | None = None) -> StateCode | None:
    """Code of one of `WITH_CODE`, whatever the arm was made from, for a base at rest or of this motion (12,)."""
    return _code_of(arm, *WITH_CODE[quantity], base)


def _code_of(
    arm: FlexibleArm, kernel: Callable[..., Any], inputs: tuple[str, ...], base: Array | None = None
) -> StateCode | None:
    key = kernel, b"" if base is None else base.tobytes()
    return kept_code(arm, key, lambda: recipe_of(arm, kernel, inputs, base))


def recipe_of(
    arm: FlexibleArm, kernel: Callable[..., Any], inputs: tuple[str, ...], base: Array | None = None
) -> Recipe:
    """What straight-line code is made from; without loads, for a base at rest or of this motion (12,)."""
    packed, rng = pack(arm), np.random.default_rng(1)
    sample = tuple(
        _AMPLITUDE * rng.normal(size=arm.modes) if name.startswith("delta") else rng.normal(size=arm.n)
        for name in inputs
    )
    rigid = Rigid(arm.robot.topology, arm.robot.parameters)
    rounded = packed._replace(rotation=rounded_turns(packed.rotation, 0))
    model = (rounded, rigid, arm.body_model.base_at_rest if base is None else base)
    return Recipe(kernel.__name__, arm.name, kernel, model, (), sample, _shape(arm, kernel))
