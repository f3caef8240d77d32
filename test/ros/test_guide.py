"""`rne guide`, the whole of it, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import rne_dynamics as rne
from rne_dynamics.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def guide(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it with these arguments in a folder; whatever its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "rne_dynamics.cli.main", "guide", *arguments], cwd=folder, check=False,
        capture_output=True, text=True, timeout=900, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def figures(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, object]:
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout)


def moved(report: dict[str, object]) -> dict[str, float]:
    return {joint["name"]: joint["moved"] for joint in report["joints"]}


@pytest.mark.slow
def test_the_arm_follows_a_push_and_stays_where_it_was_led(tmp_path):
    # at 200 Hz, so that a busy computer can keep up; in lock-step the result is the same
    done = guide(tmp_path, "puma560", "--push", "tool0=20,0,0@0.1..0.4", "--rate", "200", "--after", "0.6", "--json",
                 "--out", "guided.png")
    report = figures(done)
    assert report["guided"]
    (response,) = report["responses"]
    far = max(range(6), key=lambda j: abs(response["expected"][j]))
    assert response["moved"][far] == pytest.approx(response["expected"][far], rel=0.3)
    assert report["pushes"] == ["tool0=20,0,0@0.1..0.4"]
    assert max(map(abs, moved(report).values())) > 0.01
    for joint in report["joints"]:
        assert joint["rest"] < 0.6
        assert abs(joint["drift"]) < 1e-3
        assert joint["largest_effort"] < joint["effort_limit"]
    assert (tmp_path / "guided.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_a_mechanism_is_guided(tmp_path):
    tool = rne.load_model("pantograph").link_names[-1]
    done = guide(tmp_path, "pantograph", "--rate", "250", "--payload", f"{tool}=0.5")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "guided: the arm was held, moved as it was pushed" in done.stdout


def config(folder: Path, **sections: dict[str, object]) -> Path:
    """A parameter file with these sections."""
    file = folder / "arm.yaml"
    file.write_text(yaml.safe_dump({f"/**/{name}": {"ros__parameters": v} for name, v in sections.items()}))
    return file


#: One joint of 12 N m at its start; one of a hand, without limits.
ARM = """<robot name="arm"><link name="base"/><link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="4"/>
<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.003"/></inertial></link>
<joint name="pitch" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="EFFORT" velocity="2"/></joint><link name="tip"/>
<joint name="end" type="fixed"><parent link="upper"/><child link="tip"/><origin xyz="0.3 0 0"/></joint></robot>"""


def test_an_effort_limit_counts_wherever_it_is_given(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = config(tmp_path, gravity_compensation={"limits": {"pitch": {"effort": 5.0}}})
    said = []
    for effort, more in (("5", ()), ("50", ("--config", str(file)))):
        Path("arm.urdf").write_text(ARM.replace("EFFORT", effort))
        assert main(["guide", "arm.urdf", *more]) == 1
        said.append(capsys.readouterr().err)
    assert "joint 'pitch' needs 11.77 to hold the arm at its start; its effort limit is 5." in said[0]
    assert said[1] == said[0]


REASONS = (
    ({}, {}, ("puma560", "--push", "tool0=5000,0,0@0.1..0.6"), "stopped", "joint"),
    ({}, {}, ("puma560", "--push", "tool0=900,0,0@0.1..0.6"), "effort_limit", "needs its effort limit"),
    ({"payload": {"link": "tool0", "mass": 4.0}}, {"startup_check": {"duration": 1.0}}, ("puma560",), "refused",
     "payload"),
    ({"payload": {"link": "tool0", "mass": 4.0}}, {"startup_check": {"duration": 0.0}}, ("puma560",), "not_held",
     "not those of"),
    ({}, {}, ("arm.urdf", "--start", "pitch=2", "--push", "tip=0,0,-3@0.1..0.3"), "position_limit",
     "at its position limit"),
    ({}, {}, ("puma560", "--push", "base_link=0,0,30@0.1..0.2"), "no_load", "push another link"),
)


@pytest.mark.parametrize(("simulated", "law", "arguments", "cause", "said"), [
    pytest.param(*case, marks=pytest.mark.slow if k < 2 else pytest.mark.soak, id=case[3])
    for k, case in enumerate(REASONS)
])
def test_each_reason_is_the_true_one(tmp_path, simulated, law, arguments, cause, said):
    file = config(tmp_path, simulator={"rate": 250.0, **simulated}, gravity_compensation={"torque_divisor": 10, **law})
    (tmp_path / "arm.urdf").write_text(ARM.replace("EFFORT", "50"))
    done = guide(tmp_path, *arguments, "--config", str(file), "--after", "0.6", "--json")
    verdict = figures(done, 1)["verdict"]
    assert not verdict["passed"]
    assert (verdict["cause"], said in verdict["text"]) == (cause, True), verdict["text"]


@pytest.mark.parametrize(("arguments", "said"), [
    (["no_such_robot"], "puma560"),
    (["puma560", "--push", "tool0=1,2,3@1..0.5"], "0 <= BEGIN < END"),
    (["puma560", "--push", "hand=1,2,3@0..1"], "hand"),
    (["puma560", "--start", "joint2=9"], "its limits are"),
    (["puma560", "--out", "x.gif"], ".png, .svg or .pdf"),
    (["puma560", "--config", "none.yaml"], "none.yaml cannot be read"),
    (["puma560", "--payload", "tool0=80"], "effort limit"),
])
def test_what_cannot_be_run_is_refused_in_one_line_before_a_node_starts(arguments, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["guide", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
