"""The controller against an arm that MuJoCo steps, as processes; and that arm against our dynamics."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the plant is MuJoCo's: pip install '.[test]'")

import mujoco

import rne_dynamics as rne

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GOAL = 2e-4  # rad
#: Longest gap between two efforts up to which the goal is asked for, ms. In a longer one the arm goes on under the last
#: effort, so its error grows with the square of the gap.
GAP = 5.0


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


arm = load("mujoco_arm")


def move(robot: str) -> dict[str, object]:
    """The figures of one run of the example."""
    command = [sys.executable, str(EXAMPLES / "mujoco_plant.py"), "--robot", robot, "--controller", "rne", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300.0, check=False)
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads(done.stdout)
    print(robot, figures)
    return figures


@pytest.mark.soak
@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_a_move_of_three_seconds_is_tracked(robot):
    figures = move(robot)
    assert figures["rms"] <= GOAL * max(1.0, figures["longest_gap"] / GAP) ** 2, figures


@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_the_plant_obeys_the_same_dynamics_and_limits(robot):
    chosen = arm.ARMS[robot]
    model, ours = arm.compiled(chosen), rne.load_urdf(chosen.path, lock=dict.fromkeys(chosen.locked, 0.0))
    assert arm.names_of(model) == list(ours.joint_names)
    np.testing.assert_array_equal(model.jnt_range, np.stack([ours.lower, ours.upper], axis=1))
    data, rng = mujoco.MjData(model), np.random.default_rng(6)
    for _ in range(10):
        q = rng.uniform(0.9 * ours.lower + 0.1 * ours.upper, 0.1 * ours.lower + 0.9 * ours.upper)
        qd, tau = rng.normal(size=(2, ours.n))
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        expected = rne.forward_dynamics(ours, q, qd, tau - rne.friction_torque(ours, qd))
        np.testing.assert_allclose(data.qacc, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    data.ctrl[:] = 1e4
    mujoco.mj_forward(model, data)
    np.testing.assert_array_equal(data.qfrc_actuator, ours.effort_limit)
