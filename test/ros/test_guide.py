"""`rne guide`, the whole of it, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.wheel import wheel_urdf

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
    assert report["pushes"] == ["tool0=20,0,0@0.1..0.4"]
    assert max(map(abs, moved(report).values())) > 0.01
    for joint in report["joints"]:
        assert joint["rest"] < 0.6
        assert abs(joint["drift"]) < 1e-3
        assert joint["largest_effort"] < joint["effort_limit"]
    assert (tmp_path / "guided.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_a_joint_that_friction_holds_is_named_with_the_force_it_takes(tmp_path):
    report = figures(guide(tmp_path, "puma560", "--push", "tool0=0,0,-3@0.2..0.4", "--rate", "200", "--after", "0.5",
                           "--json"), 1)
    assert "did NOT follow the push: Friction keeps joint 'joint2'" in report["verdict"]
    assert "push harder" in report["verdict"]
    assert set(moved(report).values()) == {0.0}


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["panda.urdf", "cylindrical", "pantograph"])
def test_every_kind_of_arm_is_guided(robot, tmp_path):
    robot = str(wheel_urdf(robot)) if robot.endswith(".urdf") else robot
    done = guide(tmp_path, robot, "--rate", "250", "--payload", f"{tool(robot)}=0.5")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "the arm was held and guided" in done.stdout


def tool(robot: str) -> str:
    import rne_dynamics as rne

    return rne.load_model(robot).link_names[-1]


@pytest.mark.slow
def test_an_arm_that_its_controller_cannot_hold_is_reported_with_a_remedy(tmp_path):
    limits = {"limits": {"joint2": {"effort": 5.0}}, "startup_check": {"duration": 0.0}}
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump({"/**/gravity_compensation": {"ros__parameters": limits}}))
    done = guide(tmp_path, "puma560", "--config", "arm.yaml", "--rate", "250")
    assert done.returncode == 1, done.stdout
    assert "the arm was NOT" in done.stdout or "STOPPED" in done.stdout, done.stdout
    assert "rne check" in done.stdout or "--payload" in done.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (["no_such_robot"], "puma560"),
    (["puma560", "--push", "tool0=1,2@0..1"], "three finite numbers"),
    (["puma560", "--push", "tool0=1,2,3@1..0.5"], "0 <= BEGIN < END"),
    (["puma560", "--push", "tool0"], "FX,FY,FZ@BEGIN..END"),
    (["puma560", "--push", "hand=1,2,3@0..1"], "hand"),
    (["puma560", "--start", "joint2=9"], "its limits are"),
    (["puma560", "--payload", "tool0=-1"], "must not be negative"),
    (["puma560", "--out", "x.gif"], ".png, .svg or .pdf"),
    (["puma560", "--config", "none.yaml"], "none.yaml cannot be read"),
    (["puma560", "--payload", "tool0=80"], "effort limit"),
])
def test_what_cannot_be_run_is_refused_in_one_line_before_a_node_starts(arguments, said, tmp_path, capsys, monkeypatch):
    from rne_dynamics.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["guide", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
