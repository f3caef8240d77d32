from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arms import chain

from rne_dynamics.control.safety import StopRamp, limit_effort
from rne_dynamics.dynamics import gravity_torque
from rne_dynamics.errors import ControlError


def test_efforts_are_cut_joint_by_joint():
    effort, clamped = limit_effort([1.0, -5.0, 5.0, 0.5], [2.0, 2.0, np.inf, 0.0])
    np.testing.assert_array_equal(effort, [1.0, -2.0, 5.0, 0.0])
    np.testing.assert_array_equal(clamped, [False, True, False, True])


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=3, max_size=3))
def test_no_effort_passes_that_is_above_its_limit_or_not_finite(asked):
    limit = np.array([0.0, 1.0, np.inf])
    if not np.isfinite(asked).all():
        with pytest.raises(ControlError, match="no effort was passed on"):
            limit_effort(asked, limit)
        return
    effort, clamped = limit_effort(asked, limit)
    assert (np.abs(effort) <= limit).all()
    assert np.isfinite(effort).all()
    np.testing.assert_array_equal(clamped, effort != np.array(asked))


@pytest.mark.parametrize(
    ("effort", "limit", "said"),
    [
        ([0.0, np.nan], [1.0, 1.0], "effort of joint 'elbow' is nan"),
        ([0.0, 0.0], [1.0, np.nan], "effort limit of joint 'elbow' is nan"),
        ([0.0, 0.0], [-1.0, 1.0], "effort limit of joint 'shoulder' is -1.0"),
        ([0.0], [1.0, 1.0], "they must agree"),
    ],
)
def test_the_joint_is_named(effort, limit, said):
    with pytest.raises(ControlError, match=said):
        limit_effort(effort, limit, ("shoulder", "elbow"))


def test_a_stop_holds_then_fades_and_never_jumps():
    robot = chain(3)
    q, qd = np.array([0.3, 0.5, -0.2]), np.array([1.0, -1.0, 0.5])
    ramp = StopRamp(robot, 2.0, hold=0.5, ramp=1.0)
    support = gravity_torque(robot, q) - 2.0 * qd
    np.testing.assert_allclose(ramp.effort(0.0, q, qd), support)
    np.testing.assert_allclose(ramp.effort(0.5, q, qd), support)
    np.testing.assert_allclose(ramp.effort(1.0, q, qd), 0.5 * support)
    np.testing.assert_array_equal(ramp.effort(ramp.duration, q, qd), 0.0)
    np.testing.assert_array_equal(ramp.effort(1e9, q, qd), 0.0)
    efforts = np.array([ramp.effort(t, q, qd) for t in np.linspace(-0.1, 2.0, 2101)])
    assert np.abs(np.diff(efforts, axis=0)).max() <= 1.01e-3 * np.abs(support).max()


def test_a_stop_without_a_ramp_ends_at_once():
    ramp = StopRamp(chain(1), 0.0, hold=0.2, ramp=0.0)
    assert ramp.scale(0.2) == 1.0
    assert ramp.scale(0.21) == 0.0


@pytest.mark.parametrize("change", [{"hold": -1.0}, {"ramp": np.nan}, {"ramp": np.inf}, {"damping": -1.0}])
def test_unusable_ramps_are_refused(change):
    with pytest.raises(ControlError):
        StopRamp(**{"robot": chain(1), "damping": 1.0, **change})


def test_time_that_is_not_a_number_is_refused():
    with pytest.raises(ControlError, match="NaN"):
        StopRamp(chain(1), 1.0).effort(np.nan, np.zeros(1), np.zeros(1))
