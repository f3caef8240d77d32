from __future__ import annotations

import itertools
import math

import pytest

from rne_dynamics.control.locked_joints import (
    FASTEST,
    LOCK_PERIOD,
    OLD_POSITION,
    SLOWER_FOR,
    STEP,
    LockedJoints,
    Measured,
)


def ns(seconds: float) -> int:
    return 10**18 + round(1e9 * seconds)


def test_until_it_is_measured_it_stays_and_that_is_reported():
    joints = LockedJoints({"torso": 0.0, "head": 0.0})
    assert joints.update(0.0, {}) == {}
    assert joints.report(0.0) == "torso at 0 (not measured), head at 0 (not measured)"
    assert joints.update(0.1, {"torso": Measured(0.4, ns(0.1)), "gripper": Measured(1.0, ns(0.1))}) == {
        "torso": 0.4, "head": 0.0,
    }  # fmt: skip
    assert joints.report(0.1) == "torso at 0.4 (measured), head at 0 (not measured)"
    assert "torso at 0.4 (measured 2.0 s ago)" in joints.report(0.1 + 2 * OLD_POSITION)


def test_where_the_model_has_it_already_nothing_changes():
    joints = LockedJoints({"torso": 0.3})
    assert joints.update(0.0, {"torso": Measured(0.3 + 0.9 * STEP, ns(0.0))}) == {}
    assert joints.at == {"torso": 0.3}
    assert joints.update(0.1, {"torso": Measured(0.3 + 1.1 * STEP, ns(0.1))}) == {"torso": 0.3 + 1.1 * STEP}


def test_a_slow_joint_is_followed_within_the_step_at_no_more_than_the_rate():
    joints, at, models, worst = LockedJoints({"torso": 0.0}), 0.0, [], 0.0
    for k in range(2000):
        now = 0.005 * k
        q = 0.5 * math.sin(0.3 * now)  # 0.15 rad/s at most
        found = joints.update(now, {"torso": Measured(q, ns(now))})
        if found:
            at = found["torso"]
            models.append(now)
        worst = max(worst, abs(q - at))
        assert joints.too_fast(now) == ""
    assert len(models) > 50
    assert min(b - a for a, b in itertools.pairwise(models)) >= LOCK_PERIOD - 1e-9
    assert worst <= STEP + 0.15 * (LOCK_PERIOD + 0.03)


def test_a_fast_joint_is_named_until_it_is_calm_again_and_followed_meanwhile():
    joints, q = LockedJoints({"torso": 0.0}), 0.0
    for k in range(40):
        now, q = 0.05 * k, q + 0.05 * 2.0 * FASTEST
        joints.update(now, {"torso": Measured(q, ns(now))})
    assert "'torso'" in joints.too_fast(now)
    assert f"{2.0 * FASTEST:g} per second" in joints.too_fast(now)
    assert joints.at["torso"] == pytest.approx(q, abs=2.0 * LOCK_PERIOD * 2.0 * FASTEST)
    for k in range(1, 10):
        joints.update(now + 0.05 * k, {"torso": Measured(q, ns(now + 0.05 * k))})
    assert joints.too_fast(now + 0.9 * SLOWER_FOR)
    assert not joints.too_fast(now + 1.1 * SLOWER_FOR)
    assert joints.at["torso"] == pytest.approx(q)


def test_a_joint_found_far_from_zero_at_first_is_not_fast():
    joints = LockedJoints({"torso": 0.0})
    joints.update(0.0, {"torso": Measured(2.0, ns(0.0))})
    assert joints.too_fast(0.0) == ""


def test_the_same_message_seen_again_is_no_news():
    joints = LockedJoints({"torso": 0.0})
    joints.update(0.0, {"torso": Measured(0.1, ns(0.0))})
    for k in range(1, 100):
        joints.update(0.05 * k, {"torso": Measured(0.1, ns(0.0))})
    assert "ago" in joints.report(5.0)


@pytest.mark.parametrize("stamps", [lambda t: 0, lambda t: ns(-t), ns], ids=["none", "backwards", "good"])
def test_stamps_that_are_missing_or_go_back(stamps):
    joints = LockedJoints({"torso": 0.0})
    for k in range(100):
        now = 0.05 * k
        joints.update(now, {"torso": Measured(0.1 * now, stamps(now))})
        assert joints.too_fast(now) == ""
    assert joints.at["torso"] == pytest.approx(0.1 * now, abs=2 * STEP + 0.01)
    joints.update(now + 0.05, {"torso": Measured(9.0, stamps(now + 0.05))})
    assert joints.too_fast(now + 0.05)


def test_a_joint_without_end_may_wrap():
    joints = LockedJoints({"turntable": 3.14}, continuous={"turntable"})
    joints.update(0.0, {"turntable": Measured(3.141, ns(0.0))})
    found = joints.update(0.1, {"turntable": Measured(-3.139, ns(0.1))})
    assert found == {"turntable": -3.139}
    assert joints.too_fast(0.1) == ""


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_ignored(value):
    joints = LockedJoints({"torso": 0.0})
    assert joints.update(0.0, {"torso": Measured(value, ns(0.0))}) == {}
    assert joints.report(0.0) == "torso at 0 (not measured)"
