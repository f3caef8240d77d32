"""Dynamics of a mechanism: inverse and forward dynamics, mass matrix, bias, gravity torque and energies.

Inverse dynamics is document 002's: cut the loops, and find the forces at the cuts. The open tree's recursion gives the
efforts τ that the motion would take with the loops cut. Passive joints carry none, so the forces λ at the cuts must
take theirs over, K_pᵀ λ = τ_p, K_p the passive columns of the constraints' Jacobian. λ acts at each cut on link B and
reversed on link A; with these forces as external loads the recursion is run again and its efforts are the actuators'.
Where constraints are redundant (a planar linkage modelled in space) the undetermined parts of λ (the paper's F_z, N_x,
N_y) are chosen least in norm, moments counted in forces times the mechanism's length. Where the actuated joints are no
coordinates (idle freedoms, more motors than freedoms), `tree_dynamics.py` has the answer.

Inertia as seen by the motors, whether or not they are independent coordinates: efforts τ of the motors accelerate the
actuated joints by A τ, gravity and velocities aside, A = B (Tᵀ M T)⁻¹ Bᵀ with B = S T, where the columns of T span the
velocities that the loops allow, S picks the actuated joints, and freedoms that no motor holds yield. Where the actuated
joints are coordinates A is the inverse of their mass matrix. With more motors than freedoms A is singular: there is no
mass matrix, and part of the efforts moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble, least_velocity, starting_velocity
from rne_dynamics.closed_chain.constraints import FORCE_ON_B, MOMENT_ON_B, PLACE_OF_B, TURN_OF_B
from rne_dynamics.closed_chain.coordinates import tree_velocity
from rne_dynamics.closed_chain.independence import RANK, combinations, evaluated, generic_rank, scaled_jacobian
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import INVERSE, MOVE, TERMS, Start, run
from rne_dynamics.closed_chain.specialised import by_own_code, code_of
from rne_dynamics.closed_chain.tree_dynamics import null_space, tree_forward, tree_inverse, tree_terms
from rne_dynamics.dynamics.composite import momentum
from rne_dynamics.dynamics.composite.inertia_scale import inertia_scale, solved_accelerations
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.declared.arguments import (
    BaseMotion,
    Wrenches,
    as_floats,
    bodies_wrenches,
    moved_wrench,
    packed_base,
    state_arrays,
)
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.newton_euler.joint_reactions import JointReactions, joint_reactions
from rne_dynamics.errors import ArgumentError, SingularInertiaError, index_of
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


@dataclass(frozen=True, eq=False)
class ClosedInverse:
    """Efforts of the actuated joints, and the forces at the cuts."""

    #: The mechanism.
    mechanism: Mechanism
    #: Efforts of the actuated joints, N·m or N; shape (…, n).
    torque: Array
    #: Motion of all joints of the tree, shape (…, tree n).
    q: Array
    qd: Array
    qdd: Array
    #: What the second recursion leaves for the passive joints, shape (…, passive), in the order of `passive_names`:
    #: round-off, unless redundant constraints contradict each other.
    passive_torque: Array
    #: Of every loop (force, moment) on B at B's origin, then B's placement (R, p), all in A's axes; shape (…, loops,
    #: CUT_COLUMNS).
    cuts: Array = field(repr=False)
    wrenches: Wrenches = field(repr=False)
    base_motion: BaseMotion | None = field(repr=False)

    @property
    def cut_forces(self) -> Array:
        """(force, moment) that A exerts on B at every cut, at B's origin in A's axes, N, N·m; shape (…, loops, 6)."""
        return np.asarray(self.cuts[..., FORCE_ON_B:TURN_OF_B])

    def cut_force(self, loop: str) -> Array:
        """`cut_forces` of the loop of that name, shape (…, 6); `ModelError` for an unknown one."""
        names = [x.name for x in self.mechanism.loops]
        return np.asarray(self.cut_forces[..., index_of(loop, names, "loop", f"mechanism {self.mechanism.name!r}"), :])

    @cached_property
    def reactions(self) -> JointReactions:
        """Reactions of every joint of the tree, fixed and passive ones included, the loops closed."""
        loads: dict[str, Array] = {link: as_floats(link, value) for link, value in self.wrenches.items()}
        for k, loop in enumerate(self.mechanism.loops):
            cut = self.cuts[..., k, :]
            R = cut[..., TURN_OF_B:PLACE_OF_B].reshape(*cut.shape[:-1], 3, 3)
            force, moment, place = cut[..., :3], cut[..., MOMENT_ON_B:TURN_OF_B], cut[..., PLACE_OF_B:]
            on_b = np.einsum("...ji,...j->...i", R, force), np.einsum("...ji,...j->...i", R, moment)
            on_a = -force, -(moment + np.cross(place, force))
            for frame, wrench in ((loop.b, on_b), (loop.a, on_a)):
                on_it = moved_wrench(frame.rotation, frame.position, np.concatenate(wrench, axis=-1))
                loads[frame.link] = loads[frame.link] + on_it if frame.link in loads else on_it
        return joint_reactions(
            self.mechanism.robot, self.q, self.qd, self.qdd, wrenches=loads, base_motion=self.base_motion
        )


def closed_inverse(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> ClosedInverse:
    """Inverse dynamics with its intermediate results: the forces at the cuts, the reactions of all joints.

    Parameters and errors as for `closed_inverse_dynamics`.
    """
    lead, (positions, velocities, accelerations) = state_arrays(mechanism, q=q, qd=qd, qdd=qdd)
    robot = mechanism.robot
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    if generic_rank(mechanism).coordinates:
        rows = run(mechanism, INVERSE, positions, velocities, accelerations, base=base, wrenches=loads)
    else:
        rows = tree_inverse(mechanism, base, assemble(mechanism, positions), velocities, accelerations, loads)
    shape = (*lead, robot.n)
    return ClosedInverse(
        mechanism=mechanism,
        torque=rows.tau[:, mechanism.actuated].reshape((*lead, mechanism.n)),
        q=rows.postures.reshape(shape),
        qd=rows.velocity.reshape(shape),
        qdd=rows.acceleration.reshape(shape),
        passive_torque=rows.tau[:, mechanism.passive].reshape((*lead, len(mechanism.passive))),
        cuts=rows.cuts.reshape((*lead, *rows.cuts.shape[1:])),
        wrenches=dict(wrenches or {}),
        base_motion=base_motion,
    )


@by_own_code("inverse_dynamics")
def closed_inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> Array:
    """Efforts of the actuated joints that give their accelerations `qdd`, the passive joints being free.

    As `rne_dynamics.inverse_dynamics`, on the branch of the mechanism's posture. Of more motors than freedoms: the
    efforts nearest to `Mechanism.preload` in the metric of `Mechanism.effort_weights`. Idle freedoms move as they must.
    """
    return closed_inverse(mechanism, q, qd, qdd, wrenches=wrenches, base_motion=base_motion).torque


@by_own_code("mass_matrix")
def closed_mass_matrix(
    mechanism: Mechanism, q: ArrayLike, *, method: Literal["composite", "columns"] = "composite", start: Start = None
) -> Array:
    """The mass matrix of the actuated coordinates, symmetric and positive definite; shape (…, n, n).

    ``"composite"``: Tᵀ M T, the tree's M by composite rigid bodies. ``"columns"``: each column by inverse dynamics with
    a unit acceleration, as document 002 has it; symmetric up to round-off only.
    """
    if method not in ("composite", "columns"):
        raise ArgumentError(f"method is {method!r}; it must be 'composite' or 'columns'")
    lead, (rows,) = state_arrays(mechanism, q=q)
    n = mechanism.n
    if generic_rank(mechanism).loose and not generic_rank(mechanism).surplus:
        found = [_terms(mechanism, row, np.zeros(n), np.eye(n))[0] for row in assemble(mechanism, rows, start=start)]
        return np.array(found).reshape((*lead, n, n))
    if method == "composite":
        return run(mechanism, TERMS, rows, start=start, lead=lead).M.reshape((*lead, n, n))
    # at rest and without gravity, the efforts of a unit acceleration are a column
    units, weightless = np.tile(np.eye(n), (len(rows), 1)), np.zeros((1, 12))
    start = assemble(mechanism, rows, start=start).repeat(n, axis=0)
    rows = rows.repeat(n, axis=0)
    columns = run(mechanism, INVERSE, rows, None, units, base=weightless, start=start, lead=(len(rows),))
    M: Array = columns.tau[:, mechanism.actuated].reshape((*lead, n, n)).swapaxes(-1, -2)
    return M


@by_own_code("bias_torque")
def closed_bias_torque(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike) -> Array:
    """Coriolis, centrifugal and gravity efforts of the actuated joints, N·m or N; shape (…, n)."""
    lead, (positions, velocities) = state_arrays(mechanism, q=q, qd=qd)
    if not generic_rank(mechanism).coordinates:
        pairs = zip(assemble(mechanism, positions), velocities, strict=True)
        terms = [_terms(mechanism, row, rates, np.empty((0, mechanism.n))) for row, rates in pairs]
        return np.array([coriolis + gravity for _, coriolis, gravity, _ in terms]).reshape((*lead, mechanism.n))
    return run(mechanism, TERMS, positions, velocities).bias.reshape((*lead, mechanism.n))


def _terms(mechanism: Mechanism, posture: Array, qd: Array, desired: Array) -> tuple[Array, Array, Array, Array]:
    velocity = least_velocity(mechanism, posture, qd)
    return tree_terms(
        mechanism, np.zeros_like(posture), mechanism.robot.base_at_rest, posture, velocity, desired,
        np.empty((0, mechanism.n)),
    )


@by_own_code("gravity_torque")
def closed_gravity_torque(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Efforts of the actuated joints that hold the mechanism at rest, N·m or N; shape (…, n)."""
    return closed_bias_torque(mechanism, q, np.zeros(mechanism.n))


def closed_kinetic_energy(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike) -> Array:
    """Kinetic energy of links and rotors, J; shape (…). Loose freedoms have the velocities of least energy."""
    if mechanism.specialised and code_of(mechanism, "mass_matrix", quick=True) is not None:
        lead, (positions, velocities) = state_arrays(mechanism, q=q, qd=qd)
        M = closed_mass_matrix(mechanism, positions)
        return np.asarray(0.5 * np.einsum("bi,bij,bj->b", velocities, M, velocities)).reshape(lead)
    posture = assemble(mechanism, q)
    if generic_rank(mechanism).coordinates:
        return momentum.kinetic_energy(mechanism.robot, posture, tree_velocity(mechanism, posture, qd))
    lead, (_, velocities) = state_arrays(mechanism, q=q, qd=qd)
    rows = np.broadcast_to(posture, (*lead, posture.shape[-1])).reshape(len(velocities), posture.shape[-1])
    rates = [starting_velocity(mechanism, *row)[0] for row in zip(rows, velocities, strict=True)]
    return momentum.kinetic_energy(mechanism.robot, posture, np.array(rates).reshape((*lead, rows.shape[1])))


CLOSED_QUANTITIES: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "inverse_dynamics": closed_inverse_dynamics, "forward_dynamics": closed_forward_dynamics,
        "mass_matrix": closed_mass_matrix, "bias_torque": closed_bias_torque, "gravity_torque": closed_gravity_torque,
    }
)  # fmt: skip


class MotorInertia(NamedTuple):
    """Inertia at one posture, as the motors feel it."""

    #: A, 1/(kg·m²) or 1/kg; symmetric, of the rank of the freedoms that are driven; shape (n, n).
    inverse: Array
    #: What a joint feels pushed while the others are held: twice the kinetic energy at unit speed of the joint, in the
    #: motion that is nearest to moving it alone, kg·m² or kg. The diagonal of the mass matrix where the joints are
    #: independent; infinite for a joint that the loops hold still. Shape (n,).
    held: Array
    #: Projection of efforts on their part that moves the mechanism, shape (n, n): of all efforts that give the same
    #: motion the least in the metric of `Mechanism.effort_weights`. What is left pulls motors against each other.
    moving: Array


def motor_inertia(mechanism: Mechanism, q_tree: Array) -> MotorInertia:
    """The inertia at a closed posture of all joints of the tree, (tree n,); `SingularInertiaError`."""
    packed, n = pack(mechanism), mechanism.n
    T = null_space(mechanism, scaled_jacobian(packed, evaluated(packed, workspace(packed), q_tree)))
    lengths = packed.column_scale[mechanism.actuated]
    B = T[mechanism.actuated] / lengths[:, None]
    energy = T.T @ mass_matrix(mechanism.robot, q_tree) @ T
    try:
        root = np.linalg.cholesky(energy)
    except np.linalg.LinAlgError:
        raise SingularInertiaError(
            f"the mass matrix of mechanism {mechanism.name!r} is not positive definite at this posture: some motion "
            "that the loops allow moves no inertia; give the links that it moves mass and inertia"
        ) from None
    half = np.linalg.solve(root, B.T)
    U, sizes, _ = np.linalg.svd(B)
    U = U[:, : int((sizes > RANK).sum())]  # the motions of the actuated joints that the loops allow
    scaled, nearest = half.T @ half, (U**2).sum(axis=1)
    least = U @ np.linalg.solve(U.T @ scaled @ U, U.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        held = np.where(nearest > RANK**2, np.diag(least) / nearest**2, np.inf) / lengths**2
    weights = np.sqrt(mechanism.weights)
    C = U / (lengths * weights)[:, None]
    moving = np.linalg.lstsq(C.T, C.T, rcond=None)[0] if C.size else np.zeros((n, n))
    return MotorInertia(lengths[:, None] * scaled * lengths, held, moving * weights / weights[:, None])
