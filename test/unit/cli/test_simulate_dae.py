"""`rne simulate --dae`: free motion in maximal coordinates, its reactions, drift and energy, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import rne_dynamics as rne


@pytest.mark.parametrize("words", [
    pytest.param(["scara", "--start", "joint2=40deg", "--payload", "link4=1.5"], marks=pytest.mark.slow),
    ["shuttle_arm", "--base", "floating"],
], ids=lambda words: words[0])  # fmt: skip
def test_the_motion_is_that_of_the_recursion_and_keeps_energy_and_joints(words, figures):
    report = figures("simulate", *words, "--dae", "--seconds", "0.05")
    found = report["constraints"]
    assert found["stabilization"] == "projection"
    assert found["recursion_difference"] < 1e-9
    assert max(found["position_error"], found["velocity_error"]) < 1e-12
    assert report["energy_change"] < 1e-9
    free = figures("simulate", *words, "--free", "--no-friction", "--no-stops", "--seconds", "0.05")
    for one, other in zip(report["joints"], free["joints"], strict=True):
        assert one["velocity_end"] == pytest.approx(other["velocity_end"], abs=1e-8)


@pytest.mark.slow
def test_logs_hold_the_reactions_that_other_formulations_give(tmp_path, run_rne):
    files = [tmp_path / name for name in ("run.npz", "run.csv", "run.html")]
    options = ["--out", files[0], "--out", files[1], "--report", files[2]]
    said = run_rne("simulate", "scara", "--dae", "--seconds", "0.01", *options).out
    assert "largest difference from the O(n) recursion in joint coordinates" in said
    robot = rne.load_urdf("scara")
    with np.load(files[0]) as saved:
        assert list(saved["body_names"]) == list(robot.joint_names)
        q, qd = saved["q"][-1], saved["qd"][-1]
        wanted = rne.joint_reactions(robot, q, qd, rne.forward_dynamics(robot, q, qd, np.zeros(4)))
        for j, joint in enumerate(robot.joint_names):
            # of the same size; a joint's frame may be turned about its origin against the body's
            assert np.linalg.norm(saved["reactions"][-1, j, :3]) == pytest.approx(np.linalg.norm(wanted[joint][:3]))
    assert {"reaction/joint1/fx", "position_error"} <= set(files[1].read_text().splitlines()[0].split(","))
    assert "joints kept to" in files[2].read_text()


@pytest.mark.slow
def test_drift_shows_without_stabilization(figures):
    words = ("planar2", "--start", "joint1=1", "--dt", "0.005", "--seconds", "0.4", "--dae")
    alone, kept = (figures("simulate", *words, how)["constraints"] for how in ("none", "projection"))
    assert alone["position_error"] > 1e3 * kept["position_error"]
