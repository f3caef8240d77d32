"""Laws compared on arms that differ from their model, and their margins.

For small deviations δq the arm obeys M δq̈ + B δq̇ + G δq = u with the viscous friction B and G = ∂g/∂q. The law's
u = −(K δq + D δq̇ + I ∫δq dt) is differentiated numerically. It is sampled and held, with period T.

Gain: the sampled loop with the efforts k·u, x⁺ = Φ x + k Γ u, is stable between two k. The lower one is the limit of
arms that feel 1 / k times the model's inertia: with integral gains it is above 0.

Delay: with a delay τ the loop oscillates at ω without end where (ω² M − jω B − G)⁻¹ (K + jω D + I / jω) has the
eigenvalue e^{jωτ}; half a period, for which a held effort is older than a continuous one, is taken off the least τ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rne_dynamics.control.control_law import ControlLaw, Reference, terms_of
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.dispatch import gravity_torque, mass_matrix
from rne_dynamics.errors import ArgumentError, RneDynamicsError
from rne_dynamics.model.body_inertia import rotor_inertia
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Client, Rollout, sweep

#: Step of differences, rad or m and per s; radius of poles that counts as not stable: differences are not exact.
STEP, UNSTABLE = 1e-5, 1.0 + 1e-6
#: Largest gain that is tried, and its growth from one try to the next.
MOST, GROWTH = 1e3, 1.1
#: Lowest frequency, rad/s, and number of frequencies up to half of the highest that is sampled.
LOWEST, FREQUENCIES = 0.05, 600
_HALVINGS = 40


class Margins(NamedTuple):
    """Margins of a law; 1, 1 and 0 where it is not stable."""

    #: Factors of all efforts that answer to deviations between which the loop is stable; 0 below 1 / `MOST`, infinite
    #: above `MOST`.
    least_gain: float
    gain: float
    #: Delay of efforts up to which it is, s; infinite where none is too much.
    delay: float


def stability_margins(law: ControlLaw, robot: RigidRobot, q: Array, period: float) -> Margins:
    """Margins of a law on an arm at rest at `q`, (n,), with efforts every `period`, s; what a law learns is fixed."""
    n, zero = robot.n, np.zeros(robot.n)
    aim = Reference(q, zero, zero)

    def slope(function: Callable[[Array], Array]) -> Array:
        return np.stack([(function(x) - function(-x)) / (2.0 * STEP) for x in STEP * np.eye(n)], axis=1)

    K = -slope(lambda x: terms_of(law, q + x, zero, aim, zero, None, None).total)
    D = -slope(lambda x: terms_of(law, q, x, aim, zero, None, None).total)
    integral = slope(lambda x: terms_of(law, q, zero, aim, x, None, None).total)
    G = slope(lambda x: gravity_torque(robot, q + x))
    M, B = np.asarray(mass_matrix(robot, q)), np.diag(joint_friction(robot).viscous)
    least, most = _gains(M, B, G, (K, D, integral), period)
    return Margins(least, most, 0.0 if most == 1.0 else max(_delay(M, B, G, (K, D, integral), period), 0.0))


def _gains(M: Array, B: Array, G: Array, law: tuple[Array, Array, Array], period: float) -> tuple[float, float]:
    n, unit, none = len(M), np.eye(len(M)), np.zeros_like(M)
    accelerations = [-np.linalg.solve(M, G), -np.linalg.solve(M, B), np.linalg.inv(M)]  # by q, q̇ and the efforts
    rates = np.block([[none, unit, none], accelerations, [none, none, none]])
    exact = scipy.linalg.expm(period * rates)
    pushed = np.vstack([exact[: 2 * n, 2 * n :], none])
    free = np.block([[exact[: 2 * n, : 2 * n], np.zeros((2 * n, n))], [period * unit, none, unit]])
    answer = np.hstack(law)
    kept = 3 * n if law[2].any() else 2 * n

    def stable(k: float) -> bool:
        return bool(np.abs(np.linalg.eigvals((free - k * pushed @ answer)[:kept, :kept])).max() < UNSTABLE)

    if not stable(1.0):
        return 1.0, 1.0
    return _border(stable, 1.0 / GROWTH, 1.0 / MOST, 0.0), _border(stable, GROWTH, MOST, np.inf)


def _border(stable: Callable[[float], bool], growth: float, last: float, beyond: float) -> float:
    """The last stable gain from 1 on in steps of a factor; `beyond` where `last` is stable."""
    inside, outside = 1.0, growth
    while stable(outside):
        inside, outside = outside, growth * outside
        if abs(np.log(inside)) > abs(np.log(last)):
            return beyond
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stable(middle) else (inside, middle)
    return inside


def _delay(M: Array, B: Array, G: Array, law: tuple[Array, Array, Array], period: float) -> float:
    K, D, integral = law

    def loci(omega: Array) -> NDArray[np.complex128]:
        """Eigenvalues by size, (…, n), at frequencies (…,)."""
        w = omega[..., None, None]
        loop = np.linalg.solve(w**2 * M - 1j * w * B - G, K + 1j * w * D + integral / (1j * w))
        found = np.asarray(np.linalg.eigvals(loop), dtype=np.complex128)
        return np.take_along_axis(found, np.argsort(np.abs(found), axis=-1), axis=-1)

    omega = np.geomspace(LOWEST, 0.5 * np.pi / period, FREQUENCIES)
    above = np.abs(loci(omega)) > 1.0
    least = np.inf
    for i, k in zip(*np.nonzero(above[1:] != above[:-1]), strict=True):
        low, high = omega[i], omega[i + 1]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            before = (np.abs(loci(np.array(middle)))[k] > 1.0) == above[i, k]
            low, high = (middle, high) if before else (low, middle)
        least = min(least, float(np.angle(loci(np.array(low))[k])) % (2.0 * np.pi) / low)
    return least - 0.5 * period


#: Period of the laws, s.
PERIOD = 1e-3
#: Rest after the move, s, the last part of it in which the arm must be at rest, s, and the speed that counts as rest.
PAUSE, QUIET, SLOW = 0.5, 0.2, 0.05


class Result(NamedTuple):
    """One run; figures are NaN where it failed."""

    #: Of the joint with the largest, rad or m.
    rms_error: float
    peak_error: float
    #: Of the joint with the largest, as a part of its limit; NaN without limits.
    peak_effort: float
    #: Largest speed of any joint at the end, rad/s or m/s.
    speed: float
    #: Why the run failed; empty where it did not.
    fault: str = ""

    @property
    def stable(self) -> bool:
        """Whether the arm came to rest."""
        return not self.fault and self.speed < SLOW


@dataclass(frozen=True)
class Comparison:
    """Laws by name, cases by name, and the result of each pair."""

    laws: tuple[str, ...]
    cases: Mapping[str, Mismatch]
    #: By case, then by law.
    results: Mapping[str, Mapping[str, Result]]
    #: Of each law where the move begins, on an arm equal to its model; NaN where they cannot be computed.
    margins: Mapping[str, Margins]


def compare_laws(
    plant: ArmPlant, laws: Mapping[str, ControlLaw], trajectory: Trajectory, cases: Mapping[str, Mismatch], *,
    client: Client | None = None, progress: Callable[[int], None] | None = None,
) -> Comparison:  # fmt: skip
    """Every law with every case; arguments as of `Rollout` and `sweep`."""
    pairs = [(case, law) for case in cases for law in laws]
    rollouts = [
        Rollout(plant, laws[law], trajectory, PERIOD, seconds=trajectory.duration + PAUSE, mismatch=cases[case])
        for case, law in pairs
    ]
    results: dict[str, dict[str, Result]] = {case: {} for case in cases}
    for (case, law), found in zip(pairs, sweep(result, rollouts, client=client, progress=progress), strict=True):
        results[case][law] = found
    start = trajectory.sample(0.0).q
    margins = {name: _margins(law, plant, start) for name, law in laws.items()}
    return Comparison(tuple(laws), cases, results, margins)


def _margins(law: ControlLaw, plant: ArmPlant, start: Array) -> Margins:
    try:
        return stability_margins(law, plant.robot.rigid, start, PERIOD)
    except (RneDynamicsError, np.linalg.LinAlgError):  # of a mechanism, or of a law of one's own
        return Margins(math.nan, math.nan, math.nan)


def result(rollout: Rollout) -> Result:
    """The figures of one run."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            log = rollout.run()
    except ArgumentError:  # of the case, not of the motion
        raise
    except RneDynamicsError as error:
        return Result(math.nan, math.nan, math.nan, math.nan, str(error))
    limit = rollout.plant.robot.effort_limit
    known = np.isfinite(limit) & (limit > 0.0)
    part = float((log.largest_effort[known] / limit[known]).max()) if known.any() else math.nan
    end = log.time > log.time[-1] - QUIET
    return Result(
        float(log.rms_error.max()), float(log.largest_error.max()), part, float(np.abs(log.qd[end]).max())
    )


def usual_cases(plant: ArmPlant, link: str, seed: int = 0) -> dict[str, Mismatch]:
    """The table of mismatches; elastic joints where all have rotors and none mimics. `link`: where payloads are."""
    tree = plant.robot.open_tree
    elastic = plant.robot.kind == "arm" and not tree.has_mimic and bool((rotor_inertia(tree) > 0.0).all())
    drawn = {"mass": 0.05, "friction": 0.2, "centre": 0.005}
    cases = {
        "as the model": {}, "masses 5 %": drawn,
        **{f"payload {kg:g} kg": {"payload": (link, kg)} for kg in (1.0, 3.0, 5.0)},
        **{f"friction × {factor:g}": {"friction_scale": factor} for factor in (0.5, 2.0)},
        **{f"delay {1e3 * delay:g} ms": {"delay": delay} for delay in (2e-3, 5e-3, 1e-2)},
        "noise": {"noise": 1e-4, "velocity_noise": 1e-2}, "lost 10 %": {"lost": 0.1},
        **{f"springs {f:g} Hz": {"spring_frequency": f} for f in (60.0, 25.0, 15.0) if elastic},
    }  # fmt: skip
    return {name: Mismatch.of({"seed": seed, **fields}) for name, fields in cases.items()}


def drawn_cases(link: str, count: int, seed: int = 0) -> dict[str, Mismatch]:
    """`count` arms drawn from the same ranges, all kinds of mismatch together except springs."""
    rng, cases = np.random.default_rng([seed, count]), {}
    for k in range(count):
        payload, friction, delay, noise = rng.uniform(size=4)
        cases[f"trial {k}"] = Mismatch(
            seed=seed + k, mass=0.05, centre=0.005, payload=(link, 5.0 * payload), friction_scale=0.5 * 4.0**friction,
            delay=1e-3 * round(10.0 * delay), noise=1e-4 * noise, velocity_noise=1e-2 * noise,
        )  # fmt: skip
    return cases


def spring_cases(frequencies: Sequence[float], delays: Sequence[float]) -> dict[str, Mismatch]:
    """Springs, Hz, with delays, s."""
    return {f"springs {f:g} Hz, delay {1e3 * d:g} ms": Mismatch(spring_frequency=f, delay=d)
            for d in delays for f in frequencies}  # fmt: skip


def slowest_springs(found: Comparison, law: str) -> dict[float, float]:
    """By delay, s, the lowest spring frequency, Hz, from which on the law is stable at all; infinite for none."""
    lowest: dict[float, float] = {}
    for delay in sorted({case.delay for case in found.cases.values()}):
        here = {case.spring_frequency: found.results[name][law].stable
                for name, case in found.cases.items() if case.delay == delay}  # fmt: skip
        lowest[delay] = min(takewhile(here.__getitem__, sorted(here, reverse=True)), default=math.inf)
    return lowest
