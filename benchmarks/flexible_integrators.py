"""Cost and accuracy of integrators on an arm with vibrating links.

    python benchmarks/flexible_integrators.py
    python benchmarks/flexible_integrators.py --robot flexible_arm6 --stiffer 1 100 --json

Every arm swings for a second without friction, its joints turning at the start and its links bent by a push on the
tip that lets go, which bends the arm as it is by 1 % of its reach; then with links 100, 10 000 times as stiff.
The error is how far the tip is from where it is by a reference: SciPy's DOP853 at relative and absolute tolerances of
1e-11 and 1e-13. Fixed steps are timed as the simulator takes them; SciPy's integrators call the same compiled equations
of motion. One thread computes.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core's time; threads fight where cores are shared

import numpy as np
from script import options, print_table

import rne_dynamics as rne
from rne_dynamics.errors import SimulationError
from rne_dynamics.flexible.energy import flexible_forward_kinematics
from rne_dynamics.flexible.linearised import linearised
from rne_dynamics.flexible.static import static_deflection
from rne_dynamics.simulation.plant.arrays import NO_WRENCH
from rne_dynamics.simulation.plant.coordinates import checked_state
from rne_dynamics.simulation.stepping.events import step_with_events
from rne_dynamics.simulation.stepping.stepping import StepMethod, unchecked_step

SECONDS = 1.0
FIXED: tuple[tuple[StepMethod, float], ...] = (
    ("gauss", 1e-2), ("gauss", 5e-3), ("gauss", 2e-3), ("gauss", 1e-3), ("gauss", 5e-4), ("rk4", 1e-3), ("rk4", 2.5e-4),
    ("rk4", 5e-5), ("rk4", 1e-5), ("semi_implicit", 1e-3), ("semi_implicit", 1e-4),
)  # fmt: skip
#: Relative tolerance of DOP853.
TOLERANCE = 1e-6
#: Evaluations after which an adaptive integrator is stopped and reported as too slow.
MOST_EVALUATIONS = 400_000
REFERENCE_EVALUATIONS = 20_000_000


class TooSlowError(Exception):
    """More evaluations than one waits for."""


def stiffer(arm: rne.FlexibleArm, factor: float) -> rne.FlexibleArm:
    """The arm with EI and GJ times `factor`, its ratios of damping kept."""
    links = tuple(
        replace(link, stiffness=factor * link.stiffness, damping=np.sqrt(factor) * link.damping)
        for link in arm.flexible_links
    )
    return replace(arm, flexible_links=links)


def start(arm: rne.FlexibleArm, push: float) -> rne.State:
    """Joints that turn, links bent by gravity and a push on the tip, N."""
    q, wrench = np.linspace(0.5, -0.4, arm.n), {arm.link_names[-1]: np.array([0.0, push, 0.0, 0.0, 0.0, 0.0])}
    return checked_state(arm, q, np.linspace(1.0, -1.5, arm.n), delta=static_deflection(arm, q, wrenches=wrench))


def push_on(arm: rne.FlexibleArm) -> float:
    """The push that moves the tip by 1 % of its distance from the base, N."""
    unbent, still = start(arm, 0.0), 1e-3
    away = np.linalg.norm(tip(arm, start(arm, still)) - tip(arm, unbent))
    return float(0.01 * np.linalg.norm(tip(arm, unbent)) * still / away)


def tip(arm: rne.FlexibleArm, state: rne.State) -> np.ndarray:
    """Where the last link is, m; shape (3,)."""
    assert state.delta is not None
    poses = flexible_forward_kinematics(arm, state.q, state.delta)
    return np.asarray(poses[arm.link_names[-1]][:3, 3])


def counted(
    plant: rne.ArmPlant, state: rne.State, rtol: float, atol: float, most: int
) -> tuple[rne.State, int, float]:
    """State at the end, evaluations, and time, s."""
    evaluations = 0

    def law(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > most:
            raise TooSlowError
        return np.zeros_like(qd)

    began = time.perf_counter()
    end = rne.integrate(plant, state, law, [SECONDS], rtol=rtol, atol=atol)[-1]
    return end, evaluations, time.perf_counter() - began


def fixed(plant: rne.ArmPlant, state: rne.State, method: StepMethod, dt: float) -> tuple[rne.State, float]:
    """State at the end, and the time of all steps, s."""
    effort, loads, n = np.zeros(plant.robot.n), np.zeros((0, 6)), round(SECONDS / dt)
    unchecked_step(plant, state, effort, dt, method, loads)
    began = time.perf_counter()
    for _ in range(n):
        state = unchecked_step(plant, state, effort, dt, method, loads)
    return state, time.perf_counter() - began


def too_stiff_for_rk4(plant: rne.ArmPlant, state: rne.State, dt: float) -> bool:
    """Whether a step is handed on to gauss."""
    arrays, (z, zd) = plant.arrays(state, plant.base_at(state.t), NO_WRENCH), plant.coordinates.pack(state)
    left = step_with_events(arrays, z, zd, np.zeros(len(zd)), dt, False, np.empty_like(z), np.empty_like(zd))
    return bool(left == dt)


def rows_of(name: str, factor: float, shortest: float) -> list[dict[str, Any]]:
    """All integrators on one arm, fixed steps from `shortest`, s, on."""
    model = rne.load_model(name)
    if not isinstance(model, rne.FlexibleArm):
        raise SystemExit(f"{name} has no flexible links")
    arm = stiffer(model, factor)
    plant, state = rne.ArmPlant(arm, friction=False, stops=False), start(arm, push_on(model))
    fastest = float(linearised(arm, state.q).frequencies[-1]) / (2.0 * np.pi)
    reference, evaluations, _ = counted(plant, state, 1e-11, 1e-13, REFERENCE_EVALUATIONS)
    there = tip(arm, reference)
    common = {"robot": name, "stiffer": factor, "fastest_Hz": fastest, "reference_evaluations": evaluations}
    rows = []
    for method, dt in FIXED:
        if dt < shortest:
            continue
        if method == "rk4" and too_stiff_for_rk4(plant, state, dt):
            rows.append({**common, "method": method, "step": dt, "error": None, "seconds": None, "why": "too stiff"})
            continue
        try:
            end, taken = fixed(plant, state, method, dt)
        except SimulationError as failure:
            rows.append({**common, "method": method, "step": dt, "error": None, "seconds": None, "why": str(failure)})
            continue
        off = float(np.linalg.norm(tip(arm, end) - there))
        rows.append(
            {**common, "method": method, "step": dt, "error": off, "seconds": taken, "step_us": taken * dt * 1e6}
        )
    row: dict[str, Any] = {**common, "method": "DOP853", "rtol": TOLERANCE}
    try:
        end, evaluations, taken = counted(plant, state, TOLERANCE, 1e-3 * TOLERANCE, MOST_EVALUATIONS)
    except TooSlowError:
        return [*rows, {**row, "error": None, "seconds": None, "why": f"over {MOST_EVALUATIONS} evaluations"}]
    off = float(np.linalg.norm(tip(arm, end) - there))
    return [*rows, {**row, "error": off, "seconds": taken, "evaluations": evaluations}]


def show(rows: list[dict[str, Any]]) -> None:
    """One table an arm and stiffness."""
    first, cells = rows[0], []
    for row in rows:
        size = f"{1e3 * row['step']:g} ms" if "step" in row else f"rtol {row['rtol']:g}"
        if row["error"] is None:
            cells.append((row["method"], size, row["why"], "-", "-"))
            continue
        a_step = f"{row['step_us']:.0f}" if "step_us" in row else "-"
        cells.append((row["method"], size, f"{row['error']:.1e}", f"{1e3 * row['seconds']:.0f}", a_step))
    title = f"{first['robot']}, EI x {first['stiffer']:g}: vibrations up to {first['fastest_Hz']:.4g} Hz"
    columns = ("integrator", "step or tolerance", "tip error after 1 s (m)", "time for 1 s (ms)", "a step (us)")
    print_table(title, columns, cells)


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--robot", nargs="+", default=["flexible_arm", "flexible_arm6"], help="shipped flexible arms")
    parser.add_argument("--stiffer", nargs="+", type=float, default=[1.0, 1e2, 1e4], help="factors of EI and GJ")
    parser.add_argument("--shortest", type=float, default=0.0, help="leave out fixed steps shorter than this, ms")
    args = parser.parse_args()
    tables = [rows_of(name, factor, 0.999e-3 * args.shortest) for name in args.robot for factor in args.stiffer]
    if args.json:
        print(json.dumps([row for rows in tables for row in rows], indent=2))
        return
    for rows in tables:
        show(rows)


if __name__ == "__main__":
    main()
