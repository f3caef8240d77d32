"""Joint states by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import JointState

from rne_dynamics.errors import StateError, StateProblem
from rne_dynamics.ros.messages.joint_states import NO_VELOCITY, OTHER_JOINTS, WHOLE, JointMap


def read(joints, message):
    q, qd = np.full(len(joints), np.nan), np.full(len(joints), np.nan)
    JointMap(joints).read(message, q, qd, np.zeros(len(joints)))
    return q.tolist(), qd.tolist()


@settings(derandomize=True)
@given(st.permutations(["a", "b", "c", "x", "y"]), st.permutations(["a", "b", "c"]))
def test_any_order_of_names_with_others_among_them(names, joints):
    message = JointState(name=names, position=[float(ord(n)) for n in names], velocity=[-float(ord(n)) for n in names])
    assert read(joints, message) == ([float(ord(j)) for j in joints], [-float(ord(j)) for j in joints])


@pytest.mark.parametrize(("message", "problem", "said"), [
    (JointState(name=["a"], position=[1.0], velocity=[1.0]), StateProblem.JOINT_MISSING, "no joint named 'b'"),
    (JointState(name=["a", "b", "a"], position=[1.0] * 3, velocity=[1.0] * 3), StateProblem.NAMED_TWICE,
     "'a' is named twice"),
    (JointState(name=["a", "b"], position=[1.0], velocity=[1.0, 1.0]), StateProblem.UNEVEN_LISTS,
     "1 values of position for 2 names"),
    (JointState(name=["a", "b"], velocity=[1.0, 1.0]), StateProblem.UNEVEN_LISTS, "0 values of position"),
    (JointState(name=["a", "b"], position=[1.0, 1.0], velocity=[1.0]), StateProblem.UNEVEN_LISTS,
     "1 values of velocity"),
    (JointState(position=[1.0, 1.0]), StateProblem.UNEVEN_LISTS, "2 values of position for 0 names"),
    (JointState(name=["a", "b"], position=[1.0, math.nan], velocity=[1.0, 1.0]), StateProblem.NOT_FINITE,
     "position of joint 'b' is nan"),
    (JointState(name=["b", "a"], position=[1.0, 1.0], velocity=[1.0, -math.inf]), StateProblem.NOT_FINITE,
     "velocity of joint 'a' is -inf"),
    (JointState(name=["b", "a"], position=[1.0, 1.0], velocity=[1.0, math.nan]), StateProblem.NOT_FINITE,
     "velocity of joint 'a' is nan"),
])
def test_what_cannot_be_used_is_refused_with_the_joint(message, problem, said):
    with pytest.raises(StateError, match=said.replace("(", r"\(")) as caught:
        read(["a", "b"], message)
    assert caught.value.problem is problem


@pytest.mark.parametrize("velocity", [[], [math.nan, 5.0, math.nan]])
def test_where_no_velocity_is_known_it_is_nan_and_said_to_be(velocity):
    q, qd = np.zeros(2), np.zeros(2)
    message = JointState(name=["b", "x", "a"], position=[2.0, 0.0, 1.0], velocity=velocity)
    assert JointMap(["a", "b"]).read(message, q, qd, np.zeros(2)) == NO_VELOCITY
    assert q.tolist() == [1.0, 2.0]
    assert np.isnan(qd).all()


@pytest.mark.parametrize("message", [
    JointState(), JointState(name=["x", "y"], position=[1.0, 2.0], velocity=[0.0, 0.0]),
    JointState(name=["x", "x"], position=[1.0]),  # how others send is no concern of ours
])
def test_a_message_of_others_fills_nothing_that_could_be_used(message):
    q, qd, effort = np.zeros(2), np.zeros(2), np.zeros(2)
    assert JointMap(["a", "b"]).read(message, q, qd, effort) == OTHER_JOINTS
    assert np.isnan([q, qd, effort]).all()


@pytest.mark.parametrize(("effort", "expected"), [
    ([7.0, 8.0, 9.0], [9.0, 7.0]), ([7.0, 8.0, math.inf], [math.nan, 7.0]), ([math.nan] * 3, [math.nan] * 2),
    ([], [math.nan] * 2), ([7.0], [math.nan] * 2),
])
def test_efforts_are_read_where_there_are_some_and_never_a_reason_to_refuse(effort, expected):
    q, qd, reported = np.zeros(2), np.zeros(2), np.zeros(2)
    message = JointState(name=["b", "x", "a"], position=[2.0, 0.0, 1.0], velocity=[0.0] * 3, effort=effort)
    assert JointMap(["a", "b"]).read(message, q, qd, reported) == WHOLE
    np.testing.assert_array_equal(reported, expected)


def test_an_arm_and_many_others_in_turn_on_one_topic():
    joint_map, q, qd, effort = JointMap(["a", "b"]), np.zeros(2), np.zeros(2), np.zeros(2)
    for k in range(200):
        ours = JointState(name=["b", "a"] if k % 3 else ["a", "b"], position=[1.0, 2.0], velocity=[3.0, 4.0])
        assert joint_map.read(ours, q, qd, effort) == WHOLE
        assert q.tolist() == ([2.0, 1.0] if k % 3 else [1.0, 2.0])
        other = JointState(name=[f"finger{k % 20}"], position=[1.0])
        assert joint_map.read(other, q, qd, effort) == OTHER_JOINTS
