"""Mass matrix, bias, gravity torque and energies of a mechanism in its actuated coordinates."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.arguments import Start
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.coordinates import tree_velocity
from rne_dynamics.closed_chain.generic_rank import generic_rank
from rne_dynamics.closed_chain.rows import INVERSE, TERMS, run
from rne_dynamics.closed_chain.specialised import by_own_code, code_of
from rne_dynamics.closed_chain.tree_dynamics import tree_terms
from rne_dynamics.closed_chain.tree_motion import least_velocity, starting_velocity
from rne_dynamics.dynamics.composite import energy
from rne_dynamics.dynamics.declared.arguments import state_arrays
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


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
        return energy.kinetic_energy(mechanism.robot, posture, tree_velocity(mechanism, posture, qd))
    lead, (_, velocities) = state_arrays(mechanism, q=q, qd=qd)
    rows = np.broadcast_to(posture, (*lead, posture.shape[-1])).reshape(len(velocities), posture.shape[-1])
    rates = [starting_velocity(mechanism, *row)[0] for row in zip(rows, velocities, strict=True)]
    return energy.kinetic_energy(mechanism.robot, posture, np.array(rates).reshape((*lead, rows.shape[1])))


def closed_potential_energy(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Energy in the gravity field, J, zero where the mass centre is at the base's origin; shape (…)."""
    return energy.potential_energy(mechanism.robot, assemble(mechanism, q))
