"""Largest differences of the formulations on one robot, mechanism or flexible arm.

Of flexible arms, the recursion of document 003 and Lagrange's equations of the energies are compared. The energies of
sections 3 and 4 are run as plain Python on complex numbers: steps of 10⁻³⁰ i give their derivatives without
cancellation. Nothing of sections 5.2 and 5.3, which give J and R by recursions, is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.plain import PlainKernels
from rne_dynamics.dispatch import mass_matrix
from rne_dynamics.dynamics.declared.arguments import BaseMotion, Wrenches, bodies_wrenches, packed_base
from rne_dynamics.errors import SingularInertiaError
from rne_dynamics.flexible.energy import twice_kinetic
from rne_dynamics.flexible.equations import EquationsOfMotion, equations_of_motion, flexible_forward_dynamics
from rne_dynamics.flexible.inertia import masses
from rne_dynamics.flexible.motion import motions
from rne_dynamics.flexible.packed import COORDINATE, coordinates, pack
from rne_dynamics.flexible.static import damping_matrix, elastic_energy
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.flexible.modal import ModalLink
from rne_dynamics.model.inertia import Array, skew
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.verification.closed_engines import CLOSED_ENGINES
from rne_dynamics.verification.engines import (
    ENGINES,
    QUANTITIES,
    Engine,
    Quantity,
    Rows,
    bare_states,
    loaded_states,
    random_base_motion,
    random_loads,
    smallest_time,
)

#: Largest relative difference of two O(n) recursions, and of any two engines.
TOLERANCE_LINEAR = 1e-11
TOLERANCE = 1e-9

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Disagreement:
    """The largest difference of two engines in one quantity."""

    #: The quantity, and the engines' names.
    quantity: Quantity
    first: str
    second: str
    #: Relative to the size of the terms that the quantity is the sum of: for accelerations Σ|M⁻¹|(|τ| + |bias|), since
    #: no solver is more accurate when large terms cancel; for other quantities the largest entry of the state.
    relative: float
    #: Relative to the largest entry of the state.
    plain: float
    #: Largest `relative` allowed.
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether the two differ by round-off only; False for NaN."""
        return self.relative <= self.tolerance


@dataclass(frozen=True)
class Agreement:
    """All pairs of engines on one robot, and remarks about engines that could not be compared."""

    disagreements: tuple[Disagreement, ...]
    remarks: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether every pair agrees."""
        return all(d.agrees for d in self.disagreements)

    def worst(self) -> Disagreement | None:
        """The pair with the largest difference relative to its tolerance."""
        return max(self.disagreements, key=lambda d: _size(d.relative / d.tolerance), default=None)


#: The largest difference of each pair of engines in each quantity: relative, and as a part of the plain size.
_Largest = dict[tuple[Quantity, str, str], tuple[float, float]]


def _note(largest: _Largest, pair: tuple[Quantity, str, str], apart: Array, size: Array, plain: Array) -> None:
    """Note differences of a pair, with the sizes that `Disagreement` relates them to; shape (B,) each."""
    here = [_size(float((apart / x).max(initial=0.0))) for x in (size, plain)]
    relative, absolute = map(max, here, largest.get(pair, (0.0, 0.0)))
    largest[pair] = relative, absolute


def compare(
    robot: RigidRobot, count: int = 200, seed: int = 0, *, loaded: bool = True,
    progress: Progress = lambda what, done: None,
) -> Agreement:
    """Run every engine in `count` random states, bare and (if `loaded`) with loads and base motion.

    `progress` gets the current step and the finished fraction. `ArgumentError` as `bare_states`.
    """
    engines = engines_of(robot)
    kinds = (bare_states, loaded_states) if loaded else (bare_states,)
    cases = [states(robot, count, seed) for states in kinds]
    jobs = [
        (rows, q, [engine for engine in engines if engine.offers(q)])
        for rows in cases for q in QUANTITIES if q != "mass matrix" or rows is cases[0]
    ]  # fmt: skip
    largest: _Largest = {}
    remarks: list[str] = []
    total, done = sum(len(offering) for _, _, offering in jobs), 0
    for rows, quantity, offering in jobs:
        # the first engine, recursive Newton–Euler, computed the efforts of these accelerations: they are its answer
        answers: dict[str, Array] = {engines[0].name: rows.qdd} if quantity == "forward" else {}
        for engine in offering:
            progress(f"{quantity}: {engine.name}", done / total)
            done += 1
            try:
                answers[engine.name] = engine.compute(quantity, robot, rows)
            except SingularInertiaError as error:
                remarks.append(f"{quantity}, {engine.name}: {error}")
        sizes = _sizes(quantity, robot, rows, answers)
        for (first, a), (second, b) in itertools.combinations(answers.items(), 2):
            apart = np.abs(a - b).reshape(len(a), -1).max(axis=1, initial=0.0)
            _note(largest, (quantity, first, second), apart, *sizes)
    progress("", 1.0)
    linear = {engine.name for engine in engines if engine.linear}
    found = tuple(
        Disagreement(*pair, *apart, TOLERANCE_LINEAR if {*pair[1:]} <= linear else TOLERANCE)
        for pair, apart in largest.items()
    )
    return Agreement(found, tuple(dict.fromkeys(remarks)))


def engines_of(robot: RigidRobot) -> tuple[Engine[Any], ...]:
    """The formulations of an open arm, or of a mechanism."""
    if robot.loops:
        return CLOSED_ENGINES
    return tuple(engine for engine in ENGINES if engine.mimic or not robot.open_tree.has_mimic)


def _sizes(quantity: Quantity, robot: RigidRobot, rows: Rows, answers: Mapping[str, Array]) -> tuple[Array, Array]:
    """Size of the terms, and largest entry of any engine's answer; shape (B,) each."""
    count = len(rows.q)
    if not answers or robot.n == 0:
        return np.ones(count), np.ones(count)
    plain = np.max([np.abs(a).reshape(count, -1).max(axis=1) for a in answers.values()], axis=0)
    plain = np.where(plain > 0.0, plain, 1.0)
    if quantity != "forward":
        return plain, plain
    M = mass_matrix(robot, rows.q)
    bias = rows.tau - np.einsum("bij,bj->bi", M, rows.qdd)  # loads and base motion included
    one_by_one = np.abs(np.linalg.pinv(M, hermitian=True))
    return np.einsum("bij,bj->bi", one_by_one, np.abs(rows.tau) + np.abs(bias)).max(axis=1), plain


def _size(x: float) -> float:
    """Map NaN to infinity."""
    return float("inf") if np.isnan(x) else x


#: Largest difference of the two derivations, relative to the terms that are summed.
FLEXIBLE_TOLERANCE = 1e-11
RECURSION, ENERGY = "book_recursion", "energy"
#: Deflections of tips in random states, as a part of the distance from root to tip.
_DEFLECTED = 0.02
#: Step into the complex plane; its square is negligible compared with 1.
_STEP = 1e-30


def flexible_states(
    arm: FlexibleArm, count: int, seed: int, *, loaded: bool = False
) -> tuple[tuple[Array, Array, Array, Array], Array, dict[str, Any]]:
    """Random states (q, δ, q̇, δ̇), tips deflected by a few percent, accelerations (count, n + modes), and loads.

    If `loaded`, with `random_loads` and `random_base_motion`.
    """
    rng = np.random.default_rng(seed)
    q = random_configuration(arm.robot, rng, count)
    scale = np.concatenate([_amplitudes(link) for link in arm.flexible_links])
    qd, qdd = rng.normal(size=(2, count, arm.n))
    delta, deltad, deltadd = scale * rng.normal(size=(3, count, arm.modes)) * np.array([1.0, 5.0, 25.0])[:, None, None]
    loads = {"wrenches": random_loads(arm, rng, count), "base_motion": random_base_motion(rng)} if loaded else {}
    return (q, delta, qd, deltad), np.hstack([qdd, deltadd]), loads


def compare_flexible(
    arm: FlexibleArm, count: int = 200, seed: int = 0, *, loaded: bool = True,
    progress: Progress = lambda what, done: None,
) -> Agreement:
    """Compare J, forces and accelerations of both derivations, bare and (if `loaded`) with loads and base motion."""
    largest: _Largest = {}
    cases = (False, True) if loaded else (False,)
    for k, case in enumerate(cases):
        state, zdd, loads = flexible_states(arm, count, seed + k, loaded=case)
        progress("recursion", k / len(cases))
        found = equations_of_motion(arm, *state, **loads)
        progress("energies", k / len(cases))
        for quantity, *differences in _differences(found, energy_equations(arm, *state, **loads), zdd):
            _note(largest, (quantity, RECURSION, ENERGY), *differences)
    progress("", 1.0)
    return Agreement(tuple(Disagreement(*pair, *apart, FLEXIBLE_TOLERANCE) for pair, apart in largest.items()), ())


def flexible_seconds_per_state(arm: FlexibleArm, count: int) -> dict[str, float]:
    """Smallest times for J and R over the number of rows, s, by formulation, and for accelerations by the recursion."""
    state = flexible_states(arm, count, 0)[0]
    calls = {
        RECURSION: lambda: equations_of_motion(arm, *state),
        "accelerations": lambda: flexible_forward_dynamics(arm, *state, np.zeros(arm.n)),
        ENERGY: lambda: energy_equations(arm, *state),
    }
    return {name: smallest_time(call) / count for name, call in calls.items()}


def energy_equations(
    arm: FlexibleArm, q: ArrayLike, delta: ArrayLike, qd: ArrayLike, deltad: ArrayLike, *,
    wrenches: Wrenches | None = None, base_motion: BaseMotion | None = None,
) -> EquationsOfMotion:  # fmt: skip
    """As `equations_of_motion`, from the energies."""
    lead, state = coordinates(arm, q=q, delta=delta, qd=qd, deltad=deltad)
    z, zd, count = np.hstack(state[:2]), np.hstack(state[2:]), len(state[0])
    base, loads = packed_base(arm.body_model, base_motion, lead), bodies_wrenches(arm.body_model, wrenches, lead)
    base, loads = (np.broadcast_to(x, (count, *x.shape[1:])) for x in (base, loads))
    found = [_of_energies(arm, *row) for row in zip(base, z, zd, loads, strict=True)]
    J, bias = (np.array(part) for part in zip(*found, strict=True))
    return EquationsOfMotion(J.reshape((*lead, arm.nz, arm.nz)), bias.reshape((*lead, arm.nz)))


def _of_energies(arm: FlexibleArm, base: Array, z: Array, zd: Array, loads: Array) -> tuple[Array, Array]:
    """J and bias of one state: base (12,) as kernels take it, z, ż (n + modes,), loads (bodies or 0, 6).

    Twice the kinetic energy T is a quadratic form of ż and the base's velocity. The base's acceleration holds −g.
    """
    n, nz, step, (v, w, dv, dw) = arm.n, arm.nz, 1j * _STEP, base.reshape(4, 3)
    unit, (k, m) = np.eye(nz), np.triu_indices(nz)
    J = np.zeros((nz, nz))
    J[k, m] = J[m, k] = _energies(arm, np.zeros(6), z, (unit[k] + step * unit[m]).T)[0].imag / (2.0 * _STEP)
    for at, rotor in zip(pack(arm).topology[:, COORDINATE], pack(arm).rotor, strict=True):
        J[at, at] += rotor if at >= 0 else 0.0
    # d/dt ∂T/∂ż, where ∂T/∂ż_k is ½ (T(ż + e_k) − T(ż − e_k)); the base's axes turn with it
    moving = base[:6] + step * np.concatenate([dv - np.cross(w, v), dw])
    twice = _energies(arm, moving, z + step * zd, np.hstack([zd[:, None] + unit, zd[:, None] - unit]))[0]
    bias: Array = 0.25 * (twice[:nz] - twice[nz:]).imag / _STEP
    # ∂V/∂z − ∂T/∂z
    near = z[:, None] + step * unit
    twice, frames = _energies(arm, base[:6], near, zd)
    bias += (elastic_energy(arm, near[n:].T) - 0.5 * twice).imag / _STEP
    bias[n:] += damping_matrix(arm) @ zd[n:]
    # a moment n is a set of couples, ½ n × e at the end of each of the body's axes e
    for (R, p), load in zip(frames, loads, strict=False):
        moved = np.stack(np.broadcast_arrays(*R, *p, near[0])[:12])
        turn, bent = (moved[:9, 0].real.reshape(3, 3) @ x for x in (load[:3, None], skew(load[3:])))
        bias -= np.concatenate([0.5 * bent.ravel(), turn.ravel()]) @ (moved.imag / _STEP)
    return J, bias


def _energies(arm: FlexibleArm, velocity: Any, z: Any, zd: Any) -> tuple[NDArray[np.complex128], list[Any]]:
    """2 T (columns,) without rotors, and W of the bodies, for columns of z and ż; the base's velocity is (6,)."""
    plain, packed = PlainKernels({"cos": np.cos, "sin": np.sin}, np.zeros), pack(arm)
    X = plain(motions)(packed, np.concatenate([velocity, np.zeros(6)]), z, zd, None)
    twice: NDArray[np.complex128] = plain(twice_kinetic)(packed, X, *plain(masses)(packed, z), zd)
    return twice, X.W[: arm.body_model.bodies]


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


def _amplitudes(link: ModalLink) -> Array:
    """Amplitude of each mode of a flexible link that deflects its tip by `_DEFLECTED`."""
    there, reach = link.at(link.tip), float(np.linalg.norm(link.tip)) or 1.0
    moved = np.linalg.norm(there.translation, axis=1) + reach * np.linalg.norm(there.rotation, axis=1)
    return np.asarray(_DEFLECTED * reach / np.where(moved > 0.0, moved, 1.0))
