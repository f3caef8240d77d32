"""A controller that knows a rigid arm moves a flexible one: the way of the tip as planned, as it goes, and shaped.

One quintic on the published two-link arm, under computed torque of its rigid model. The encoders see next to nothing of
what the tip does. An input shaper delays parts of the motion by half a period of the vibration, so that they cancel.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rne_dynamics as rne
from rne_dynamics.figures.style import COLORS, canvas, legend_below
from rne_dynamics.flexible import flexible_forward_kinematics, linearised

Array = NDArray[np.float64]

START, END, SECONDS, AFTER = np.array([-0.35, 1.1]), np.array([0.35, 0.65]), 3.0, 3.5
BANDWIDTH = 20.0  # rad/s: p = ω², d = 2 ω


def shaper_for(arm: rne.FlexibleArm, q: Array) -> rne.InputShaper:
    """ZVD for the two slowest vibrations at q, the joints under the controller's gains."""
    M = rne.mass_matrix(arm.robot, q)
    found = linearised(arm, q, joint_stiffness=BANDWIDTH**2 * M, joint_damping=2.0 * BANDWIDTH * M)
    swings = np.flatnonzero(found.damping_ratios < 0.5)[:2]
    return rne.InputShaper.zvd(found.frequencies[swings], found.damping_ratios[swings])


def run(arm: rne.FlexibleArm, trajectory: rne.Trajectory) -> tuple[rne.Log, Array]:
    """The simulation, and the place of the tip at every row, (rows, 3), m."""
    law = rne.ComputedTorque(arm.robot, rne.Gains(p=np.full(arm.n, BANDWIDTH**2), d=np.full(arm.n, 2.0 * BANDWIDTH)))
    log = rne.simulate(rne.ArmPlant(arm), law, trajectory, seconds=trajectory.duration + AFTER, dt=1e-3)
    assert log.delta is not None
    return log, flexible_forward_kinematics(arm, log.q, log.delta)["tip"][:, :3, 3]


def main() -> None:
    """Print how far the tip strays, and draw its way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, help="write a picture")
    plot = parser.parse_args().plot
    arm = rne.load_model("flexible_arm")
    assert isinstance(arm, rne.FlexibleArm)
    plan = rne.Quintic(START, END, SECONDS)
    shaped = rne.Shaped(plan, shaper_for(arm, END))
    results = {}
    for name, trajectory in (("flexible", plan), ("flexible, ZVD shaper", shaped)):
        log, tip = run(arm, trajectory)
        planned = rne.forward_kinematics(arm.robot, log.reference_q)["tip"][:, :3, 3]
        strays = np.linalg.norm(tip - planned, axis=1)
        moving, after = log.time <= trajectory.duration, log.time > trajectory.duration
        results[name] = (log.time, tip, strays, trajectory.duration)
        print(
            f"{name:>22}: move {trajectory.duration:.2f} s, joints within {1e3 * log.largest_error.max():.1f} mrad, "
            f"tip strays {1e3 * strays[moving].max():.1f} mm on the way, {1e3 * strays[after].max():.2f} mm after it"
        )
    if plot is not None:
        draw(plot, arm, results)


def draw(path: Path, arm: rne.FlexibleArm, results: dict[str, tuple[Array, Array, Array, float]]) -> None:
    """The tip's way seen from above, and how far it is from its plan over time."""
    with canvas(path, 12.0, 5.0) as figure:
        above, over_time = figure.subplots(1, 2, width_ratios=[1.0, 1.4])
        colours = (COLORS[3], COLORS[0])
        for (name, (time, tip, strays, duration)), colour in zip(results.items(), colours, strict=True):
            above.plot(tip[:, 0], tip[:, 1], color=colour, linewidth=1.3, label=name)
            over_time.plot(time, 1e3 * strays, color=colour, linewidth=1.3, label=name)
            over_time.axvline(duration, color=colour, linewidth=0.8, linestyle=":")
        way = rne.forward_kinematics(arm.robot, np.linspace(START, END, 50))["tip"]  # a straight line in the joints
        above.plot(way[:, 0, 3], way[:, 1, 3], "--", color="black", linewidth=1.0, label="rigid plan")
        for q in (START, END):
            poses = rne.forward_kinematics(arm.robot, q)
            x, y = (np.array([poses[link][k, 3] for link in ("link1", "link2", "tip")]) for k in (0, 1))
            above.plot(x, y, "o-", color="0.8", linewidth=4.0, zorder=0)
        above.set(xlabel="x (m)", ylabel="y (m)", title="the tip, seen from above", aspect="equal")
        over_time.set(
            xlabel="time (s); dotted: the end of each move", ylabel="tip from its plan (mm)",
            title="what a controller of the rigid arm does to a flexible one",
        )  # fmt: skip
        legend_below(figure, above, 3)


if __name__ == "__main__":
    main()
