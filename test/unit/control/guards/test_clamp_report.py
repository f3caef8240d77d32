from __future__ import annotations

import numpy as np

from rne_dynamics.control.control_law import TorqueTerms
from rne_dynamics.control.guards.effort_limiter import EffortLimiter
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.supervision.output import clamp_report

Q = np.array([0.0, 1.95, -2.1])


def terms(**given):
    """Terms of three joints, zero unless given."""
    return TorqueTerms(*(np.array(given.get(name, np.zeros(3)), dtype=float) for name in TorqueTerms._fields))


def report(asked, *, qd=(0.0, 0.0, 0.0), rate=np.inf, saturation="joint", q=Q):
    limits = EffortLimits(
        [87.0, 50.0, 20.0], rate, 1.0, -2.0, 2.0, 0.1, saturation=saturation, joints=("base", "elbow", "wrist")
    )
    limiter = EffortLimiter(limits)
    limiter.update_inertia(np.full(3, 0.5))
    limited = limiter.limit(asked.gravity, asked.total - asked.gravity, q, np.array(qd), 0.001)
    return clamp_report(asked, limited, limits, q)


def test_walls_and_stops_say_where_the_joint_is():
    said = report(terms(feedback=[0.0, 4.0, -3.0]))
    assert "joint 'elbow' asked for 4 (feedback 4) and got 2: it is at 1.95, 0.05 before its upper position" in said
    assert "joint 'wrist' asked for -3 (feedback -3) and got 0: it is at -2.1, 0.1 beyond its lower position" in said
    assert "base" not in said


def test_overspeed_rate_and_scaling_are_named():
    assert "it is faster than its velocity limit 1" in report(terms(), qd=(1.5, 0.0, 0.0))
    assert report(terms(feedback=[50.0, 0, 0]), rate=1000.0).endswith("and got 1: its effort may change by 1000 per s")
    said = report(terms(feedback=[174.0, 10.0, 0.0]), saturation="direction", q=np.zeros(3))
    assert "'base' asked for 174 (feedback 174) and got 87: its effort limit is 87" in said
    assert "'elbow' asked for 10 (feedback 10) and got 5: all joints are scaled down with one at its effort" in said
