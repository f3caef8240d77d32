"""Comparison of flexible arms: recursion of document 003, and derivation from energies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.errors import ModelError
from rne_dynamics.flexible.equations import EquationsOfMotion, equations_of_motion, flexible_forward_dynamics
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.verification.agreement import Agreement, LargestDifferences, Progress
from rne_dynamics.verification.engines import Quantity, smallest_time
from rne_dynamics.verification.flexible_energy import arm_particles, energy_equations
from rne_dynamics.verification.states import random_base_motion, random_loads

#: Largest difference of the two derivations, relative to the terms that are summed.
TOLERANCE = 1e-11
RECURSION, ENERGY = "book_recursion", "energy"
#: Deflections of tips in random states, as a part of the distance from root to tip.
_DEFLECTED = 0.02


@dataclass(frozen=True, eq=False)
class FlexibleRows:
    """B states of a flexible arm: (B, n) and (B, modes), accelerations (B, n + modes), and loads."""

    q: Array
    delta: Array
    qd: Array
    deltad: Array
    zdd: Array
    loads: dict[str, Any]

    @property
    def state(self) -> tuple[Array, Array, Array, Array]:
        """q, δ, q̇, δ̇."""
        return self.q, self.delta, self.qd, self.deltad


def flexible_states(arm: FlexibleArm, count: int, seed: int, *, loaded: bool = False) -> FlexibleRows:
    """Random states, tips deflected by a few percent; if `loaded`, with `random_loads` and `random_base_motion`."""
    rng = np.random.default_rng(seed)
    q = random_configuration(arm.robot, rng, count)
    scale = np.concatenate([_amplitudes(arm, k) for k in range(len(arm.flexible_links))])
    qd, qdd = rng.normal(size=(2, count, arm.n))
    delta, deltad, deltadd = scale * rng.normal(size=(3, count, arm.modes)) * np.array([1.0, 5.0, 25.0])[:, None, None]
    loads: dict[str, Any] = {}
    if loaded:
        loads = {"wrenches": random_loads(arm, rng, count), "base_motion": random_base_motion(rng)}
    return FlexibleRows(q, delta, qd, deltad, np.hstack([qdd, deltadd]), loads)


def compare_flexible(
    arm: FlexibleArm, count: int = 200, seed: int = 0, *, loaded: bool = True, progress: Progress | None = None
) -> Agreement:
    """Compare J, forces and accelerations of both derivations, bare and (if `loaded`) with loads and base motion."""
    report = progress or (lambda what, done: None)
    try:
        particles = arm_particles(arm)
    except ModelError as error:
        return Agreement((), (str(error),))
    largest = LargestDifferences()
    cases = (False, True) if loaded else (False,)
    for k, case in enumerate(cases):
        rows = flexible_states(arm, count, seed + k, loaded=case)
        report("recursion", k / len(cases))
        found = equations_of_motion(arm, *rows.state, **rows.loads)
        report("energies of particles", k / len(cases))
        expected = energy_equations(arm, particles, *rows.state, **rows.loads)
        for quantity, *differences in _differences(found, expected, rows.zdd):
            largest.note((quantity, RECURSION, ENERGY), *differences)
    report("", 1.0)
    return Agreement(largest.disagreements(lambda first, second: TOLERANCE), ())


def flexible_seconds_per_state(arm: FlexibleArm, count: int) -> dict[str, float]:
    """Smallest times for J and R over the number of rows, s, by formulation, and for accelerations by the recursion."""
    state = flexible_states(arm, count, 0).state
    calls = {RECURSION: lambda: equations_of_motion(arm, *state),
             "accelerations": lambda: flexible_forward_dynamics(arm, *state, np.zeros(arm.n))}  # fmt: skip
    try:
        particles = arm_particles(arm)
    except ModelError:  # links of modal files have none: one formulation is timed
        return {name: smallest_time(call) / count for name, call in calls.items()}
    calls[ENERGY] = lambda: energy_equations(arm, particles, *state)
    return {name: smallest_time(call) / count for name, call in calls.items()}


def _differences(
    found: EquationsOfMotion, expected: EquationsOfMotion, zdd: Array
) -> list[tuple[Quantity, Array, Array, Array]]:
    """For each quantity: difference, size of the terms, and largest entry in each state; shapes (B,)."""
    rows = len(zdd)

    def largest(x: Array) -> Array:
        return np.asarray(np.abs(x).reshape(rows, -1).max(axis=1))

    J, size = found.J, largest(found.J)
    efforts, others = (np.einsum("bij,bj->bi", x.J, zdd) + x.bias for x in (found, expected))
    terms = largest(np.einsum("bij,bj->bi", np.abs(J), np.abs(zdd)) + np.abs(found.bias))
    # both with the efforts of the recursion
    under = np.linalg.solve(J, (efforts - found.bias)[..., None])[..., 0]
    other = np.linalg.solve(expected.J, (efforts - expected.bias)[..., None])[..., 0]
    inverse = np.abs(np.linalg.inv(J))
    one_by_one = largest(np.einsum("bij,bj->bi", inverse, np.abs(efforts) + np.abs(found.bias)))
    return [
        ("inverse", largest(efforts - others), terms, largest(efforts)),
        ("forward", largest(under - other), one_by_one, largest(under)),
        ("mass matrix", largest(J - expected.J), size, size),
    ]


def _amplitudes(arm: FlexibleArm, k: int) -> Array:
    """Amplitude of each mode of a flexible link that deflects its tip by `_DEFLECTED`."""
    link = arm.flexible_links[k]
    there, reach = link.at(link.tip), float(np.linalg.norm(link.tip)) or 1.0
    moved = np.linalg.norm(there.translation, axis=1) + reach * np.linalg.norm(there.rotation, axis=1)
    return np.asarray(_DEFLECTED * reach / np.where(moved > 0.0, moved, 1.0))
