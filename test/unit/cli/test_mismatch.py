"""`rne simulate --mismatch` and `rne compare`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rne_dynamics.cli.main import main
from rne_dynamics.cli.simulated import compare


def simulated(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code = main(["simulate", "puma560", "--seconds", "0.6", "--json", *words])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == int(not found["verdict"]["passed"])
    return found


def test_options_and_files_give_a_mismatch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "worn.yaml"
    file.write_text("mass: 0.05\nnoise: 1e-5\nscript:\n- {at: 0.2, payload: {link6: 2}}\n")
    found = simulated(capsys, "--mismatch", str(file), "--mismatch", "delay=0.002", "--mismatch", "seed=4")
    script = [{"at": 0.2, "payload": {"link6": 2}}]
    assert found["mismatch"] == {"seed": 4, "mass": 0.05, "noise": 1e-5, "delay": 0.002, "script": script}
    plain = simulated(capsys)
    assert max(j["rms_error"] for j in found["joints"]) > 10.0 * max(j["rms_error"] for j in plain["joints"])


def test_a_mismatch_is_named_as_the_cause_only_where_the_arm_tracks_without_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    verdict = simulated(capsys, "--mismatch", "payload=link6:3")["verdict"]
    assert verdict["cause"] == "mismatch"
    assert "payload ('link6', 3" in verdict["text"]
    assert "rne compare" in verdict["text"]
    harmless = simulated(capsys, "--mismatch", "noise=1e-7", "--bandwidth", "3", "--no-friction-compensation")
    assert harmless["verdict"]["cause"] != "mismatch"
    assert simulated(capsys, "--mismatch", "noise=1e-7")["verdict"]["cause"] is None


def test_a_scene_is_touched_pushed_and_recorded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scene, log = Path(__file__).resolve().parents[3] / "examples" / "wall.yaml", tmp_path / "log.npz"
    words = ["simulate", "puma560", "--law", "joint_impedance", "--to", "joint3=-0.5", "--to", "joint5=0.5", "--scene"]
    words += [str(scene), "--seconds", "1", "--json", "--out", str(log), "--plot", str(tmp_path / "a.png")]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scene"]["bodies"][0]["stiffness"] == 2e4
    assert found["mismatch"]["script"][0]["push"] == {"link": "tool0", "force": [0, 80, 0], "duration": 0.2}
    (contact,) = found["contacts"]
    assert contact["name"] == "tool0"
    assert 20.0 < contact["force_end"] < contact["largest_force"] < 150.0
    with np.load(log) as saved:
        assert saved["touching"].tolist() == ["tool0"]
        assert np.linalg.norm(saved["contact"], axis=2).max() == contact["largest_force"]
        assert saved["q"][400, 0] > 1e-4  # the push turns the first joint
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_laws_are_compared_on_the_same_arms(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["compare", "puma560", "--seconds", "0.2", "--processes", "1", "--law", "pd_gravity", "--law"]
    assert main([*words, "computed_torque", "--trials", "1", "--seed", "5", "--json", "--plot", str(tmp_path / "a.png"),
                 "--report", str(tmp_path / "a.html")]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["laws"] == ["pd_gravity", "computed_torque"]
    first, second = found["results"][:2]
    assert first["mismatch"] == second["mismatch"]
    assert set(first["mismatch"]) >= {"payload", "friction_scale", "noise", "delay"}
    assert first["rms_error"] != second["rms_error"]
    assert found["margins"]["computed_torque"]["gain"] == pytest.approx(25.0, rel=0.01)
    assert 0.0 < found["margins"]["pd_gravity"]["delay"] < 0.1
    assert (tmp_path / "a.png").stat().st_size > 10_000
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "came to rest" in page
    assert "stability margins" in page


def test_laws_that_refuse_a_mechanism_are_left_out_unless_they_were_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "four_bar", "--seconds", "0.05", "--processes", "1", "--trials", "1"]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "disturbance_observer is left out: disturbance observer: robot 'four_bar' has closed loops" in said
    assert "joint_impedance │" in said
    assert main([*words, "--law", "disturbance_observer"]) == 1


def test_payloads_are_at_the_last_link_that_moves(capsys: pytest.CaptureFixture[str]) -> None:
    """The last one in the file of a UR10 is a frame of its base."""
    assert main(["compare", "ur10", "--seconds", "0.1", "--processes", "1", "--law", "computed_torque", "--json"]) == 0
    found = {one["case"]: one["rms_error"] for one in json.loads(capsys.readouterr().out)["results"]}
    assert found["payload 3 kg"] > 10.0 * found["as the model"]


def test_springs_of_an_arm_without_rotors_have_assumed_ones(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, values in (("FREQUENCIES", (100.0,)), ("DELAYS", (0.0,))):
        monkeypatch.setattr(compare, name, values)
    assert main(["compare", "panda", "--seconds", "0.3", "--springs", "--law", "computed_torque"]) == 0
    said = capsys.readouterr().out
    assert "that of their links at the start" in " ".join(said.split())
    assert re.search(r"computed_torque[^0-9]*100 ", said)


@pytest.mark.slow  # Dask starts for seconds
def test_dask_gives_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    distributed: Any = pytest.importorskip("dask.distributed")
    words = ["compare", "puma560", "--seconds", "0.1", "--law", "computed_torque", "--trials", "2", "--json"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        assert main([*words, "--dask", cluster.scheduler_address]) == 0
    there = capsys.readouterr().out
    assert main([*words, "--processes", "1"]) == 0
    assert there == capsys.readouterr().out


def test_the_extra_of_dask_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    assert main(["compare", "puma560", "--law", "computed_torque", "--dask", "tcp://127.0.0.1:1"]) == 1
    assert "pip install '.[sweep]'" in capsys.readouterr().err
