from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.urdf_text import arm, link, robot

from rne_dynamics.description.share import shipped_robots


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name in ("puma560", "cylindrical") else [pytest.mark.slow])
    for name in shipped_robots() if name != "shuttle_arm"
])  # fmt: skip
def test_every_shipped_arm_tracks_with_the_defaults(name, simulated):
    report = simulated(name, "--seconds", "2")
    assert max(joint["rms_error"] for joint in report["joints"]) < 2e-4
    assert all(joint["largest_effort"] < joint["effort_limit"] for joint in report["joints"])


def test_a_table_a_picture_and_files(tmp_path, run_rne):
    csv, npz, png = (tmp_path / name for name in ("log.csv", "log.npz", "move.png"))
    said = run_rne("simulate", "puma560", "--seconds", "1.5", "--out", csv, "--out", npz, "--plot", png)
    assert said.err == ""
    assert all(word in said.out for word in ("joint6", "RMS error", f"wrote {csv}"))
    assert csv.read_text().startswith("time,q/joint1,")
    with np.load(npz) as saved:
        assert saved["q"].shape == (1501, 6)
    assert png.read_bytes().startswith(b"\x89PNG")


def test_an_unknown_payload_shows_and_an_integral_answers_it(simulated):
    there = ("puma560", "--to", "joint2=-0.6", "--to", "joint3=0.5", "--seconds", "1.5", "--no-friction")
    load = ("--unknown-payload", "link6=2")
    options = ((), load, (*load, "--integral", "0.3"), ("--payload", "link6=2"))
    reports = [simulated(*there, *words) for words in options]
    errors = [max(abs(j["final_error"]) for j in report["joints"]) for report in reports]
    assert errors[0] < 1e-5
    assert errors[1] > 1e-3
    assert errors[2] < 0.3 * errors[1]
    assert errors[3] < 1e-5, "the controller's model has the load of --payload"
    matched, known = (report["joints"][1]["largest_effort"] for report in reports[::3])
    assert known > 1.1 * matched


def test_a_continuous_joint_takes_the_nearest_turn_as_under_a_controller(tmp_path, run_rne):
    move = ("four_bar", "--start", "crank_joint=2.9", "--to", "crank_joint=-2.9", "--seconds", "0.5")
    said = run_rne("simulate", *move, "--out", tmp_path / "move.npz").err
    assert "'crank_joint' moves to 3.38319, the turn of -2.9 nearest to its start (2.9)" in said
    assert np.load(tmp_path / "move.npz")["q"][-1, 0] == pytest.approx(2.0 * np.pi - 2.9, abs=0.01)


def test_free_motion_prints_its_energy_and_has_no_verdict(simulated):
    report = simulated(
        "puma560", "--free", "--no-friction", "--no-stops", "--seconds", "0.5", "--method", "adaptive",
        "--start", "joint2=0.5",
    )  # fmt: skip
    assert (report["kind"], "verdict" in report) == ("free", False)
    assert report["energy_change"] < 1e-7


def test_a_floating_arm_falls(tmp_path, simulated):
    (tmp_path / "body.urdf").write_text(robot(link("body")))
    report = simulated(tmp_path / "body.urdf", "--free", "--base", "floating", "--seconds", "0.1")
    assert [j["velocity_end"] for j in report["joints"]][:3] == pytest.approx([0.0, 0.0, -0.981])


def test_effort_limits_of_zero_are_taken_as_not_given(tmp_path, run_rne):
    path = tmp_path / "arm.urdf"
    path.write_text(arm(('effort="30"', 'effort="0"')))
    said = run_rne("simulate", path, "--seconds", "0.3")
    assert "no effort limit (or 0), which counts as unlimited: shoulder" in said.err
    assert " - " in said.out


@pytest.mark.slow
def test_the_pantographs_quintic_ends_in_the_torques_that_hold_it(simulated):
    report = simulated("pantograph", "--preset", "quintic", "--dt", "0.001")
    assert report["seconds"] == 5.0
    for joint in report["joints"]:
        assert abs(joint["effort_start"] - joint["static_start"]) < 1e-3
        assert abs(joint["effort_end"] - joint["static_end"]) < 1e-3
        assert joint["rms_error"] < 1e-5


@pytest.mark.slow
def test_the_pantographs_free_oscillations_keep_their_energy(simulated):
    report = simulated("pantograph", "--preset", "second-hanging")
    assert report["seconds"] == 10.0
    assert report["energy_change"] < 1e-9


@pytest.mark.slow
def test_flexible_links_are_quiet_after_a_shaped_move(tmp_path, simulated):
    move = ("flexible_arm", "--to", "joint1=0.3", "--no-friction", "--seconds", "2")
    csv, png = tmp_path / "log.csv", tmp_path / "tip.png"
    plain = simulated(*move, "--plot", str(png), "--out", str(csv))
    shaped = simulated(*move, "--shaper", "zvd", "--modes", "2")
    for before, after in zip(plain["links"], shaped["links"], strict=True):
        assert after["residual_vibration"] < 0.1 * before["residual_vibration"]
        assert after["largest_deflection"] < before["largest_deflection"]
    assert "tip/link2/y" in csv.read_text().partition("\n")[0]
    assert png.stat().st_size > 10_000


def test_flexible_links_swing_freely(simulated):
    report = simulated(
        "flexible_beam", "--free", "--no-stops", "--no-friction", "--seconds", "0.2", "--method", "gauss",
        "--unknown-payload", "tip=0.5",
    )  # fmt: skip
    assert report["energy_end"] < report["energy_start"]  # the material damps
    assert report["energy_change"] < 0.05
    assert min(link["largest_deflection"] for link in report["links"]) > 1e-3


@pytest.mark.slow
def test_an_arm_on_a_ship(tmp_path, simulated):
    motion = Path(__file__).parents[3] / "examples" / "ship_motion.csv"
    ship = ("puma560", "--base-motion", str(motion), "--seconds")
    known, unknown = simulated(*ship, "0.6"), simulated(*ship, "0.6", "--base-unknown")
    errors = [max(joint["rms_error"] for joint in report["joints"]) for report in (known, unknown)]
    assert 5.0 * errors[0] < errors[1]
    assert (known["base"]["known"], unknown["base"]["known"]) == (True, False)
    free = simulated(*ship, "0.05", "--free", "--out", tmp_path / "ship.csv")
    assert "energy_change" not in free
    assert "base_position/z" in (tmp_path / "ship.csv").read_text().partition("\n")[0]
