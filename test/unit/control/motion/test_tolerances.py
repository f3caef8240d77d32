"""Tolerances: 0 for none, -1 in a request, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.errors import ControlError, TrajectoryError

OWN = Tolerances(("a", "b"), path=[0.1, 0.0], goal=0.02, stopped_velocity=0.03, goal_time=0.4)


def asked(name="a", position=0.0, velocity=0.0, acceleration=0.0):
    return SimpleNamespace(name=name, position=position, velocity=velocity, acceleration=acceleration)


def test_zero_means_not_looked_at():
    np.testing.assert_array_equal(OWN.path, [0.1, np.inf])
    np.testing.assert_array_equal(OWN.goal, [0.02, 0.02])
    np.testing.assert_array_equal(OWN.path_velocity, [np.inf, np.inf])
    assert Tolerances(("a",), goal_time=0.0, stopped_velocity=0.0).goal_time == np.inf
    assert OWN.goal_time == 0.4


def test_a_request_changes_what_it_names_and_minus_one_switches_off():
    other = OWN.overridden(
        [asked("b", 0.5, 0.7), asked("a", -1.0)], [asked("a", 0.0, 0.25), asked("b", np.inf)], goal_time=2.0
    )
    np.testing.assert_array_equal(other.path, [np.inf, 0.5])
    np.testing.assert_array_equal(other.path_velocity, [np.inf, 0.7])
    np.testing.assert_array_equal(other.goal, [0.02, np.inf])
    np.testing.assert_array_equal(other.goal_velocity, [0.25, np.inf])
    assert (other.goal_time, other.stopped_velocity) == (2.0, 0.03)
    assert OWN.overridden(goal_time=-1.0).goal_time == np.inf
    assert OWN.overridden().goal_time == 0.4
    np.testing.assert_array_equal(OWN.overridden().path, OWN.path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ([asked("c", 0.1)], "path_tolerance: joint 'c' is unknown; there are a, b"),
        ([asked("a", 0.1), asked("a", 0.2)], "path_tolerance: joint 'a' is named twice"),
        ([asked("a", np.nan)], "path_tolerance of joint 'a': its position is nan"),
        ([asked("a", 0.1, -0.5)], "path_tolerance of joint 'a': its velocity is -0.5"),
        ([asked("a", 0.1, 0.0, 2.0)], "its acceleration is 2.0; accelerations are not measured"),
        ([asked("a", 0.1, 0.0, np.nan)], "its acceleration is nan"),
    ],
)
def test_requests_that_cannot_be_kept_are_refused(path, said):
    with pytest.raises(TrajectoryError, match=said):
        OWN.overridden(path)
    with pytest.raises(TrajectoryError, match=said.replace("path_", "goal_")):
        OWN.overridden((), path)


@pytest.mark.parametrize("time", [np.nan, -2.0, -np.inf])
def test_goal_times_that_are_none_are_refused(time):
    with pytest.raises(TrajectoryError, match="goal_time_tolerance is"):
        OWN.overridden(goal_time=time)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"path": [0.1, np.nan]}, "the path tolerance of joint 'b' is nan"),
        ({"goal_velocity": -1.0}, "the goal velocity tolerance of joint 'a' is -1.0"),
        ({"goal_time": np.nan}, "goal_time"),
        ({"stopped_velocity": -0.1}, "stopped_velocity"),
        ({"path": [0.1]}, r"shape \(1,\)"),
    ],
)
def test_tolerances_that_are_none_are_refused(values, said):
    with pytest.raises(ControlError, match=said):
        Tolerances(("a", "b"), **values)
