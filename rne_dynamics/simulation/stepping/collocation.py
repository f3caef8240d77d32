"""Gauss–Legendre collocation with two stages, for links that vibrate faster than the step resolves.

It is of fourth order, symplectic (energy neither drifts nor is it damped numerically) and A-stable (no frequency and no
damping limits the step); for the method see Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, section
II.7, and for its simplified Newton iteration Hairer, Wanner, volume II, section IV.8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.flexible.inertia import flexible_forces_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import (
    BASE,
    CONVERGED,
    HALVINGS,
    NO_INERTIA,
    NOT_CONVERGED,
    VISCOUS,
    Flex,
    PlantArrays,
    base_at,
    flexible_mass_and_bias,
)
from rne_dynamics.simulation.stepping.motion import Piece, speed_friction
from rne_dynamics.spatial.cholesky import SINGULAR

_R3 = np.sqrt(3.0)
# by stage: times c, columns of Butcher's matrix, and those of its square, for positions
_C = 0.5 - _R3 / 6.0, 0.5 + _R3 / 6.0
_A1, _A2 = (0.25, 0.25 + _R3 / 6.0), (0.25 - _R3 / 6.0, 0.25)
_S1, _S2 = (1.0 / 24.0, 0.5 * _A1[1]), (0.5 * _A2[0], 1.0 / 24.0)
# λ, an eigenvalue of Butcher's matrix (the other one is its conjugate), and the factors that project two stages on its
# eigenvector
_LAMBDA = 0.25 + 1j * _R3 / 12.0
_SQUARE = _LAMBDA * _LAMBDA
_IN, _OUT = 2.0 - _R3, 2.0 + _R3
# weights of the positions: h² Σ b_i (1 − c_i) a_i
_P1, _P2 = 0.5 * _C[1], 0.5 * _C[0]

# error that Newton's method may leave, as a part of the velocities; both measured with the diagonal of J
_TOLERANCE = 1e-12
_ITERATIONS = 15


@kernel
def gauss_legendre(
    plant: PlantArrays, flex: Flex, piece: Piece, elapsed: float, h: float, z_new: Array, zd_new: Array
) -> bool:
    """A step of length `h`, halved where Newton's method does not converge; False and `flex.status` where it fails."""
    at, rate = piece.q.copy(), piece.qd.copy()
    parts = 1
    for _halving in range(HALVINGS + 1):
        at[:], rate[:] = piece.q, piece.qd
        for part in range(parts):
            begun = elapsed + part * (h / parts)
            flex.status[0] = _stages(plant, flex, piece, at, rate, begun, h / parts, z_new, zd_new)
            if flex.status[0] != CONVERGED:
                break
            at[:], rate[:] = z_new, zd_new
        if flex.status[0] != NOT_CONVERGED:
            break
        parts *= 2
    return bool(flex.status[0] == CONVERGED)


@helper
def _stages(
    plant: PlantArrays, flex: Flex, piece: Piece, z: Array, zd: Array, elapsed: float, h: float, z_new: Array,
    zd_new: Array,
) -> int:  # fmt: skip
    """One step from (z, ż) under `piece`'s drive; the accelerations a₁, a₂ of both stages are unknown. The status."""
    nz, joints, wrenches, drive, locked = z.shape[0], plant.joints, plant.wrenches, piece.drive, piece.locked
    here = np.empty(BASE)
    base_at(plant.base, elapsed, here)
    J, bias, inverse = np.empty((nz, nz)), np.empty(nz), np.empty((nz, nz, 2))
    flexible_mass_and_bias(flex, here, wrenches, z, zd, 0.0, J, J, bias)
    if not _newton_matrix(flex, joints, J, locked, h, inverse):
        return NO_INERTIA
    a, r = np.zeros((2, nz)), np.empty((2, nz))  # by stage
    z_stage, zd_stage, w = np.empty(nz), np.empty(nz), np.empty((nz, 2))
    # the first guess needs no evaluation: the residual of a = 0 linearised about the start
    _start_residuals(flex, joints, piece, zd, bias, h, r)
    scale = _size(J, zd) + h * _size_of_forces(flex, J, z, bias, drive)
    before = 0.0
    for iteration in range(_ITERATIONS):
        if iteration > 0:
            for stage in range(2):
                c = _C[stage]
                base_at(plant.base, elapsed + c * h, here)
                for k in range(nz):
                    z_stage[k] = z[k] + h * (c * zd[k] + h * (_S1[stage] * a[0, k] + _S2[stage] * a[1, k]))
                    zd_stage[k] = zd[k] + h * (_A1[stage] * a[0, k] + _A2[stage] * a[1, k])
                apart(flexible_forces_kernel, (flex.packed, here, z_stage, zd_stage, a[stage], wrenches, r[stage]))
                for k in range(nz):
                    r[stage, k] = 0.0 if locked[k] else r[stage, k] + speed_friction(joints, k, zd_stage[k]) - drive[k]
        for k in range(nz):
            w[k, 0], w[k, 1] = -r[0, k], -_IN * r[1, k]
        _solve(inverse, w)
        for k in range(nz):
            r[0, k], r[1, k] = w[k, 0], _OUT * w[k, 1]
            a[0, k] += r[0, k]
            a[1, k] += r[1, k]
        change = h * (_size(J, r[0]) + _size(J, r[1]))
        if not np.isfinite(change):
            return NOT_CONVERGED
        # what is left is at most θ/(1 − θ) of the last change, for convergence at the rate θ; near rest changes are
        # round-off from the first on and have no rate
        small = _TOLERANCE * scale
        converges = max(change, before) <= small or (change < before and change * change / (before - change) <= small)
        if iteration > 0 and converges:
            for k in range(nz):
                z_new[k] = z[k] + h * (zd[k] + h * (_P1 * a[0, k] + _P2 * a[1, k]))
                zd_new[k] = zd[k] + 0.5 * h * (a[0, k] + a[1, k])
            return CONVERGED
        if iteration > 1 and not change < before:
            return NOT_CONVERGED
        before = change
    return NOT_CONVERGED


@helper
def _start_residuals(
    flex: Flex, joints: Array, piece: Piece, zd: Array, bias: Array, h: float, r: Array
) -> None:
    """The residuals r (2, nz) of a₁ = a₂ = 0 but for changes of J and of the other forces than the elastic ones."""
    n = flex.packed.joints
    for k in range(zd.shape[0]):
        r[0, k] = 0.0 if piece.locked[k] else bias[k] + speed_friction(joints, k, zd[k]) - piece.drive[k]
        r[1, k] = r[0, k]
        if k >= n:
            for m in range(flex.stiffness.shape[0]):
                elastic = h * flex.stiffness[k - n, m] * zd[n + m]
                r[0, k] += _C[0] * elastic
                r[1, k] += _C[1] * elastic


@helper
def _size(J: Array, v: Array) -> float:
    """√(Σ J_kk v_k²), which has one unit whatever the coordinates are."""
    total = 0.0
    for k in range(v.shape[0]):
        total += J[k, k] * v[k] * v[k]
    return float(np.sqrt(total))


@helper
def _size_of_forces(flex: Flex, J: Array, z: Array, bias: Array, drive: Array) -> float:
    """√(Σ f_k² / J_kk) of forces added without their signs: how large the terms are that balance each other."""
    n, total = flex.packed.joints, 0.0
    for k in range(z.shape[0]):
        f = abs(bias[k]) + abs(drive[k])
        if k >= n:
            for m in range(flex.stiffness.shape[0]):
                f += abs(flex.stiffness[k - n, m] * z[n + m])
        total += f * f / J[k, k]
    return float(np.sqrt(total))


@helper
def _newton_matrix(
    flex: Flex, joints: Array, J: Array, locked: NDArray[np.bool_], h: float, L: Array
) -> bool:
    """L D Lᵀ = J + h λ C + h² λ² K, D on the diagonal of L; False where a joint moves no inertia.

    Complex numbers, as pairs (nz, nz, 2). The real part is positive definite, as Re λ and Re λ² are positive, so that
    it needs no pivoting (N. J. Higham, Factorizing complex symmetric matrices with positive definite real and imaginary
    parts, Math. Comp. 67, 1998).
    """
    nz, n = J.shape[0], flex.packed.joints
    for a in range(nz):
        for b in range(a + 1):
            damping, stiffness = 0.0, 0.0
            if a == b:
                damping += joints[a, VISCOUS]
            if b >= n:
                damping += flex.damping[a - n, b - n]
                stiffness += flex.stiffness[a - n, b - n]
            real = J[a, b] + h * (_LAMBDA.real * damping + h * _SQUARE.real * stiffness)
            imaginary = h * (_LAMBDA.imag * damping + h * _SQUARE.imag * stiffness)
            if locked[a] or locked[b]:
                real, imaginary = 1.0 if a == b else 0.0, 0.0
            _put(L[a], b, (real, imaginary))
    for a in range(nz):
        diagonal = L[a, a, 0]
        for b in range(a):  # row a of L D, then of L
            t = _at(L[a], b)
            for k in range(b):
                t = _less(t, _at(L[a], k), _at(L[b], k))
            _put(L[a], b, t)
        for b in range(a):
            t = _at(L[a], b)
            _put(L[a], b, _over(t, _at(L[b], b)))
            _put(L[a], a, _less(_at(L[a], a), t, _at(L[a], b)))
        if not L[a, a, 0] > SINGULAR * diagonal:
            return False
    return True


@helper
def _solve(L: Array, x: Array) -> None:
    """Solve L D Lᵀ x = x in place; x (nz, 2)."""
    nz = x.shape[0]
    for a in range(nz):
        for k in range(a):
            _put(x, a, _less(_at(x, a), _at(L[a], k), _at(x, k)))
    for a in range(nz - 1, -1, -1):
        _put(x, a, _over(_at(x, a), _at(L[a], a)))
        for k in range(a + 1, nz):
            _put(x, a, _less(_at(x, a), _at(L[k], a), _at(x, k)))


@helper
def _at(row: Array, k: int) -> tuple[float, float]:
    return row[k, 0], row[k, 1]


@helper
def _put(row: Array, k: int, z: tuple[float, float]) -> None:
    row[k, 0], row[k, 1] = z


@helper
def _less(z: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """z − a b."""
    return z[0] - a[0] * b[0] + a[1] * b[1], z[1] - a[0] * b[1] - a[1] * b[0]


@helper
def _over(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """a / b."""
    square = b[0] * b[0] + b[1] * b[1]
    return (a[0] * b[0] + a[1] * b[1]) / square, (a[1] * b[0] - a[0] * b[1]) / square
