"""The launch files under ROS's own `launch`, started and ended as users do.

It is not on PyPI: these tests run where a ROS 2 installation, or a build of its sources, is at hand.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import yaml
from std_msgs.msg import Bool, String
from support.children import children, members
from support.hardware_files import ARMS, POSTURES, stand_in

from rne_dynamics.ros.launching.arguments import DRIVERS
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import LATCHED
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until

from .peer import PATIENCE, START, seen

pytest.importorskip("launch_ros", reason="ROS's launch is not installed; it comes with a ROS 2 installation")

ROOT = Path(__file__).resolve().parents[2]
GATE, LAW = "effort_gate", "computed_torque_controller"
SERVICE = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource as Source
file, *arguments = sys.argv[1:]
service = LaunchService(argv=arguments, noninteractive=True)
pairs = [tuple(a.split(":=", 1)) for a in arguments]
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(Source(file), launch_arguments=pairs)]))
sys.exit(service.run())
"""


@pytest.fixture
def launch(tmp_path):
    """Start a launch file: `launch("controller", "urdf:=planar2")`."""
    with children(tmp_path) as start:
        yield lambda file, *arguments: start(
            [sys.executable, "-c", SERVICE, str(ROOT / "launch" / f"{file}.launch.py"), *arguments],
            {"ROS_LOG_DIR": str(tmp_path / "log")},
        )


@pytest.mark.parametrize(("file", "arguments", "nodes"), [
    ("simulated_arm", ["urdf:=planar2", "namespace:=left"], 2),
    ("controller", ["urdf:=planar2"], 1),
    ("gravity_compensation", ["urdf:=planar2", "gate:=start"], 2),
    ("effort_gate", ["urdf:=planar2", "efforts:=driver/commands"], 1),
])
@pytest.mark.parametrize("number", [
    signal.SIGINT,
    pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
])
def test_nodes_come_up_and_end_with_launch(launch, file, arguments, nodes, number):
    started = launch(file, *arguments)
    wait_until(lambda: started.said("ready: ", nodes), START, "the nodes")
    code = started.signal(number)
    if number == signal.SIGINT:
        assert code == 0
        assert started.said("process has finished cleanly", nodes)
    else:  # launch itself says nothing more, and the nodes' pipe to it is gone
        wait_until(lambda: not members(started.group), PATIENCE, "the end of the nodes")


@pytest.mark.parametrize(("arguments", "said"), [
    (["hardwear:=franka"], "no launch argument named 'hardwear'; did you mean 'hardware'?"),
    (["urdf:=nosuch.urdf"], "launch argument urdf:=nosuch.urdf: nosuch.urdf does not exist"),
])
def test_an_error_names_what_was_typed_and_ends_the_launch(launch, arguments, said):
    started = launch("controller", *arguments)
    wait_until(lambda: not members(started.group), START, "the end of the launch")
    assert started.said(said), started.output.read_text()
    assert not started.said("Traceback")


@pytest.mark.slow
def test_a_move_ends_its_launch(launch, namespace):
    at = f"namespace:={namespace}/move"
    arm = launch("simulated_arm", "urdf:=planar2", at)
    wait_until(lambda: arm.said("agree with the model's gravity"), START, "the controller")
    move = launch("move", "urdf:=planar2", at, "to:=joint1=0.3 joint2=-0.2", "duration:=2")
    wait_until(lambda: not members(move.group), START, "the move")
    assert move.said("process has finished cleanly"), move.output.read_text() + arm.output.read_text()
    assert arm.signal(signal.SIGINT) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_hardware_behind_its_topics(launch, make_peer, namespace, tmp_path, name):
    """A simulator as the driver: the launch finds description and states, starts the gate, and drives through it."""
    joints, urdf, _ = ARMS[name]
    at = f"{namespace}/{name}"
    file = ROOT / "config" / "hardware" / f"{name}.yaml"
    lenient = {LAW: {"min_rate": 0.0, "state_lateness": 0.0, "state_timeout": 5.0},
               GATE: {"state_timeout": 5.0, "command_timeout": 2.0}}
    sections = yaml.safe_load(file.read_text(encoding="utf-8"))
    for node, values in lenient.items():  # a test machine with other work is no computer for a real arm
        sections[f"/**/{node}"]["ros__parameters"].update(values)
    config = tmp_path / "mine.yaml"
    config.write_text(yaml.safe_dump(sections), encoding="utf-8")
    weightless = "gravity" in sections[f"/**/{LAW}"]["ros__parameters"].get("hardware_compensates", [])
    start = {f"initial_position.{j}": q for j, q in zip(joints, POSTURES[urdf], strict=True)}
    driver = tmp_path / "driver.yaml"
    driver.write_text(yaml.safe_dump({"/**": {"ros__parameters": {
        "robot_description": str(stand_in(name, tmp_path)), "joints": joints, "rate": 250.0,
        # its time waits for efforts: the arm must not fall where this machine pauses the controller or the gate
        "on_command_timeout": "brake", "lockstep": True, "lockstep_timeout": 3.0, **start,
        **({"gravity": [0.0, 0.0, -0.001]} if weightless else {}),
    }}}), encoding="utf-8")
    states, efforts = DRIVERS[name].joint_states, DRIVERS[name].efforts
    arguments = ["--ros-args", "--params-file", str(driver), "-r", f"__ns:={at}", "-r", f"joint_states:={states}",
                 "-r", f"effort_controller/commands:={efforts}"]
    peer = make_peer(joints).node
    gate, law = (TopicRecorder(peer, String, f"{at}/{n}/state", 10, latched=True) for n in (GATE, LAW))
    ready = peer.create_publisher(Bool, f"{at}/io_and_status_controller/robot_program_running", LATCHED)
    ready.publish(Bool(data=True))
    with NodeProcess("simulator", arguments) as arm:
        started = launch("controller", f"hardware:={name}", f"config:={config}", f"namespace:={at}")
        wait_until(lambda: "passing" in seen(gate) and "holding" in seen(law), START, "the arm held", [arm])
        checked = float(sections[f"/**/{LAW}"]["ros__parameters"]["startup_check"]["duration"]) > 0.0
        wait_until(lambda: not checked or started.said("agree with the model's gravity"), START, "the check", [arm])
        assert peer.count_publishers(f"{at}/robot_description") == 1
        assert peer.count_publishers(f"{at}/{efforts}") == 1, "the gate alone"
        number = next(n for n in members(started.group) if LAW in Path(f"/proc/{n}/cmdline").read_text())
        os.kill(number, signal.SIGKILL)
        wait_until(lambda: "stopping" in seen(gate), START, "the gate", [arm])
        wait_until(lambda: started.said("The effort gate goes on"), START, "the message of the launch", [arm])
        again = launch("controller", f"hardware:={name}", f"config:={config}", f"namespace:={at}", "gate:=running")
        wait_until(lambda: again.said("ready: "), START, "another controller", [arm])
        assert again.signal(signal.SIGINT) == 0
        assert started.signal(signal.SIGINT) == 0

