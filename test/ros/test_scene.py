"""The simulator with a scene and a mismatch, as a process."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import rne_dynamics as rne
from rne_dynamics.errors import ParameterError
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.messages.topic_wait import OFFERED
from rne_dynamics.ros.sessions.processes import NodeProcess, wait_until
from rne_dynamics.ros.simulator_report import scene_of

from .peer import PATIENCE, START

ROBOT = rne.load_urdf("puma560")
POSE = np.array([0.0, -0.3, -0.3, 0.0, 0.6, 0.0])
HEIGHT = float(rne.forward_kinematics(ROBOT, POSE)["tool0"][2, 3])
BIAS = 0.002


@pytest.fixture
def files(tmp_path):
    """A table 5 mm below the tool, a push, and encoders that are off."""
    (tmp_path / "scene.yaml").write_text(
        f"bodies:\n- {{kind: plane, point: [0, 0, {HEIGHT - 0.005}], stiffness: 2e4, friction: 0.5}}\n"
        "touching:\n- {link: tool0}\n"
        "script:\n- {at: 0.5, push: {link: tool0, force: [0, 200, 0], duration: 1.0}}\n"
    )
    (tmp_path / "worn.yaml").write_text(f"seed: 3\nbias: {BIAS}\ndelay: 0.004\nnoise: 1e-6\n")
    return tmp_path


def test_the_arm_falls_onto_the_table_and_the_script_pushes_it(start, make_peer, files):
    process = start(
        "simulator", robot_description="puma560", rate=500.0, scene=str(files / "scene.yaml"),
        mismatch=str(files / "worn.yaml"), initial_position=dict(zip(ROBOT.joint_names, POSE.tolist(), strict=True)),
        command_timeout=0.0,
    )
    peer = make_peer(ROBOT.joint_names)
    states = TopicRecorder(peer.node, JointState, "joint_states")
    commands = peer.node.create_publisher(Float64MultiArray, "effort_controller/commands", OFFERED)
    wait_until(lambda: states.latest() is not None and commands.get_subscription_count(), START, "states", [process])
    first = np.array(states.latest().position)
    assert np.abs(first - POSE).max() <= BIAS + 1e-5
    assert np.abs(first - POSE).min() > 1e-6
    held = rne.gravity_torque(ROBOT, POSE)
    sinking = [held[0], 0.6 * held[1], *held[2:]]

    def pushed() -> bool:
        commands.publish(Float64MultiArray(data=[float(x) for x in sinking]))
        return abs(states.latest().position[0] - first[0]) > 0.02

    wait_until(pushed, PATIENCE, "the push of the script", [process])
    q = np.array(states.latest().position) - (first - POSE)
    assert q[1] < POSE[1] - 1e-3 or q[1] > POSE[1] + 1e-3
    height = rne.forward_kinematics(ROBOT, q)["tool0"][2, 3]
    assert -0.012 < height - HEIGHT < -0.003  # it leans on the table
    process.signal(signal.SIGKILL)  # it would wait until no effort drives the arm


@pytest.mark.parametrize(("name", "text", "said"), [
    ("scene", "bodies:\n- {kind: plan}\n", "parameter scene: {file}: surroundings has no kind named 'plan'"),
    ("mismatch", "mas: 0.1\n", "parameter mismatch: {file}: a mismatch has no field named 'mas'"),
])  # fmt: skip
def test_wrong_files_are_refused(tmp_path, name, text, said):
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(ParameterError) as refused:
        scene_of({"scene": "", "mismatch": "", name: str(file)})
    assert said.format(file=file) in str(refused.value)


@pytest.mark.slow
def test_a_mismatch_that_the_arm_cannot_have_ends_the_node(namespace, tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text("stiffness: 3000.0\n")
    with NodeProcess("simulator", ["--ros-args", "-p", "robot_description:=panda", "-p", f"mismatch:={file}", "-r",
                                   f"__ns:={namespace}/wrong"]) as process:  # fmt: skip
        assert process.wait(START) == 1
        assert "no rotor inertia" in process.output()
