"""Laws compared: the same move of the same arms, which differ from the model, under each law."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.errors import ArgumentError, RneDynamicsError
from rne_dynamics.model.body_inertia import rotor_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.mismatch.margins import Margins, stability_margins
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Rollout
from rne_dynamics.simulation.rollouts.sweep import Client, sweep

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
    """The table of mismatches; elastic joints where all joints have rotors. `link`: where payloads are."""
    elastic = plant.robot.kind == "arm" and bool((rotor_inertia(plant.robot.open_tree) > 0.0).all())
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
        stable = math.inf
        here = {case.spring_frequency: name for name, case in found.cases.items() if case.delay == delay}
        for frequency in sorted(here, reverse=True):
            if not found.results[here[frequency]][law].stable:
                break
            stable = frequency
        lowest[delay] = stable
    return lowest
