"""Digits that agree with Pinocchio, on every robot of the wheel, with its axes and with axes close to ±x, ±y, ±z.

Errors are relative, to what the answer is a difference of:

- M: entry ij to √(M_ii M_jj), so that units and light joints count as much as heavy ones;
- inverse dynamics, bias, gravity: to the largest force or moment that a joint carries (in N and N m, as numbers), of
  which the effort is the component along the axis; and to the largest effort, where that is at least 1 % of it;
- forward dynamics: to the largest acceleration, as far as the condition of M allows.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.errors import relative_error
from support.pinocchio_oracle import Oracle, condition
from support.wheel import wheel_robots

import rne_dynamics as rne
from rne_dynamics.dynamics.block_operators import operator_reactions
from rne_dynamics.model.layout import FLOATING, KIND, MULTIPLIER, PRISMATIC, VELOCITY_INDEX

#: Tilts of an axis from ±x, ±y, ±z, rad.
TILTS = (1e-1, 1e-3, 1e-4, 1e-5, 2e-6, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-15)


def tilted_axis(rng: np.random.Generator) -> np.ndarray:
    """An axis at one of `TILTS` from one of ±x, ±y, ±z, −z as often as all others, of any length.

    Pinocchio's reader of URDF takes an axis within about 1e-12 of x, y or z for that, unless its length is not 1.
    """
    k, sign = (2, -1.0) if rng.random() < 0.5 else (int(rng.integers(3)), float(rng.choice([-1.0, 1.0])))
    aside = np.roll([*rng.normal(size=2), 0.0], k + 1)
    tilt = rng.choice(TILTS)
    axis = np.sin(tilt) * aside / np.linalg.norm(aside)
    axis[k] = sign * np.cos(tilt)
    return axis * rng.choice([1.0, 3.7, 0.02] if tilt > 2e-12 else [3.7, 0.02])


def with_tilted_axes(urdf: Path, folder: Path, seed: int) -> Path:
    """A copy of a URDF whose joints that move have such axes."""
    tree, rng = ET.parse(urdf), np.random.default_rng(seed)
    for joint in tree.getroot().findall("joint"):
        if joint.get("type") not in ("revolute", "continuous", "prismatic"):
            continue
        axis = joint.find("axis")
        if axis is None:
            axis = ET.SubElement(joint, "axis")
        axis.set("xyz", " ".join(repr(float(x)) for x in tilted_axis(rng)))
    path = folder / urdf.name
    tree.write(path)
    return path


#: Largest error of M, inverse dynamics, bias and gravity; of forward dynamics where M's condition is below 4e5.
SAME, FORWARD = 1e-12, 1e-10
#: A spread for every run: trees, hands, mimic joints, legs, arms; one whose gravity is nearly along its axes.
FEW = ("TwoDofs", "xarm7", "panda", "ur5_gripper")
Errors = dict[str, tuple[float, str]]


def carried(robot: rne.RobotModel, q, qd, qdd) -> np.ndarray:
    """Length of the force or moment, by what the coordinate moves, that the joints of every coordinate carry; (n,)."""
    (forces,) = operator_reactions(
        robot, robot.base_at_rest.reshape(1, 12), q[None], qd[None], qdd[None], np.empty((1, 0, 6))
    )
    size = np.zeros(robot.n)
    for i in range(robot.bodies):
        iv, kind = robot.topology[i, VELOCITY_INDEX], robot.topology[i, KIND]
        f, n = np.linalg.norm(forces[i, :3]), np.linalg.norm(forces[i, 3:])
        if kind == FLOATING:
            size[iv : iv + 6] += [f, f, f, n, n, n]
        else:
            size[iv] += abs(robot.parameters[i, MULTIPLIER]) * (f if kind == PRISMATIC else n)
    return size


def errors(robot: rne.RobotModel, oracle: Oracle, states: int) -> Iterator[tuple[str, float]]:
    """What is compared, and the error: at most 1 times what the heading says."""
    rng = np.random.default_rng(7)
    rest = np.zeros(robot.n)
    for _ in range(states):
        q, (qd, qdd, tau) = rne.random_configuration(robot, rng), rng.normal(size=(3, robot.n))
        M = oracle.mass_matrix(q)
        size = np.sqrt(np.diag(M))
        moving = size > 0.0
        apart = np.abs(rne.mass_matrix(robot, q) - M)[np.ix_(moving, moving)]
        yield "M", float((apart / np.outer(size[moving], size[moving])).max(initial=0.0))
        tau_of_motion = rne.inverse_dynamics(robot, q, qd, qdd)
        for what, found, expected, motion in (
            ("inverse dynamics", tau_of_motion, oracle.inverse_dynamics(q, qd, qdd), (qd, qdd)),
            ("bias", rne.bias_torque(robot, q, qd), oracle.bias(q, qd), (qd, rest)),
            ("gravity", rne.gravity_torque(robot, q), oracle.gravity(q), (rest, rest)),
        ):
            whole = float(carried(robot, q, *motion).max())
            if whole == 0.0:
                assert not found.any()
                continue
            yield f"{what}, relative to joint loads", relative_error(found, expected, scale=whole)
            if np.abs(expected).max() > 0.01 * whole:
                yield f"{what}, of the effort", relative_error(found, expected)
        badly = condition(M)
        if badly < 1e12:
            found, expected = rne.forward_dynamics(robot, q, qd, tau), oracle.forward_dynamics(q, qd, tau)
            fine = np.finfo(float).eps * badly < FORWARD
            yield (
                "forward dynamics" if fine else "forward dynamics, of eps times condition",
                relative_error(found, expected) / (1.0 if fine else np.finfo(float).eps * badly),
            )


def compared(urdf: Path, folder: Path, seeds: int, states: int) -> Errors:
    """The largest errors of one robot: its axes as given, then close to coordinate axes, base fixed and floating."""
    worst: Errors = defaultdict(lambda: (0.0, ""))
    for seed in range(-1, seeds):
        path = urdf if seed < 0 else with_tilted_axes(urdf, folder, seed)
        axes = "as given" if seed < 0 else "tilted"
        for base in ("fixed", "floating"):
            # machine code of every robot alone, hundreds with tilted axes, takes half an hour; see test_pinocchio.py
            robot = rne.load_urdf(path, base=base).with_own_code(seed < 0 and urdf.stem in FEW)
            if robot.n == 0:
                continue
            for what, error in errors(robot, Oracle(robot, path), states):
                key = f"{what}, axes {axes}"
                allowed = 1.0 if "eps" in what else FORWARD if "forward" in what else SAME
                assert error < allowed, f"{key}: {error:.1e} on {urdf.stem}, {base}"
                worst[key] = max(worst[key], (error, f"{urdf.stem}, {base}"))
    return worst


@pytest.mark.parametrize("name", [
    FEW[0], *(pytest.param(name, marks=pytest.mark.slow) for name in FEW[2:])
])
def test_digits_that_agree_with_pinocchio(name, tmp_path):
    (urdf,) = (path for path in wheel_robots() if path.stem == name)
    assert compared(urdf, tmp_path, seeds=1, states=2)


@pytest.mark.soak
def test_digits_that_agree_with_pinocchio_on_every_robot_of_the_wheel(tmp_path, capsys):
    """Prints the table of docs/formulations.md."""
    worst: Errors = {}
    for urdf in wheel_robots():
        for what, found in compared(urdf, tmp_path, seeds=4, states=10).items():
            worst[what] = max(worst.get(what, (0.0, "")), found)
    with capsys.disabled():
        print()
        for what, (error, where) in sorted(worst.items()):
            print(f"{what:62} {error:.1e}  {where}")
    assert len(worst) >= 14
