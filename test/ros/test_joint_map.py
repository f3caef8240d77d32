"""Joint states by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensor_msgs.msg import JointState

from rne_dynamics.errors import StateError
from rne_dynamics.ros.joint_map import JointMap


def read(joints, message):
    q, qd = np.full(len(joints), np.nan), np.full(len(joints), np.nan)
    JointMap(joints).read(message, q, qd)
    return q.tolist(), qd.tolist()


@given(st.permutations(["a", "b", "c", "x", "y"]), st.permutations(["a", "b", "c"]))
def test_any_order_of_names_with_others_among_them(names, joints):
    message = JointState(name=names, position=[float(ord(n)) for n in names], velocity=[-float(ord(n)) for n in names])
    assert read(joints, message) == ([float(ord(j)) for j in joints], [-float(ord(j)) for j in joints])


def test_places_are_looked_up_again_only_when_the_names_change():
    joint_map = JointMap(["a", "b"])
    q, qd = np.zeros(2), np.zeros(2)
    message = JointState(name=["b", "a"], position=[2.0, 1.0], velocity=[0.0, 0.0])
    joint_map.read(message, q, qd)
    places = joint_map._places
    joint_map.read(message, q, qd)
    assert joint_map._places is places
    joint_map.read(JointState(name=["a", "b"], position=[3.0, 4.0], velocity=[0.0, 0.0]), q, qd)
    assert q.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(("message", "said"), [
    (JointState(name=["a"], position=[1.0], velocity=[1.0]), "no joint named 'b'"),
    (JointState(), "no joint named 'a', 'b'"),
    (JointState(name=["a", "b", "a"], position=[1.0] * 3, velocity=[1.0] * 3), "'a' is named twice"),
    (JointState(name=["a", "b"], position=[1.0], velocity=[1.0, 1.0]), "1 values of position for 2 names"),
    (JointState(name=["a", "b"], position=[1.0, 1.0]), "0 values of velocity"),
    (JointState(name=["a", "b"], position=[1.0, math.nan], velocity=[1.0, 1.0]), "position of joint 'b' is nan"),
    (JointState(name=["b", "a"], position=[1.0, 1.0], velocity=[1.0, -math.inf]), "velocity of joint 'a' is -inf"),
])
def test_what_cannot_be_used_is_refused_with_the_joint(message, said):
    with pytest.raises(StateError, match=said.replace("(", r"\(")):
        read(["a", "b"], message)


def test_a_bad_message_between_good_ones_leaves_nothing_behind():
    joint_map = JointMap(["a", "b"])
    q, qd = np.zeros(2), np.zeros(2)
    good = JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[0.0, 0.0])
    joint_map.read(good, q, qd)
    with pytest.raises(StateError):
        joint_map.read(JointState(name=["a", "c"], position=[9.0, 9.0], velocity=[0.0, 0.0]), q, qd)
    joint_map.read(good, q, qd)
    assert q.tolist() == [1.0, 2.0]
