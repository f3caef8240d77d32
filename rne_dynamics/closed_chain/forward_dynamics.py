"""Forward dynamics of a mechanism, over its actuated coordinates or with the forces at the cuts."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.generic_rank import generic_rank
from rne_dynamics.closed_chain.independence import combinations, evaluated
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import MOVE, TERMS, run
from rne_dynamics.closed_chain.specialised import by_own_code
from rne_dynamics.closed_chain.tree_dynamics import tree_forward
from rne_dynamics.closed_chain.tree_motion import starting_velocity
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale, solved_accelerations
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism

ClosedMethod = Literal["walker_orin", "constraint_forces", "tree_coordinates"]


@by_own_code("forward_dynamics")
def closed_forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
    method: ClosedMethod | None = None,
) -> Array:
    """Accelerations of the actuated joints that their efforts give; passive joints turn freely.

    ``"walker_orin"``, the default where the actuated joints are coordinates: their mass matrix, then Cholesky, as
    document 002 does. ``"constraint_forces"``: document 000's recursion on the open tree, for the efforts and for each
    independent constraint; needs inertia at every joint, takes more motors than freedoms. ``"tree_coordinates"``, the
    default elsewhere: all joints of the tree, at any posture; open freedoms have the velocities of least kinetic
    energy.
    """
    if method is None:
        method = "walker_orin" if generic_rank(mechanism).coordinates else "tree_coordinates"
    if method not in get_args(ClosedMethod):
        raise ArgumentError(f"method is {method!r}; it must be one of {', '.join(map(repr, get_args(ClosedMethod)))}")
    lead, (positions, velocities, efforts) = state_arrays(mechanism, q=q, qd=qd, tau=tau)
    base = packed_base(mechanism.robot, base_motion, lead)
    loads = bodies_wrenches(mechanism.robot, wrenches, lead)
    if method == "constraint_forces":
        qdd = constraint_forces_forward(mechanism, base, assemble(mechanism, positions), velocities, efforts, loads)
        return qdd.reshape((*lead, mechanism.n))
    if method == "tree_coordinates":
        postures = assemble(mechanism, positions)
        rates = [starting_velocity(mechanism, *row)[0] for row in zip(postures, velocities, strict=True)]
        answer = tree_forward(mechanism, base, postures, np.array(rates).reshape(postures.shape), efforts, loads)
        return answer[:, mechanism.actuated].reshape((*lead, mechanism.n))
    terms = run(mechanism, TERMS, positions, velocities, base=base, wrenches=loads)
    scale = (inertia_scale(mechanism.robot, terms.postures)[:, None] @ terms.T**2)[:, 0]
    qdd = solved_accelerations(terms.M, efforts - terms.bias, scale, mechanism.name, mechanism.joint_names)
    return qdd.reshape((*lead, mechanism.n))


def constraint_forces_forward(
    mechanism: Mechanism, base: Array, postures: Array, qd: Array, tau: Array, wrenches: Array
) -> Array:
    """Accelerations of the actuated joints (B, n) over checked rows, at postures (B, tree n) that close.

    The loops' forces λ must keep K q̈ + drift = 0, so with q̈₀ the open tree's accelerations (K M⁻¹ Kᵀ) λ = −(K q̈₀ +
    drift) and q̈ = q̈₀ + M⁻¹ Kᵀ λ. q̈₀ and every column of M⁻¹ Kᵀ are one run of document 000's recursion (where joints
    mimic others, of composite bodies and Cholesky). Only independent combinations of the constraints enter: the small
    matrix is definite.
    """
    robot = mechanism.robot
    velocity = run(mechanism, MOVE, postures[:, mechanism.actuated], qd, postures=postures).velocity
    efforts = np.zeros_like(postures)
    efforts[:, mechanism.actuated] = tau
    free = FORWARD_DYNAMICS.compute(robot, base, postures, velocity, efforts, wrenches)
    still, unloaded = np.zeros((1, 12)), np.empty((1, 0, 6))
    packed = pack(mechanism)
    work = workspace(packed)
    qdd = np.empty_like(qd)
    for b in range(len(postures)):
        evaluated(packed, work, postures[b], velocity[b])
        independent = np.vstack(combinations(packed, work))
        K, drift = independent @ work.K, independent @ work.drift
        rows = np.repeat(postures[b : b + 1], len(K), axis=0)
        answers = FORWARD_DYNAMICS.compute(robot, still, rows, np.zeros_like(rows), K, unloaded)
        force = -np.linalg.solve(K @ answers.T, K @ free[b] + drift)
        qdd[b] = (free[b] + force @ answers)[mechanism.actuated]
    return qdd
