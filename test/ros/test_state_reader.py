"""Joint states read from bytes: what rclpy and `JointMap` make of them, or a refusal, whatever the bytes are."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from rne_dynamics.errors import ControlError, StateError, StateProblem
from rne_dynamics.ros.messages.cdr import NumbersReader, PreparedMessage, joint_state_layout, stamp_in
from rne_dynamics.ros.messages.joint_states import JointMap, StateReader, agrees
from rne_dynamics.ros.messages.publishers import stamp_of

JOINTS = ("a", "elbow", "c")
SOME = np.random.default_rng(5)


def message(names=("x", "c", "a", "elbow"), frame="", velocity=True, effort=True, sec=5):
    n = len(names)
    made = JointState(name=list(names), position=SOME.normal(size=n).tolist())
    made.velocity = SOME.normal(size=n).tolist() if velocity else []
    made.effort = SOME.normal(size=n).tolist() if effort else []
    made.header.frame_id, made.header.stamp.sec, made.header.stamp.nanosec = frame, sec, 123_456_789
    return made


def outcome(read):
    """What a reader makes of something: the reading and the numbers, or what was wrong."""
    arrays = [np.full(len(JOINTS), 7.0) for _ in range(3)]
    try:
        reading = read(*arrays)
    except StateError as error:
        return error.problem, str(error)
    return reading, [array.tobytes() for array in arrays]


def by_rclpy(data):
    """The plain way, and the stamp."""
    try:
        made = deserialize_message(data, JointState)
    except (RuntimeError, UnicodeDecodeError):
        return None
    return outcome(lambda *arrays: JointMap(JOINTS).read(made, *arrays)), stamp_of(made)


def agree(reader, data):
    """One message read both ways; whether it could be read."""
    plain = by_rclpy(data)
    mine = outcome(lambda *arrays: reader.read(data, *arrays))
    if plain is None:
        assert mine[0] is StateProblem.UNREADABLE
        return False
    assert mine == plain[0]
    assert reader.stamp == plain[1]
    return isinstance(plain[0][0], int)


@settings(derandomize=True, max_examples=60)
@given(
    st.lists(st.sampled_from([*JOINTS, "x", "gripper_left", ""]), max_size=7), st.text("fr", max_size=5),
    st.booleans(), st.booleans(), st.integers(-(2**31), 2**31 - 1),
)
def test_every_message_is_read_as_by_rclpy_the_first_time_and_the_second(names, frame, velocity, effort, sec):
    reader = StateReader(JOINTS)
    for _ in range(3):
        good = agree(reader, serialize_message(message(names, frame, velocity, effort, sec)))
    assert len(reader._known) == good, "and is remembered, once"


def test_messages_of_several_senders_by_turns():
    reader = StateReader(JOINTS)
    kinds = [
        {"names": ["gripper"]}, {}, {"velocity": False}, {"effort": False}, {"names": [*JOINTS, "d"]}, {"names": []},
    ]
    for _ in range(3):
        for kind in kinds:
            agree(reader, serialize_message(message(**kind)))
    assert len(reader._known) == len(kinds)


def test_a_stream_that_never_looks_the_same_is_read_all_the_same():
    reader = StateReader(JOINTS)
    for k in range(30):
        assert agree(reader, serialize_message(message(frame="f" * k)))
    assert len(reader._known) == 8


@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
def test_special_numbers(field):
    reader = StateReader(JOINTS)
    agree(reader, serialize_message(message()))
    for value in (np.nan, -np.inf, -0.0, 5e-324, 1e308):
        for places in (*([k] for k in range(4)), range(4)):
            made = message()
            for place in places:
                getattr(made, field)[place] = value
            agree(reader, serialize_message(made))
    assert len(reader._known) == 1, "all by the quick way"


def test_hostile_bytes_are_read_as_by_rclpy_or_refused():
    """A bit of every byte flipped, every length, numbers that lie about what follows; known layouts and new ones."""
    whole = serialize_message(message(frame="base"))
    warm = StateReader(JOINTS)
    agree(warm, whole)
    hostile = [whole[:size] for size in range(len(whole))]
    hostile += [whole + bytes(k) for k in range(1, 20)]
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << SOME.integers(8)
        hostile.append(bytes(changed))
    for place in range(0, len(whole) - 4, 4):
        for count in (0, 3, 5, 0x7FFFFFFF, 0xFFFFFFFF):
            changed = bytearray(whole)
            struct.pack_into("<I", changed, place, count)
            hostile.append(bytes(changed))
    hostile += [b"\x00" + bytes([k]) + whole[2:] for k in range(16)]
    hostile += [SOME.bytes(k) for k in range(0, 300, 7)]
    read = 0
    for data in hostile:
        read += agree(warm, data)
        agree(StateReader(JOINTS), data)
    assert agree(warm, whole)
    assert read > 30


def test_big_endian_is_left_to_rclpy():
    """A message of another machine: rclpy reads it, we do not."""
    big = b"\x00\x00\x00\x00" + struct.pack(">iI", 3, 4) + struct.pack(">I", 1) + b"\0" + b"\0" * 3
    big += struct.pack(">I", 3) + b"".join(struct.pack(">I", len(n) + 1) + n.encode() + b"\0" * (4 - len(n) % 4)
                                           for n in ("a", "c")) + struct.pack(">I", 6) + b"elbow\0\0\0"
    big += b"\0" * (-(len(big) - 4 + 4) % 8)
    reader = StateReader(JOINTS)
    agree(reader, big)
    assert joint_state_layout(big) is None
    assert not reader._known


def test_bytes_that_differ_from_what_rclpy_reads_are_not_kept():
    data = serialize_message(message())
    layout = joint_state_layout(data)
    received = deserialize_message(data, JointState)
    assert agrees(layout, data, received)
    for change in (lambda m: m.name.reverse(), lambda m: setattr(m, "position", [0.0] * 4),
                   lambda m: setattr(m.header.stamp, "sec", 6)):
        received = deserialize_message(data, JointState)
        change(received)
        assert not agrees(layout, data, received)


def test_a_prepared_message_is_what_rclpy_would_have_sent():
    made = message(frame="base")
    prepared = PreparedMessage(made, "position", "effort")
    numbers = SOME.normal(size=(2, 4))
    prepared.numbers[0][:], prepared.numbers[1][:] = numbers
    prepared.stamp(7_000_000_001)
    received = deserialize_message(prepared._octets.tobytes(), JointState)
    assert received.header.frame_id == "base"
    assert (received.name, list(received.velocity)) == (made.name, list(made.velocity))
    assert [list(received.position), list(received.effort)] == numbers.tolist()
    assert stamp_of(received) == stamp_in(prepared._octets.tobytes()) == 7_000_000_001
    one = PreparedMessage(Float64MultiArray(data=[0.0]), "data")
    one.numbers[0][:] = np.pi
    assert list(deserialize_message(one._octets.tobytes(), Float64MultiArray).data) == [np.pi]


@settings(derandomize=True, max_examples=60)
@given(st.lists(st.sampled_from([0.0, 1.0, np.nan, -np.inf, 2.5e-320]), max_size=6), st.text("abc,", max_size=9))
def test_numbers_of_an_array_are_read_as_by_rclpy(numbers, label):
    reader = NumbersReader()
    layout = MultiArrayLayout(dim=[MultiArrayDimension(label=label, size=len(numbers))] if label else [])
    for shift in (0.0, 0.0, 1.0, 3.0):
        given = np.array(numbers) + shift
        data = serialize_message(Float64MultiArray(layout=layout, data=given.tolist()))
        np.testing.assert_array_equal(reader.read(data), given)
        if len(data) >= 32:
            with pytest.raises(ControlError):
                reader.read(data[:-9])
        np.testing.assert_array_equal(reader.read(data + bytes(8)), given)


def test_hostile_arrays():
    whole = serialize_message(Float64MultiArray(data=[0.0, 0.0, 7.0]))
    warm = NumbersReader()
    for place in range(len(whole)):
        for bit in range(8):
            warm.read(whole)
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            data = bytes(changed)
            try:
                expected = np.array(deserialize_message(data, Float64MultiArray).data)
            except (RuntimeError, UnicodeDecodeError):
                with pytest.raises(ControlError):
                    warm.read(data)
                continue
            np.testing.assert_array_equal(warm.read(data), expected)
