"""Joint efforts for a joint motion, and small vibrations about a posture: frequencies, damping and shapes.

The efforts follow from (56) and (57) of document 003 with the deflections' own accelerations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import BaseMotion, Wrenches, as_floats
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.packed import coordinates
from rne_dynamics.flexible.specialised import by_kernel, by_own_code
from rne_dynamics.flexible.static import balance, damping_matrix, elastic_matrix, slopes
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


class JointEffort(NamedTuple):
    """Joint efforts, N·m or N, shape (…, n), and accelerations of the modes, shape (…, modes)."""

    tau: Array
    deltadd: Array


@by_own_code("flexible_inverse_dynamics")
def joined_inverse(
    arm: FlexibleArm, q: ArrayLike, delta: ArrayLike, qd: ArrayLike, deltad: ArrayLike, qdd: ArrayLike, *,
    wrenches: Wrenches | None = None, base_motion: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """As `flexible_inverse_dynamics`, joints before modes; shape (…, n + modes)."""
    return by_kernel(arm, "flexible_inverse_dynamics", (q, delta, qd, deltad, qdd), wrenches, base_motion)


def flexible_inverse_dynamics(
    arm: FlexibleArm,
    q: ArrayLike,
    delta: ArrayLike,
    qd: ArrayLike,
    deltad: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> JointEffort:
    """Efforts that give the joints the accelerations `qdd`, the deflections moving freely.

    No effort acts on a deflection, so its acceleration follows from its own equation: J_δδ δ̈ = −bias_δ − J_δq q̈.

    Parameters
    ----------
    arm, q, delta, qd, deltad, wrenches, base_motion
        As for `equations_of_motion`, and so are the errors.
    qdd
        Joint accelerations; shape (…, n).
    """
    found = joined_inverse(arm, q, delta, qd, deltad, qdd, wrenches=wrenches, base_motion=base_motion)
    return JointEffort(*map(np.ascontiguousarray, (found[..., : arm.n], found[..., arm.n :])))


#: A frequency below this part of the highest one is round-off: the motion has no stiffness.
_FREE = 1e-7
#: Steps of the differences, rad or m.
_STEP = 1e-3


class Linearised(NamedTuple):
    """Vibrations by rising frequency."""

    #: Undamped natural frequencies |λ|, rad/s; shape (vibrations,). Zero for motions without stiffness.
    frequencies: Array
    #: −Re λ / |λ|; shape (vibrations,). Below zero: the vibration grows.
    damping_ratios: Array
    #: How joints and modes take part, one vibration a column, the largest entry 1; shape (n + modes, vibrations),
    #: complex where damping makes them move out of step.
    shapes: Array


def linearised(
    arm: FlexibleArm,
    q: ArrayLike,
    *,
    delta: ArrayLike | None = None,
    joint_stiffness: ArrayLike | None = None,
    joint_damping: ArrayLike | None = None,
) -> Linearised:
    """Vibrations about a posture at rest.

    Parameters
    ----------
    arm
        The arm.
    q
        Joint positions; shape (n,).
    delta
        Deflections about which to linearise, shape (modes,); those that gravity causes where not given.
    joint_stiffness, joint_damping
        The joints on springs and dampers, N·m/rad and N·m·s/rad, shape (n, n) or (n,) for a diagonal: zero for free
        joints, M K_p and M K_d for joints under computed torque. Held rigidly where neither is given.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity.
    ModelError
        An arm that does not settle at q.
    """
    _, (at, *given) = coordinates(arm, q=q, **({} if delta is None else {"delta": delta}))
    if len(at) != 1:
        raise ArgumentError(f"q and delta have {len(at)} rows; vibrations are those of one posture, shape ({arm.n},)")
    posture, rest = at[0], np.zeros(arm.n)
    bent = given[0][0] if given else balance(arm, posture, rest, rest).delta
    n, nz, held = arm.n, arm.nz, joint_stiffness is None and joint_damping is None
    M, K, D = _matrices(arm, posture, bent)
    K[:n, :n] += _joints(arm, "joint_stiffness", joint_stiffness)
    D[:n, :n] += _joints(arm, "joint_damping", joint_damping)
    free = slice(n, nz) if held else slice(0, nz)
    frequencies, ratios, part = _vibrations(M[free, free], K[free, free], D[free, free])
    shapes = np.zeros((nz, len(frequencies)), dtype=part.dtype)
    shapes[free] = part
    return Linearised(frequencies, ratios, shapes)


def _matrices(arm: FlexibleArm, q: Array, delta: Array) -> tuple[Array, Array, Array]:
    """Inertia, stiffness (gravity's included) and damping matrices at a posture; shape (n + modes, n + modes)."""
    n, nz = arm.n, arm.nz
    rest, still = np.zeros(n), np.zeros(arm.modes)
    elastic = elastic_matrix(arm)

    def loads(z: Array) -> Array:
        bias = equations_of_motion(arm, z[:, :n], z[:, n:], rest, still).bias
        bias[:, n:] -= z[:, n:] @ elastic
        return bias

    K = slopes(loads, np.concatenate([q, delta]), np.full(nz, _STEP))
    K = 0.5 * (K + K.T)  # the Hessian of an energy
    K[n:, n:] += elastic
    D = np.zeros((nz, nz))
    D[n:, n:] = damping_matrix(arm)
    return equations_of_motion(arm, q, delta, rest, still).J, K, D


def _joints(arm: FlexibleArm, name: str, value: ArrayLike | None) -> Array:
    if value is None:
        return np.zeros((arm.n, arm.n))
    matrix = as_floats(name, value)
    if matrix.shape == (arm.n,):
        matrix = np.diag(matrix)
    if matrix.shape != (arm.n, arm.n) or not np.isfinite(matrix).all():
        raise ArgumentError(
            f"{name} has shape {np.shape(value)} or holds NaN; it must be finite, ({arm.n},) or ({arm.n}, {arm.n})"
        )
    return matrix


def _vibrations(M: Array, K: Array, D: Array) -> tuple[Array, Array, Array]:
    if not D.any() and np.array_equal(K, K.T):
        return _undamped(M, K)
    m = len(M)
    inverse = np.linalg.inv(M)
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-inverse @ K, -inverse @ D]])
    values, vectors = np.linalg.eig(A)
    # one of each conjugate pair; real ones, of overdamped motion, have no partner
    chosen = values.imag >= 0.0
    values, vectors = values[chosen], vectors[:m, chosen]
    order = np.argsort(np.abs(values), kind="stable")
    values, vectors = values[order], vectors[:, order]
    size = np.abs(values)
    ratios = np.divide(-values.real, size, out=np.zeros(len(values)), where=size > 0.0)
    return size, ratios, _scaled(vectors)


def _undamped(M: Array, K: Array) -> tuple[Array, Array, Array]:
    from scipy.linalg import eigh

    squares, vectors = eigh(K, M)
    largest = float(np.abs(squares).max())
    if squares[0] < -(_FREE**2) * largest:
        raise ModelError(
            "the posture is not stable: a motion of joints and links there has the negative stiffness "
            f"{squares[0]:.6g} (rad/s)^2; hold the joints, or look at another posture"
        )
    squares = np.where(np.abs(squares) < _FREE**2 * largest, 0.0, squares)
    return np.sqrt(squares), np.zeros(len(squares)), _scaled(vectors)


def _scaled(vectors: Array) -> Array:
    largest = np.argmax(np.abs(vectors), axis=0)
    return np.asarray(vectors / vectors[largest, np.arange(vectors.shape[1])])
