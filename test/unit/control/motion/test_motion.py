"""A trajectory under way: continuity, exactness, speed, braking and what is said at its end."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.motion.motion import Motion
from rne_dynamics.control.trajectory import SampledTrajectory
from rne_dynamics.errors import ControlError

N = 3
JOINTS = ("shoulder", "elbow", "wrist")
START = 5_000_000_000
MS = 1_000_000
NS = 1e-9


def trajectory(seed: int = 0, kind: str = "quintic", points: int = 6) -> SampledTrajectory:
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.normal(size=(3, points, N))
    qd[-1] = 0.0
    rows = {"linear": (q,), "cubic": (q, qd), "quintic": (q, qd, qdd)}[kind]
    return SampledTrajectory(np.arange(points) * 0.7, *rows, joint_names=JOINTS)


def motion(follow: SampledTrajectory | None = None, start: int = START, **tolerances) -> Motion:
    return Motion(follow or trajectory(), start, Tolerances(JOINTS, **tolerances), blend_time=0.3)


def moving(seed: int = 1) -> Reference:
    return Reference(*np.random.default_rng(seed).normal(size=(3, N)))


def resting(q=(0.0, 0.0, 0.0)) -> Reference:
    return Reference(np.array(q, dtype=float), np.zeros(N), np.zeros(N))


def off(shoulder: float = 0.0, elbow: float = 0.0, wrist: float = 0.0) -> np.ndarray:
    return np.array([shoulder, elbow, wrist])


def same(a: Reference, b: Reference, atol: float = 0.0, rtol: float = 0.0) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, atol=atol, rtol=rtol)


@pytest.mark.parametrize("kind", ["linear", "quintic"])
def test_a_trajectory_that_starts_where_the_arm_is_is_followed_to_the_last_bit(kind):
    path = trajectory(kind=kind)
    one = motion(path)
    one.begin(START, path.sample(0.0))
    for stamp in range(START, START + 3_400 * MS, 7 * MS):
        same(one.advance(stamp), path.sample((stamp - START) * NS if stamp != START else 0.0), rtol=1e-13, atol=1e-13)
    assert one.path.base is path.path
    assert not one.path.offsets.any()


@pytest.mark.parametrize("late", [0, 1_234_567_891, -250 * MS])
@pytest.mark.parametrize(("rate", "slope"), [(1.0, 0.0), (0.35, 0.0), (0.35, 2.0), (0.6, -1.5)])
def test_it_takes_over_without_a_jump_wherever_it_begins(late, rate, slope):
    one, now = motion(), moving()
    stamp = START + late
    one.begin(stamp, now, rate=rate, slope=slope)
    same(one.reference, now, rtol=1e-12, atol=1e-12)
    speed = 1.0 if slope > 0.0 else 0.1 if slope < 0.0 else rate
    h = 1_000  # ns
    before, after = one.advance(stamp, speed), one.advance(stamp + h, speed)
    same(before, now, rtol=1e-12, atol=1e-12)
    same(after, before, atol=1e-2)  # a jerk of about 10³ rad/s³ for a microsecond
    np.testing.assert_allclose((after.q - before.q) / (h * NS), now.qd, atol=1e-4)
    np.testing.assert_allclose((after.qd - before.qd) / (h * NS), now.qdd, atol=1e-2)


def test_replacing_a_motion_at_any_speed_is_smooth():
    rng = np.random.default_rng(5)
    under_way, stamp = motion(trajectory(2)), START
    under_way.begin(START, resting())
    for k in range(20):
        speed = float(rng.uniform(0.0, 1.0))
        for _ in range(int(rng.integers(1, 40))):
            stamp += 11 * MS
            now = under_way.advance(stamp, speed)
        other = motion(trajectory(3 + k), start=stamp - int(rng.integers(0, 10**9)))
        other.begin(stamp, now, rate=under_way.rate, slope=under_way.slope)
        scale = 1.0 + max(np.abs(part).max() for part in now)
        same(other.advance(stamp, speed), now, atol=1e-11 * scale)
        a, b = under_way.advance(stamp + 1000, speed), other.advance(stamp + 1000, speed)
        same(a, b, atol=2e-2 * scale)
        np.testing.assert_allclose(a.q, b.q, atol=1e-13 * scale)
        np.testing.assert_allclose(a.qd, b.qd, atol=1e-8 * scale)
        under_way, stamp = other, stamp + 1000


@pytest.mark.parametrize("late", [5, 60, 150, 220, 270, 295])
def test_replacing_a_motion_that_is_being_braked_is_smooth(late):
    braked, stamp = motion(), START + 500 * MS
    braked.begin(START, resting())
    braked.advance(stamp)
    braked.brake(0.3)
    stamp += late * MS
    now = braked.advance(stamp)
    other = motion(trajectory(4), start=stamp)
    other.begin(stamp, now, rate=braked.rate, slope=braked.slope)
    a, b = other.advance(stamp), other.advance(stamp + 1000)
    same(a, Reference(now.q, now.qd, a.qdd), atol=1e-12)
    if late <= 150:  # later the rate has no room left to go on falling, and its slope is dropped
        same(a, now, atol=1e-11)
        same(b, now, atol=5e-2)
    places = [other.advance(stamp + k * MS) for k in range(1, 400)]
    assert np.abs(np.array([p.qdd for p in places])).max() < 150.0


def test_velocity_and_acceleration_are_the_derivatives_while_the_speed_changes():
    rng = np.random.default_rng(1)
    one = motion(trajectory(1))
    one.begin(START, moving(1), rate=0.5)
    stamp, h = START, 2_000  # ns
    checked = 0
    for _ in range(60):
        speed = float(rng.choice([0.0, 1.0, rng.uniform(), 0.5]))
        for _ in range(int(rng.integers(1, 20))):
            stamp += 5 * MS
            one.advance(stamp, speed)
        middle = one.ahead(stamp + h)
        there = (one.ahead(stamp), one.ahead(stamp + 2 * h))
        qd = (there[1].q - there[0].q) / (2 * h * NS)
        np.testing.assert_allclose(middle.qd, qd, atol=2e-8)  # 1e-16 / 4e-6 s, and the third derivative
        qdd = (there[1].qd - there[0].qd) / (2 * h * NS)
        knots = one.path.knots
        s = np.array([one._rate.at(stamp + k * h)[0] for k in (0, 2)])
        if np.searchsorted(knots, s[0]) == np.searchsorted(knots, s[1]):  # jerk may jump at a point
            np.testing.assert_allclose(middle.qdd, qdd, atol=1e-6)
            checked += 1
    assert checked > 40


def test_at_a_steady_speed_it_is_the_same_motion_slower():
    path, k = trajectory(), 0.25
    one = motion(path)
    one.begin(START, resting(path.positions[0]), rate=k)
    fast = motion(path)
    fast.begin(START, resting(path.positions[0]))
    for t in np.linspace(0.0, 3.4, 50):
        slow = one.advance(START + round(t / k * 1e9), k)
        full = fast.advance(START + round(t * 1e9))
        same(slow, Reference(full.q, full.qd * k, full.qdd * k**2), atol=1e-7)


def test_at_speed_0_the_reference_rests_and_the_motion_goes_on_afterwards():
    one = motion()
    one.begin(START, resting())
    one.advance(START + 800 * MS)
    for k in range(800, 1300):
        still = one.advance(START + k * MS, 0.0)
    later = one.advance(START + 11_300 * MS, 0.0)
    same(later, Reference(still.q, np.zeros(N), np.zeros(N)))
    assert not one.over
    assert not one.stopped
    for k in range(11_300, 15_300):
        last = one.advance(START + k * MS, 1.0)
    assert one.over
    same(last, resting(trajectory().positions[-1]))


@pytest.mark.parametrize("speed", [np.nan, -1.0, -np.inf])
def test_a_speed_that_is_none_pauses(speed):
    one = motion()
    one.begin(START, resting())
    for k in range(1, 1000):
        one.advance(START + k * MS, speed)
    assert one.rate == 0.0
    assert one.advance(START + 2000 * MS, np.inf) is one.reference
    assert one.rate == 0.0
    one.advance(START + 4000 * MS, np.inf)
    assert one.rate == 1.0


def test_repeated_or_earlier_stamps_leave_the_reference_where_it_is():
    one = motion()
    one.begin(START, moving())
    there = one.advance(START + 300 * MS)
    same(one.advance(START + 300 * MS), there)
    same(one.advance(START + 100 * MS), there)


def test_after_its_end_it_rests_in_the_last_point_exactly():
    path = trajectory()
    one = motion(path)
    one.begin(START, moving())
    for late in (3_500 * MS, 3_501 * MS, 10**15):
        same(one.advance(START + late), resting(path.positions[-1]))
        assert one.over


def test_a_blend_that_outlasts_the_trajectory_moves_its_end():
    path = SampledTrajectory([0.0, 0.1], [[0.0] * N, [0.01] * N])
    one = motion(path)
    one.begin(START, moving())
    one.advance(START + 299 * MS)
    assert not one.over
    same(one.advance(START + 300 * MS), resting([0.01] * N))
    assert one.over


def test_before_its_start_it_waits_in_its_first_point():
    one = motion(start=START + 1000 * MS)
    one.begin(START, moving())
    same(one.reference, moving(), rtol=1e-12)
    for wait in (300, 999):
        same(one.advance(START + wait * MS), resting(trajectory().positions[0]), atol=1e-15)
    same(one.advance(START + 1700 * MS), trajectory().sample(0.7), atol=1e-8)


@pytest.mark.parametrize(("speed", "duration"), [(1.0, 0.05), (0.3, 2.0)])
def test_a_brake_stays_on_the_path_and_never_makes_a_joint_faster(speed, duration):
    one, free = motion(), motion()
    for each in (one, free):
        each.begin(START, moving(), rate=speed)
    stamp = START + 900 * MS
    before = one.advance(stamp, speed)
    rate = one.rate
    one.brake(duration)
    same(one.ahead(stamp), before, atol=1e-12)
    s, last = one._s, rate
    while not one.stopped:
        stamp += MS
        now = one.advance(stamp, 1.0)  # the speed no longer matters
        assert stamp <= START + 900 * MS + round(duration * 1e9) + MS
        assert 0.0 <= one.rate <= last
        assert one._s >= s
        s, last = one._s, one.rate
        on_path = free.path.sample(one._s)
        np.testing.assert_array_equal(now.q, on_path.q)
        assert (np.abs(now.qd) <= rate * np.abs(on_path.qd) + 1e-15).all()
    same(one.advance(stamp + 10**12, 1.0), Reference(now.q, np.zeros(N), np.zeros(N)))
    assert one.judge(stamp, now.q, now.qd) is None


PATH = {"path": [0.1, 0.0, 0.2]}
GOAL = {"goal": 0.01, "goal_time": 0.5, "stopped_velocity": 0.02}
FOR_EVER = {"goal": 0.01, "goal_time": 0.0, "path": 0.1}
REST = off()


@pytest.mark.parametrize(("tolerances", "ms", "away", "speed", "status", "text"), [
    (PATH, 500, REST, REST, None, ""),
    (PATH, 500, off(elbow=9.0), REST, None, ""),  # 0: not looked at
    (PATH, 500, off(-0.11, 0.0, -0.5), REST, "path",
     "joint 'wrist' is 0.5 off its trajectory; allowed is 0.2 (constraints.wrist.trajectory, or of the "
     "request). The motion is aborted"),
    ({"path": 0.1}, 500, off(elbow=np.nan), REST, "path", "'elbow'"),
    ({"path_velocity": 0.5}, 500, REST, off(elbow=2.0), "path",
     "joint 'elbow' is -2 per second off the velocity of its trajectory; allowed is 0.5"),
    (GOAL, 3_499, REST, REST, None, ""),  # not before the end, however near
    (GOAL, 3_600, off(0.02), REST, None, ""),
    (GOAL, 3_600, REST, off(0.03), None, ""),
    (GOAL, 3_600, off(elbow=-0.009), off(0.02), "succeeded", "goal reached; error 9.00e-03"),
    (GOAL, 3_999, off(0.02), REST, None, ""),
    (GOAL, 4_000, off(elbow=0.02), REST, "goal",
     "goal missed: joint 'elbow' is -0.02 off its goal; allowed is 0.01 (constraints.elbow.goal, or of the request), "
     "0.5 s after the end (goal_time)"),
    (GOAL, 4_000, REST, off(wrist=-0.5), "goal", "joint 'wrist' still moves at -0.5 per second; allowed is 0.02"),
    (FOR_EVER, 10**9, off(0.02), REST, None, ""),
    (FOR_EVER, 10**9, off(0.2), REST, "path", ""),
])  # fmt: skip
def test_it_is_judged_by_its_tolerances_and_the_text_says_by_which(tolerances, ms, away, speed, status, text):
    one = motion(**tolerances)
    one.begin(START, resting())
    now = one.advance(START + min(ms, 3_500) * MS)
    outcome = one.judge(START + ms * MS, now.q + away, now.qd + speed)
    assert (outcome and outcome.status) == status
    assert text in (outcome.text if outcome else "")


def test_the_largest_error_on_the_way_is_reported():
    one = motion(**GOAL)
    one.begin(START, resting())
    q = one.advance(START + 3_600 * MS).q
    one.judge(START + 3_600 * MS, q + 0.02, REST)
    assert one.judge(START + 3_601 * MS, q, REST).text == "goal reached; error 0.00e+00, largest on the way 2.00e-02"


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_blend_that_takes_no_time_is_refused(value):
    with pytest.raises(ControlError, match="the blend time is"):
        Motion(trajectory(), 0, Tolerances(JOINTS), blend_time=value)
    with pytest.raises(ControlError, match="for 1 joints, the trajectory has 3"):
        Motion(trajectory(), 0, Tolerances(("one",)), blend_time=0.1)
