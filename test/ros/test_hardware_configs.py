"""The parameter files for real arms: complete, and each driving a simulated arm.

If the wheel of descriptions has the arm of a file, that one is simulated; otherwise an arm with as many renamed joints,
which shows only that the file is read and holds an arm. Hardware that compensates gravity is simulated by an arm
almost without weight: no compensation is exact, and efforts that are all 0 count as not reported.
"""

from __future__ import annotations

import time

import pytest
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.forked import ForkedNode
from support.hardware_files import ARMS, FOLDER, LENIENT, POSTURES, sections, stand_in

from rne_dynamics.ros.effort_gate import EffortGateNode
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import START, seen

NODES = ("computed_torque_controller", "gravity_compensation")
GATE = "effort_gate"
#: of these the wheel has one of the make; with a stand-in one node is enough to see that the file is read
THERE = ("franka", "ur")


def test_every_file_is_tested():
    assert sorted(file.stem for file in FOLDER.iterdir()) == sorted(ARMS)


@pytest.mark.parametrize("name", ARMS)
def test_the_file_is_complete_and_the_same_for_all_nodes(name):
    """Names and values: test_unknown_parameters.py."""
    joints = ARMS[name][0]
    found = sections(name)
    assert set(found) == {*NODES, GATE}
    for node, values in found.items():
        assert values["joints"] == joints
        # complete: a first power-on leaves no limit, gain or sign to a default
        laws = () if node == GATE else ("limits.{}.position_margin", "gains.{}.d")
        for stem in ("limits.{}.effort", "limits.{}.effort_rate", "limits.{}.velocity", "effort_scale.{}", *laws):
            for joint in joints:
                assert stem.format(joint) in values, f"{name}.yaml: {node} lacks {stem.format(joint)}"
    # what the arm is does not depend on who drives it
    first = found[NODES[0]]
    for node in (NODES[1], GATE):
        for key in set(first) & set(found[node]):
            if not key.startswith("gains."):
                assert first[key] == found[node][key], f"{name}.yaml: {NODES[0]} and {node} differ in {key}"


@pytest.mark.parametrize("name", ARMS)
def test_the_file_configures_the_gate(name, tmp_path):
    given = sections(name)[GATE] | {"robot_description": str(stand_in(name, tmp_path))}
    gate = EffortGateNode([Parameter(key, value=value) for key, value in given.items()])
    assert gate.trigger_configure().name == "SUCCESS"
    gate.destroy_node()


@pytest.mark.parametrize(("name", "node"), [
    pytest.param(name, node, marks=pytest.mark.slow if name == "franka" and node == NODES[0] else pytest.mark.soak)
    for name in THERE for node in NODES
])
def test_the_file_drives_a_simulated_arm(name, node, make_peer, namespace, tmp_path):
    joints, urdf, _ = ARMS[name]
    robot, home = stand_in(name, tmp_path), POSTURES[urdf]
    weightless = "gravity" in sections(name)[node].get("hardware_compensates", [])
    checked = float(sections(name)[node]["startup_check.duration"]) > 0.0
    at = f"{namespace}/{name}/{node}"
    simulator = [
        "--ros-args", "-r", f"__ns:={at}", "-p", f"robot_description:={robot}", "-p", f"joints:=[{','.join(joints)}]",
        # as real arms do: it must not fall, and the controller stop for good, where this machine pauses the controller
        "-p", "rate:=250.0", "-p", "on_command_timeout:=brake",
        *(word for j, q in zip(joints, home, strict=True) for word in ("-p", f"initial_position.{j}:={q}")),
        *(["-p", "gravity:=[0.0, 0.0, -0.001]"] if weightless else []),
    ]
    controller = [
        "--ros-args", "--params-file", str(FOLDER / f"{name}.yaml"), "-r", f"__ns:={at}",
        "-p", f"robot_description:={robot}", *LENIENT,
    ]
    peer = make_peer(joints).node
    modes = TopicRecorder(peer, String, f"{at}/{node}/state", 10, latched=True)
    states = TopicRecorder(peer, JointState, f"{at}/joint_states")
    with ForkedNode(node, controller) as law, ForkedNode("simulator", simulator) as plant:
        driving = "floating" if node == "gravity_compensation" else "holding"
        wait_until(
            lambda: driving in seen(modes) and (not checked or "agree with the model's gravity" in law.output()),
            3.0 * START, f"{name}.yaml to drive the arm", [law, plant],
        )
        states.drain()
        states.samples.clear()
        time.sleep(1.0)
        assert seen(modes)[-1] == driving, law.output()
        # this process may see the simulator later than the controller does
        wait_until(lambda: states.latest() is not None, START, "a joint state", [law, plant])
        last = states.decode(states.samples[-1])
    q = dict(zip(last.name, last.position, strict=True))
    # nothing brings a floating arm back that was without efforts while this machine had other things to do
    allowed = 0.2 if driving == "floating" else 0.02
    assert [q[joint] for joint in joints] == pytest.approx(home, abs=allowed)
