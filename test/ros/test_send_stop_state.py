"""`rne send`, `rne stop` and `rne state` with real controllers and a simulated arm, in a ROS domain of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support.frozen import freezable, freeze, thaw

from rne_dynamics.cli.main import main
from rne_dynamics.cli.with_ros.state import trouble
from rne_dynamics.cli.with_ros.stop import await_rest
from rne_dynamics.control.trajectory import quintic_duration
from rne_dynamics.ros.sessions.processes import NodeProcess, session_node, wait_until
from rne_dynamics.ros.sessions.running_nodes import RunningNode, RunningNodes, read_parameters, set_parameters

from .peer import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
#: No other test uses it: `rne stop` stops every controller that it finds.
DOMAIN = {"ROS_DOMAIN_ID": str(110 + os.getpid() % 100)}
LEFT, PUSHED = (f"/{place}/computed_torque_controller" for place in ("left", "pushed"))
#: In lock-step, so that a busy computer slows the arm down and changes nothing else.
SIMULATOR = {"robot_description": "planar2", "rate": 200.0, "publish_clock": True, "lockstep": True,
             "lockstep_timeout": 60.0, "on_command_timeout": "brake"}
CONTROLLER = {
    "robot_description": "planar2", "use_sim_time": True, "diagnostics_period": 0.5,
    "startup_check": {"duration": 0.1}, "start": {"ramp_time": 0.1},
    "stop": {"brake_time": 0.1, "hold_time": 0.1, "ramp_time": 0.1},
    "limits": {"joint1": {"position_margin": 0.1}},
    "gains": {j: {"p": 400.0, "d": 40.0} for j in ("joint1", "joint2")},
}


@pytest.fixture(scope="module", autouse=True)
def domain() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DOMAIN.items():
            patch.setenv(name, value)
        patch.setattr("rne_dynamics.cli.with_ros.state.REPORTS", PATIENCE)
        yield


@contextlib.contextmanager
def arm(
    folder: Path, namespace: str, remapped: tuple[str, ...] = ()
) -> Iterator[list[NodeProcess]]:
    with contextlib.ExitStack() as stack:
        processes = []
        for module, parameters in (("simulator", SIMULATOR), ("computed_torque_controller", CONTROLLER)):
            file = folder / f"{namespace.strip('/')}_{module}.yaml"
            file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
            ros = ["--ros-args", "--params-file", str(file), "-r", f"__ns:={namespace}"]
            ros += ["-r", f"/clock:={namespace}/clock", *(word for rule in remapped for word in ("-r", rule))]
            processes.append(stack.enter_context(freezable(module, ros, folder, DOMAIN)))
        wait_until(lambda: all("ready: " in p.output() for p in processes), PATIENCE, "both nodes", processes)
        wait_until(lambda: "holding" in processes[1].output(), PATIENCE, "the arm to be held", processes)
        yield processes


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[NodeProcess]]:
    # the topic of setpoints, named otherwise, is none of joint states
    remapped = ("~/setpoints:=/x/zz_servo",)
    with arm(tmp_path_factory.mktemp("left"), "/left", remapped) as processes:
        yield processes


def rne(*words: str, first: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command in a process; `first`: folder in which modules are searched before all others."""
    return subprocess.run(
        [sys.executable, "-m", "rne_dynamics.cli.main", *words], check=False, capture_output=True, text=True,
        timeout=200, env={**os.environ, "PYTHONPATH": f"{first}:{ROOT}"},
    )


def send(*words: str, first: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`rne send` to the left arm, which is named: without a name it waits for 3.2 s for others."""
    return rne("send", "--node", LEFT, *words, first=first)


def state(capsys: pytest.CaptureFixture[str], node: str = LEFT) -> tuple[int, dict[str, object]]:
    capsys.readouterr()
    code = main(["state", "--json", "--node", node])
    return code, json.loads(capsys.readouterr().out)[0]


def test_trouble_has_its_cause():
    node = RunningNode(LEFT, "controller")
    node.mode = "waiting"
    node.status = DiagnosticStatus(level=DiagnosticStatus.WARN, message="nothing was received on /clock")
    assert trouble(node) == ("no usable joint state yet: nothing was received on /clock", "remove the cause")
    node.mode, node.joints, node.received_at = "holding", JointState(), time.monotonic() - 10.0
    node.status = None
    node.note_age(node.received_at + 0.1)
    assert trouble(node) is None, "a pause of this process makes no joint state old"
    node.note_age(node.received_at + 0.9)
    assert "the last one came 0.90 s ago" in trouble(node)[0]


def test_an_arm_is_at_rest_only_if_it_does_not_move_after_its_release(capsys, monkeypatch):
    class Nodes:
        def spin(self, seconds: float) -> None:
            time.sleep(seconds)
            node.joints.position[0] += speed * seconds

        def look(self) -> None:
            """Find nothing new."""

    monkeypatch.setattr("rne_dynamics.cli.with_ros.stop.SETTLED", 0.5)
    node = RunningNode("/left/node", "gate")
    node.mode, node.controlled, node.age = "released", frozenset(["a"]), 0.0
    for speed in (0.0, 1.0):
        node.joints = JointState(name=["a"], position=[0.1], velocity=[speed])
        assert await_rest(Nodes(), node, 2.0) is (speed == 0.0)
    said = capsys.readouterr()
    assert "service call /left/node/recover std_srvs/srv/Trigger" in said.out
    assert "released, and the arm still MOVES" in said.err


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
            while not ended.wait(0.01):
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
    assert 0.02 < seconds < 0.5 * quintic_duration([0.0, 0.0], [0.9, -0.9], [6.0, 6.0], scale=0.3)


@pytest.mark.slow
def test_motions_are_sent_judged_and_cancelled(left, capsys):
    assert rne("send", "--recover", "joint1=10deg", "--duration", "1").returncode == 0
    _, report = state(capsys)
    assert report["joints"][0]["position"] == pytest.approx(0.1745, abs=0.01)

    before = int(report["diagnostics"]["goals reached"])
    small = send("joint1=0.1750", "--duration", "0.1")  # no longer than setpoints.timeout
    assert small.returncode == 0, small.stderr
    wait_until(
        lambda: int(state(capsys)[1]["diagnostics"]["goals reached"]) > before, PATIENCE, "its report: no setpoint"
    )

    for words, said in (
        (["elbow=1"], "elbow"), (["1"], "1 values for 2 joints"),
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

    done = send("joint1=0.0", "--duration", "1", "--path-tolerance", "1e-12")
    assert done.returncode == 1
    assert "the arm left its path" in done.stderr
    with RunningNodes() as nodes:
        kept = read_parameters(nodes, nodes.controller(LEFT), "constraints.joint1.trajectory")
    assert kept == [0.0], "the tolerance was for that motion alone"


#: Runs `rne send`, which interrupts itself when that function of that file is called for the first time.
INTERRUPTED = """
import os, signal, sys
from rne_dynamics.cli.start import main

def look(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name == {name!r} and code.co_filename.endswith("/rne_dynamics/{file}.py"):
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)

sys.argv = ["rne", "send", "joint1=0.3", "--duration", "0.5", "--node", {node!r}]
sys.setprofile(look)
sys.exit(main())
"""
INSTANTS = (  # in the order in which they come; the motion is sent in `_send`
    ("cli/arguments", "declare"), ("ros/sessions/running_nodes", "read_model"), ("ros/node/process", "run"),
    ("ros/move", "_send"), ("ros/node/process", "serve_last_requests"), ("cli/start", "ended"),
)  # fmt: skip


@pytest.mark.slow
def test_send_interrupted_at_any_instant_is_130_and_a_line(left):
    for file, name in INSTANTS:
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED.format(file=file, name=name, node=LEFT)], check=False,
            capture_output=True, text=True, timeout=200, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 130, (file, name, done.stderr)
        assert done.stderr.endswith("interrupted\n")
        assert done.stderr.count("\n") == 1
        assert ("moving for" in done.stdout) is ((file, name) in INSTANTS[3:])


@pytest.mark.slow
def test_of_several_arms_each_one_s_faults_stale_states_and_silence_are_reported(left, tmp_path, capsys):
    """The left controller may serve its last request once it goes on: no test after this one needs it."""
    with arm(tmp_path, "/pushed") as (simulator, _), session_node("pusher", "/pushed") as pusher:
        assert f"2 controllers run; choose one by --node: {LEFT}, {PUSHED}" in rne("send", "joint1=0.1").stderr
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
        freeze(left[1])
        try:
            assert main(["stop"]) == 1
        finally:
            thaw(left[1])
        said = capsys.readouterr()
        assert f"{LEFT} DOES NOT ANSWER. USE THE EMERGENCY STOP" in said.err
        assert f"{PUSHED}: stop requested" in said.out
