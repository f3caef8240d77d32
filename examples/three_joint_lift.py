"""The example of Vukobratović and Potkonjak (1979): three joints lift the tip straight up at 2 m/s² for one second.

From the paper: the start φ = (π, −π/2, −π/2) at rest, the masses 0.1, 2 and 2 kg, the motion. Its figure with lengths
and inertias is not to be had; chosen here are a column of 0.6 m, an upper arm and a forearm of 0.5 m each, cylinders of
60 mm diameter, and a shoulder 0.1 m to the side of the first axis, so that the first joint has something to hold. With
φ = 0 outstretched, as the paper measures angles, the arm starts with the upper arm level and the forearm hanging, far
from singular, and ends with the upper arm upright and the forearm level.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rne_dynamics as rne
from rne_dynamics.figures.style import canvas, color_of, legend_right

Array = NDArray[np.float64]

COLUMN, UPPER, FOREARM, SIDE, RADIUS = 0.6, 0.5, 0.5, 0.1, 0.03
MASSES = (0.1, 2.0, 2.0)
START = np.array([np.pi, -np.pi / 2, -np.pi / 2])
LIFT, DURATION, STEP = 2.0, 1.0, 1e-3
PAPER = 0.3  # s to form the equations on a PDP-11/45


def cylinder(mass: float, length: float) -> rne.Inertia:
    """A solid cylinder along z that starts at the origin."""
    across = mass * (3.0 * RADIUS**2 + length**2) / 12.0
    return rne.Inertia(mass, np.array([0.0, 0.0, 0.5 * length]), np.diag([across, across, 0.5 * mass * RADIUS**2]))


def manipulator() -> rne.RobotModel:
    """Column about z, shoulder and elbow about y; all links along z at φ = 0."""
    lengths = (COLUMN, UPPER, FOREARM)
    names = ("base", "column", "upper_arm", "forearm", "tip")
    inertias = [None, *map(cylinder, MASSES, lengths), None]
    places = [(0.0, 0.0, 0.0), (0.0, SIDE, COLUMN), (0.0, 0.0, UPPER), (0.0, 0.0, FOREARM)]
    axes = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    joints = [
        rne.TreeJoint(
            f"phi{i + 1}" if i < 3 else "grip",
            rne.JointKind.REVOLUTE if i < 3 else rne.JointKind.FIXED,
            names[i],
            names[i + 1],
            position=np.array(places[i]),
            axis=np.array(axes[i]),
        )
        for i in range(4)
    ]
    links = tuple(rne.TreeLink(name, inertia) for name, inertia in zip(names, inertias, strict=True))
    return rne.assemble(rne.KinematicTree("three_joint_manipulator", links, tuple(joints)))


def motion(robot: rne.RobotModel, t: Array) -> tuple[Array, Array, Array]:
    """Joint angles, speeds and accelerations that carry the tip straight up, shape (times, 3) each."""
    out = UPPER * np.ones_like(t)  # from the first axis, in the arm's plane
    up = -FOREARM + 0.5 * LIFT * t**2  # from the shoulder
    bend = np.arccos((out**2 + up**2 - UPPER**2 - FOREARM**2) / (2.0 * UPPER * FOREARM))
    lean = np.arctan2(out, up) - np.arctan2(FOREARM * np.sin(bend), UPPER + FOREARM * np.cos(bend))
    q = np.stack([np.full_like(t, np.pi), -lean, -bend], axis=-1)
    # J q̇ = v, J q̈ + J̇ q̇ = v̇ at the tip
    upward = np.zeros((len(t), 3, 1))
    upward[:, 2, 0] = 1.0
    J = rne.jacobian(robot, q, "tip")[:, :3]
    qd = np.linalg.solve(J, LIFT * t[:, None, None] * upward)
    J_rate = rne.jacobian_rate(robot, q, qd[:, :, 0], "tip")[:, :3]
    qdd = np.linalg.solve(J, LIFT * upward - J_rate @ qd)
    return q, qd[:, :, 0], qdd[:, :, 0]


def driving_torques(robot: rne.RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """P = W q̈ − V."""
    terms = rne.lagrange_terms(robot, q, qd)
    torques: Array = (terms.W @ qdd[:, :, None])[:, :, 0] - terms.V
    return torques


def simulate(robot: rne.RobotModel, torques: Array, runge_kutta: bool) -> Array:
    """Angles (steps + 1, 3) under the torques alone, known at every half step, from the start at rest.

    Runge-Kutta of fourth order, or accelerations held constant over a step as the paper proposes.
    """

    def rates(y: Array, k: int) -> Array:
        acceleration = rne.forward_dynamics(robot, y[:3], y[3:], torques[k], method="lagrange")
        return np.concatenate([y[3:], acceleration])

    y = np.concatenate([START, np.zeros(3)])
    path = [y[:3]]
    for k in range(0, len(torques) - 1, 2):
        a = rates(y, k)
        if runge_kutta:
            b = rates(y + 0.5 * STEP * a, k + 1)
            c = rates(y + 0.5 * STEP * b, k + 1)
            d = rates(y + STEP * c, k + 2)
            y = y + STEP / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        else:
            y = y + STEP * a
            y[:3] += 0.5 * STEP**2 * a[3:]
        path.append(y[:3])
    return np.array(path)


def tip_deviation(robot: rne.RobotModel, q: Array, t: Array) -> float:
    """Largest distance of the tip from where it should be, m."""
    there = rne.forward_kinematics(robot, q)["tip"][:, :3, 3]
    wanted = rne.forward_kinematics(robot, START)["tip"][:3, 3] + 0.5 * LIFT * np.outer(t**2, [0.0, 0.0, 1.0])
    return float(np.linalg.norm(there - wanted, axis=1).max())


def forming_times(robot: rne.RobotModel, q: Array, qd: Array) -> tuple[float, float]:
    """Seconds to form W and V of one state: within a large batch, and by a call for it alone; best of several."""

    def best(q: Array, qd: Array, calls: int) -> float:
        rne.lagrange_terms(robot, q, qd)
        times = []
        for _ in range(10):
            begun = time.perf_counter()
            for _ in range(calls):
                rne.lagrange_terms(robot, q, qd)
            times.append((time.perf_counter() - begun) / calls)
        return min(times)

    return best(q, qd, 3) / len(q), best(q[0].copy(), qd[0].copy(), 300)


def plot(path: Path, robot: rne.RobotModel, t: Array, q: Array, torques: Array, simulated: Array) -> None:
    """The arm on its way, angles and torques over time (the paper's figures 7 and 8)."""
    with canvas(path, 11.0, 5.6) as figure:
        grid = figure.add_gridspec(2, 2, width_ratios=[1.0, 1.35])
        side, angles, moments = (figure.add_subplot(place) for place in (grid[:, 0], grid[0, 1], grid[1, 1]))

        links = rne.forward_kinematics(robot, simulated)
        points = np.stack([links[name][:, :3, 3] for name in ("upper_arm", "forearm", "tip")], axis=1)[:, :, [0, 2]]
        side.plot([0.0, 0.0], [0.0, COLUMN], color="0.6", linewidth=7, solid_capstyle="butt")
        for k in range(0, len(points), 250):
            shade = 0.75 - 0.75 * k / (len(points) - 1)
            side.plot(*points[k].T, "o-", color=str(shade), linewidth=2.5, markersize=5)
            at = f"{t[2 * k]:.2f} s"
            side.annotate(at, points[k, 2], xytext=(8, -3), textcoords="offset points", fontsize="small")
        side.plot(*points[:, 2].T, color=color_of(3), linewidth=1.2)
        side.set(title="Arm every 0.25 s, seen from the side", xlabel="x (m)", ylabel="z (m)")
        side.set(xlim=(-0.1, 0.72), aspect="equal")
        side.annotate("tip, simulated", points[-1, 2], xytext=(5, -40), textcoords="offset points", rotation=90,
                      color=color_of(3), fontsize="small", va="top")  # fmt: skip

        for j in range(3):
            (line,) = angles.plot(t[::2], np.degrees(simulated[:, j]), label=f"$\\varphi_{j + 1}$")
            angles.plot(t[::200], np.degrees(q[::200, j]), "o", color=line.get_color(), markersize=3.5)
            moments.plot(t, torques[:, j], label=f"$M_{j + 1}$")
        angles.plot([], [], "o", color="black", markersize=3.5, label="planned")
        angles.set(title="Angles simulated under the torques below", ylabel="degrees", yticks=range(-180, 181, 90))
        moments.set(title="Driving torques", ylabel="N m", xlabel="time (s)")
        for axes in (angles, moments):
            legend_right(axes)
            axes.set_xlim(0.0, DURATION)


def main() -> None:
    """Print torques, deviations and times; write the plot where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the curves to FILE")
    arguments = parser.parse_args()

    robot = manipulator()
    t = np.linspace(0.0, DURATION, 2 * round(DURATION / STEP) + 1)
    q, qd, qdd = motion(robot, t)
    torques = driving_torques(robot, q, qd, qdd)

    titles = [f"φ{j} (°)" for j in (1, 2, 3)] + [f"M{j} (N·m)" for j in (1, 2, 3)]
    print(f"{'t (s)':>6}", *(f"{title:>9}" for title in titles))
    for k in range(0, len(t), 400):
        row = np.concatenate([np.degrees(q[k]), torques[k]])
        print(f"{t[k]:6.1f}", *(f"{value:9.3f}" for value in np.round(row, 3) + 0.0))  # + 0 makes −0 plain

    simulated = simulate(robot, torques, runge_kutta=True)
    held = simulate(robot, torques, runge_kutta=False)
    print("\nforward dynamics under these torques alone: largest deviation of the tip on its way of 1 m")
    print(f"  Runge-Kutta, {1e3 * STEP:.0f} ms           {tip_deviation(robot, simulated, t[::2]):.1e} m")
    print(f"  accelerations held for {1e3 * STEP:.0f} ms  {tip_deviation(robot, held, t[::2]):.1e} m")

    inside, call = forming_times(robot, q, qd)
    print("\ntime to form W and V of one state")
    for label, seconds in (("inside compiled code", inside), ("called from Python", call)):
        print(f"  {label:21}{1e6 * seconds:8.2f} µs; the paper's PDP-11/45 took {PAPER / seconds:,.0f} times as long")
    if arguments.plot:
        plot(arguments.plot, robot, t, q, torques, simulated)
        print(f"\nwrote {arguments.plot}")


if __name__ == "__main__":
    main()
