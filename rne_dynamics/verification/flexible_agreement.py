"""Arms with flexible links: the recursions of document 003, the derivation from energies, and chains of segments."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.dynamics.kinematics.configuration import random_configuration
from rne_dynamics.errors import ModelError
from rne_dynamics.flexible.equations import EquationsOfMotion, equations_of_motion
from rne_dynamics.flexible.forward_dynamics import flexible_forward_dynamics
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.model.assembly import assemble
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.verification.agreement import Agreement, Disagreement, Progress
from rne_dynamics.verification.engines import Quantity
from rne_dynamics.verification.flexible_energy import energy_equations
from rne_dynamics.verification.particles import arm_particles
from rne_dynamics.verification.segments import held_frequencies, segmented

#: What the two derivations may differ by, relative to the terms that are summed.
TOLERANCE = 1e-11
RECURSION, ENERGY = "book_recursion", "energy"
#: External loads act on so many links at most.
_LOADED_LINKS = 5
#: Deflections of tips in random states, as a part of the distance from root to tip.
_DEFLECTED = 0.02
#: Springs a link for each direction, in the chains from which the limit is worked out.
SEGMENTS = (10, 20)
#: Repeats go on for so long at least; s.
_ENOUGH = 0.05


@dataclass(frozen=True, eq=False)
class FlexibleRows:
    """B states of a flexible arm: (B, n) and (B, modes), accelerations (B, n + modes), and what acts besides."""

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
    """Random positions inside the limits, tips deflected by some hundredths of their links, normal joint rates.

    Where `loaded`, with loads on some links, a tenth of the arm's weight at an arm of 0.1 m, and on a base that moves.
    """
    rng = np.random.default_rng(seed)
    q = random_configuration(arm.robot, rng, count)
    scale = np.concatenate([_amplitudes(arm, k) for k in range(len(arm.flexible_links))])
    qd, qdd = rng.normal(size=(2, count, arm.n))
    delta, deltad, deltadd = scale * rng.normal(size=(3, count, arm.modes)) * np.array([1.0, 5.0, 25.0])[:, None, None]
    loads: dict[str, Any] = {}
    if loaded:
        size = 0.1 * arm.mass * max(float(np.linalg.norm(arm.gravity)), 1.0)
        links = rng.choice(arm.link_names, size=min(_LOADED_LINKS, len(arm.link_names)), replace=False)
        wrench = size * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
        attitude = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        a, w, dw, v = rng.normal(size=(4, 3))
        loads = {
            "wrenches": {str(link): wrench * rng.normal(size=(count, 6)) for link in links},
            "base_motion": BaseMotion(a, w, dw, v, attitude * np.sign(np.linalg.det(attitude))),
        }
    return FlexibleRows(q, delta, qd, deltad, np.hstack([qdd, deltadd]), loads)


def compare_flexible(
    arm: FlexibleArm, count: int = 200, seed: int = 0, *, loaded: bool = True, progress: Progress | None = None
) -> Agreement:
    """Both derivations in `count` random states, bare and (where `loaded`) with loads on a moving base.

    Compared are J (``mass matrix``), the joints' efforts and the modes' forces for given accelerations (``inverse``),
    and the accelerations (``forward``). An arm with links that are no beams has no particles: a remark says so.
    """
    tell = progress or (lambda what, done: None)
    try:
        particles = arm_particles(arm)
    except ModelError as error:
        return Agreement((), (str(error),))
    worst: dict[Quantity, tuple[float, float]] = {}
    cases = (False, True) if loaded else (False,)
    for k, case in enumerate(cases):
        rows = flexible_states(arm, count, seed + k, loaded=case)
        tell("recursion", k / len(cases))
        found = equations_of_motion(arm, *rows.state, **rows.loads)
        tell("energies of particles", k / len(cases))
        expected = energy_equations(arm, particles, *rows.state, **rows.loads)
        for quantity, apart, size, plain in _differences(found, expected, rows.zdd):
            here = float((apart / size).max()), float((apart / plain).max())
            before = worst.get(quantity, (0.0, 0.0))
            worst[quantity] = max(before[0], here[0]), max(before[1], here[1])
    tell("", 1.0)
    return Agreement(
        tuple(Disagreement(q, RECURSION, ENERGY, *apart, TOLERANCE) for q, apart in worst.items()), ()
    )


@dataclass(frozen=True)
class SegmentFrequencies:
    """Lowest natural frequencies with the joints held, without gravity, Hz.

    Parameters
    ----------
    q
        The posture.
    modal, coarse, fine
        Of the arm's modes, and of chains with the two numbers of `SEGMENTS` in each link.
    """

    q: list[float]
    modal: list[float]
    coarse: list[float]
    fine: list[float]

    @property
    def limit(self) -> list[float]:
        """Of a chain without end: the error of the chains is of second order."""
        ratio = (SEGMENTS[1] / SEGMENTS[0]) ** 2
        return [(ratio * b - a) / (ratio - 1.0) for a, b in zip(self.coarse, self.fine, strict=True)]


def segment_frequencies(arm: FlexibleArm, count: int = 3, seed: int = 0) -> SegmentFrequencies:
    """The arm's modes beside chains of rigid segments, in a random posture.

    Without gravity, for the modes feel its pull along a beam only with stiffening.

    Raises
    ------
    ModelError
        A flexible link that is not a beam.
    """
    q = random_configuration(arm.robot, np.random.default_rng(seed), 1)[0]
    floating = FlexibleArm(assemble(arm.robot.tree, gravity=np.zeros(3)), arm.flexible_links)
    count = min(count, arm.modes)
    modal = linearised(floating, q, delta=np.zeros(arm.modes)).frequencies
    chains = [held_frequencies(segmented(floating, segments), q) for segments in SEGMENTS]
    return SegmentFrequencies(q.tolist(), *((x[:count] / (2.0 * np.pi)).tolist() for x in (modal, *chains)))


def seconds_per_state(arm: FlexibleArm, formulation: str, rows: FlexibleRows) -> float | None:
    """Smallest time of several repeats for J and R, by the rows; s. `None` for particles of links that are no beams.

    The recursion's rows go through in one call: what Python costs at each call is shared between them.
    """
    if formulation == RECURSION:
        return _best(lambda: equations_of_motion(arm, *rows.state)) / len(rows.q)
    try:
        particles = arm_particles(arm)
    except ModelError:
        return None
    return _best(lambda: energy_equations(arm, particles, *rows.state)) / len(rows.q)


def forward_seconds_per_state(arm: FlexibleArm, rows: FlexibleRows) -> float:
    """The same for accelerations by the recursion."""
    tau = np.zeros(arm.n)
    return _best(lambda: flexible_forward_dynamics(arm, *rows.state, tau)) / len(rows.q)


def _best(call: Callable[[], object]) -> float:
    call()  # compiled, allocated, warm
    best, spent = float("inf"), 0.0
    while spent < _ENOUGH:
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best


def _differences(
    found: EquationsOfMotion, expected: EquationsOfMotion, zdd: Array
) -> list[tuple[Quantity, Array, Array, Array]]:
    """For each quantity and state: how far apart, the size of the terms, and the largest entry; shapes (B,)."""
    rows = len(zdd)

    def largest(x: Array) -> Array:
        return np.asarray(np.abs(x).reshape(rows, -1).max(axis=1))

    J, size = found.J, largest(found.J)
    efforts, others = (np.einsum("bij,bj->bi", x.J, zdd) + x.bias for x in (found, expected))
    terms = largest(np.einsum("bij,bj->bi", np.abs(J), np.abs(zdd)) + np.abs(found.bias))
    # both accelerate under the efforts of the recursion
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
    """Of each mode of a flexible link, that which deflects its tip as `_DEFLECTED` says."""
    link = arm.flexible_links[k]
    there, reach = link.at(link.tip), float(np.linalg.norm(link.tip)) or 1.0
    moved = np.linalg.norm(there.translation, axis=1) + reach * np.linalg.norm(there.rotation, axis=1)
    return np.asarray(_DEFLECTED * reach / np.where(moved > 0.0, moved, 1.0))
