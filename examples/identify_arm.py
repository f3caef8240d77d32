"""An arm whose URDF is wrong: excite, record, identify, control with the new model; two rounds, simulated.

The simulated arm has other masses, mass centres, inertias, friction and rotors than its description, and its efforts
are measured with noise. The first motion is small, and ends where the arm leaves its path, as the controller ends it.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rne_dynamics as rne
from rne_dynamics.figures.style import canvas, color_of, legend_below
from rne_dynamics.identification.excitation import Evaluations, excite
from rne_dynamics.identification.identify import identify
from rne_dynamics.identification.models import identified_robot
from rne_dynamics.identification.motion import motion_of
from rne_dynamics.identification.triangles import Friction as Form
from rne_dynamics.identification.triangles import Layout, triangles_of
from rne_dynamics.model.tree import Friction
from rne_dynamics.recording.recording import Recording

Array = NDArray[np.float64]

SCALES = 0.3, 0.8  # part of the limits that the motion of each round uses
NOISE = 0.01  # of the efforts, as part of the largest one
PATH_TOLERANCE = 0.3  # rad or m; friction that the description lacks leads light joints that far at once
BANDWIDTH = 40.0  # rad/s
#: Friction of the simulated arm changes its sign with the velocity at once: the least threshold of all.
FORM = Form(0.005)


@dataclass(frozen=True)
class Outcome:
    """Tracking errors on a motion that no model was identified from, with the description and after each round."""

    time: Array
    #: Shape (models, rows, n); rad or m.
    errors: Array
    #: Scaled condition number of each round's motion, and the seconds of it that were driven.
    conditions: tuple[float, ...]
    driven: tuple[float, ...]

    @property
    def largest(self) -> Array:
        """Of each model and joint; (models, n)."""
        found: Array = np.abs(self.errors).max(axis=1)
        return found


def other_arm(robot: rne.RobotModel, rng: np.random.Generator) -> rne.RobotModel:
    """The robot as it may really be."""
    links, joints = [], []
    for link in robot.tree.links:
        own = link.inertia
        if own is not None and own.mass > 0.0:
            mass, size = rng.uniform(0.6, 1.4, 2)
            own = rne.Inertia(mass * own.mass, own.com + rng.uniform(-0.02, 0.02, 3), size * own.inertia)
        links.append(replace(link, inertia=own))
    strength = dict(zip(robot.joint_names, robot.effort_limit.tolist(), strict=True))
    for joint in robot.tree.joints:
        if joint.name in strength:
            viscous, coulomb, rotor = strength[joint.name] * rng.uniform([0.005, 0.01, 5e-4], [0.02, 0.03, 2e-3])
            joint = replace(joint, friction=Friction(viscous, coulomb, coulomb), rotor_inertia=rotor)  # noqa: PLW2901
        joints.append(joint)
    return rne.assemble(replace(robot.tree, links=tuple(links), joints=tuple(joints)), gravity=robot.gravity)


def driven(arm: rne.RobotModel, model: rne.RobotModel, path: rne.SampledTrajectory) -> rne.Log:
    """The arm on a path under computed torque with a model of it."""
    gains = rne.Gains.critically_damped(model.n, BANDWIDTH)
    law = rne.ComputedTorque(model, gains, friction_compensation=rne.FrictionCompensation())
    return rne.simulate(rne.ArmPlant(arm), law, path, dt=1e-3, control_dt=1e-3)


def recorded(log: rne.Log, rng: np.random.Generator) -> Recording:
    """What is recorded of a motion, up to where it leaves the path tolerance."""
    inside = (np.abs(log.error) <= PATH_TOLERANCE).all(axis=1)
    end = len(inside) if inside.all() else int(inside.argmin())
    effort = log.effort[:end] + NOISE * np.abs(log.effort).max(axis=0) * rng.normal(size=(end, len(log.joint_names)))
    return Recording("the simulated arm", log.joint_names, log.time[:end], log.q[:end], log.qd[:end], effort)


def rounds(robot: rne.RobotModel, seed: int = 0, evaluations: int = 300, seconds: float = 10.0) -> Outcome:
    """Two rounds; `evaluations`: of the search for each motion, `seconds`: their duration, s."""
    rng = np.random.default_rng(seed)
    arm, model = other_arm(robot, rng), robot
    test = excite(robot, seconds=seconds, budget=Evaluations(evaluations), seed=99).trajectory
    logs, runs, conditions = [driven(arm, model, test)], [], []
    for k, scale in enumerate(SCALES):
        motion = excite(model, seconds=seconds, scale=scale, rotors=True, budget=Evaluations(evaluations), seed=k)
        runs.append(recorded(driven(arm, model, motion.trajectory), rng))
        conditions.append(motion.condition)
        parts = [triangles_of(Layout(robot, rotors=True), motion_of(run)) for run in runs]
        model = identified_robot(identify(sum(parts[1:], parts[0]), forms=(FORM,) * robot.n))
        logs.append(driven(arm, model, test))
    errors = np.stack([log.error for log in logs])
    return Outcome(logs[0].time, errors, tuple(conditions), tuple(float(run.t[-1]) for run in runs))


MODELS = ("as described", "after round 1", "after round 2")


def draw(path: Path, robot: rne.RobotModel, found: Outcome) -> None:
    """The error of the worst joint over time, and the largest error of every joint."""
    with canvas(path, 11.0, 4.0) as figure:
        over_time, of_joints = figure.subplots(1, 2)
        for k, (label, errors, largest) in enumerate(zip(MODELS, found.errors, found.largest, strict=True)):
            over_time.plot(found.time, 1e3 * np.abs(errors).max(axis=1), color=color_of(k), label=label, linewidth=1.0)
            of_joints.plot(range(robot.n), 1e3 * largest, "o", color=color_of(k))
        over_time.set(yscale="log", xlabel="time (s)", ylabel="error of the worst joint (mrad, mm)", ylim=(1e-2, None),
                      title=f"{robot.name}: a motion that no model was identified from")  # fmt: skip
        of_joints.set(yscale="log", ylabel="largest error (mrad, mm)", title="joint by joint")
        of_joints.set_xticks(range(robot.n), robot.joint_names, rotation=30, ha="right")
        legend_below(figure, over_time, 3)


def main() -> None:
    """Print the largest errors of each round; draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robot", nargs="?", default="panda", help="an open arm (default: panda)")
    parser.add_argument("--seed", type=int, default=0, help="of the arm's secrets (default: 0)")
    parser.add_argument("--evaluations", type=int, default=300,
                        help="motions that are tried for each one that is driven (default: 300)")  # fmt: skip
    parser.add_argument("--plot", type=Path, help="write a picture")
    given = parser.parse_args()
    robot = rne.load_urdf(given.robot)
    found = rounds(robot, given.seed, given.evaluations)
    for label, largest in zip(MODELS, found.largest, strict=True):
        print(f"{label:14} largest error {1e3 * largest.max():9.3f} mrad ({robot.joint_names[int(largest.argmax())]})")
    for k, (condition, seconds) in enumerate(zip(found.conditions, found.driven, strict=True)):
        print(f"round {k + 1}: condition number {condition:.1f}, {seconds:.1f} s driven within {PATH_TOLERANCE} rad")
    if given.plot is not None:
        draw(given.plot, robot, found)


if __name__ == "__main__":
    main()
