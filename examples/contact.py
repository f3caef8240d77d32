"""A Panda that moves with 0.1 kg that its model does not know is pushed with 20 N: what an observer feels, and when."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rne_dynamics as rne
from rne_dynamics.figures.style import COLORS, canvas, legend_below

Array = NDArray[np.float64]

LINK, FORCE, PAYLOAD = "panda_link8", np.array([0.0, 0.0, -20.0]), 0.1  # N in base axes, kg
START = np.array([0.2, -0.4, 0.1, -2.0, 0.15, 1.7, 0.6])
GOAL = np.array([-0.9, 0.2, 0.5, -1.6, -0.6, 2.2, 1.2])
BEGIN, END, SECONDS, DT = 1.0, 1.3, 2.0, 1e-3  # s


def observed(robot: rne.RobotModel) -> tuple[Array, Array, Array]:
    """External efforts: observed, allowed for errors of the model, and true ones of the push; (steps, n) each."""
    load = rne.Payload(LINK, PAYLOAD, (0.0, 0.0, 0.05))
    simulator = rne.Simulator(rne.ArmPlant(robot.with_payload(load)), START, dt=DT)
    law = rne.ComputedTorque(robot, rne.Gains.critically_damped(robot.n, 20.0))
    move, observer = rne.Quintic(START, GOAL, SECONDS), rne.MomentumObserver(robot)
    state, effort, rows = observer.start(START, np.zeros(robot.n)), np.zeros(robot.n), []
    for k in range(round(SECONDS / DT)):
        arm, aim = simulator.state, move.sample(simulator.state.t)
        if k:
            state = observer.update(state, arm.q, arm.qd, effort, DT, aim.qdd)
        force = FORCE if BEGIN <= arm.t < END else np.zeros(3)
        rows.append((state.external, state.allowance, rne.jacobian(robot, arm.q, LINK)[:3].T @ force))
        effort = law.law(arm.q, arm.qd, aim).total
        simulator.command(effort)
        axes = rne.forward_kinematics(robot, arm.q)[LINK][:3, :3]
        simulator.advance(wrenches={LINK: np.concatenate([axes.T @ force, np.zeros(3)])})
    felt, allowed, true = (np.array(part) for part in zip(*rows, strict=True))
    return felt, allowed, true


def main() -> None:
    """Print when the push is felt; draw the joints that feel it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, help="write a picture")
    plot = parser.parse_args().plot
    robot = rne.load_urdf("panda")
    felt, allowed, true = observed(robot)
    bound = allowed + 0.01 * robot.effort_limit
    beyond = np.abs(felt) > bound
    at = round(BEGIN / DT)
    print(f"before the push: {int(beyond[:at].any())} alarms")
    first = at + int(np.argmax(beyond[at:].any(axis=1)))
    joint = robot.joint_names[int(np.argmax(beyond[first]))]
    print(f"pushed at {BEGIN:g} s, felt {first - at} ms later by {joint}")
    if plot is not None:
        draw(plot, felt, bound, true)


def draw(path: Path, felt: Array, bound: Array, true: Array) -> None:
    """External efforts of two joints over time."""
    time = DT * np.arange(len(felt))
    with canvas(path, 9.0, 3.6) as figure:
        for axes, j in zip(figure.subplots(1, 2), (1, 3), strict=True):
            axes.fill_between(time, -bound[:, j], bound[:, j], color="black", alpha=0.08, label="no contact")
            axes.plot(time, true[:, j], color=COLORS[1], linewidth=1.4, label="of the push")
            axes.plot(time, felt[:, j], color=COLORS[0], linewidth=1.4, label="observed")
            axes.set(title=f"joint {j + 1}", xlabel="time (s)", ylabel="external effort (N m)")
        legend_below(figure, axes, 3)


if __name__ == "__main__":
    main()
