"""`rne guide`, the whole of it."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.in_process import rne
from support.wheel import wheel_urdf

from rne_dynamics.cli.arguments import declare
from rne_dynamics.cli.main import main
from rne_dynamics.cli.own_arm import guide as command
from rne_dynamics.description.model_file import load_model
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.ros.sessions import guiding
from rne_dynamics.ros.sessions.guiding import Guidance
from rne_dynamics.simulation.runs.push import FloatingMotion, loads_over_time


def figures(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, object]:
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout)


def moved(report: dict[str, object]) -> dict[str, float]:
    return {joint["name"]: joint["moved"] for joint in report["joints"]}


@pytest.mark.slow
def test_the_arm_follows_a_push_and_stays_where_it_was_led(tmp_path):
    # at 200 Hz, so that a busy computer can keep up; in lock-step the result is the same
    done = rne(tmp_path, "guide", "puma560", "--push", "tool0=20,0,0@0.1..0.4", "--rate", "200", "--after", "0.6",
               "--json", "--out", "guided.png")
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
def test_a_joint_that_friction_holds_is_named_with_the_force_it_takes(tmp_path):
    report = figures(rne(tmp_path, "guide", "puma560", "--push", "tool0=0,0,-3@0.2..0.4", "--rate", "200", "--after",
                         "0.5", "--json"), 1)
    assert "did NOT follow the push tool0=0,0,-3@0.2..0.4: Friction keeps joint 'joint2'" in report["verdict"]["text"]
    assert "push harder" in report["verdict"]["text"]
    assert report["verdict"]["cause"] == "friction"
    assert set(moved(report).values()) == {0.0}


@pytest.mark.parametrize("robot", [
    "pantograph", *(pytest.param(name, marks=pytest.mark.soak) for name in ("panda.urdf", "cylindrical")),
])
def test_every_kind_of_arm_is_guided(robot, tmp_path):
    robot = str(wheel_urdf(robot)) if robot.endswith(".urdf") else robot
    done = rne(tmp_path, "guide", robot, "--rate", "100", "--payload", f"{tool(robot)}=0.5", "--after", "0.6")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "guided: the arm was held, moved as it was pushed" in done.stdout


def tool(robot: str) -> str:
    return load_model(robot).link_names[-1]


def config(folder: Path, **sections: dict[str, object]) -> Path:
    """A parameter file with these sections."""
    file = folder / "arm.yaml"
    file.write_text(yaml.safe_dump({f"/**/{name}": {"ros__parameters": v} for name, v in sections.items()}))
    return file


def planned(*arguments: str) -> Guidance:
    """The session of these arguments, before a node starts."""
    parser = argparse.ArgumentParser()
    declare(parser, command.ARGUMENTS)
    return command._guidance(parser.parse_args(arguments))


#: One joint of 12 N m at its start; one of a hand, without limits.
ARM = """<robot name="arm"><link name="base"/><link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="4"/>
<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.003"/></inertial></link>
<joint name="pitch" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="EFFORT" velocity="2"/></joint><link name="tip"/>
<joint name="end" type="fixed"><parent link="upper"/><child link="tip"/><origin xyz="0.3 0 0"/></joint></robot>"""
HAND = """<robot name="hand"><link name="base"/><link name="jaw"><inertial><origin xyz="0 0 -0.02"/><mass value="0.02"/>
<inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
<joint name="wrist" type="continuous"><parent link="base"/><child link="jaw"/><axis xyz="0 1 0"/></joint>
<link name="tip"/>
<joint name="end" type="fixed"><parent link="jaw"/><child link="tip"/><origin xyz="0 0 -0.05"/></joint>
</robot>"""


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


def test_the_push_is_within_the_limits_of_the_file(tmp_path):
    urdf = tmp_path / "hand.urdf"
    urdf.write_text(HAND)
    file = config(tmp_path, gravity_compensation={"limits": {"wrist": {"effort": 1.0, "velocity": 0.4}}})
    guidance = planned(str(urdf), "--config", str(file))
    (push,) = guidance.pushes
    loads = loads_over_time(guidance.robot, guidance.start, [push], push.begin, push.end)
    displacements, speeds = FloatingMotion(guidance.settings, guidance.start).run(np.zeros(1), loads)
    assert guidance.robot.effort_limit.tolist() == [1.0]
    assert abs(displacements[-1, 0]) > 0.02
    assert abs(speeds[-1, 0]) <= 0.4
    with pytest.raises(RneDynamicsError, match=r"'wrist' has no effort limit: .* set limits.wrist.effort"):
        planned(str(urdf))


def test_starts_take_units(tmp_path):
    start = planned("puma560", "--start", "joint2=-30deg", "--start", "joint1=0.25").start
    assert start[:2] == pytest.approx([0.25, -np.pi / 6.0])


def test_hardware_is_simulated_where_the_simulator_can_do_it(tmp_path, capsys):
    file = config(tmp_path, gravity_compensation={
        "hardware_compensates": ["gravity", "friction", "coriolis"], "effort_scale": {"joint1": -2.0},
        "drives": {"topic": "on"}, "limits": {"joint2": {"effort": 5.0}}, "payload": {"link": "tool0", "mass": 1.0},
    })  # fmt: skip
    guidance = planned("puma560", "--config", str(file))
    nodes = guiding.parameters(guidance)
    law, arm = nodes[guiding.CONTROLLER], nodes[guiding.SIMULATOR]
    assert law["hardware_compensates"] == ["gravity", "friction"]
    assert not {"effort_scale.joint1", "drives.topic"} & law.keys()
    assert arm["gravity"] == [0.0, 0.0, -0.001]
    assert arm["friction"] is False
    assert arm["payload.mass"] == 1.0
    assert guidance.settings.limits.effort[1] == 5.0, "enough, since the hardware holds the arm"
    left = capsys.readouterr().err
    assert all(name in left for name in ("effort_scale", "drives", "hardware_compensates: coriolis"))


REASONS = (
    ({}, {}, ("puma560", "--push", "tool0=5000,0,0@0.1..0.6"), "stopped", "joint"),
    ({}, {}, ("puma560", "--push", "tool0=900,0,0@0.1..0.6"), "effort_limit", "needs its effort limit"),
    ({"payload": {"link": "tool0", "mass": 4.0}}, {"startup_check": {"duration": 1.0}}, ("puma560",), "refused",
     "payload"),
    ({"payload": {"link": "tool0", "mass": 4.0}}, {"startup_check": {"duration": 0.0}}, ("puma560",), "not_held",
     "not those of"),
    ({}, {}, ("arm.urdf", "--start", "pitch=2", "--push", "tip=0,0,-3@0.1..0.3"), "no_load",
     "free to move"),
    ({}, {}, ("puma560", "--push", "base_link=0,0,30@0.1..0.2"), "no_load", "push another link"),
)


@pytest.mark.parametrize(("simulated", "law", "arguments", "cause", "said"), [
    pytest.param(*case, marks=pytest.mark.slow if k < 2 else pytest.mark.soak, id=case[3])
    for k, case in enumerate(REASONS)
])
def test_each_reason_is_the_true_one(tmp_path, simulated, law, arguments, cause, said):
    file = config(tmp_path, simulator={"rate": 250.0, **simulated}, gravity_compensation={"torque_divisor": 10, **law})
    (tmp_path / "arm.urdf").write_text(ARM.replace("EFFORT", "50"))
    done = rne(tmp_path, "guide", *arguments, "--config", str(file), "--after", "0.6", "--json")
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
