"""The node `recorder` over DDS: what it writes is what was sent, also when it is killed or the disk is full."""

from __future__ import annotations

import signal
import time
from functools import reduce
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import rclpy
from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rne_dynamics.errors import RecordingError
from rne_dynamics.recording.mcap_file import McapFile
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.ros.messages.topic_recording import TopicRecording, definition
from rne_dynamics.ros.messages.topic_wait import LATCHED, OFFERED
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import AT_ONCE, FOLLOWING, IN_STEP, PATIENCE, START

#: Runs the node where no file may be larger than this, as on a disk that is full.
LARGEST = 20_000
SMALL_DISK = f"""
import resource, runpy
resource.setrlimit(resource.RLIMIT_FSIZE, ({LARGEST}, {LARGEST}))
runpy.run_module("rne_dynamics.ros.recorder", run_name="__main__")
"""
NODE = "computed_torque_controller"
TERMS = ("inertia", "coriolis", "gravity", "friction", "feedback")


def state(k):
    """The k-th message; its stamp and numbers are its own."""
    rng = np.random.default_rng(k)
    message = JointState(name=["a", "b"], position=rng.normal(size=2).tolist(), effort=rng.normal(size=2).tolist())
    message.header.stamp.sec, message.header.stamp.nanosec = k, 7
    return message


@pytest.fixture
def sender(namespace):
    node = rclpy.create_node("sender", namespace=namespace)
    yield node
    node.destroy_node()


def recording(start, sender, path, topic, script="", **parameters):
    """A recorder that listens to a publisher of joint states, and the publisher."""
    publisher = sender.create_publisher(JointState, topic, OFFERED)
    process = start("recorder", script=script, output=str(path), topics=[topic], flush_period=0.05, **parameters)
    wait_until(lambda: "ready: " in process.output(), START, "the recorder", [process])
    wait_until(publisher.get_subscription_count, PATIENCE, "its subscription", [process])
    return process, publisher


def send(publisher, numbers):
    for k in numbers:
        publisher.publish(state(k))
        time.sleep(0.001)


def grow(process, publisher, path, size):
    """Send messages until the file is larger than this."""
    numbers = count(1)
    wait_until(
        lambda: send(publisher, [next(numbers)]) or path.stat().st_size > size, PATIENCE, "data", [process]
    )


def assert_as_sent(found):
    """What was recorded are the messages of these numbers."""
    kept = (np.rint(found.t).astype(int) + found.start // 10**9).tolist()
    assert (found.q == [list(state(k).position) for k in kept]).all()


def stored(path):
    """Messages of the mcap library by the sender's count; deserialised by rclpy."""
    with path.open("rb") as file:
        return {m.sequence: m for _, _, m in make_reader(file).iter_messages()}


def test_every_message_is_there_or_counted_as_lost(start, sender, tmp_path):
    path = tmp_path / "new" / "run.mcap"
    process, publisher = recording(start, sender, path, "joint_states")
    name = publisher.topic_name
    grow(process, publisher, path, 15_000)  # of more than 20 messages, however many of them a busy computer loses
    assert process.stop() == 0
    found = stored(path)
    for sequence, message in found.items():
        assert deserialize_message(message.data, JointState) == state(sequence)
        assert message.log_time >= message.publish_time > 1e18
    lost = 1 + max(found) - min(found) - len(found)  # what was sent before the two had met is not a loss
    assert f"{name}: {len(found)} received, {lost} lost" in process.output()
    assert len(found) > 20
    read = read_recording(path)
    assert (read.q == [list(state(k).position) for k in sorted(found)]).all()
    assert read.topics["q"] == name


def test_a_killed_recorder_leaves_a_file_that_can_be_read(start, sender, tmp_path):
    path = tmp_path / "killed.mcap"
    process, publisher = recording(start, sender, path, "killed/joint_states")
    grow(process, publisher, path, 8_000)
    process.signal(signal.SIGKILL)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    found = read_recording(path)
    assert len(found.t) > 20
    assert "ends without index" in found.notes[0]
    assert_as_sent(found)
    with path.open("rb") as file, pytest.raises(EndOfFile):  # where the index would be
        list(StreamReader(file).records)


@pytest.mark.slow
def test_a_full_disk_ends_the_recording_with_a_line(start, sender, tmp_path):
    path = tmp_path / "full.mcap"
    process, publisher = recording(start, sender, path, "full/joint_states", script=SMALL_DISK)
    numbers = count(1)
    wait_until(lambda: send(publisher, [next(numbers)]) or process.exit_code is not None, PATIENCE, "the end")
    assert process.exit_code == 1
    assert "the recording has ended" in process.output()
    assert "File too large" in process.output()
    assert "The arm goes on" in process.output()
    assert path.stat().st_size <= LARGEST
    found = read_recording(path)
    assert_as_sent(found)


def test_topics_that_come_late_are_recorded(sender, tmp_path):
    """Latched topics too; in this process."""
    path = tmp_path / "run.mcap"
    late = sender.create_publisher(String, "late/robot_description", LATCHED)
    late.publish(String(data="<robot/>"))
    listener = rclpy.create_node("listener", namespace=sender.get_namespace())
    rows = TopicRecording(listener, path, ["late/*"], lambda level, text: None)
    try:
        assert not rows.streams
        states = sender.create_publisher(JointState, "late/joint_states", OFFERED)
        wait_until(lambda: rows.discover() or len(rows.streams) == 2, PATIENCE, "the topics")
        wait_until(states.get_subscription_count, PATIENCE, "the subscription")

        def grown():
            send(states, [1])
            rows.drain()
            rows.file.flush()
            return rows.file.size > 60_000

        wait_until(grown, PATIENCE, "data")
        rows.close()
    finally:
        listener.destroy_node()
    topics = {}
    with path.open("rb") as stream:
        for _, channel, message in make_reader(stream).iter_messages():
            topics.setdefault(channel.topic.rpartition("/")[2], []).append(message)
    assert deserialize_message(topics["robot_description"][0].data, String).data == "<robot/>"
    stream = rows.streams[states.topic_name]
    assert len(topics["joint_states"]) == stream.received


def test_definitions_have_the_fields_that_rosbags_knows():
    known = get_typestore(Stores.ROS2_JAZZY).fielddefs
    for kind in ("trajectory_msgs/msg/JointTrajectory", "rcl_interfaces/msg/ParameterDescriptor"):
        for name, (_, fields) in get_types_from_msg(definition(kind), kind).items():
            assert fields == known[name][1], name


def test_bytes_behind_the_last_number_do_not_hinder_the_reader(tmp_path):
    """rclpy leaves some behind empty lists, which rosbags refuses."""
    path = tmp_path / "spare.mcap"
    message = state(1)
    message.effort = []
    data = serialize_message(message)
    with McapFile(path) as file:
        channel = file.channel("/joint_states", "sensor_msgs/msg/JointState", definition("sensor_msgs/msg/JointState"))
        for k in (1, 2):
            file.write(channel, data, k, k)
    assert read_recording(path).q.tolist() == [list(message.position)] * 2


def efforts_in(path: Path) -> int:
    """Number of efforts in a file that is still written; 0 as long as it is too short to be read."""
    try:
        command = read_recording(path).command if path.stat().st_size > 100_000 else None
    except RecordingError:
        return 0
    return 0 if command is None else len(command.t)


@pytest.mark.slow
def test_an_arm_is_recorded_whole_and_goes_on_without_its_recorder(start, tmp_path):
    """Simulator and controller in lock-step; the recorder is killed, and a second one records what follows."""
    simulator = start("simulator", robot_description="planar2", **IN_STEP, rate=200.0)
    controller = start(NODE, robot_description="planar2", **AT_ONCE, **FOLLOWING, torque_divisor=1)
    processes = [simulator, controller]
    for name in ("first", "second"):
        path = tmp_path / f"{name}.mcap"
        recorder = start("recorder", output=str(path), flush_period=0.05)
        # topics are discovered in any order, on a busy computer one long after the other
        for topic in ("/joint_states (", "/commands (", "/reference (", *(f"torque/{term} (" for term in TERMS)):
            wait_until(lambda r=recorder, t=topic: t in r.output(), START, topic, [*processes, recorder])
        wait_until(lambda p=path: efforts_in(p) > 100, PATIENCE, "efforts", [*processes, recorder])
        if name == "first":
            recorder.signal(signal.SIGKILL)
            recorder.wait(PATIENCE)
        else:
            assert recorder.stop() == 0
    for path in sorted(tmp_path.glob("*.mcap")):
        found = read_recording(path)
        assert found.joint_names == ("joint1", "joint2")
        assert set(found.torque) == {*TERMS, "command"}
        assert found.reference_q is not None
        assert len(found.command.t) > 100
        # of one state, the effort is the sum of the terms
        t = reduce(np.intersect1d, [series.t for series in found.torque.values()])
        assert len(t) > 50
        total = sum(found.torque[term].at(t) for term in TERMS)
        assert np.allclose(total, found.torque["command"].at(t), atol=1e-9)
        assert np.abs(found.error.values).max() < 0.1


def test_the_terms_of_a_recorded_arm_add_up_to_its_efforts(start, tmp_path):
    """Simulator and controller in lock-step."""
    simulator = start("simulator", robot_description="planar2", **IN_STEP, rate=200.0)
    controller = start(NODE, robot_description="planar2", **AT_ONCE, **FOLLOWING, torque_divisor=1)
    path = tmp_path / "run.mcap"
    recorder = start("recorder", output=str(path), flush_period=0.05)
    processes = [simulator, controller, recorder]
    # topics are discovered in any order, on a busy computer one long after the other
    for topic in ("/joint_states (", "/commands (", "/reference (", *(f"torque/{term} (" for term in TERMS)):
        wait_until(lambda t=topic: t in recorder.output(), START, topic, processes)
    wait_until(lambda: efforts_in(path) > 100, PATIENCE, "efforts", processes)
    assert recorder.stop() == 0
    found = read_recording(path)
    assert set(found.torque) == {*TERMS, "command"}
    # of one state, the effort is the sum of the terms
    t = reduce(np.intersect1d, [series.t for series in found.torque.values()])
    assert len(t) > 50
    total = sum(found.torque[term].at(t) for term in TERMS)
    assert np.allclose(total, found.torque["command"].at(t), atol=1e-9)
    assert np.abs(found.error.values).max() < 0.1
