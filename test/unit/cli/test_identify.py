"""`rne identify` as its users type it, on logs of arms that are not what their file says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.robots import robot as named
from support.secret_arms import secret

import rne_dynamics as rne
from rne_dynamics.description.share import share_file
from rne_dynamics.identification.consistent_fit import pseudo_inertia


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The command writes to the current folder."""
    monkeypatch.chdir(tmp_path)


def test_the_model_predicts_another_motion_and_loads(figures, tmp_path):
    arm = secret(named("puma560"), 5)
    logs = [arm.log(tmp_path / f"{k}.npz", k, seconds=10.0) for k in (1, 2)]
    found = figures("identify", "puma560", logs[0], "--validate", logs[1])
    assert found["validation"]["mean_norm"] < 0.1 * found["validation"]["mean_norm_before"]
    assert found["base_parameters"]["count"] == 40
    assert {p["source"] for p in found["parameters"]} == {"data", "URDF"}
    assert all(p["deviation"] > 0.0 for p in found["parameters"])
    robot = rne.load_model(tmp_path / "puma560_identified.yaml")
    assert (np.linalg.eigvalsh(pseudo_inertia(rne.inertial_parameters(robot)))[:, 0] > 0.0).all()
    assert rne.rotor_inertia(robot) == pytest.approx(arm.rotors, abs=0.05)
    before, after = (
        re.sub(r"\s*<inertial>.*?</inertial>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in (share_file("urdf/puma560.urdf"), tmp_path / "puma560_identified.urdf")
    )
    assert after == before
    page = (tmp_path / "puma560_identified.html").read_text(encoding="utf-8")
    assert "<img" in page
    assert "other data" in page


@pytest.mark.slow
def test_a_payload_alone_leaves_the_arm_as_it_is(figures, tmp_path):
    arm = secret(named("puma560"), 5)
    loaded = arm.with_load("link6", 2.8, (0.0, 0.01, 0.1))
    reference, log = (x.log(tmp_path / f"{k}.npz", k, seconds=10.0) for k, x in ((1, arm), (2, loaded)))
    found = figures("identify", "--no-report", "puma560", log, "--reference", reference, "--payload", "link6")
    assert found["payload"]["mass"] == pytest.approx(2.8, rel=0.05)
    assert found["payload"]["com"] == pytest.approx([0.0, 0.01, 0.1], abs=0.01)
    robot = rne.load_model(tmp_path / "puma560_payload.yaml")
    assert robot.mass == pytest.approx(named("puma560").mass + found["payload"]["mass"], rel=1e-6)


@pytest.mark.slow
def test_currents_and_a_known_load_give_gains(figures, tmp_path):
    arm, gains = secret(named("puma560"), 5), np.array([20.0, 30.0, 15.0, 5.0, 6.0, 4.0])
    loaded = arm.with_load("link6", 2.8, (0.0, 0.0, 0.05))
    logs = [
        loaded.log(tmp_path / "loaded.npz", 1, scale=gains), arm.log(tmp_path / "empty.npz", 2, scale=gains)
    ]  # fmt: skip
    found = figures("identify", "--no-report", "puma560", logs[0], "--reference", logs[1], "--load", "link6=2.8")
    values = np.array([gain["value"] for gain in found["gains"].values()])
    assert (np.abs(values / gains - 1.0) < [0.02] * 5 + [0.15]).all()  # the load says little of the last joint
    text = ",".join(str(gain["value"]) for gain in found["gains"].values())
    other = figures("identify", "--no-report", "puma560", logs[1], "--gains", text, "--sensors", "motor")
    assert other["training"]["mean_norm"] < 0.1 * other["training"]["mean_norm_before"]


@pytest.mark.slow
def test_a_guess_of_a_model_is_little_trusted(figures, tmp_path):
    arm = secret(named("scara"), 5)
    logs = [arm.log(tmp_path / f"{k}.npz", k) for k in (1, 2)]
    found = figures("identify", "--no-report", "scara", logs[0], "--validate", logs[1], "--trust", "3")
    assert found["validation"]["mean_norm"] < 0.01 * found["validation"]["mean_norm_before"]
    assert all(p["deviation"] > 0.0 for p in found["parameters"])  # also none that is NaN


def test_what_would_be_worthless_is_refused(run_rne, tmp_path):
    good = secret(named("puma560"), 5).log(tmp_path / "good.npz", 1, seconds=10.0)
    log = dict(np.load(good))
    np.savez(tmp_path / "sign.npz", **{**log, "torques": -log["torques"]})
    for words, said in [
        (("puma560", "sign.npz"), "--force"),
        (("puma560", good, "--payload", "link9"), "no link named 'link9'"),
        (("pantograph", good), "closed loops"),
        (("puma560", good, "--out", "nowhere/model"), "no folder"),
        (("puma560", good, "--load", "link6=1", "--gains", "1"), "leave out"),
    ]:
        assert said in run_rne("identify", *words, code=1).err
    assert not list(Path(tmp_path).glob("*.urdf"))


def test_a_model_file_of_the_arm_is_taken_with_what_it_says(figures, tmp_path):
    """Gravity stays, its own payload becomes a part of the link, and a locked joint keeps its rotor and friction."""
    (tmp_path / "tilted.yaml").write_text(
        "urdf: puma560\ngravity: [0, 4.905, -8.496]\npayload: {link: link6, mass: 1.5, com: [0, 0, 0.1], "
        "inertia: [0.01, 0, 0, 0.01, 0, 0.01]}\nrotors: {joint6: 0.5}\nfriction: {joint6: {coulomb: 7}}\n",
        encoding="utf-8",
    )
    tilted = rne.load_model(tmp_path / "tilted.yaml")
    arm = secret(tilted.with_lock({"joint6": 0.3}), 6, 0.1)
    log = arm.with_load("link5", 0.7, (0.0, 0.0, 0.0)).log(tmp_path / "log.npz", 1)
    options = ("--no-report", "--friction", "coulomb", "--lock", "joint6=0.3")
    found = figures("identify", "tilted.yaml", log, *options)
    assert found["training"]["mean_norm"] < 0.2 * found["training"]["mean_norm_before"]
    figures("identify", "tilted.yaml", log, *options, "--payload", "link5")
    whole, loaded = (rne.load_model(tmp_path / f"tilted_{end}.yaml") for end in ("identified", "payload"))
    for written in (whole, loaded):
        assert written.gravity == pytest.approx(tilted.gravity)
        assert written.joint_names == tilted.joint_names
        locked = written.tree.joint("joint6")
        assert (locked.rotor_inertia, locked.friction.coulomb) == (0.5, 7.0), "nothing was logged of it"
    masses = [robot.tree.link("link6").inertia.mass for robot in (loaded, tilted)]
    assert masses[0] == pytest.approx(masses[1])


@pytest.mark.slow
def test_joints_that_were_not_logged_are_locked_and_stay_joints(figures, tmp_path):
    (tmp_path / "arm.yaml").write_text("urdf: puma560\nrotors: {joint6: 0.5}\nfriction: {joint6: {coulomb: 7}}\n")
    whole = rne.load_model(tmp_path / "arm.yaml")
    arm = secret(whole.with_lock({"joint6": 0.3}), 5)
    assert arm.robot.n == 5
    found = figures("identify", "--no-report", "arm.yaml", arm.log(tmp_path / "log.npz", 1), "--lock", "joint6=0.3")
    assert found["training"]["mean_norm"] < 0.1 * found["training"]["mean_norm_before"]
    written = rne.load_model(tmp_path / "arm_identified.yaml")
    assert written.joint_names == whole.joint_names
    locked = written.tree.joint("joint6")
    assert (locked.rotor_inertia, locked.friction.coulomb) == (0.5, 7.0), "nothing was logged of it"
