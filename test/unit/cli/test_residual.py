"""`rne residual` of logs that the simulator writes, and of tables as other programs write them."""

from __future__ import annotations

import numpy as np
import pytest
from support.logged_arms import faults, logged


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A log of the PUMA 560 as a table with other names and units."""
    robot, log, links = logged("puma560", points=True, seconds=8.0)
    folder = tmp_path_factory.mktemp("log")

    def written(name, log):
        names = ["stamp", *(f"{what}_{k + 1}" for what in ("pos", "vel", "torque") for k in range(robot.n))]
        path = folder / name
        np.savetxt(path, np.c_[log.t, log.q, log.qd, log.effort], delimiter=";", header=";".join(names), comments="")
        return path

    wrong = {fault: one for fault, (_, one) in faults(robot, log, links).items()}
    kinds = ("sign of all", "milliseconds")
    return {"log": written("log.csv", log)} | {name: written(f"{name}.csv", wrong[name]) for name in kinds}


def test_a_simulated_arm_leaves_little_of_its_own_model(tmp_path, run_rne, figures):
    """Also of a log without one joint, which is held."""
    mcap, npz = tmp_path / "run.mcap", tmp_path / "run.npz"
    run_rne("simulate", "puma560", "--seconds", "1", "--record", mcap, "--out", npz)
    report = figures("residual", "puma560", mcap)
    assert report["mean_norm"] < 0.1 * report["measured_norm"]
    assert report["verdict"]["passed"]
    assert [joint["name"] for joint in report["joints"]] == [f"joint{k}" for k in range(1, 7)]
    arrays = dict(np.load(npz))
    np.savez(npz, time=arrays["time"], **{name: arrays[name][:, :5] for name in ("q", "effort")})
    assert "--lock holds joints that were not logged" in run_rne("residual", "puma560", npz, code=1).err
    report = figures("residual", "puma560", npz, "--lock", "joint6=0")
    assert len(report["joints"]) == 5
    assert report["mean_norm"] < 0.1 * report["measured_norm"]


@pytest.mark.slow
def test_tables_fit_a_terminal_and_files_are_written(table, tmp_path, monkeypatch, run_rne):
    monkeypatch.setenv("COLUMNS", "80")
    page = tmp_path / "page.html"
    said = run_rne("residual", "puma560", table["log"], "--report", page).out
    assert max(len(line) for line in said.splitlines() if not line.startswith(("wrote", "/"))) <= 80
    assert "columns: t stamp, q pos_*, qd vel_*, tau torque_*" in said
    assert "measured torque and residual" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("fault", "said", "fixed"), [
    ("sign of all", "all torques have the opposite sign. Fix: --gains=-1", "--gains=-1"),
    ("milliseconds", "times are in ms", "--units=t=ms"),
])  # fmt: skip
def test_faults_are_said_and_their_fix_works(table, fault, said, fixed, figures, run_rne):
    answered = " ".join(run_rne("residual", "puma560", table[fault], code=1).out.split())
    assert said in answered
    assert "fix this before any number counts" in answered
    right, again = figures("residual", "puma560", table["log"]), figures("residual", "puma560", table[fault], fixed)
    assert again["mean_norm"] == pytest.approx(right["mean_norm"], rel=1e-6)


def test_columns_by_number_and_band(table, figures):
    words = ["residual", "puma560", table["log"], "--band", "3"]
    named, numbers = figures(*words), figures(*words, "--columns", "t=1,q=2-7,tau=14-19")
    assert numbers["joints"] == named["joints"]
    assert numbers["logs"][0]["band"] == 3.0


@pytest.mark.parametrize(("robot", "words", "said"), [
    ("puma560", ["--columns", "positions"], "--columns is 'positions'"),
    ("puma560", ["--gains", "1,2"], "6 with commas"),
    ("puma560", ["--gains", "0"], "write one number"),
    ("puma560", ["--units", "deg"], "units are deg="),
    ("puma560", ["--columns", "q=nothing"], "no column named 'nothing'"),
    ("puma560", ["--topic", "/joint_states"], "has no topics"),
    ("puma560", ["--plot", "torques.gif"], "its ending must be"),
    ("pantograph", [], "open rigid arms"),
    ("planar2", [], "the robot 2 joints"),
])  # fmt: skip
def test_arguments_that_make_no_sense(table, robot, words, said, run_rne):
    assert said in run_rne("residual", robot, table["log"], *words, code=1).err
