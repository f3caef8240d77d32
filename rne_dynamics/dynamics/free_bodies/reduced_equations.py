"""From differential-algebraic equations to ordinary ones (document 001, section 4.6.2, equation 4.44).

The algebraic unknowns, all joint reactions, are eliminated. The joint rows of the equations, K a = S q̈ + drift, are
solved for the accelerations that each unit q̈ gives: T = K⁻¹S, whose columns span the motions that violate no joint.
Reactions do no work in them (Kᵀ F disappears from Tᵀ times the balance), which leaves

    (Tᵀ 𝓜 T + J) q̈ + Tᵀ (𝓜 K⁻¹ drift − wrenches + gyroscopic terms) = τ.

Nothing is taken from the composite-body or Newton–Euler recursions, with which the outcome must agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem, factorised
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


class ReducedEquations(NamedTuple):
    """M q̈ + bias = τ, and how body accelerations follow from joint ones: a = T q̈ + drift.

    Parameters
    ----------
    mass_matrix, bias
        Shapes (…, n, n) and (…, n); bias holds Coriolis, centrifugal and gravity efforts less those of the wrenches.
    motion, drift
        T and the accelerations at q̈ = 0, less gravity: (linear, angular) of every body frame's origin in body axes;
        shapes (…, bodies, 6, n) and (…, bodies, 6).
    """

    mass_matrix: Array
    bias: Array
    motion: Array
    drift: Array


def reduced_equations(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> ReducedEquations:
    """Mass matrix and bias from the free-body equations by eliminating the joint reactions.

    Parameters
    ----------
    robot
        The model.
    q, qd
        Positions (…, nq) and velocities (…, n).
    wrenches, base_motion
        As for `inverse_dynamics`.

    Raises
    ------
    ArgumentError, ModelError
        As for `inverse_dynamics`.
    """
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    system = MaximalSystem.of(robot)
    count = len(positions)
    states = zip(
        np.broadcast_to(base, (count, 12)), positions, velocities, np.broadcast_to(loads, (count, *loads.shape[1:])),
        strict=True,
    )  # fmt: skip
    rows = [_reduced(system, *(np.array(part) for part in state)) for state in states]
    n, bodies = robot.n, robot.bodies
    shapes = ((n, n), (n,), (bodies, 6, n), (bodies, 6))
    parts = (np.array([row[k] for row in rows]).reshape(*lead, *shape) for k, shape in enumerate(shapes))
    return ReducedEquations(*parts)


def _reduced(system: MaximalSystem, base: Array, q: Array, qd: Array, wrenches: Array) -> ReducedEquations:
    n, bodies = system.robot.n, system.robot.bodies
    if bodies == 0:
        return ReducedEquations(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 6, 0)), np.zeros((0, 6)))
    blocks = system.blocks(base, q, qd, wrenches)
    right = np.concatenate([system.along_axes(np.eye(n)), blocks.drift[:, :, None]], axis=2).reshape(6 * bodies, n + 1)
    accelerations = factorised(system.constraint_matrix(blocks.transfer)).solve(right).reshape(bodies, 6, n + 1)
    T, drift = accelerations[:, :, :n], accelerations[:, :, n]
    M = np.einsum("bin,bij,bjm->nm", T, system.inertia, T, optimize=True) + np.diag(system.rotor)
    needed = np.einsum("bij,bj->bi", system.inertia, drift) - blocks.force
    bias = np.einsum("bin,bi->n", T, needed)
    return ReducedEquations(M, bias, T, drift)
