"""`rne send`, `rne stop` and `rne state` with real controllers and a simulated arm, in a ROS domain of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support.frozen import freeze, thaw

from rne_dynamics.cli.main import main
from rne_dynamics.cli.with_ros.state import trouble
from rne_dynamics.cli.with_ros.stop import await_rest
from rne_dynamics.control.trajectory import SampledTrajectory, quintic_duration
from rne_dynamics.recording.yaml_files import write_trajectory
from rne_dynamics.ros.sessions.processes import session_node, wait_until
from rne_dynamics.ros.sessions.running_nodes import RunningNode, RunningNodes, read_parameters, set_parameters

from .commanded_arm import LEFT, ROOT, SIMULATOR, arm, rne
from .peer import PATIENCE

pytestmark = pytest.mark.usefixtures("own_domain")
#: Of planar2, rad/s.
VELOCITY = [6.0, 6.0]
RIGHT, PUSHED = (f"/{place}/computed_torque_controller" for place in ("right", "pushed"))


def send(*words: str, first: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`rne send` to the left arm, which is named: without a name it waits for 3.2 s for others."""
    return rne("send", "--node", LEFT, *words, first=first)


def state(capsys: pytest.CaptureFixture[str], node: str = LEFT) -> tuple[int, dict[str, object]]:
    capsys.readouterr()
    code = main(["state", "--json", "--node", node])
    return code, json.loads(capsys.readouterr().out)[0]


def test_joint_states_are_as_old_as_when_messages_were_last_received():
    node = RunningNode(LEFT, "controller")
    node.mode, node.joints, node.received_at = "holding", JointState(), time.monotonic() - 10.0
    node.note_age(node.received_at + 0.1)
    assert trouble(node) is None, "a pause of this process makes no joint state old"
    node.note_age(node.received_at + 0.9)
    assert "the last one came 0.90 s ago" in trouble(node)[0]


def test_a_controller_that_waits_is_reported_with_the_cause_in_its_diagnostics():
    node = RunningNode(LEFT, "controller")
    node.mode = "waiting"
    assert trouble(node)[0] == "no usable joint state yet"
    node.status = DiagnosticStatus(level=DiagnosticStatus.WARN, message="nothing was received on /clock")
    assert trouble(node) == ("no usable joint state yet: nothing was received on /clock", "remove the cause")


def test_the_recovery_of_a_gate_is_not_that_of_a_controller(capsys):
    class Nodes:
        def spin(self, seconds: float) -> None:
            time.sleep(seconds)

        def look(self) -> None:
            """Find nothing new."""

    for kind, advice in (("gate", "service call /left/node/recover std_srvs/srv/Trigger"), ("controller", "rne send")):
        node = RunningNode("/left/node", kind)
        node.mode, node.controlled, node.age = "released", frozenset(["a"]), 0.0
        node.joints = JointState(name=["a"], position=[0.1])
        assert await_rest(Nodes(), node, 2.0)
        assert advice in capsys.readouterr().out


def test_a_path_tolerance_does_not_outlast_an_interruption_while_it_is_set(left, capsys, monkeypatch):
    def interrupted(*arguments: object) -> None:
        monkeypatch.undo()
        set_parameters(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr("rne_dynamics.ros.sessions.running_nodes.set_parameters", interrupted)
    assert main(["send", "--node", LEFT, "joint1=0.1", "--path-tolerance", "0.2"]) == 130
    with RunningNodes() as nodes:
        assert read_parameters(nodes, nodes.controller(LEFT), "constraints.joint1.trajectory") == [0.0]


def test_state_and_stop(left, capsys):
    code, report = state(capsys)
    assert code == 0, report
    assert (report["node"], report["state"], report["held"]) == (LEFT, "holding", True)
    joint = report["joints"][0]
    assert joint["name"] == "joint1"
    assert joint["lower"] < joint["position"] < joint["upper"]
    assert 0.0 <= report["joint_states_age"] < 0.5
    assert main(["state", "--node", LEFT]) == 0
    assert f"{LEFT} (controller): holding" in capsys.readouterr().out

    assert main(["stop"]) == 0
    assert f"{LEFT}: released, the arm is at rest at joint1" in capsys.readouterr().out
    code, report = state(capsys)
    assert code == 1
    assert report["state"] == "released"
    assert "send --recover" in report["remedy"]
    assert main(["stop", "--node", LEFT]) == 0, "a second stop changes nothing"


def test_what_a_gripper_publishes_on_the_same_topic_is_not_the_arms(left, capsys, monkeypatch):
    ended = threading.Event()
    with session_node("gripper", "/left") as gripper, ThreadPoolExecutor() as threads:
        states = gripper.create_publisher(JointState, "joint_states", 10)

        def publish() -> None:
            while not ended.wait(0.002):
                states.publish(JointState(name=["finger"], position=[0.04], velocity=[0.0]))

        threads.submit(publish)
        try:
            assert main(["stop", "--node", LEFT]) == 0
            assert "the arm is at rest at joint1" in capsys.readouterr().out
            assert [joint["name"] for joint in state(capsys)[1]["joints"]] == ["joint1", "joint2"]
            monkeypatch.setattr("rne_dynamics.cli.with_ros.stop.SETTLED", 1.0)
            freeze(left[0])
            try:
                assert main(["stop", "--node", LEFT]) == 1
            finally:
                thaw(left[0])
        finally:
            ended.set()
    assert "whether the arm is at rest is NOT KNOWN" in capsys.readouterr().err


@pytest.mark.slow
def test_the_fastest_move_arrives(left, capsys):
    pytest.importorskip("toppra")
    done = send("joint1=0.9", "joint2=-0.9", "--fastest", "--recover")
    assert done.returncode == 0, done.stderr
    assert f"{LEFT}: arrived" in done.stdout
    seconds = float(done.stdout.partition("moving for ")[2].partition(" s")[0])
    assert 0.02 < seconds < 0.5 * quintic_duration([0.0, 0.0], [0.9, -0.9], VELOCITY, scale=0.3)


@pytest.mark.soak
def test_fastest_along_a_trajectory_without_toppra_and_of_a_controller_with_low_gains(left, tmp_path, capsys):
    pytest.importorskip("toppra")
    file = tmp_path / "way.yaml"
    way = SampledTrajectory([0.0, 3.0, 6.0], [[0.0, 0.0], [0.5, -0.3], [-0.2, 0.4]], joint_names=("joint1", "joint2"))
    write_trajectory(file, way)
    words = ("--recover", "--fastest")
    done = send("--trajectory", str(file), *words)
    assert done.returncode == 0, done.stderr
    assert "s, not 6.000, within 0.001 of its path" in done.stdout

    without = tmp_path / "without"
    without.mkdir()
    (without / "toppra.py").write_text("raise ImportError")
    done = send("joint1=0.2", *words, first=without)
    assert done.returncode == 0, done.stderr
    assert "retiming needs toppra" in done.stdout
    assert "a quintic at 0.3 of the velocity" in done.stdout
    refused = send("--trajectory", str(file), *words, first=without)
    assert refused.returncode == 1
    assert "retiming needs toppra" in refused.stderr
    assert main(["send", "--node", LEFT, "joint1=0.3", "--duration", "1", *words]) == 1  # the fastest has no duration

    set_gains(9.0, 6.0)
    try:
        done = send("joint1=1.2", "joint2=-1.8", *words, "--tolerance", "0.05")
    finally:
        set_gains(400.0, 40.0)
    assert "the controller refuses the motion" in done.stdout, done.stdout + done.stderr
    assert "Next: 50% of the accelerations" in done.stdout


def set_gains(p: float, d: float) -> None:
    """Change the gains of the left arm's controller."""
    values = [
        Parameter(f"gains.{joint}.{name}", value=value).to_parameter_msg()
        for joint in ("joint1", "joint2") for name, value in (("p", p), ("d", d))
    ]
    with RunningNodes() as nodes:
        nodes.find(LEFT)
        request = SetParametersAtomically.Request(parameters=values)
        assert nodes.call(SetParametersAtomically, f"{LEFT}/set_parameters_atomically", request).result.successful


@pytest.mark.soak
def test_a_node_that_does_not_run_is_no_success(left, capsys):
    assert main(["stop", "--node", "/nobody/controller"]) == 1
    assert "NOTHING WAS STOPPED: /nobody/controller does not answer. USE THE EMERGENCY STOP" in capsys.readouterr().err
    assert main(["state", "--node", "/nobody/controller"]) == 1
    assert f"running controllers: {LEFT}" in capsys.readouterr().err


@pytest.mark.soak
def test_a_trajectory_file_is_followed_within_a_path_tolerance(left, tmp_path, capsys):
    file = tmp_path / "excite.yaml"
    assert main(["excite", "planar2", "--seconds", "2", "--scale", "0.2", "--budget", "0.1", "--out", str(file)]) == 0
    words = ["--trajectory", str(file), "--path-tolerance"]
    done = send(*words, "1e-12", "--recover")
    assert done.returncode == 1
    assert "the arm left its path" in done.stderr
    before = int(state(capsys)[1]["diagnostics"]["goals reached"])
    done = send(*words, "0.2")
    assert done.returncode == 0, done.stderr
    assert f"{LEFT}: arrived" in done.stdout
    assert int(state(capsys)[1]["diagnostics"]["goals reached"]) == before + 1
    with RunningNodes() as nodes:
        kept = read_parameters(nodes, nodes.controller(LEFT), "constraints.joint1.trajectory")
    assert kept == [0.0], "the tolerance was for these motions alone"


@pytest.mark.slow
def test_motions_are_sent_judged_and_cancelled(left, capsys):
    assert rne("send", "--recover", "joint1=0.1", "--duration", "1").returncode == 0
    done = send("joint1=10deg", "--speed", "0.1")
    assert done.returncode == 0, done.stderr
    assert f"{LEFT}: arrived" in done.stdout
    _, report = state(capsys)
    assert report["joints"][0]["position"] == pytest.approx(0.1745, abs=0.01)

    before = int(report["diagnostics"]["goals reached"])
    small = send("joint1=0.1750", "--duration", "0.1")  # no longer than setpoints.timeout
    assert small.returncode == 0, small.stderr
    deadline = time.monotonic() + 10.0
    while int(state(capsys)[1]["diagnostics"]["goals reached"]) == before:
        assert time.monotonic() < deadline, "a short motion is no setpoint"
    assert state(capsys)[1]["diagnostics"]["setpoints"] == "0"

    for words, said in (
        (["joint1=99"], "outside its limits"), (["elbow=1"], "elbow"), (["1"], "1 values for 2 joints"),
        (["joint1=3.1"], "outside its limits"),  # inside those of the description, not of the controller's margin
    ):
        assert main(["send", "--node", LEFT, *words]) == 1
        assert said in capsys.readouterr().err
    refused = send("joint1=0.5", "--duration", "0.01")
    assert refused.returncode == 1
    assert "the controller refuses the motion" in refused.stderr, refused.stderr
    assert "Traceback" not in refused.stderr

    words = ["send", "joint1=-1", "--duration", "30", "--node", LEFT]
    process = subprocess.Popen(
        [sys.executable, "-m", "rne_dynamics.cli.main", *words], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "moving for 30.000 s" in process.stdout.readline()
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60.0)
    assert process.returncode == 130, error
    assert "the motion is cancelled" in out
    assert "cancelled: the arm is at rest, before its goal" in out
    assert state(capsys)[1]["state"] == "holding"
    home = send("--home", "--duration", "1")
    assert home.returncode == 0, home.stderr


@pytest.mark.slow
def test_setpoints_on_another_topic_are_not_taken_for_joint_states(tmp_path, capsys):
    with arm(tmp_path, "/streamed", remapped=("~/setpoints:=/x/zz_servo",)):
        _, report = state(capsys, "/streamed/computed_torque_controller")
    assert report["joints"]


@pytest.mark.slow
def test_an_arm_that_floats_is_sent_nowhere(tmp_path):
    with arm(tmp_path, "/floating", "gravity_compensation"):
        refused = rne("send", "joint1=0.1", "--node", "/floating/gravity_compensation")
    assert refused.returncode == 1
    assert refused.stderr == (
        "rne send: /floating/gravity_compensation follows no trajectories; use computed_torque_controller\n"
    )


@pytest.mark.slow
def test_of_several_controllers_one_must_be_named_and_all_are_stopped(left, tmp_path, capsys):
    with arm(tmp_path, "/right"):
        assert f"2 controllers run; choose one by --node: {LEFT}, {RIGHT}" in rne("send", "joint1=0.1").stderr
        assert main(["stop"]) == 0
        out = capsys.readouterr().out
        assert f"{LEFT}: released" in out
        assert f"{RIGHT}: released" in out


@pytest.mark.slow
def test_a_controller_that_does_not_answer_is_reported_loudly(left, capsys):
    """It may serve the request once it goes on: no test after this one needs the left arm."""
    freeze(left[1])
    try:
        assert main(["stop", "--node", LEFT]) == 1
    finally:
        thaw(left[1])
    error = capsys.readouterr().err
    assert LEFT in error
    assert "ANSWER. USE THE EMERGENCY STOP" in error.replace("does not answer", "DOES NOT ANSWER")


@pytest.mark.slow
def test_an_arm_that_moves_after_its_release_is_not_reported_as_stopped(tmp_path, capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIMULATOR, "on_command_timeout", "zero_effort")
        patch.setitem(SIMULATOR, "friction", False)
        with arm(tmp_path, "/falling"):
            assert main(["stop", "--node", "/falling/computed_torque_controller"]) == 1
    assert "released, and the arm still MOVES" in capsys.readouterr().err


@pytest.mark.slow
def test_faults_and_stale_joint_states_are_reported_with_their_remedies(tmp_path, capsys):
    with arm(tmp_path, "/pushed") as (simulator, _), session_node("pusher", "/pushed") as pusher:
        wrenches = pusher.create_publisher(WrenchStamped, "simulator/wrench", 10)
        wait_until(wrenches.get_subscription_count, PATIENCE, "the simulator's topic", [simulator])
        push = WrenchStamped()
        push.header.frame_id = "link2"
        push.wrench.force.y = 500.0
        wrenches.publish(push)
        wait_until(lambda: state(capsys, PUSHED)[1]["state"] == "fault", PATIENCE, "the fault", [simulator])
        push.wrench.force.y = 0.0
        wrenches.publish(push)
        wait_until(lambda: "its limit is" in state(capsys, PUSHED)[1]["trouble"], PATIENCE, "the cause", [simulator])
        code, report = state(capsys, PUSHED)
        assert code == 1
        assert "send --recover" in report["remedy"]
        assert report["last_fault"]
        recovered = rne("send", "--recover", "--node", PUSHED)
        assert recovered.returncode == 0, recovered.stderr
        code, report = state(capsys, PUSHED)
        assert code == 0
        assert "its limit is" in report["last_fault"], "it is still reported"

        pause = pusher.create_client(SetBool, "simulator/pause")
        assert pause.wait_for_service(PATIENCE)
        paused = pause.call_async(SetBool.Request(data=True))
        executor = SingleThreadedExecutor(context=pusher.context)
        executor.add_node(pusher)
        executor.spin_until_future_complete(paused, PATIENCE)
        assert paused.result().success
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rne_dynamics.cli.with_ros.state.REPORTS", 3.0)  # none comes
            code, report = state(capsys, PUSHED)
        assert code == 1
        assert "joint states" in report["trouble"]
        assert "check the driver" in report["remedy"]
