"""Table of a mechanism's formulations: actuated coordinates, constraint forces, free bodies.

They share assembly, and the constraints' Jacobian with its rates. They differ in inertia (recursion, composite bodies,
Lagrange's W, single bodies) and in the treatment of loops (cut and loaded, projected, multipliers, unknown reactions).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from rne_dynamics.closed_chain.independence import combinations, evaluated
from rne_dynamics.closed_chain.inverse_dynamics import constraint_forces_forward
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import ASSEMBLE, INVERSE, MOVE, TERMS, run
from rne_dynamics.dynamics.free_bodies.reduced_equations import row_of
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem
from rne_dynamics.dynamics.kinematics.kinematics import body_poses_kernel
from rne_dynamics.dynamics.lagrange_terms import lagrange_inverse, lagrange_terms
from rne_dynamics.dynamics.newton_euler.joint_reactions import joint_reactions_bodies
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import BLOCKED, POSITION_B, Mechanism
from rne_dynamics.spatial.vector import IDENTITY, ZERO
from rne_dynamics.verification.engines import Engine, Quantity


def _cut_inverse(mechanism: Mechanism, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    return np.asarray(run(mechanism, INVERSE, q, qd, qdd, base=base, wrenches=wrenches).tau[:, mechanism.actuated])


def _columns_forward(mechanism: Mechanism, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    bias = _cut_inverse(mechanism, base, q, qd, np.zeros_like(qd), wrenches)
    return _solve(_columns(_cut_inverse, mechanism, q), tau - bias)


def _cut_reactions(mechanism: Mechanism, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    found = run(mechanism, INVERSE, q, qd, qdd, base=base, wrenches=wrenches)
    loads = np.zeros((len(q), mechanism.robot.bodies, 6)) + (wrenches if wrenches.shape[1] else 0.0)
    for b, posture in enumerate(found.postures):
        loads[b] += np.einsum("k,kij->ij", found.force[b], _Loops.at(mechanism, posture).on_bodies)
    return joint_reactions_bodies(mechanism.robot, base, found.postures, found.velocity, found.acceleration, loads)


def _projected_inverse(mechanism: Mechanism, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    terms = run(mechanism, TERMS, q, qd, base=base, wrenches=wrenches)
    return np.asarray(np.einsum("bij,bj->bi", terms.M, qdd) + terms.bias)


def _projected_forward(mechanism: Mechanism, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    terms = run(mechanism, TERMS, q, qd, base=base, wrenches=wrenches)
    return _solve(terms.M, tau - terms.bias)


def _constraint_forces(mechanism: Mechanism, base: Array, q: Array, qd: Array, tau: Array, wrenches: Array) -> Array:
    return constraint_forces_forward(mechanism, base, run(mechanism, ASSEMBLE, q).postures, qd, tau, wrenches)


class _Loops(NamedTuple):
    """Independent combinations of the loops' constraints in one state of the tree: r̈ = K q̈ + drift = 0.

    `on_bodies`, (constraints, bodies, 6): the wrench of one unit of every constraint's own force on every body, at its
    frame's origin in its axes; `independent` combines them.
    """

    K: Array
    drift: Array
    independent: Array
    on_bodies: Array

    @staticmethod
    def at(mechanism: Mechanism, posture: Array, velocity: Array | None = None) -> _Loops:
        packed = pack(mechanism)
        work = evaluated(packed, workspace(packed), posture, velocity)
        independent = np.vstack(combinations(packed, work))
        on_bodies = np.zeros((mechanism.constraints, mechanism.robot.bodies, 6))
        poses = np.tile([*IDENTITY, *ZERO], (mechanism.robot.bodies + 1, 1))  # the last one is the base's
        body_poses_kernel(packed.topology, packed.parameters, np.array(posture), poses[:-1])
        R, p = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        first = 0
        for (a, b), frame in zip(mechanism.loop_bodies, mechanism.loop_frames, strict=True):
            rows = slice(first, first + int(frame[BLOCKED:].sum()))
            place = p[b] + R[b] @ frame[POSITION_B : POSITION_B + 3]
            force, moment = work.rows[rows, :3], work.rows[rows, 3:]
            for body, sign in ((b, 1.0), (a, -1.0)):
                if body >= 0:  # the base is not loaded
                    there = moment + np.cross(place - p[body], force)
                    on_bodies[rows, body] += sign * np.hstack([force @ R[body], there @ R[body]])
            first = rows.stop
        return _Loops(independent @ work.K, independent @ work.drift, independent, on_bodies)


def _bordered(
    A: Array, right: Array, rows: Array, columns: Array, drives: NDArray[np.int64], quantity: Quantity, driven: Array
) -> Array:
    """Solve [A, −rowsᵀ; columns, 0] (x, λ) = right for known efforts or known accelerations of the drives.

    `drives` are the indices in A of the actuated joints' equations and accelerations. `driven` are their efforts for
    the quantity "forward", otherwise their accelerations, and the solution has the efforts instead. One step of
    refinement.
    """
    n, m = len(A), len(rows)
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:], whole[n:, :n] = A, -rows.T, columns
    if quantity == "forward":
        right[drives] += driven
    else:
        right = right - whole[:, drives] @ driven
        whole[:, drives] = 0.0
        whole[drives, drives] = -1.0
    factors = lu_factor(whole)
    x = lu_solve(factors, right)
    return np.asarray(x + lu_solve(factors, right - whole @ x))


def _lagrange(
    quantity: Quantity, mechanism: Mechanism, base: Array, q: Array, qd: Array, driven: Array, wrenches: Array
) -> Array:
    """W q̈ + bias = τ + Kᵀ λ on the open tree, document 004's W; λ are Lagrange's multipliers."""
    robot, actuated = mechanism.robot, mechanism.actuated
    moved = run(mechanism, MOVE, q, qd)
    W = lagrange_terms(robot, moved.postures, moved.velocity).W
    bias = lagrange_inverse(robot, base, moved.postures, moved.velocity, np.zeros_like(moved.velocity), wrenches)
    found = np.empty((len(q), mechanism.n))
    for b, posture in enumerate(moved.postures):
        loops = _Loops.at(mechanism, posture, moved.velocity[b])
        right = np.concatenate([-bias[b], -loops.drift])
        found[b] = _bordered(W[b], right, loops.K, loops.K, actuated, quantity, driven[b])[actuated]
    return found


def _free_bodies(
    quantity: Quantity, mechanism: Mechanism, base: Array, q: Array, qd: Array, driven: Array, wrenches: Array
) -> Array:
    """Euler's laws of every body, with the reactions of joints and loops unknown: document 001, section 4.6.1.

    Returns efforts or accelerations of the actuated joints, (B, n), or F of every tree joint, (B, bodies, 6).
    """
    system = MaximalSystem.of(mechanism.robot)
    motion, coordinates = system.motion.ravel(), system.coordinate[mechanism.actuated]
    moved = run(mechanism, MOVE, q, qd)
    found = np.empty((len(q), mechanism.n))
    reactions = np.empty((len(q), mechanism.robot.bodies, 6))
    for b, posture in enumerate(moved.postures):
        blocks = system.blocks(row_of(base, b), posture, moved.velocity[b], row_of(wrenches, b))
        loops = _Loops.at(mechanism, posture, moved.velocity[b])
        # G, bodies' components in a row
        on_bodies = loops.independent @ loops.on_bodies.reshape(mechanism.constraints, -1)
        # r̈ = G a + drift', where drift' is the drift less G a at q̈ = 0
        still = np.linalg.solve(system.constraint_matrix(blocks.transfer).toarray(), blocks.drift.ravel())
        drift = loops.drift - on_bodies @ still
        balance = system.right_side(blocks.force, -blocks.drift, np.zeros(mechanism.robot.n))
        right = np.concatenate([balance, -drift])
        A = system.matrix(blocks.transfer).toarray()
        rows, columns = np.zeros((2, len(on_bodies), len(A)))
        rows[:, system.force.ravel()] = on_bodies  # in the bodies' balances
        columns[:, motion] = on_bodies  # on their accelerations
        x = _bordered(A, right, rows, columns, coordinates, quantity, driven[b])
        found[b], reactions[b] = x[coordinates], x[system.force]
    return reactions if quantity == "reactions" else found


def _columns(inverse: Callable[..., Array], mechanism: Mechanism, q: Array) -> Array:
    """The mass matrix column by column: efforts of unit accelerations at rest without gravity; (B, n, n)."""
    n = mechanism.n
    states, units = q.repeat(n, axis=0), np.tile(np.eye(n), (len(q), 1))
    efforts = inverse(mechanism, np.zeros((1, 12)), states, np.zeros_like(states), units, np.empty((1, 0, 6)))
    return np.asarray(efforts.reshape(len(q), n, n).swapaxes(-1, -2))


def _solve(M: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(M, right[..., None])[..., 0])


#: Formulations of mechanisms; `ENGINES` has those of open arms.
CLOSED_ENGINES: tuple[Engine[Mechanism], ...] = (
    Engine("cut_loops", "loops cut, recursive Newton-Euler", "002", {
        "inverse": _cut_inverse, "reactions": _cut_reactions,
    }),
    Engine("walker_orin_columns", "columns by inverse dynamics of the cut loops", "002", {
        "forward": _columns_forward, "mass matrix": partial(_columns, _cut_inverse),
    }),
    Engine("actuated_coordinates", "composite bodies, projected", "002", {
        "inverse": _projected_inverse, "forward": _projected_forward,
        "mass matrix": lambda mechanism, q: run(mechanism, TERMS, q).M,
    }),
    Engine("constraint_forces", "articulated links, forces at the cuts", "000", {"forward": _constraint_forces}),
    Engine("lagrange_multipliers", "Lagrange, loops by multipliers", "004", {
        "inverse": partial(_lagrange, "inverse"), "forward": partial(_lagrange, "forward"),
        "mass matrix": partial(_columns, partial(_lagrange, "inverse")),
    }),
    Engine("free_bodies", "free bodies, joints and loops as unknown reactions", "001", {
        "inverse": partial(_free_bodies, "inverse"), "forward": partial(_free_bodies, "forward"),
        "mass matrix": partial(_columns, partial(_free_bodies, "inverse")),
        "reactions": partial(_free_bodies, "reactions"),
    }),
)  # fmt: skip
