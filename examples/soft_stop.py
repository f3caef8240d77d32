"""An arm is thrown against a position limit, with a soft wall before it and without: the wall stops it, the stop hits.

Hand guiding of a Panda: the motors carry its weight. Somebody swings the shoulder towards its upper position limit and
lets go; in the last run the hand is pushed down all the way.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rne_dynamics as rne
from rne_dynamics.figures.style import COLORS, canvas, legend_below

Array = NDArray[np.float64]

JOINT, HAND = 1, "panda_link8"
START, SPEED = np.array([0.0, 1.2, 0.0, -1.6, 0.0, 1.5, 0.0]), 2.0  # rad, rad/s of the one joint
MARGIN, SECONDS, DT = 0.15, 1.0, 1e-3  # rad, s, s
PUSH = 60.0  # N, downwards at the hand


class Run(NamedTuple):
    """Time, and of the one joint position, velocity and effort; each of shape (steps,)."""

    time: Array
    q: Array
    qd: Array
    effort: Array


def limiter_for(robot: rne.RobotModel, margin: float) -> rne.EffortLimiter:
    """The limits of the description, with a margin before all position limits."""
    return rne.EffortLimiter(
        rne.EffortLimits(
            robot.effort_limit, 100.0 * robot.effort_limit, robot.velocity_limit, robot.lower, robot.upper,
            np.full(robot.n, margin), joints=robot.joint_names,
        )
    )  # fmt: skip


def swing(robot: rne.RobotModel, margin: float, push: float = 0.0) -> Run:
    """One run; `push` is a force down at the hand, N, that stays."""
    qd = np.zeros(robot.n)
    qd[JOINT] = SPEED
    simulator = rne.Simulator(rne.ArmPlant(robot, friction=False), START, qd, dt=DT, hold_until_command=False)
    limiter = limiter_for(robot, margin)
    limiter.start(rne.gravity_torque(robot, START))
    rows = []
    for cycle in range(round(SECONDS / DT)):
        state = simulator.state
        if cycle % 20 == 0:
            limiter.update_inertia(rne.felt_inertia(rne.mass_matrix(robot, state.q)))
        gravity = rne.gravity_torque(robot, state.q)
        limited = limiter.limit(gravity, np.zeros(robot.n), state.q, state.qd, DT)
        rows.append((state.t, state.q[JOINT], state.qd[JOINT], limited.command[JOINT]))
        simulator.command(limited.command)
        simulator.advance(wrenches={HAND: force_down(robot, state.q, push)} if push else None)
    return Run(*np.array(rows).T)


def force_down(robot: rne.RobotModel, q: Array, size: float) -> Array:
    """A force at the hand, as the wrench in its axes; shape (6,)."""
    turn = rne.forward_kinematics(robot, q)[HAND][:3, :3]
    return np.concatenate([turn.T @ [0.0, 0.0, -size], np.zeros(3)])


def main() -> None:
    """Print how fast the joint arrives at its stop, and how near it comes; draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, help="write a picture")
    plot = parser.parse_args().plot
    robot = rne.load_urdf("panda")
    stop = robot.upper[JOINT]
    runs = {
        "no wall": swing(robot, 0.0),
        f"wall, margin {MARGIN:g} rad": swing(robot, MARGIN),
        f"wall, pushed on with {PUSH:g} N": swing(robot, MARGIN, PUSH),
    }
    print(f"{robot.joint_names[JOINT]}: stop at {stop:.4f} rad")
    for name, run in runs.items():
        nearest = int(np.argmax(run.q))
        # two cycles before: the stop takes all speed within one
        hits = f"hits it at {run.qd[nearest - 2]:.2f} rad/s" if stop - run.q[nearest] < 1e-6 else "does not touch it"
        print(
            f"{name:>28}: nearest {1e3 * (stop - run.q[nearest]):6.1f} mrad before it, {hits}, "
            f"back at most {-run.qd.min():.2f} rad/s"
        )
    if plot is not None:
        draw(plot, runs, stop, robot.effort_limit[JOINT])


def draw(path: Path, runs: dict[str, Run], stop: float, limit: float) -> None:
    """Position with margin and stop, velocity, and effort over time."""
    with canvas(path, 12.0, 4.2) as figure:
        position, velocity, effort = figure.subplots(1, 3)
        position.axhspan(stop - MARGIN, stop, color=COLORS[1], alpha=0.2, label="margin")
        position.axhline(stop, color="black", linewidth=1.5, label="stop")
        for (name, run), colour in zip(runs.items(), (COLORS[3], COLORS[0], COLORS[2]), strict=True):
            position.plot(run.time, run.q, color=colour, linewidth=1.3, label=name)
            velocity.plot(run.time, run.qd, color=colour, linewidth=1.3)
            effort.plot(run.time, run.effort, color=colour, linewidth=1.3)
        position.set(ylabel="position (rad)", title="a joint thrown at its stop")
        legend_below(figure, position, 5)
        velocity.set(ylabel="velocity (rad/s)", title="how hard it arrives")
        effort.axhline(-limit, color="black", linewidth=1.0, linestyle=":")
        effort.set(ylabel="effort (N m); dotted: its limit", title="what the motor does, gravity included")
        for axes in (position, velocity, effort):
            axes.set(xlabel="time (s)")


if __name__ == "__main__":
    main()
