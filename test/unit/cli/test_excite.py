"""`rne excite`, and `rne simulate` with its trajectory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rne_dynamics.cli.main import main
from rne_dynamics.recording.yaml_files import read_trajectory


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_motion_is_written_drawn_and_simulated(folder, run_rne):
    words = ["--box", "joint1=-30deg,60deg", "--plot", "e.png"]
    out = run_rne("excite", "scara", "--budget", "0.1", "--seconds", "2", *words).out
    assert "send --trajectory scara_excite.yaml --path-tolerance 0.0" in out, "0.1 m is half of the prismatic joint"
    found = read_trajectory("scara_excite.yaml")
    assert found.duration == 2.0
    assert (np.abs(found.positions[:, 0] - np.radians(15.0)) < np.radians(45.0)).all()
    assert (folder / "e.png").stat().st_size > 10_000

    assert main(["simulate", "scara", "--trajectory", "scara_excite.yaml", "--out", "run.npz", "--json"]) == 0
    with np.load("run.npz") as run:
        assert np.abs(run["q"][-1] - found.positions[-1]).max() < 1e-3
        assert np.ptp(run["q"], axis=0) == pytest.approx(np.ptp(found.positions, axis=0), rel=0.05)


def test_figures_as_json(figures):
    found = figures("excite", "scara", "--budget", "0.05", "--out", "e.yaml")
    assert found["parameters"] == 11 + 3 * 4 - 1, "weight and offset of the vertical joint are one"
    assert found["condition"] <= found["random"]
    assert all(0.0 < part <= 1.0 for used in found["used"].values() for part in used)


@pytest.mark.parametrize(("words", "said"), [
    ("scara --trajectory nothing.yaml", "nothing.yaml"),
    ("four_bar --trajectory t.yaml", "has joints joint1"),
    ("scara --trajectory t.yaml --to joint1=0", "--to is for another motion"),
    ("scara --trajectory t.yaml --free", "--free is for another motion"),
])  # fmt: skip
def test_trajectories_that_cannot_be_simulated_are_refused(words, said, folder, run_rne):
    point = "{positions: [0], time_from_start: {sec: 1}}"
    (folder / "t.yaml").write_text(f"joint_names: [joint1]\npoints: [{point}]")
    assert said in run_rne("simulate", *words.split(), code=1).err
