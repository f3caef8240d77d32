from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.tracking_law import integrate_error
from rne_dynamics.errors import ControlError

numbers = st.floats(-1e3, 1e3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Gains([1.0, -2.0], joint_names=("a", "b")), "gain p of joint 'b' is -2.0"),
        (lambda: Gains([1.0], d=np.nan), "gain d of joint number 0 is nan"),
        (lambda: Gains([1.0], i=np.inf), "gain i of joint number 0 is inf"),
        (lambda: Gains([1.0], i_clamp=-1.0), "gain i_clamp of joint number 0 is -1.0"),
        (lambda: Gains([1.0, 2.0], d=[1.0, 2.0, 3.0]), r"gain p has shape \(2,\)"),
        (lambda: Gains.critically_damped(2, 0.0), "bandwidth of joint number 0 is 0.0"),
    ],
)
def test_unusable_gains_are_refused(call, said):
    with pytest.raises(ControlError, match=said):
        call()


def test_the_integral_is_the_integral():
    gains = Gains([1.0, 1.0], i=[2.0, 0.0])
    integral = np.zeros(2)
    for _ in range(100):
        integral = integrate_error(gains, integral, [0.3, 0.3], 0.01)
    np.testing.assert_allclose(integral, [0.3, 0.0])


def test_the_clamp_bounds_the_torque_of_the_integral():
    gains = Gains([1.0], i=[4.0], i_clamp=[2.0])
    integral = np.zeros(1)
    for _ in range(1000):
        integral = integrate_error(gains, integral, [-1.0], 0.01)
    assert gains.i * integral == pytest.approx([-2.0])


@given(integral=numbers, error=numbers, clamp=st.floats(0.0, 1e3), saturated=st.booleans())
def test_the_integral_never_winds_up(integral, error, clamp, saturated):
    gains = Gains([1.0], i=[2.0], i_clamp=[clamp])
    after = integrate_error(gains, [integral], [error], 0.01, np.array([saturated]))
    assert abs(2.0 * after[0]) <= clamp * (1.0 + 1e-12)
    if saturated:
        assert abs(after[0]) <= abs(integral)
        assert after[0] * integral >= 0.0


@pytest.mark.parametrize(("error", "dt"), [(np.nan, 0.01), (np.inf, 0.01), (1.0, np.nan)])
def test_numbers_that_are_not_finite_leave_the_integral_alone(error, dt):
    assert integrate_error(Gains([1.0], i=[1.0]), [0.5], [error], dt) == [0.5]
