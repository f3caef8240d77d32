"""Quasi-static deflections of a flexible arm: under gravity at rest, or while its joints move."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import Wrenches, load_arrays
from rne_dynamics.errors import ModelError
from rne_dynamics.flexible.equations import equations_of_motion
from rne_dynamics.flexible.packed import check_flexible, coordinates
from rne_dynamics.flexible.theory_range import reported_findings
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


def elastic_matrix(arm: FlexibleArm) -> Array:
    """K (42) of all modes, one block a link; shape (modes, modes)."""
    return _blocks(arm, "stiffness")


def damping_matrix(arm: FlexibleArm) -> Array:
    """The links' own damping, one block a link; shape (modes, modes)."""
    return _blocks(arm, "damping")


def elastic_energy(arm: FlexibleArm, delta: Array) -> Array:
    """Energy in the bent links (46), J, with its third and fourth order if they are stiffened; δ (rows, modes)."""
    energy: Array = 0.5 * np.einsum("bi,ij,bj->b", delta, elastic_matrix(arm), delta)
    for link in arm.flexible_links:
        own = delta[:, arm.mode_slice(link.link)]
        energy = energy + np.einsum("bi,bj,bk,ijk->b", own, own, own, link.coupling, optimize=True) / 3.0
        energy = energy + 0.25 * np.einsum("bi,bj,bk,bl,ijkl->b", own, own, own, own, link.hardening, optimize=True)
    return energy


def slopes(forces: Callable[[Array], Array], at: Array, steps: Array) -> Array:
    """∂force/∂x by fourth-order central differences of the forces at rows of x; shape (forces, len(at)).

    The forces here are sines and cosines of joint positions times polynomials of deflections, so that with steps of
    1e-3 of their size little more than round-off is left.
    """
    moved = np.multiply.outer([1.0, -1.0, 2.0, -2.0], np.diag(steps)).reshape(-1, len(at))
    up, down, far_up, far_down = forces(at + moved).reshape(4, len(at), -1)
    return np.asarray(((8.0 * (up - down) - (far_up - far_down)) / (12.0 * steps[:, None])).T)


@lru_cache(maxsize=32)
def _blocks(arm: FlexibleArm, name: str) -> Array:
    """A matrix of all modes from those of the links; kept for the last few arms, since every step needs it."""
    whole = np.zeros((arm.modes, arm.modes))
    for link in arm.flexible_links:
        own = arm.mode_slice(link.link)
        whole[own, own] = getattr(link, name)
    whole.flags.writeable = False
    return whole


_ITERATIONS = 30
#: Elastic forces that are not balanced, as a part of the largest force that is.
_BALANCED = 1e-13


class QuasiStatic(NamedTuple):
    """Joint efforts, N·m or N, shape (…, n), and deflections, shape (…, modes), without vibration."""

    tau: Array
    delta: Array


def quasi_static(
    arm: FlexibleArm, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, wrenches: Wrenches | None = None
) -> QuasiStatic:
    """Joint efforts for a joint motion, the links bent as gravity, inertia and loads bend them, but not vibrating.

    What `flexible_inverse_dynamics` gives for the δ at which δ̈ = 0 while δ̇ = 0. As the links get stiffer it becomes the
    rigid arm's inverse dynamics.

    Parameters
    ----------
    arm
        The arm.
    q, qd, qdd
        Joint motion; shape (…, n). Leading dimensions broadcast.
    wrenches
        As for `equations_of_motion`, the same for all rows or with the same leading dimensions.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity.
    ModelError
        An unknown link in `wrenches`; an arm that does not settle: its links cannot hold the load.

    Warns
    -----
    BendingRangeWarning
        Where links are bent, or turn, beyond the range of the theory.
    """
    found = balance(arm, q, qd, qdd, wrenches=wrenches)
    _report(arm, found.delta, q, qd)
    return found


def balance(
    arm: FlexibleArm, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, wrenches: Wrenches | None = None
) -> QuasiStatic:
    """`quasi_static` for callers that judge the range of the theory by themselves."""
    lead, (positions, velocities, accelerations) = coordinates(arm, q=q, qd=qd, qdd=qdd)
    tau, delta = np.empty((len(positions), arm.n)), np.empty((len(positions), arm.modes))
    loads = {
        link: np.broadcast_to(x, (*lead, 6)).reshape(len(positions), 6)
        for link, x in load_arrays(wrenches, lead).items()
    }
    for b in range(len(positions)):
        of_row = {link: rows[b] for link, rows in loads.items()} or None
        tau[b], delta[b] = _settle(arm, positions[b], velocities[b], accelerations[b], of_row)
    return QuasiStatic(tau.reshape((*lead, arm.n)), delta.reshape((*lead, arm.modes)))


def static_deflection(arm: FlexibleArm, q: ArrayLike, *, wrenches: Wrenches | None = None) -> Array:
    """Amplitudes of the modes at rest, the joints held; shape (…, modes).

    Parameters and errors as for `quasi_static`.
    """
    check_flexible(arm)
    rest = np.zeros(arm.n)
    delta = balance(arm, q, rest, rest, wrenches=wrenches).delta
    _report(arm, delta, q, rest)
    return delta


def _report(arm: FlexibleArm, delta: Array, q: ArrayLike, qd: ArrayLike) -> None:
    _, (positions, amplitudes, velocities) = coordinates(arm, q=q, delta=delta, qd=qd)
    if len(positions):
        reported_findings(arm, positions, amplitudes, velocities, stacklevel=4)


def _settle(arm: FlexibleArm, q: Array, qd: Array, qdd: Array, wrenches: Wrenches | None) -> tuple[Array, Array]:
    """Newton's method on the modes' equations for one state: τ (n,), δ (modes,)."""
    n, rest = arm.n, np.zeros(arm.modes)
    zdd = np.concatenate([qdd, rest])
    K = elastic_matrix(arm)

    def forces(delta: Array) -> Array:
        J, bias = equations_of_motion(arm, q, delta, qd, rest, wrenches=wrenches)
        return np.asarray(J @ zdd + bias)

    def loads(delta: Array) -> Array:
        return np.asarray(forces(delta)[..., n:] - delta @ K)

    delta, scale = rest, np.linalg.solve(K, np.abs(loads(rest)) + 1e-300)
    for _ in range(_ITERATIONS):
        total = forces(delta)
        balanced = np.abs(K @ delta).max() + np.abs(total[n:] - K @ delta).max()
        if not np.isfinite(total).all():
            break
        slope = K + slopes(loads, delta, np.full(arm.modes, 1e-3 * np.abs(scale).max()))
        if np.abs(total[n:]).max() <= _BALANCED * balanced:
            if np.linalg.eigvalsh(0.5 * (slope + slope.T))[0] > 0.0:
                return total[:n], delta
            break  # balanced as a pencil on its tip
        delta = delta - np.linalg.solve(slope, total[n:])
    raise ModelError(
        f"arm {arm.name!r} does not settle at q = {q.tolist()}: the load bends its links without limit there, or "
        "they turn faster than they vibrate; make them stiffer (EI), the load lighter, the motion slower"
    )
