from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.guards.effort_limiter import EFFORT, EXCESS, RATE, STOP, VELOCITY
from rne_dynamics.control.guards.effort_limiter import EffortLimiter as Limiter
from rne_dynamics.control.guards.effort_limits import EffortLimits
from rne_dynamics.control.thresholds import LONGEST_STEP
from rne_dynamics.control.tracking_law import integrate_error
from rne_dynamics.errors import ControlError

ZERO = np.zeros(2)
NAMES = ("shoulder", "elbow")


def limiter(*, inertia=(2.0, 0.5), **change):
    """For two joints, with no rate limit unless asked for."""
    given = {
        "effort": [50.0, 20.0], "rate": np.inf, "velocity": [2.0, 3.0], "lower": [-1.0, -2.0], "upper": [1.0, 2.0],
        "margin": [0.2, 0.1], "stop_frequency": 10.0, "joints": NAMES, **change,
    }  # fmt: skip
    made = Limiter(EffortLimits(**given))
    made.update_inertia(np.array(inertia))
    return made


def limit(made, *, support=ZERO, motion=ZERO, q=ZERO, qd=ZERO, dt=0.001):
    return made.limit(*(np.array(v, dtype=float) for v in (support, motion, q, qd)), dt)


# -- what passes, and what is cut -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("support", "motion", "command", "flags"), [
    ([30.0, -5.0], [10.0, -3.0], [40.0, -8.0], [0, 0]),
    ([40.0, 1.0], [30.0, 2.0], [50.0, 3.0], [EFFORT, 0]),
    ([60.0, -25.0], [-20.0, 0.0], [40.0, -20.0], [0, EFFORT]),
], ids=["within", "beyond", "support"])  # fmt: skip
def test_each_joint_is_cut_alone_and_what_is_within_all_limits_passes_unchanged(support, motion, command, flags):
    done = limit(limiter(), support=support, motion=motion, q=[0.79, -1.89], qd=[1.99, -2.99])
    np.testing.assert_array_equal(done.command, command)
    np.testing.assert_array_equal(done.flags, flags)
    np.testing.assert_array_equal(done.saturated, np.array(flags) > 0)
    assert done.any == any(flags)


def test_scaling_keeps_the_direction_of_the_motion_and_the_whole_support():
    made = limiter(saturation="direction")
    support, motion = np.array([30.0, -5.0]), np.array([40.0, -6.0])
    done = limit(made, support=support, motion=motion)
    np.testing.assert_allclose(done.command - support, 0.5 * motion, rtol=1e-15)  # 20 of 40 have room
    np.testing.assert_array_equal(done.flags, [EFFORT, EFFORT])
    free = limit(made, support=support, motion=0.5 * motion)
    assert not free.any


def test_scaling_leaves_nothing_where_the_support_alone_is_beyond_the_limit():
    done = limit(limiter(saturation="direction"), support=[60.0, 5.0], motion=[1.0, 6.0])
    np.testing.assert_array_equal(done.command, [50.0, 5.0])
    done = limit(limiter(saturation="direction"), support=[60.0, 5.0], motion=[-20.0, 6.0])
    np.testing.assert_array_equal(done.command, [40.0, 11.0])  # the motion relieves that joint


def test_walls_stay_whole_where_motion_is_scaled():
    made = limiter(saturation="direction", inertia=(2.0, 0.5))
    limit(made)
    done = limit(made, motion=[100.0, 1.0], q=[0.0, 1.96])
    wall = -0.5 * 10.0**2 * 0.06
    np.testing.assert_allclose(done.command, [50.0, wall + 0.5 * 0.4], rtol=1e-12)


# -- the rate ---------------------------------------------------------------------------------------------------------


def test_steps_start_from_what_the_motors_give():
    made = limiter(rate=[1000.0, 1000.0])
    made.start(np.array([10.0, -10.0]))
    done = limit(made, support=[20.0, -10.5])
    np.testing.assert_allclose(done.command, [11.0, -10.5], rtol=1e-15)
    np.testing.assert_array_equal(done.flags, [RATE, 0])
    np.testing.assert_array_equal(made.last, done.command)


def test_a_pause_is_no_licence_and_time_that_runs_back_allows_nothing():
    made = limiter(rate=[1000.0, 1000.0])
    np.testing.assert_allclose(limit(made, support=[50.0, 20.0], dt=5.0).command, 1000.0 * LONGEST_STEP, rtol=1e-15)
    np.testing.assert_allclose(limit(made, support=[50.0, 20.0], dt=-1.0).command, 1000.0 * LONGEST_STEP, rtol=1e-15)


def test_present_efforts_beyond_the_limit_count_as_at_it():
    made = limiter(rate=[1000.0, 1000.0])
    made.start(np.array([80.0, -80.0]))
    np.testing.assert_array_equal(made.last, [50.0, -20.0])


def test_a_limit_lowered_below_the_last_command_is_reached_at_the_rate_and_no_faster():
    made = limiter(rate=[1000.0, 1000.0])
    made.start(np.array([50.0, 5.0]))
    lowered = EffortLimits([10.0, 10.0], [100.0, 100.0], np.inf, -np.inf, np.inf, 0.0, joints=NAMES)
    made.change(lowered)
    assert made.limits is lowered
    commands = []
    for _ in range(60):
        done = limit(made, support=[60.0, 5.0])
        assert done.flags[0] & EFFORT
        commands.append(done.command)
    # down at the former rate of 1000/s, since the new one would leave the effort above its limit for so much longer
    expected = np.maximum(50.0 - np.arange(1, 61), 10.0)
    np.testing.assert_allclose(np.array(commands)[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(np.array(commands)[:, 1], 5.0, rtol=1e-12)
    step = limit(made, support=[-60.0, 5.0]).command[0] - 10.0
    np.testing.assert_allclose(step, -0.1, rtol=1e-12)  # once there, the new rate holds


def test_limits_changed_twice_on_the_way_down_keep_the_fastest_rate():
    made = limiter(rate=[1000.0, 1000.0])
    made.start(np.array([50.0, 0.0]))
    for rate in (200.0, 100.0):
        made.change(EffortLimits([10.0, 10.0], rate, np.inf, -np.inf, np.inf, 0.0))
    np.testing.assert_allclose(limit(made, support=[50.0, 0.0]).command[0], 49.0, rtol=1e-15)


def test_letting_go_knows_neither_walls_nor_speeds():
    made = limiter(rate=[1000.0, 1000.0])
    made.start(np.array([3.0, -30.0]))
    commands = [made.approach(ZERO, 0.001).command for _ in range(21)]
    np.testing.assert_allclose(np.array(commands)[:, 1], np.minimum(-19.0 + np.arange(21), 0.0), atol=1e-12)
    np.testing.assert_array_equal(commands[-1], 0.0)
    np.testing.assert_array_equal(made.approach(np.array([100.0, 0.0]), 1.0).flags, [EFFORT | RATE, 0])


# -- walls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_wall_is_a_critically_damped_spring(side):
    made = limiter()
    limit(made)
    q, qd = 0.8 + 0.1, 0.3  # 0.1 deep in a margin of 0.2: the damper is whole
    done = limit(made, q=[side * q, 0.0], qd=[side * qd, 0.0])
    np.testing.assert_allclose(done.command, [-side * 2.0 * 10.0 * (10.0 * 0.1 + 2.0 * 0.3), 0.0], rtol=1e-12)
    np.testing.assert_array_equal(done.flags, [STOP, 0])


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_motion_outwards_fades_to_nothing_at_the_limit_and_inwards_it_is_free(side):
    made = limiter(inertia=(0.0, 0.0))
    for q, kept in ((0.8, 1.0), (0.85, 0.75), (0.95, 0.25), (1.0, 0.0), (1.3, 0.0)):
        outwards = limit(made, support=[side * 7.0, 0.0], motion=[side * 8.0, 0.0], q=[side * q, 0.0])
        np.testing.assert_allclose(outwards.command[0], side * (7.0 + 8.0 * kept), rtol=1e-12)
        inwards = limit(made, support=[side * 7.0, 0.0], motion=[-side * 8.0, 0.0], q=[side * q, 0.0])
        np.testing.assert_array_equal(inwards.command[0], -side)
        assert not inwards.any


def test_the_wall_never_pulls_outwards():
    made = limiter()
    limit(made)
    fast_inwards = limit(made, q=[0.9, 0.0], qd=[-1.9, 0.0])
    np.testing.assert_array_equal(fast_inwards.command, 0.0)
    beyond = limit(made, q=[1.2, 0.0], qd=[-30.0, 0.0])  # the brake on overspeed must not push outwards here either
    np.testing.assert_array_equal(beyond.command, 0.0)


@given(st.floats(-1e-7, 1e-7), st.floats(-5.0, 5.0), st.floats(-40.0, 40.0))
@settings(derandomize=True, max_examples=30)
def test_nothing_jumps_at_a_margins_edge_or_at_the_velocity_limit(offset_, qd, motion):
    for where in ({"q": 0.8, "qd": qd}, {"q": 0.2, "qd": 2.0}, {"q": 0.2, "qd": -2.0}, {"q": 1.0, "qd": qd}):
        efforts = []
        for offset in (-abs(offset_), abs(offset_)):
            made = limiter(effort=[1e4, 1e4])
            limit(made)
            moved = {"q": [where["q"] + offset, 0.0], "qd": [where["qd"] + offset, 0.0]}
            efforts.append(limit(made, motion=[motion, 0.0], **moved).command[0])
        slope = 2.0 * 10.0 * (10.0 + 2.0 * 5.0 / 0.04 + 2.0) + 40.0 * (1.0 / 0.2 + 1.0 / (EXCESS * 2.0))
        assert abs(efforts[1] - efforts[0]) <= 2.0 * abs(offset_) * slope + 1e-9


def test_a_joint_that_starts_in_its_margin_or_beyond_is_left_there():
    made = limiter()
    for q in ([0.9, -2.5], [0.9, -2.5]):
        done = limit(made, support=[5.0, 1.0], q=q)
        np.testing.assert_array_equal(done.command, [5.0, 1.0])
        assert not done.any
    further = limit(made, q=[0.95, -2.6])
    np.testing.assert_allclose(further.command, [-2.0 * 100.0 * 0.05, 0.5 * 100.0 * 0.1], rtol=1e-12)
    # the spring's rest goes inwards with the joint, and stays there
    limit(made, q=[0.85, -2.2])
    np.testing.assert_allclose(limit(made, q=[0.9, -2.2]).command, [-2.0 * 100.0 * 0.05, 0.0], rtol=1e-12)
    limit(made)
    np.testing.assert_allclose(limit(made, q=[0.9, 0.0]).command, [-2.0 * 100.0 * 0.1, 0.0], rtol=1e-12)


def test_starting_again_leaves_the_joint_where_it_then_is():
    made = limiter()
    limit(made)
    assert limit(made, q=[0.9, 0.0]).command[0] < 0.0
    made.start(ZERO)
    np.testing.assert_array_equal(limit(made, q=[0.9, 0.0]).command, 0.0)


def test_without_a_margin_the_limit_itself_is_the_wall():
    made = limiter(margin=0.0)
    np.testing.assert_array_equal(limit(made, motion=[9.0, 0.0], q=[0.999, 0.0]).command, [9.0, 0.0])
    np.testing.assert_array_equal(limit(made, motion=[9.0, 0.0], q=[1.0, 0.0]).command, 0.0)
    np.testing.assert_allclose(limit(made, q=[1.1, 0.0]).command, [-2.0 * 100.0 * 0.1, 0.0], rtol=1e-12)


def test_joints_without_limits_have_no_walls():
    made = limiter(lower=-np.inf, upper=np.inf, velocity=np.inf)
    done = limit(made, motion=[9.0, -9.0], q=[1e6, -1e6], qd=[1e6, -1e6])
    np.testing.assert_array_equal(done.command, [9.0, -9.0])
    assert not done.any


# -- overspeed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_overspeed_is_braked_and_not_driven(side):
    made = limiter()
    done = limit(made, motion=[side * 10.0, 0.0], qd=[side * 2.1, 0.0])  # halfway through the fading
    np.testing.assert_allclose(done.command, [side * (0.5 * 10.0 - 2.0 * 2.0 * 10.0 * 0.1), 0.0], rtol=1e-12)
    np.testing.assert_array_equal(done.flags, [VELOCITY, 0])
    done = limit(made, motion=[-side * 10.0, 0.0], qd=[side * 2.5, 0.0])
    np.testing.assert_allclose(done.command, [-side * (10.0 + 2.0 * 2.0 * 10.0 * 0.5), 0.0], rtol=1e-12)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, -np.inf, 1e101])
@pytest.mark.parametrize(
    ("name", "said"),
    [("support", "support effort"), ("motion", "motion effort"), ("q", "position"), ("qd", "velocity")],
)
def test_what_is_not_finite_is_refused_and_changes_nothing(name, said, bad):
    made = limiter(rate=[1000.0, 1000.0])
    limit(made, support=[5.0, 5.0])
    with pytest.raises(ControlError, match=f"{said} of joint 'elbow' is .*no effort was passed on"):
        limit(made, **{name: [0.0, bad]})
    np.testing.assert_array_equal(made.last, [1.0, 1.0])
    np.testing.assert_allclose(limit(made, support=[5.0, 5.0]).command, 2.0, rtol=1e-15)


def test_times_inertias_efforts_and_shapes_are_checked():
    made = limiter()
    for bad in (np.nan, np.inf):
        with pytest.raises(ControlError, match=f"time since the last effort is {bad} s"):
            limit(made, dt=bad)
        with pytest.raises(ControlError, match=f"inertia of joint 'elbow' is {bad}"):
            made.update_inertia(np.array([1.0, bad]))
        with pytest.raises(ControlError, match=f"present effort of joint 'shoulder' is {bad}"):
            made.start(np.array([bad, 1.0]))
    with pytest.raises(ControlError, match=r"inertia of joint 'elbow' is -1\.0"):
        made.update_inertia(np.array([1.0, -1.0]))
    with pytest.raises(ControlError, match=r"position has shape \(1,\); the limits are for \(2,\)"):
        limit(made, q=[0.0])
    with pytest.raises(ControlError, match="limits are for 3 joints; the limiter has 2"):
        made.change(EffortLimits(np.ones(3), np.inf, np.inf, -1.0, 1.0, 0.0))


def test_the_flags_keep_integrators_from_winding_up():
    done = limit(limiter(), motion=[100.0, 1.0])
    gains = Gains(p=np.full(2, 100.0), d=np.full(2, 20.0), i=np.full(2, 10.0), i_clamp=np.full(2, 50.0))
    integral = integrate_error(gains, [0.1, 0.1], [1.0, 1.0], 0.01, done.saturated)
    np.testing.assert_allclose(integral, [0.1, 0.11], rtol=1e-15)


# -- whatever comes in ------------------------------------------------------------------------------------------------

anything = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-300.0, 300.0), st.floats(-2.5, 2.5), st.sampled_from([0.0, -0.0, 1.0, 0.8, -1.0, -0.8, np.nan, np.inf]),
)  # fmt: skip
pair = st.tuples(anything, anything)
usual, near = st.tuples(*2 * (st.floats(-300.0, 300.0),)), st.tuples(*2 * (st.floats(-2.5, 2.5),))
message = st.one_of(
    st.tuples(usual, usual, near, near, st.floats(-0.001, 0.1)),
    st.tuples(pair, pair, pair, pair, st.one_of(st.floats(-0.1, 0.1), anything)),
)
wide = st.floats(0.0, 1e3)


@st.composite
def any_limits(draw):
    effort = draw(st.one_of(wide, st.floats(0.0, 1e200)))
    lower = draw(st.one_of(st.floats(-3.0, 3.0), st.just(-np.inf)))
    upper = lower + draw(wide) if np.isfinite(lower) else draw(st.one_of(st.floats(-3.0, 3.0), st.just(np.inf)))
    margin = draw(st.floats(0.0, 0.499)) * min(upper - lower, 1.0)
    rate = max(effort * draw(st.floats(5.0, 1e3)), 1e-300) if draw(st.booleans()) else np.inf
    return EffortLimits(
        [effort, 20.0], [rate, 500.0], [draw(st.floats(1e-300, 10.0)), np.inf], [lower, -1.0], [upper, 1.0],
        [margin, 0.2], draw(st.floats(0.1, 1e3)), draw(st.sampled_from(["joint", "direction"])), NAMES,
    )  # fmt: skip


@given(st.lists(any_limits(), min_size=1, max_size=3), st.lists(message, min_size=1, max_size=12), pair)
@settings(derandomize=True, max_examples=40)
def test_no_input_breaks_what_is_promised(limits, messages, inertia):
    made = Limiter(limits[0])
    if (np.abs(inertia) <= 1e100).all() and min(inertia) >= 0.0:
        made.update_inertia(np.array(inertia))
    else:
        with pytest.raises(ControlError):
            made.update_inertia(np.array(inertia))
    rate, fastest = limits[0].rate, limits[0].rate
    for count, (support, motion, q, qd, dt) in enumerate(messages):
        if count % 4 == 3 and count // 4 < len(limits):
            made.change(limits[count // 4])
            fastest = np.maximum(fastest, made.limits.rate)
            rate = made.limits.rate
        last = made.last
        inputs = [np.array(v) for v in (support, motion, q, qd)]
        if not (np.isfinite(dt) and all((np.abs(v) <= 1e100).all() for v in inputs)):
            with pytest.raises(ControlError, match="no effort was passed on"):
                made.limit(*inputs, dt)
            np.testing.assert_array_equal(made.last, last)
            continue
        done = made.limit(*inputs, dt)
        promised(done, made.limits, last, inputs, np.where(np.abs(last) > made.limits.effort, fastest, rate), dt)


@pytest.mark.slow
@pytest.mark.parametrize("saturation", ["joint", "direction"])
def test_thousands_of_random_cycles_keep_what_is_promised(saturation):
    rng = np.random.default_rng(7)
    made = limiter(saturation=saturation, rate=[2000.0, 500.0])
    seen = 0
    for _ in range(2500):
        inputs = list(rng.normal(size=(4, 2)) * np.array([[40.0], [60.0], [1.2], [2.0]]))
        dt, last = float(rng.choice([0.0, 0.001, 0.005, 0.5])), made.last
        done = made.limit(*inputs, dt)
        promised(done, made.limits, last, inputs, made.limits.rate, dt)
        seen |= int(np.bitwise_or.reduce(done.flags))
    assert seen == EFFORT | RATE | STOP | VELOCITY


def promised(done, limits, last, inputs, rate, dt):
    """Assert the invariants of the module's docstring for one command."""
    command, bound = done.command, limits.effort
    assert np.isfinite(command).all()
    assert (np.abs(command) <= np.maximum(bound, np.abs(last))).all()
    above = np.abs(command) > bound
    assert (done.flags[above] & (EFFORT | RATE) == EFFORT | RATE).all()
    time = min(max(dt, 0.0), LONGEST_STEP)
    step = np.array([r * time if r < np.inf else np.inf for r in rate])
    assert (np.abs(command - last) <= step * (1.0 + 1e-12) + 1e-15 * np.abs(last)).all()
    support, _, q, _ = inputs
    held = np.clip(support, -bound, bound)
    inside = q < limits.upper - limits.margin  # a joint without any room is at both limits: the upper one counts
    for out, beyond in ((1.0, q >= limits.upper), (-1.0, inside & (q <= limits.lower))):
        outward = beyond & (out * (command - held) > 0.0)
        assert (done.flags[outward] & RATE != 0).all()
    assert done.any == bool(done.flags.any())
