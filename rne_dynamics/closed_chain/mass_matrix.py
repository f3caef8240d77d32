"""Mass matrix, bias, gravity torque and energies of a mechanism in its actuated coordinates."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import Start, actuated_arrays, assemble, refusal, start_rows
from rne_dynamics.closed_chain.closing import DONE
from rne_dynamics.closed_chain.coordinates import tree_velocity
from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.terms import closed_terms_batch, mass_columns_batch
from rne_dynamics.dynamics import energy
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


class ClosedTerms(NamedTuple):
    """Over rows: postures (B, tree n), motion maps T (B, tree n, n), M_a (B, n, n) and bias_a (B, n)."""

    postures: Array
    T: Array
    M: Array
    bias: Array


def closed_terms(
    mechanism: Mechanism,
    base: Array,
    q: Array,
    qd: Array,
    wrenches: Array,
    start: Start = None,
    lead: tuple[int, ...] = (),
) -> ClosedTerms:
    """`closed_terms_kernel` over checked rows: base (1 or B, 12), q, qd (B, n), wrenches (1 or B, bodies or 0, 6).

    Raises
    ------
    AssemblyError, SingularPostureError, ModelError
        As for `closed_inverse_dynamics`, and for a mechanism with more actuated joints than freedoms.
    """
    starts, follow = start_rows(mechanism, start, lead)
    packed = pack(mechanism)
    rows, n, tree = q.shape[0], mechanism.n, mechanism.robot.n
    terms = ClosedTerms(np.empty((rows, tree)), np.empty((rows, tree, n)), np.empty((rows, n, n)), np.empty((rows, n)))
    status, row = closed_terms_batch(packed, workspace(packed), base, q, qd, wrenches, starts, follow, *terms)
    if status != DONE:
        raise refusal(mechanism, status, q[row], terms.postures[row])
    return terms


def _unloaded(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike | None, start: Start
) -> tuple[tuple[int, ...], ClosedTerms]:
    lead, (positions, velocities) = actuated_arrays(mechanism, q=q, qd=np.zeros(mechanism.n) if qd is None else qd)
    base = mechanism.robot.base_at_rest.reshape(1, 12)
    return lead, closed_terms(mechanism, base, positions, velocities, np.empty((1, 0, 6)), start, lead)


def closed_mass_matrix(
    mechanism: Mechanism, q: ArrayLike, *, method: Literal["composite", "columns"] = "composite", start: Start = None
) -> Array:
    """The mass matrix of the actuated coordinates, symmetric and positive definite; shape (…, n, n).

    Parameters
    ----------
    mechanism, q, start
        As for `assemble`.
    method
        ``"composite"``: Tᵀ M T, the tree's M by composite rigid bodies. ``"columns"``: each column by inverse dynamics
        with a unit acceleration, as document 002 has it; symmetric up to round-off only.

    Raises
    ------
    AssemblyError, SingularPostureError, ModelError, ArgumentError
        As for `closed_forward_dynamics`.
    """
    if method not in ("composite", "columns"):
        raise ArgumentError(f"method is {method!r}; it must be 'composite' or 'columns'")
    lead, terms = _unloaded(mechanism, q, None, start)
    if method == "columns":
        packed = pack(mechanism)
        mass_columns_batch(packed, workspace(packed), terms.postures, terms.T, terms.M)
    return terms.M.reshape((*lead, mechanism.n, mechanism.n))


def closed_bias_torque(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, *, start: Start = None) -> Array:
    """Coriolis, centrifugal and gravity efforts of the actuated joints, N·m or N; shape (…, n).

    Parameters and errors as for `closed_mass_matrix`.
    """
    lead, terms = _unloaded(mechanism, q, qd, start)
    return terms.bias.reshape((*lead, mechanism.n))


def closed_gravity_torque(mechanism: Mechanism, q: ArrayLike, *, start: Start = None) -> Array:
    """Efforts of the actuated joints that hold the mechanism at rest, N·m or N; shape (…, n).

    Parameters and errors as for `closed_mass_matrix`.
    """
    lead, terms = _unloaded(mechanism, q, None, start)
    return terms.bias.reshape((*lead, mechanism.n))


def closed_kinetic_energy(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, *, start: Start = None) -> Array:
    """Kinetic energy of links and rotors, J; shape (…). Parameters and errors as for `closed_mass_matrix`."""
    posture = assemble(mechanism, q, start=start)
    return energy.kinetic_energy(mechanism.robot, posture, tree_velocity(mechanism, posture, qd))


def closed_potential_energy(mechanism: Mechanism, q: ArrayLike, *, start: Start = None) -> Array:
    """Energy in the gravity field, J, zero where the mass centre is at the base's origin; shape (…).

    Parameters and errors as for `assemble`.
    """
    return energy.potential_energy(mechanism.robot, assemble(mechanism, q, start=start))
