"""`rne demo`, the whole of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.demo import ROOT, demo
from support.in_process import rne

from rne_dynamics.cli.main import main
from rne_dynamics.cli.with_ros.moves import USED, peak_effort, plan_moves
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ModelError
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.ros.sessions.processes import wait_until
from rne_dynamics.ros.sessions.recorder import STREAMS, SessionRecorder

from .peer import PATIENCE, end_together


@pytest.mark.parametrize("robot", [
    "planar2", *(pytest.param(name, marks=pytest.mark.soak) for name in ("pantograph", "puma560"))
])
def test_the_arm_tracks(robot, tmp_path):
    # so slowly that a busy machine can keep up; how fast it goes on a quiet one is in the README
    plot = tmp_path / "plot.png"
    record = tmp_path / "run.mcap"
    rate = "100" if robot == "planar2" else "200"
    options = {"robot": robot, "seconds": "1.8", "rate": rate, "out": str(plot), "tolerance": "2e-3"}
    options["record"] = str(record)
    words = ["--json", *(word for name, value in options.items() for word in (f"--{name}", value))]
    done = rne(tmp_path, "demo", *words) if robot == "planar2" else demo(*words)  # the others as a user runs it
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["tracked"]
    assert [j["name"] for j in report["joints"]] == list(load_model(robot).joint_names)
    for joint in report["joints"]:
        assert 0.0 < joint["largest_effort"] <= joint["effort_limit"]
        assert joint["rms_error"] < 2e-3
    assert report["replies"] > 100
    recorded = read_recording(record, joints=load_model(robot).joint_names)
    assert len(recorded.t) > 100
    assert recorded.error is not None
    # at the end the arm is released, and falls; on a busy machine for some of the recorded time
    assert np.quantile(np.abs(recorded.error.values).max(axis=1), 0.8) < 2e-3
    assert plot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_an_arm_that_does_not_track_makes_it_fail(tmp_path):
    done = rne(tmp_path, "demo", "--robot", "planar2", "--seconds", "0.9", "--rate", "100", "--json", "--tolerance",
               "1e-9", "--out", "plot.png")
    assert done.returncode == 1


WORDS = {  # of each cause that a controller reports: parameters of `arm` at 200 Hz, and what the verdict says
    "stopped": ({"min_rate": 500.0}, "the controller reports fault: 200 joint states per second; min_rate is 500"),
    "aborted": ({"constraints.joint1.trajectory": 1e-9}, "or of the request). The motion is aborted"),
    "refused": ({}, "the controller refused the trajectory: joint 'joint"),
    "goal_missed": ({"constraints.joint1.goal": 1e-12, "constraints.goal_time": 0.05}, "(constraints.joint1.goal"),
    "paused": ({"speed_scaling": 0.0}, "set speed_scaling above 0"),
    "friction": ({"friction_compensation": 0.0}, "friction_compensation is 0"),
    "unknown_effort": ({"simulator.payload.link": "link2", "simulator.payload.mass": 0.3}, "does not explain"),
    None: ({"speed_scaling": 0.5, "hardware_compensates": ["gravity", "coriolis"], "effort_scale.joint1": -1.0},
           "tracked at 0.5 of full speed (speed_scaling)"),
}


@pytest.mark.parametrize("cause", [
    pytest.param(cause, marks=pytest.mark.slow if cause in {"stopped", None} else pytest.mark.soak)
    for cause in WORDS
])
def test_the_verdict_has_the_cause_that_the_controller_reports(cause, tmp_path):
    """Every cause is produced on purpose; without the parameter that causes it the arm tracks."""
    arm = tmp_path / "arm.urdf"
    friction = {"friction": '<dynamics friction="0.5"/>', "refused": '<dynamics friction="200"/>'}.get(cause, "")
    arm.write_text((ROOT / "urdf" / "planar2.urdf").read_text().replace("</joint>", f"{friction}</joint>"))
    parameters, words = WORDS[cause]
    nodes = {"computed_torque_controller": {}, "simulator": {}}
    for name, value in parameters.items():
        node, _, rest = name.partition("simulator.")
        nodes["simulator" if rest else "computed_torque_controller"][rest or node] = value
    for joint in ("joint1", "joint2"):
        nodes["computed_torque_controller"] |= {f"gains.{joint}.p": 400.0, f"gains.{joint}.d": 40.0}
    config = tmp_path / "arm.yaml"
    config.write_text(yaml.safe_dump({f"/**/{n}": {"ros__parameters": given} for n, given in nodes.items()}))
    page = tmp_path / "page.html"
    report = ("--report", str(page)) if cause in {None, "stopped"} else ()
    done = rne(tmp_path, "demo", "--robot", str(arm), "--config", str(config), "--seconds", "2.4", "--rate", "200",
               "--json", *report, "--out", "plot.png")  # fmt: skip
    assert done.stdout, done.stderr
    verdict = json.loads(done.stdout)["verdict"]
    assert (done.returncode, verdict["cause"]) == (0 if cause is None else 1, cause), verdict["text"]
    assert words in verdict["text"]
    if report:
        assert ("Not passed: " in page.read_text()) is (cause is not None)
    left_out = "left out: effort_scale, hardware_compensates: coriolis"
    assert (left_out in done.stderr) is (cause is None)


@pytest.mark.slow
def test_an_arm_that_was_stopped_before_its_recorder_listened_is_recorded(start, make_peer, namespace):
    """Discovery takes long on a busy computer; a stopped controller sends no terms that could still be awaited."""
    peer = make_peer(["joint1", "joint2"])
    common = {"robot_description": "planar2", "diagnostics_period": 0.5}
    processes = [start("simulator", **common, rate=200.0),
                 start("computed_torque_controller", **common, min_rate=500.0)]  # fmt: skip
    peer.until(lambda: peer.mode("computed_torque_controller") == "fault", "the fault")
    recorder = SessionRecorder(
        peer.node, namespace, "simulator", "computed_torque_controller", ("joint1", "joint2"), flexible=False
    )
    wait_until(recorder.receives_everything, PATIENCE, STREAMS, processes)
    # where the last terms from before the fault came too, the report may be the next
    wait_until(lambda: recorder.controller_report().state == "fault", PATIENCE, "the report", processes)
    recording = recorder.take((recorder.newest_stamp(),), recorder.simulator_report(processes))({})
    assert len(recording.q) > 0
    assert all(len(values) for _, values in recording.terms.values()), "none, or the last ones of the stop"
    end_together(processes)


@pytest.mark.slow
def test_a_demo_that_is_terminated_leaves_nothing_running(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "rne_dynamics.cli.main", "demo", "--rate", "200", "--out", str(tmp_path / "plot.png")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        family = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: len(family.read_text().split()) == 2, PATIENCE, "two node processes")
        children = [Path(f"/proc/{pid}/cmdline") for pid in family.read_text().split()]
        wait_until(lambda: all("rne_dynamics.ros" in c.read_text() for c in children), PATIENCE, "both to start")
    finally:
        process.terminate()
    assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    # a process that has ended may stay in the table for a while, without a command line
    wait_until(lambda: not any(c.exists() and c.read_text() for c in children), PATIENCE, "both to have ended")


@pytest.mark.parametrize(("arguments", "said"), [
    (["--robot", "no_such_robot"], "puma560"),
    (["--rate", "0"], "--rate"),
    (["--seconds", "nan"], "--seconds"),
    (["--robot", "scara", "--shaper", "zv"], "robot 'scara' has none"),
    (["--robot", "flexible_arm", "--compare", "--shaper", "zvd"], "leave --shaper out"),
])
def test_what_cannot_be_run_is_refused_in_one_line(arguments, said, capsys):
    assert main(["demo", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_an_arm_that_cannot_hold_itself_up_is_refused_before_anything_starts():
    with pytest.raises(ModelError, match=r"'shoulder_pitch' needs .* to hold the arm at the demo's start"):
        plan_moves(load_urdf("shuttle_arm"), 3.0)


@pytest.mark.parametrize("name", [
    "puma560", "panda", "scara", "pantograph", "slider_crank", "flexible_arm"
])
def test_moves_stay_inside_the_limits(name):
    robot = load_model(name).rigid
    plan = plan_moves(robot, 3.0)
    assert len(plan.moves) == 3
    assert (plan.moves[0].start == plan.moves[-1].end).all()
    assert (peak_effort(robot, plan.moves) <= USED * plan.effort_limit).all()
    for move in plan.moves:
        assert ((move.start >= robot.lower) & (move.end <= robot.upper)).all()
        assert (abs(move.sample(move.duration / 2).qd) <= robot.velocity_limit).all()
    assert (abs(plan.moves[0].end - plan.moves[0].start) > 1e-3).all()
