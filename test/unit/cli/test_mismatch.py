"""`rne simulate --mismatch` and `rne compare`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rne_dynamics.cli.main import main
from rne_dynamics.cli.simulated import compare

#: What is simulated.
MOVE = ("puma560", "--seconds", "0.6")


def test_options_and_files_give_a_mismatch(tmp_path: Path, simulated) -> None:
    file = tmp_path / "worn.yaml"
    file.write_text("mass: 0.05\nnoise: 1e-5\nscript:\n- {at: 0.2, payload: {link6: 2}}\n")
    found = simulated(*MOVE, "--mismatch", str(file), "--mismatch", "delay=0.002", "--mismatch", "seed=4")
    script = [{"at": 0.2, "payload": {"link6": 2}}]
    assert found["mismatch"] == {"seed": 4, "mass": 0.05, "noise": 1e-5, "delay": 0.002, "script": script}
    plain = simulated(*MOVE)
    assert max(j["rms_error"] for j in found["joints"]) > 10.0 * max(j["rms_error"] for j in plain["joints"])


def test_a_mismatch_is_named_as_the_cause_only_where_the_arm_tracks_without_it(simulated) -> None:
    verdict = simulated(*MOVE, "--mismatch", "payload=link6:3")["verdict"]
    assert (verdict["cause"], "payload ('link6', 3" in verdict["text"]) == ("mismatch", True)
    harmless = simulated(*MOVE, "--mismatch", "noise=1e-7", "--bandwidth", "3", "--no-friction-compensation")
    assert harmless["verdict"]["cause"] not in ("mismatch", None)


def test_a_scene_is_touched_pushed_and_recorded(tmp_path: Path, simulated) -> None:
    scene, log = Path(__file__).resolve().parents[3] / "examples" / "wall.yaml", tmp_path / "log.npz"
    words = ["puma560", "--law", "joint_impedance", "--to", "joint3=-0.5", "--to", "joint5=0.5", "--scene"]
    found = simulated(*words, scene, "--seconds", "1", "--out", log)
    (contact,) = found["contacts"]
    assert 20.0 < contact["force_end"] < contact["largest_force"] < 150.0
    with np.load(log) as saved:
        assert saved["touching"].tolist() == ["tool0"]
        assert np.linalg.norm(saved["contact"], axis=2).max() == contact["largest_force"]
        assert saved["q"][400, 0] > 1e-4  # the push turns the first joint


def test_laws_are_compared_on_the_same_arms(tmp_path: Path, figures) -> None:
    words = ["compare", "puma560", "--seconds", "0.1", "--law", "pd_gravity", "--law", "computed_torque", "--seed", "5"]
    files = "--plot", tmp_path / "a.png", "--report", tmp_path / "a.html"
    found = figures(*words, *files, "--trials", "1", "--processes", "1")
    first, second = found["results"][:2]
    assert first["mismatch"] == second["mismatch"]
    assert first["rms_error"] != second["rms_error"]
    assert found["margins"]["computed_torque"]["gain"] == pytest.approx(25.0, rel=0.01)
    assert 0.0 < found["margins"]["pd_gravity"]["delay"] < 0.1
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert "stability margins" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_laws_that_refuse_a_mechanism_are_left_out_unless_they_were_named(run_rne) -> None:
    words = ["compare", "four_bar", "--seconds", "0.02", "--processes", "1", "--trials", "1"]
    said = " ".join(run_rne(*words).out.split())
    assert "disturbance_observer is left out: disturbance observer: robot 'four_bar' has closed loops" in said
    assert "joint_impedance │" in said
    assert main([*words, "--law", "disturbance_observer"]) == 1


@pytest.mark.slow
def test_payloads_are_at_the_last_link_that_moves(figures) -> None:
    """The last one in the file of a UR10 is a frame of its base."""
    report = figures("compare", "ur10", "--seconds", "0.1", "--processes", "1", "--law", "computed_torque")
    found = {one["case"]: one["rms_error"] for one in report["results"]}
    assert found["payload 3 kg"] > 10.0 * found["as the model"]


@pytest.mark.slow
def test_springs_of_an_arm_without_rotors_have_assumed_ones(monkeypatch: pytest.MonkeyPatch, run_rne) -> None:
    for name, values in (("FREQUENCIES", (100.0,)), ("DELAYS", (0.0,))):
        monkeypatch.setattr(compare, name, values)
    said = run_rne("compare", "panda", "--seconds", "0.1", "--springs", "--law", "computed_torque").out
    assert "that of their links at the start" in " ".join(said.split())
    assert re.search(r"computed_torque[^0-9]*100 ", said)


@pytest.mark.slow  # Dask starts for seconds
def test_dask_gives_the_same_figures(capsys: pytest.CaptureFixture[str], run_rne) -> None:
    distributed: Any = pytest.importorskip("dask.distributed")
    words = ["compare", "puma560", "--seconds", "0.1", "--law", "computed_torque", "--trials", "2", "--json"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        assert main([*words, "--dask", cluster.scheduler_address]) == 0
    there = capsys.readouterr().out
    assert there == run_rne(*words, "--processes", "1").out


def test_the_extra_of_dask_is_named(monkeypatch: pytest.MonkeyPatch, run_rne) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    words = "compare", "puma560", "--law", "computed_torque", "--dask", "tcp://127.0.0.1:1"
    assert "pip install '.[sweep]'" in run_rne(*words, code=1).err
