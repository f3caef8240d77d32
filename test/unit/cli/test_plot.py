"""`rne plot` of simulations, whose errors and efforts are known."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.cli.main import main
from rne_dynamics.recording.reading import read_recording


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    mcap, npz = folder / "run.mcap", folder / "run.npz"
    assert main(["simulate", "planar2", "--seconds", "0.8", "--record", str(mcap), "--out", str(npz)]) == 0
    return mcap, npz


def test_figures_are_those_of_the_simulation(run, tmp_path, figures):
    mcap, npz = run
    out = tmp_path / "run.png"
    report = figures("plot", mcap, "--robot", "planar2", "--out", out)
    saved = np.load(npz)
    error = saved["reference_q"] - saved["q"]
    for j, row in enumerate(report["joints"]):
        assert row["rms_error"] == pytest.approx(np.sqrt(np.mean(error[:, j] ** 2)))
        assert row["largest_effort"] == pytest.approx(np.abs(saved["effort"][:, j]).max())
    assert out.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_positions_alone_are_enough(run, tmp_path, figures):
    whole = read_recording(run[1])
    csv = tmp_path / "q.csv"
    rows = np.column_stack([whole.t, whole.q])
    np.savetxt(csv, rows, delimiter=",", header="time,q/joint1,q/joint2", comments="")
    report = figures("plot", csv, "--robot", "planar2", "--out", tmp_path / "q.pdf")
    assert set(report["joints"][0]) == {"name"}


@pytest.mark.parametrize(("arguments", "said"), [
    (["--joint", "joint3"], "no joint named 'joint3'; did you mean"),
    (["--from", "9"], "leaves nothing"),
    (["--from", "0.2", "--to", "0.1"], "--from 0.2 is not before --to 0.1"),
    (["--out", "a.gif"], "its ending must be .png, .svg or .pdf"),
    (["--robot", "puma560"], "no joint named 'joint3'"),
    (["--topic", "/left/joint_states"], "did you mean '/joint_states'"),
])
def test_arguments_that_make_no_sense(run, arguments, said, tmp_path, monkeypatch, run_rne):
    monkeypatch.chdir(tmp_path)
    assert said in run_rne("plot", run[0], *arguments, code=1).err
