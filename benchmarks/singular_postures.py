"""Mechanisms let go so that they fall through singular postures: energy kept, nearest posture, time a step.

The pantograph is held by its pins alone (examples/pantograph_pins.yaml), so that its parallelograms pass flat. It
starts from up to half a degree around (0, 0, 50°).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assembled
from rne_dynamics.closed_chain.coordinates import passive_singular_value
from rne_dynamics.closed_chain.packed import pack, workspace

PINS = Path(__file__).resolve().parents[1] / "examples" / "pantograph_pins.yaml"


def mechanism(source: str | Path) -> rne.Mechanism:
    """A shipped one or that of a file, its loops closed."""
    found = rne.load_model(source)
    assert isinstance(found, rne.Mechanism)
    return assembled(found)


def run(machine: rne.Mechanism, starts: np.ndarray, seconds: float, dt: float) -> str:
    """One row: mechanism, starts, step, those that stopped, worst energy error, nearest posture, µs a step."""
    plant = rne.ArmPlant(machine, friction=False, stops=False)
    worst, nearest, stopped, work = 0.0, np.inf, 0, workspace(pack(machine))
    begin = time.perf_counter()
    for start in starts:
        try:
            log = rne.free_motion(plant, start, seconds=seconds, dt=dt, record_dt=dt)
        except rne.RneDynamicsError as error:
            stopped += 1
            print(error)
            continue
        worst = max(worst, float(np.abs(log.energy - log.energy[0]).max() / log.kinetic.max()))
        assert log.tree_q is not None
        nearest = min(nearest, *(passive_singular_value(machine, work, posture) for posture in log.tree_q[::5]))
    spent = (time.perf_counter() - begin) / (len(starts) * seconds / dt)
    return (
        f"| {machine.name}, driven: {', '.join(machine.joint_names)} | {len(starts)} | {1e3 * dt:g} | {stopped} | "
        f"{worst:.1e} | {nearest:.1e} | {1e6 * spent:.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="simulated time of each start, s")
    parser.add_argument("--starts", type=int, default=60, help="starts of the pantograph")
    parser.add_argument("--steps", type=float, nargs="+", default=[5e-4, 1e-3, 2e-3], help="step sizes, s")
    options = parser.parse_args()
    four_bar, five_bar, pantograph = mechanism("four_bar"), mechanism("five_bar"), mechanism(PINS)
    off = np.random.default_rng(0).uniform(-0.5, 0.5, (options.starts, 3))
    around = np.radians(off + np.array([0.0, 0.0, 50.0]))
    print("| mechanism | starts | step, ms | stopped | energy error | nearest | µs a step |")
    print("|---|---|---|---|---|---|---|")
    for dt in options.steps:
        for machine, starts in (
            (pantograph, around),
            (five_bar, five_bar.neutral[None]),
            (assembled(replace(four_bar, joint_names=("rocker_joint",))), four_bar.posture[None, -1:]),
        ):
            print(run(machine, starts, options.seconds, dt), flush=True)


if __name__ == "__main__":
    main()
