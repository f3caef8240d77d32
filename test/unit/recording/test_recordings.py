"""Recordings of simulations, read back by independent libraries and by our reader, in every form they can have."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader, Writer
from rosbags.typesys import Stores, get_typestore

from rne_dynamics.cli.main import main
from rne_dynamics.errors import RecordingError
from rne_dynamics.recording.mcap_file import FLOATS, JOINT_STATE, McapFile, definition, float_arrays, joint_states
from rne_dynamics.recording.reading import read_recording
from rne_dynamics.recording.recording import Recording, Series

TYPES = get_typestore(Stores.ROS2_JAZZY)
CONTROLLER = "/computed_torque_controller"
TERMS = ("inertia", "coriolis", "gravity", "friction", "feedback")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One simulation in all forms, by their endings, and the bags made of its messages."""
    folder = tmp_path_factory.mktemp("run")
    files = {ending: folder / f"run.{ending}" for ending in ("csv", "npz", "mcap")}
    out = [word for ending in ("csv", "npz") for word in ("--out", str(files[ending]))]
    assert main(["simulate", "planar2", "--seconds", "0.6", *out, "--record", str(files["mcap"])]) == 0
    files["sqlite"] = folder / "sqlite"
    with Reader(files["mcap"]) as reader, Writer(files["sqlite"], version=9) as writer:
        connections = {c.topic: writer.add_connection(c.topic, c.msgtype, typestore=TYPES) for c in reader.connections}
        for connection, stamp, data in reader.messages():
            writer.write(connections[connection.topic], stamp, data)
    return files


def decoded(path):
    """Messages by topic, of the mcap library with its own decoder of ROS 2 messages."""
    found = {}
    with path.open("rb") as file:
        for _, channel, _, content in make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            found.setdefault(channel.topic, []).append(content)
    return found


def test_other_libraries_read_the_same_bits(run):
    """mcap with mcap_ros2, and rosbags; and what Foxglove and PlotJuggler ask for: profile, encodings, type names."""
    saved = np.load(run["npz"])
    found = decoded(run["mcap"])
    with Reader(run["mcap"]) as reader:
        bag = {c.topic: [] for c in reader.connections}
        for connection, _, data in reader.messages():
            bag[connection.topic].append(TYPES.deserialize_cdr(data, connection.msgtype))
    expected = {
        "/joint_states": {"position": "q", "velocity": "qd", "effort": "effort"},
        f"{CONTROLLER}/reference": {"position": "reference_q", "velocity": "reference_qd"},
        "/effort_controller/commands": {"data": "effort"},
        **{f"{CONTROLLER}/torque/{term}": {"effort": f"torque_{term}"} for term in TERMS},
    }
    assert found.keys() == bag.keys() == expected.keys()
    for topic, fields in expected.items():
        for messages, (field, name) in product((found[topic], bag[topic]), fields.items()):
            assert (np.array([getattr(m, field) for m in messages]) == saved[name]).all()
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in found["/joint_states"]])
    assert np.allclose(stamps, saved["time"], rtol=0.0, atol=1e-9)
    with run["mcap"].open("rb") as file:
        reader = make_reader(file)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
    assert {(s.encoding, s.name) for s in summary.schemas.values()} == {("ros2msg", x) for x in (JOINT_STATE, FLOATS)}
    assert {c.message_encoding for c in summary.channels.values()} == {"cdr"}
    assert {i.compression for i in summary.chunk_indexes} == {"lz4"}


@pytest.mark.parametrize("form", ["csv", "mcap", "sqlite"])
def test_every_form_reads_the_same(run, form):
    saved, found = np.load(run["npz"]), read_recording(run[form])
    series = {"reference_q": found.reference_q, "reference_qd": found.reference_qd}
    assert found.torque.keys() == set(TERMS)
    series |= {f"torque_{term}": found.torque[term] for term in TERMS}
    series |= {} if form == "csv" else {"effort": found.command}
    for name, values in {name: getattr(found, name) for name in ("q", "qd", "effort")}.items():
        assert (values == saved[name]).all()
    assert all((values.values == saved[name]).all() for name, values in series.items())
    assert (found.error.values == saved["reference_q"] - saved["q"]).all()
    assert np.allclose(found.t, saved["time"], rtol=0.0, atol=1e-9)
    assert not found.notes
    turned = read_recording(run[form], joints=["joint2"])
    assert (turned.q[:, 0] == saved["q"][:, 1]).all()
    assert (turned.torque["gravity"].values[:, 0] == saved["torque_gravity"][:, 1]).all()
    with pytest.raises(RecordingError, match="no joint named 'joint3'; did you mean"):
        read_recording(run[form], joints=["joint3"])


def test_a_file_cut_anywhere_is_read_up_to_there(run, tmp_path):
    whole, saved, cut = run["mcap"].read_bytes(), np.load(run["npz"]), tmp_path / "cut.mcap"
    counts = [0]
    for size in np.linspace(0, len(whole) - 1, 7).astype(int).tolist():
        cut.write_bytes(whole[:size])
        with contextlib.suppress(RecordingError):
            found = read_recording(cut)
            counts.append(len(found.t))
            assert (found.q == saved["q"][: len(found.t)]).all()
            assert "ends without index" in found.notes[0] or len(found.t) == len(saved["q"])
    assert counts == sorted(counts)
    assert counts[-1] == len(saved["q"])


def written(path, **topics):
    """A file with joint states: topic with _ for /: (names, stamps, lists)."""
    with McapFile(path) as file:
        for topic, (names, stamps, lists) in topics.items():
            channel = file.channel(topic.replace("__", "/"), JOINT_STATE, definition(JOINT_STATE))
            for k, data in enumerate(joint_states(names, np.array(stamps), **lists)):
                file.write(channel, data, 10**9 * (k + 1), 10**9 * (k + 1))
    return path


def test_foreign_joints_order_and_missing_lists(tmp_path):
    q = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    path = tmp_path / "mixed.mcap"
    with McapFile(path) as file:
        channel = file.channel("/joint_states", JOINT_STATE, definition(JOINT_STATE))
        commands = file.channel("/effort_controller/commands", FLOATS, definition(FLOATS))
        states = [
            *joint_states(["a", "b"], np.array([5]), position=q[:1]),
            *joint_states(["finger"], np.array([5]), position=q[:1, :1]),
            *joint_states(["b", "a"], np.array([25]), position=q[1:2, ::-1]),
            *joint_states(["a", "b"], np.array([15]), position=q[2:]),
        ]
        for k, data in enumerate(states):
            file.write(channel, data, k, k)
            file.write(commands, float_arrays(["b", "a"], np.array([[k, 10.0 * k]]))[0], k, k)
    found = read_recording(path)
    assert (found.joint_names, found.start) == (("a", "b"), 5)
    assert found.q.tolist() == [[1.0, 2.0], [5.0, 6.0], [3.0, 4.0]]
    assert (found.t * 1e9).tolist() == pytest.approx([0.0, 10.0, 20.0])
    assert found.qd is found.effort is found.reference_q is None
    assert found.command.values[0].tolist() == [0.0, 0.0]
    said = " ".join(found.notes)
    assert all(text in said for text in ("1 messages without the joints", "sorted by their stamps"))


def test_positions_within_a_turn_are_unwrapped(tmp_path):
    """A joint that turns on, with a reference 0.1 rad ahead; both as drivers and controllers publish them."""
    stamps = 10_000_000 * np.arange(1, 401)
    true = 2.0 + 0.02 * np.arange(400)
    wrapped = np.remainder(true + np.pi, 2.0 * np.pi) - np.pi
    q, other = np.stack([wrapped, np.sin(true)], axis=1), np.delete(np.arange(400), slice(5, 11))
    found = read_recording(written(
        tmp_path / "turns.mcap", __joint_states=(["turn", "other"], stamps[other], {"position": q[other]}),
        __law__reference=(["turn", "other"], stamps[::3], {"position": (q + 0.1)[::3]}),
    ))
    assert found.q[:, 0] == pytest.approx(true[other])
    assert np.array_equal(found.q[:, 1], q[other, 1])
    assert np.abs(found.error.values - 0.1).max() < 1e-4
    assert found.notes == ("/joint_states: positions that are reported within a turn are unwrapped (turn)",)


def test_runs_between_which_the_clock_began_again_are_not_mixed(tmp_path):
    """As of a simulation that was started twice."""
    stamps = 10_000_000 * np.r_[np.arange(1, 401), np.arange(1, 301)]
    path = written(tmp_path / "twice.mcap", __joint_states=(["a"], stamps, {"position": np.zeros((700, 1))}))
    with pytest.raises(RecordingError, match=r"twice.mcap: stamps on /joint_states fall from 3.99 to 0 s.*one run"):
        read_recording(path)


def test_joints_that_no_controller_drives_have_no_terms(tmp_path):
    """A gripper, or the passive joints of a mechanism, on the topic of the joint states."""
    rows = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = read_recording(written(
        tmp_path / "gripper.mcap", __joint_states=(["a", "finger", "b"], [1, 2], {"position": rows}),
        __law__torque__gravity=(["b", "a"], [1, 2], {"effort": rows[:, :2]}),
    ))
    assert np.array_equal(found.torque["gravity"].values, [[2, np.nan, 1], [5, np.nan, 4]], equal_nan=True)
    assert not found.notes


def test_states_without_stamps_have_the_times_of_recording(tmp_path):
    q = np.zeros((3, 1))
    found = read_recording(written(tmp_path / "no.mcap", __joint_states=(["a"], [0, 0, 0], {"position": q})))
    assert found.t.tolist() == [0.0, 1.0, 2.0]
    assert "have no stamps" in found.notes[0]


def test_two_arms_differ_by_their_topic(tmp_path):
    rows = [(["a"], [1, 2], {"position": np.full((2, 1), value)}) for value in (1.0, 2.0)]
    path = written(tmp_path / "two.mcap", __left__joint_states=rows[0], __right__joint_states=rows[1])
    with pytest.raises(RecordingError, match="on /left/joint_states, /right/joint_states; name one of them"):
        read_recording(path)
    assert read_recording(path, topic="/right/joint_states").q.tolist() == [[2.0], [2.0]]
    with pytest.raises(RecordingError, match="did you mean '/left/joint_states'"):
        read_recording(path, topic="/left/joint_state")


@pytest.mark.parametrize(("name", "content", "said"), [
    ("nosuch.mcap", None, "does not exist"),
    ("text.txt", b"", "allowed are .csv, .npz, .mcap, .db3"),
    ("bad.mcap", b"MCAP", "cannot be read as MCAP"),
    ("bad.db3", b"nothing", "cannot be read as a ROS 2 bag"),
    ("bad.npz", b"nothing", "cannot be read"),
    ("bad.csv", b"a,b\n1,2\n2,3\n", "has the columns a, b"),
    ("short.csv", b"time,q/a\n0,1\n1\n2,3\n", "row 2 has 1 cells"),
    ("word.csv", b"time,q/a\n0,1\n1,x\n2,3\n", "among numbers"),
])
def test_errors_name_file_and_fault(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordingError, match=said) as error:
        read_recording(tmp_path / name)
    assert name in str(error.value)


def test_a_recording_without_states_lists_its_topics(tmp_path):
    path = tmp_path / "commands.mcap"
    with McapFile(path) as file:
        file.write(file.channel("/commands", FLOATS, definition(FLOATS)), float_arrays(["a"], np.ones((1, 1)))[0], 1, 1)
    with pytest.raises(RecordingError, match=r"no messages of sensor_msgs/msg/JointState; it has /commands \(std_msgs"):
        read_recording(path)


FULL = """
import resource, sys
from pathlib import Path
import numpy as np
from rne_dynamics.errors import RecordingError
from rne_dynamics.recording.mcap_file import McapFile
from rne_dynamics.recording.mcap_file import JOINT_STATE, definition, joint_states
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
stamps = np.arange(1, 20_001)
file = McapFile(Path(sys.argv[1]))
channel = file.channel("/joint_states", JOINT_STATE, definition(JOINT_STATE))
try:
    for stamp, data in zip(stamps.tolist(), joint_states(["a"], stamps, position=np.random.rand(20_000, 1))):
        file.write(channel, data, stamp, stamp)
        if stamp % 100 == 0:
            file.flush()
except RecordingError as error:
    print(error)
    file.abandon()
"""


def test_a_file_that_can_grow_no_more_ends_with_a_whole_record(tmp_path):
    path = tmp_path / "full.mcap"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True)
    assert f"{path} cannot be continued after" in done.stdout
    found = read_recording(path)
    assert 500 < len(found.t) < 20_000
    assert len(found.t) % 100 == 0
    with pytest.raises(RecordingError, match="exists; name a new file"):
        McapFile(path)


def test_a_file_that_exists_is_kept(tmp_path):
    path = tmp_path / "kept.mcap"
    path.write_text("kept")
    with pytest.raises(RecordingError, match="exists; name a new file"):
        McapFile(path)
    assert path.read_text() == "kept"


@pytest.mark.parametrize(("arguments", "said"), [
    (["--free", "--base", "floating", "--record", "a.mcap"], "a floating base has 7"),
    (["--record", "a.csv"], "its ending must be .mcap"),
    (["--record", "/dev/null/a.mcap"], "'/dev/null' is no folder"),
    (["--out", "a.bag"], "its ending must be .csv, .npz or .mcap"),
])
def test_simulations_that_cannot_be_recorded_do_not_start(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "planar2", "--seconds", "1e6", *arguments]) == 1
    assert said in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_the_error_is_left_out_where_states_are_missing():
    t = np.delete(np.arange(0.0, 1.0, 0.01), slice(40, 60))
    wanted = np.arange(-0.1, 1.1, 0.005)
    found = Recording("", ("joint1",), t, t[:, None] ** 2, reference_q=Series(wanted, wanted[:, None] ** 2)).error
    assert not ((found.t > 0.391) & (found.t < 0.599)).any()
    assert np.abs(found.values).max() < 1e-4
