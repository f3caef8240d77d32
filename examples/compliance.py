"""A hand of 20 N pushes the tool of a Panda for a second: how far it yields under three laws, and where to.

Under Cartesian impedance it yields along the push alone, by force over stiffness; under joint impedance the joints
yield, and the tool goes where they lead; under computed torque it depends on the inertia. With --arms: four arms under
Cartesian impedance with its defaults.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rne_dynamics as rne
from rne_dynamics.figures.style import COLORS, canvas, legend_below

Array = NDArray[np.float64]

LINK, PUSH, STIFFNESS = "panda_link8", 20.0, 400.0  # N upwards, N/m
START = np.array([0.2, -0.4, 0.1, -2.0, 0.15, 1.7, 0.6])
BEGIN, END, SECONDS, DT = 0.2, 1.2, 2.5, 1e-3  # s
#: Arms by name: URDF, tool, posture.
ARMS: dict[str, tuple[str, str, Array]] = {
    "Panda": ("panda", LINK, START),
    "UR10": ("ur10", "tool0", np.array([0.3, -1.1, 1.6, -0.9, -1.2, 0.3])),
    "PUMA 560": ("puma560", "tool0", np.array([0.2, 0.6, -0.9, 0.3, 0.7, 0.2])),
    "four_joint_arm": (str(Path(__file__).with_name("four_joint_arm.urdf")), "tool", np.array([0.2, 0.6, -0.9, 0.3])),
}


def pushed(robot: rne.RobotModel, law: rne.ControlLaw, link: str = LINK, start: Array = START) -> Array:
    """Displacement of the tool, (steps, 3), m, while it is pushed upwards."""
    simulator = rne.Simulator(rne.ArmPlant(robot, friction=False), start, dt=DT)
    still = rne.Reference(start, np.zeros(robot.n), np.zeros(robot.n))
    begin, places = rne.forward_kinematics(robot, start)[link][:3, 3], []
    for _ in range(round(SECONDS / DT)):
        state = simulator.state
        pose = rne.forward_kinematics(robot, state.q)[link]
        places.append(pose[:3, 3] - begin)
        force = pose[:3, :3].T @ [0.0, 0.0, PUSH if BEGIN <= state.t < END else 0.0]
        simulator.command(law.law(state.q, state.qd, still).total)
        simulator.advance(wrenches={link: np.concatenate([force, np.zeros(3)])})
    return np.array(places)


def main() -> None:
    """Print how far the tool yields along the push and across it; draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, help="write a picture")
    parser.add_argument("--arms", action="store_true", help="compare arms with default gains")
    args = parser.parse_args()
    runs = of_arms() if args.arms else of_laws()
    at = round((END - DT) / DT)
    for name, way in runs.items():
        print(f"{name:>20}: {way[at, 2]:6.1f} mm along the push, {np.linalg.norm(way[at, :2]):5.1f} mm across it")
    if args.plot is not None:
        draw(args.plot, runs)


def of_arms() -> dict[str, Array]:
    """Displacements of arms with default gains, mm."""
    runs = {}
    for name, (urdf, link, start) in ARMS.items():
        robot = rne.load_urdf(urdf)
        law = rne.CartesianImpedance(robot, link, rate=1.0 / DT)
        print(f"{name:>20}: {law.stiffness[0]:.0f} N/m, {law.stiffness[3]:.0f} N m/rad")
        runs[name] = 1e3 * pushed(robot, law, link, start)
    return runs


def of_laws() -> dict[str, Array]:
    """Displacements of a Panda under the laws, mm."""
    robot = rne.load_urdf("panda")
    laws: dict[str, rne.ControlLaw] = {
        "Cartesian impedance": rne.CartesianImpedance(
            robot, LINK, stiffness=(STIFFNESS,) * 3 + (20.0,) * 3, rate=1.0 / DT
        ),
        "joint impedance": rne.JointImpedance(robot, rate=1.0 / DT),
        "computed torque": rne.ComputedTorque(robot, rne.Gains.critically_damped(robot.n, 20.0)),
    }
    print(f"{PUSH:g} N over {STIFFNESS:g} N/m: {1e3 * PUSH / STIFFNESS:g} mm")
    return {name: 1e3 * pushed(robot, law) for name, law in laws.items()}


def draw(path: Path, runs: dict[str, Array]) -> None:
    """Displacement along the push and across it over time."""
    time = DT * np.arange(round(SECONDS / DT))
    with canvas(path, 9.0, 3.6) as figure:
        along, across = figure.subplots(1, 2)
        along.axvspan(BEGIN, END, color="black", alpha=0.06, label=f"pushed with {PUSH:g} N")
        across.axvspan(BEGIN, END, color="black", alpha=0.06)
        for (name, way), colour in zip(runs.items(), COLORS, strict=False):
            along.plot(time, way[:, 2], color=colour, linewidth=1.4, label=name)
            across.plot(time, np.linalg.norm(way[:, :2], axis=1), color=colour, linewidth=1.4)
        along.set(ylabel="along the push (mm)", title="how far the tool yields")
        across.set(ylabel="across the push (mm)", title="where else it goes")
        for axes in (along, across):
            axes.set(xlabel="time (s)")
        legend_below(figure, along, 1 + len(runs))


if __name__ == "__main__":
    main()
