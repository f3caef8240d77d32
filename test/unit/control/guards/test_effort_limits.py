from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.control.guards.effort_limits import STOPPING, EffortLimits
from rne_dynamics.errors import ControlError

NAMES = ("shoulder", "elbow")
GOOD = {
    "effort": [87.0, 12.0], "rate": [8700.0, 1200.0], "velocity": [2.0, np.inf], "lower": [-1.0, -np.inf],
    "upper": [1.0, np.inf], "margin": [0.1, 0.1], "stop_frequency": 20.0, "saturation": "joint", "joints": NAMES,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"effort": [87.0, np.inf]}, "effort limit of joint 'elbow' is inf; it must be finite"),
        ({"effort": [87.0, -1.0]}, "effort limit of joint 'elbow' is -1.0"),
        ({"effort": [np.nan, 1.0]}, "effort limit of joint 'shoulder' is nan"),
        ({"rate": [8700.0, np.nan]}, "effort rate of joint 'elbow' is nan"),
        ({"rate": [8700.0, 11.0]}, "effort rate of joint 'elbow' is 11 per s; with an effort limit of 12 it must be"),
        ({"effort": 0.0, "rate": [1.0, 0.0]}, "effort rate of joint 'elbow' is 0"),
        ({"velocity": [0.0, 1.0]}, "velocity limit of joint 'shoulder' is 0; it must be above 0"),
        ({"velocity": [np.nan, 1.0]}, "velocity limit of joint 'shoulder' is nan"),
        ({"lower": [1.5, 0.0]}, r"position limits of joint 'shoulder' are \[1.5, 1\]; the lower must not be above"),
        ({"lower": [-1.0, np.inf]}, "position limits of joint 'elbow'"),
        ({"upper": [-np.inf, 1.0], "lower": -np.inf}, "position limits of joint 'shoulder'"),
        ({"upper": [1.0, np.nan]}, "upper position limit of joint 'elbow' is nan"),
        ({"margin": [1.01, 0.1]}, r"margin of joint 'shoulder' is 1.01, more than half of its range \[-1, 1\]"),
        ({"margin": [-0.1, 0.1]}, "position margin of joint 'shoulder' is -0.1"),
        ({"margin": [0.1, np.inf]}, "position margin of joint 'elbow' is inf"),
        ({"stop_frequency": 0.0}, "stop_frequency is 0.0; it must be between 0.1 and 1000 .1/s."),
        ({"stop_frequency": np.nan}, "stop_frequency is nan"),
        ({"stop_frequency": np.inf}, "stop_frequency is inf"),
        ({"saturation": "both"}, "saturation is 'both'; it must be one of joint, direction"),
        ({"margin": [0.1, 0.1, 0.1]}, r"position margin has shape \(3,\)"),
    ],
)
def test_unusable_limits_are_refused_and_the_joint_is_named(change, said):
    EffortLimits(**GOOD)
    with pytest.raises(ControlError, match=said):
        EffortLimits(**{**GOOD, **change})


def test_margins_that_meet_are_allowed():
    limits = EffortLimits(**{**GOOD, "margin": [1.0, 0.0]})
    np.testing.assert_array_equal(limits.lower + limits.margin, [0.0, -np.inf])


def test_stopping_speed_of_walls():
    np.testing.assert_allclose(EffortLimits(**GOOD).stopping_speed, STOPPING * 20.0 * np.array([0.1, 0.1]), rtol=1e-15)
