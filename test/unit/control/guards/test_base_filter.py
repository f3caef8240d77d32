"""The measured motion of the base, against the motion that is measured."""

from __future__ import annotations

import numpy as np
import pytest
from support.moving_bases import Swell, quaternion

from rne_dynamics.control.guards.base_filter import BaseFilter, BaseReading, BaseSensor
from rne_dynamics.errors import ControlError, StateError, StateProblem

SWELL = Swell()
G = np.array([0.0, 0.0, -9.81])
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # sensor axes in the root link's
ARM = np.array([0.4, -0.3, 0.2])


def reading(t: float, kind: str = "specific_force", *, oriented: bool = True) -> BaseReading:
    """What a sensor at `ARM`, turned by `TURN`, measures."""
    base = SWELL.motion(t)
    w, dw = base.angular_velocity, base.angular_acceleration
    own = base.linear_acceleration + np.cross(dw, ARM) + np.cross(w, np.cross(w, ARM))
    felt = own - G @ base.rotation if kind == "specific_force" else own
    q = quaternion(base.rotation @ TURN) if oriented else None
    return BaseReading(round(t * 1e9), q, TURN.T @ w, None if kind == "ignored" else TURN.T @ felt)


def sensor(**changes) -> BaseSensor:
    return BaseSensor(**{"filter": 50.0, "position": ARM, "rotation": TURN, **changes})


def fed(
    filter_: BaseFilter, kind: str = "specific_force", end: float = 1.2, period: float = 0.0025, **given: bool
) -> float:
    for t in np.arange(1.0, end, period).tolist():
        filter_.accept(reading(t, kind, **given), t + 0.003)
    return t


@pytest.mark.parametrize(
    ("kind", "oriented"),
    [("specific_force", True), ("without_gravity", True), ("ignored", True), ("specific_force", False)],
)
def test_it_finds_the_motion_of_the_root_link(kind, oriented):
    filter_ = BaseFilter(sensor(acceleration=kind), G)
    t = fed(filter_, kind, oriented=oriented)
    found, true = filter_.motion.packed(G), SWELL.motion(t).packed(G)
    np.testing.assert_allclose(found[3:6], true[3:6], atol=1e-12)
    np.testing.assert_allclose(found[9:], true[9:], atol=0.002)  # a low-pass lags by 3 ms
    if kind == "ignored":
        np.testing.assert_allclose(filter_.motion.rotation, SWELL.motion(t).rotation, atol=1e-12)
    else:
        np.testing.assert_allclose(found[6:9], true[6:9], atol=0.002)


def test_what_is_left_when_messages_stop_is_gravity_as_it_was_last_seen():
    oriented, unoriented = BaseFilter(sensor(), G), BaseFilter(sensor(), G)
    t = fed(oriented, end=9.0, period=0.02)
    fed(unoriented, end=9.0, period=0.02, oriented=False)
    assert not oriented.stale(t + 0.05)
    assert oriented.stale(t + 0.2)
    for filter_, close in ((oriented, 1e-9), (unoriented, 2.0)):
        packed = filter_.still().packed(G)
        assert not packed[:6].any()
        assert not packed[9:].any()
        assert np.linalg.norm(packed[6:9]) == pytest.approx(9.81)
        np.testing.assert_allclose(packed[6:9], -G @ SWELL.motion(t).rotation, atol=close)
    never = BaseFilter(sensor(), G)
    np.testing.assert_array_equal(never.still().packed(G)[6:9], -G)


def test_an_arm_without_gravity_is_left_without_a_direction_of_it():
    weightless, still = BaseFilter(sensor(), np.zeros(3)), np.zeros(3)
    weightless.accept(BaseReading(1_000_000_000, None, still, still), 1.0)
    assert not weightless.still().packed(np.zeros(3)).any()


@pytest.mark.parametrize(
    ("fields", "problem", "said"),
    [
        ({"stamp": 0}, StateProblem.NO_STAMP, "no stamp"),
        ({"stamp": 1_100_000_000}, StateProblem.OUT_OF_ORDER, "before the last one's"),
        ({"orientation": np.array([0, 0, 0, np.nan])}, StateProblem.NOT_FINITE, "orientation is"),
        ({"angular_velocity": np.array([0, np.inf, 0])}, StateProblem.NOT_FINITE, "angular velocity is"),
        ({"acceleration": np.array([0, np.nan, 0])}, StateProblem.NOT_FINITE, "acceleration is"),
        ({"orientation": np.zeros(4)}, StateProblem.OUT_OF_RANGE, "has the length 0"),
        ({"orientation": np.array([1.0, 0, 0, 0])}, StateProblem.POSITION_JUMP, "the orientation turned by"),
        ({"angular_velocity": np.array([9.0, 0, 0])}, StateProblem.OUT_OF_RANGE, "largest_angular_velocity is 5"),
        ({"acceleration": np.array([50.0, 0, 0])}, StateProblem.OUT_OF_RANGE, "base_motion.largest_acceleration is 20"),
        ({"acceleration": np.array([1e300, 0, 0])}, StateProblem.OUT_OF_RANGE, "at most 1e"),
        ({"angular_velocity": np.array([-4.0, 1.0, 1.0])}, StateProblem.POSITION_JUMP, "its angular velocity changes"),
        ({"stamp": 9_900_000_000}, StateProblem.CLOCK_TOO_FAST, "further from the last one's"),
        ({"angular_velocity": None}, StateProblem.OUT_OF_RANGE, "no angular velocity"),
        ({"acceleration": None}, StateProblem.OUT_OF_RANGE, "no linear acceleration"),
    ],
)
def test_what_must_not_be_used_is_refused_and_changes_nothing(fields, problem, said):
    filter_ = BaseFilter(sensor(largest_acceleration=20.0), G)
    t = fed(filter_)
    before = filter_.motion.packed(G), filter_.arrival
    if problem is StateProblem.POSITION_JUMP:
        fields = {**fields, "acceleration": TURN.T @ -(G @ np.diag([1.0, -1.0, -1.0]) @ TURN.T)}
    with pytest.raises(StateError, match=said) as refused:
        filter_.accept(reading(t + 0.0025)._replace(**fields), t + 0.0055)
    assert refused.value.problem is problem
    assert filter_.arrival == before[1]
    np.testing.assert_array_equal(filter_.motion.packed(G), before[0])


def test_a_message_that_comes_late_is_refused():
    filter_ = BaseFilter(sensor(), G)
    t = fed(filter_)
    late = t + 0.0025
    for step in range(1, 30):  # each later by 5 ms than the one before: none is 0.1 s after the last
        late, now = late + 0.0025, t + 0.003 + step * 0.0075
        try:
            filter_.accept(reading(late), now)
        except StateError as error:
            assert error.problem is StateProblem.DELAYED  # noqa: PT017
            assert now - late >= 0.1
            break
    else:
        raise AssertionError("an ever older base motion was taken")


def test_after_a_gap_any_clock_is_taken_and_no_jump_is_one():
    filter_ = BaseFilter(sensor(), G)
    fed(filter_)
    filter_.accept(reading(0.5), 10.0)
    assert not filter_.motion.packed(G)[9:].any(), "no difference over the gap"


def test_orientation_is_needed_where_gravity_is_not_measured():
    for kind in ("without_gravity", "ignored"):
        with pytest.raises(StateError, match="no orientation"):
            BaseFilter(sensor(acceleration=kind), G).accept(reading(1.0, kind, oriented=False), 1.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"acceleration": "none"}, "base_motion.acceleration is 'none'"),
        ({"timeout": 0.0}, "base_motion.timeout is 0.0"),
        ({"filter": np.nan}, "base_motion.filter is nan"),
        ({"position": np.array([0.0, np.inf, 0.0])}, "base_motion.position"),
    ],
)
def test_settings_out_of_range_are_refused(changes, said):
    with pytest.raises(ControlError, match=said):
        sensor(**changes)
