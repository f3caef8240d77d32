"""Joint efforts for a joint motion, from (56) and (57) of document 003 with the deflections' own accelerations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import Wrenches
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.flexible.arguments import check_flexible, coordinates
from rne_dynamics.flexible.equations import terms_of_rows
from rne_dynamics.flexible.specialised import by_own_code
from rne_dynamics.flexible.static import balance
from rne_dynamics.flexible.theory_range import DIVERGED, deflections, divergence, reported_findings
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array


class JointEffort(NamedTuple):
    """Joint efforts, N·m or N, shape (…, n), and accelerations of the modes, shape (…, modes)."""

    tau: Array
    deltadd: Array


@by_own_code(JointEffort)
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
    `follow` goes on from there along a whole motion.

    Parameters
    ----------
    arm, q, delta, qd, deltad, wrenches, base_motion
        As for `equations_of_motion`, and so are the errors.
    qdd
        Joint accelerations; shape (…, n).
    """
    lead, (*state, wanted) = coordinates(arm, q=q, delta=delta, qd=qd, deltad=deltad, qdd=qdd)
    J, bias = terms_of_rows(arm, lead, state, wrenches, base_motion)
    n = arm.n
    pushed = -bias[:, n:] - np.einsum("bij,bj->bi", J[:, n:, :n], wanted)
    deltadd = np.linalg.solve(J[:, n:, n:], pushed[..., None])[..., 0]
    tau = np.einsum("bij,bj->bi", J[:, :n], np.concatenate([wanted, deltadd], axis=-1)) + bias[:, :n]
    return JointEffort(tau.reshape((*lead, n)), deltadd.reshape((*lead, arm.modes)))


@dataclass(frozen=True, eq=False)
class Followed:
    """Efforts and deflections while the joints move as prescribed, one row for each time."""

    #: s; shape (rows,).
    times: Array
    #: Joint efforts, N·m or N; shape (rows, n).
    tau: Array
    #: Amplitudes of the modes and their rates; shape (rows, modes).
    delta: Array
    deltad: Array
    #: Violations of the theory's range on the way, see `range_findings`.
    findings: tuple[str, ...] = ()


def follow(
    arm: FlexibleArm,
    motion: Callable[[float], tuple[Array, Array, Array]],
    times: ArrayLike,
    *,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
    method: Literal["DOP853", "Radau", "BDF", "LSODA"] = "DOP853",
    rtol: float = 1e-9,
    atol: float = 1e-12,
) -> Followed:
    """Joint efforts along a motion that the joints follow exactly, the deflections free.

    `motion`: joint positions, velocities and accelerations, each (n,), at a time in s (a trajectory's `sample` is
    such). `times`: at which to report, s, increasing; the motion begins at the first; shape (rows,). `delta`, `deltad`:
    where the deflections begin, shape (modes,): bent as gravity bends them, and at rest, where not given. `method`,
    `rtol`, `atol`: SciPy's integrator for the modes and its tolerances; ``"Radau"`` where stiff modes would rule the
    step. Raises ArgumentError: times out of order, wrong shapes, NaN or infinity; ModelError: an arm that does not
    settle at the start, an integration that does not reach the end, or deflections that diverge: beyond a link's
    length. Warns: a `BendingRangeWarning` for each of the `findings`.
    """
    from scipy.integrate import solve_ivp

    check_flexible(arm)
    at = np.asarray(times, dtype=np.float64)
    if at.ndim != 1 or len(at) < 1 or not np.isfinite(at).all() or (np.diff(at) <= 0.0).any():
        raise ArgumentError("times must be a row of finite numbers that increase")
    still, (begin, _, _) = np.zeros(arm.n), motion(float(at[0]))
    first = balance(arm, begin, still, still).delta if delta is None else np.array(delta, dtype=np.float64)
    rates = np.zeros(arm.modes) if deltad is None else np.array(deltad, dtype=np.float64)
    m = arm.modes

    def rate(t: float, x: Array) -> Array:
        q, qd, qdd = motion(t)
        return np.concatenate([x[m:], flexible_inverse_dynamics(arm, q, x[:m], qd, x[m:], qdd).deltadd])

    def within(t: float, x: Array) -> float:
        return DIVERGED - float(deflections(arm, x[:m]).max())

    within.terminal = True  # type: ignore[attr-defined]  # SciPy's way to mark an event
    state = np.concatenate([first, rates])[:, None]
    if len(at) > 1:
        solution = solve_ivp(
            rate, (at[0], at[-1]), state[:, 0], method=method, t_eval=at, events=within, rtol=rtol, atol=atol
        )
        if solution.status == 1:
            when, there = float(solution.t_events[0][0]), solution.y_events[0][0]
            raise ModelError(f"arm {arm.name!r}: {divergence(arm, there[:m])} (t = {when:.6g} s)")
        if solution.status != 0:
            raise ModelError(f"the deflections of arm {arm.name!r} cannot be followed: {solution.message}")
        state = solution.y
    q, qd, qdd = (np.array(column) for column in zip(*(motion(float(t)) for t in at), strict=True))
    bent, bending = state[:m].T.copy(), state[m:].T.copy()
    tau = flexible_inverse_dynamics(arm, q, bent, qd, bending, qdd).tau
    return Followed(at, tau, bent, bending, reported_findings(arm, q, bent, qd, at))
