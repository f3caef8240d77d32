"""A stop ends within its configured times, wherever the arm is and whatever becomes of the states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.altered import altered
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.supervision.states import Mode, StopPlan

PUMA = rne.load_urdf("puma560")
PLANAR = rne.load_urdf("planar2")
#: Beyond the configured times: what the rate limit takes to zero, and the silence before dead reckoning.
GRACE = 0.2


def planar(**changes) -> Rig:
    """A planar arm that is held."""
    rig = Rig(PLANAR, np.array([0.3, 0.8]), settings(PLANAR, **changes))
    rig.run(0.3)
    return rig


def lost(rig: Rig, seconds: float) -> None:
    rig.run(seconds, corrupt=lambda s: None)


def in_a_wall(**changes) -> Rig:
    """A PUMA 560 whose joint2 gravity pushes into the soft wall before its stop."""
    plain = settings(PUMA, **changes)
    limits = replace(plain.limits, margin=np.full(6, 0.1))
    start = np.array([0.0, -0.66, 0.0, 0.0, 0.0, 0.0])
    return Rig(PUMA, start, replace(plain, limits=limits))


def mode_after(rig: Rig, stop: StopPlan, **run) -> Mode:
    """The mode when the stop must be over, with all efforts at zero and within their limits."""
    hold = 0.0 if stop.policy == "hold" else stop.hold_time
    planned = stop.brake_time + hold + (0.0 if stop.policy == "release" else stop.ramp_time)
    rig.run(planned + GRACE, **run)
    assert not rig.sent[-1].any()
    rig.check()
    return rig.mode


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "ending"), [("ramp", False), ("release", True)])
def test_a_stop_ends_where_gravity_pushes_into_a_soft_wall(policy, ending):
    stop = StopPlan(policy, 0.2, 0.2, 0.3)
    rig = in_a_wall(stop=stop)
    rig.run(0.4)
    rig.supervisor.stop(rig.now, "asked for", ending=ending)
    assert mode_after(rig, stop) is (Mode.INACTIVE if ending else Mode.RELEASED)


def test_a_stop_ends_beyond_a_stop_that_gives_way():
    """Without a margin the wall begins at the limit; gravity holds the joint beyond it."""
    stop = StopPlan("ramp", 0.2, 0.2, 0.3)
    rig = Rig(PUMA, np.zeros(6), settings(PUMA, stop=stop))
    rig.run(0.2)
    beyond = np.array([0.0, PUMA.lower[1] - 0.02, 0.0, 0.0, 0.0, 0.0])
    pressed = {"q": beyond, "qd": np.zeros(6)}
    rig.supervisor.stop(rig.now, "asked for")
    rig.supervisor.machine.stream.filter.reset()
    pushed = mode_after(rig, stop, corrupt=lambda s: {**s, **{k: v.copy() for k, v in pressed.items()}})
    assert pushed is Mode.RELEASED


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "silent"), [("ramp", True), ("release", False), ("hold", False)])
def test_a_second_signal_brings_zero_at_the_rate_limit(policy, silent):
    rig = in_a_wall(stop=StopPlan(policy, 5.0, 60.0, 60.0))
    rig.run(0.4)
    rig.supervisor.stop(rig.now, "SIGINT", ending=True)
    passes = lost if silent else Rig.run
    passes(rig, 0.3)
    rig.supervisor.hurry(rig.now, "SIGINT again")
    passes(rig, 0.1)
    assert rig.mode is Mode.INACTIVE
    assert not rig.sent[-1].any()
    rig.check()


@pytest.mark.parametrize(("events", "modes", "changes"), [
    # states are lost before the stop, and come back
    ((("lost", 0.2), ("stop", 0.0), ("run", 1.0)), (Mode.FAULT, Mode.RELEASED), {}),
    # in a fault, from which the arm would recover by itself
    ((("lost", 1.2), ("stop", 0.0), ("run", 0.5)), (Mode.FAULT,), {"recover_automatically": True}),
    # one that holds without end
    ((("stop", 1.0), ("lost", 0.6 + GRACE)), (Mode.RELEASED,), {"stop": StopPlan("hold", 0.2, 0.2, 0.3)}),
], ids=["during", "fault", "hold"])
def test_a_requested_stop_is_not_undone_by_states_that_are_lost_or_come_back(events, modes, changes):
    rig = planar(**changes)
    for what, seconds in events:
        if what == "stop":
            rig.supervisor.stop(rig.now, "~/stop was called")
        rig.run(seconds, corrupt=lambda s, silent=what == "lost": None if silent else s)
    assert rig.mode in modes
    assert Mode.HOLDING not in rig.modes[rig.modes.index(Mode.STOPPING):]
    assert not rig.sent[-1].any()


def random_situation(seed: int) -> tuple[Rig, StopPlan]:
    rng = np.random.default_rng(seed)
    robot = (PUMA, PLANAR)[seed % 2]
    policy = ("ramp", "release", "hold")[rng.integers(3)]
    stop = StopPlan(policy, *rng.uniform([0.05, 0.0, 0.05], [0.4, 0.4, 0.5]), rng.uniform(0, 30))
    plain = settings(robot, stop=stop)
    lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    start = rng.uniform(lower, upper)
    if rng.random() < 0.5:  # in a wall or at its edge
        j = rng.integers(robot.n)
        start[j] = (lower[j] + rng.uniform(0.0, 0.12)) if rng.random() < 0.5 else upper[j] - rng.uniform(0.0, 0.12)
    limits = replace(plain.limits, margin=np.full(robot.n, rng.choice([0.0, 0.1])))
    return Rig(robot, start, replace(plain, limits=limits), period=2e-3), stop


def ends_in_time(seed: int) -> bool:
    rig, stop = random_situation(seed)
    rng = np.random.default_rng(seed + 10**6)
    rig.run(0.3)
    pushed = {end_links(rig.robot.open_tree)[-1]: rng.uniform(-40.0, 40.0, 6)} if rng.random() < 0.5 else None
    if rng.random() < 0.5:
        rig.move(rig.supervisor.q + rng.uniform(-0.4, 0.4, rig.robot.n), rng.uniform(0.4, 1.0))
    rig.run(rng.uniform(0.0, 0.4), wrenches=pushed)
    rig.supervisor.stop(rig.now, "asked for", ending=True)
    silent_from = rig.now + rng.uniform(0.0, 1.0) if rng.random() < 0.5 else np.inf
    planned = stop.brake_time + stop.hold_time + (0.0 if stop.policy == "release" else stop.ramp_time)
    rig.run(planned + GRACE, wrenches=pushed, corrupt=lambda s: s if rig.now < silent_from else None)
    rig.check()
    return rig.mode is Mode.INACTIVE and not rig.sent[-1].any()


def test_random_stops_end_in_time():
    assert not [seed for seed in range(4) if not ends_in_time(seed)]


@pytest.mark.soak
def test_a_thousand_random_stops_end_in_time():
    assert not [seed for seed in range(4, 1050) if not ends_in_time(seed)]


def test_support_fades_as_planned_where_states_are_missing():
    """Before: the fraction of the support counted twice from the last state on."""
    rig = planar(stop=StopPlan("ramp", 0.05, 0.05, 1.0))
    rig.supervisor.stop(rig.now, "asked for")
    rig.run(0.6)
    gravity = rne.gravity_torque(PLANAR, rig.simulator.state.q)
    lost(rig, 0.04)
    np.testing.assert_allclose(rig.sent[-1], rig.supervisor.machine.stop.support(rig.now) * gravity, rtol=1e-3)


def test_other_settings_in_a_stop_leave_what_the_model_misses():
    """Before: the weight that the model lacks was forgotten, and the arm fell by 0.6 rad in 0.5 s."""
    panda, start = rne.load_urdf("panda"), np.array([0.0, 0.6, 0.0, -1.0, 0.0, 1.7, 0.8])
    plain = settings(panda, stop=StopPlan("ramp", 0.05, 1.0, 1.0))
    rig = Rig(panda, start, plain, real=altered(panda, np.full(20, 1.3), 1.0))
    rig.run(1.0)
    rig.supervisor.stop(rig.now, "asked for")
    lost(rig, 0.3)
    before, place = rig.sent[-1], rig.simulator.state.q.copy()
    rig.supervisor.adopt(replace(rig.settings, recover_automatically=True))
    lost(rig, 0.5)
    np.testing.assert_allclose(rig.sent[-1], before, rtol=0.01)
    np.testing.assert_allclose(rig.simulator.state.q, place, atol=0.02)


def test_recover_vouches_for_states_that_were_doubted():
    """After a position jump the states are not taken, until somebody says that they are right."""
    rig = planar(stop=StopPlan("hold", 0.2, 5.0, 5.0))
    slip = np.array([0.5, 0.0])
    rig.run(0.3, corrupt=lambda s: {**s, "q": s["q"] + slip})
    assert rig.supervisor.machine.dead_reckoning
    rig.supervisor.recover(rig.now)
    rig.run(0.1, corrupt=lambda s: {**s, "q": s["q"] + slip})
    assert rig.mode is Mode.HOLDING


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "moving"), [(-10.0, True), (0.3, False)])
def test_a_clock_that_is_set_during_a_stop_leaves_the_feedback_as_it_is(shift, moving):
    rig = Rig(PUMA, np.array([0.1, 0.4, -0.3, 0.2, 0.3, 0.1]), settings(PUMA, feedback_ramp=1.0))
    rig.run(1.2)
    if moving:
        rig.move(rig.supervisor.q + 0.4, 0.6)
        rig.run(0.3)
    rig.supervisor.stop(rig.now, "asked for")
    rig.run(0.02)
    before = rig.supervisor.queue.reference.q.copy()
    largest = [0.0, 0.0]

    def corrupt(state):
        reference = rig.supervisor.queue.reference.q
        largest[0] = max(largest[0], np.abs(reference - before).max())
        before[:] = reference
        return {**state, "stamp": state["stamp"] + round(shift * 1e9)}

    count = len(rig.sent)
    rig.run(0.15, corrupt=corrupt)
    speed = np.abs(PUMA.velocity_limit).max()
    assert largest[0] < speed * 0.003, "the reference does not leap"
    sent = np.array(rig.sent[count:])
    assert (np.abs(sent) < 0.9 * PUMA.effort_limit).all(), "no effort limit is reached"
    assert (np.abs(rig.simulator.state.qd) < rig.settings.limits.velocity).all()
    rig.run(1.0, corrupt=corrupt)
    assert rig.mode is Mode.RELEASED
    rig.check()


def test_a_longer_ramp_does_not_take_feedback_away():
    rig = Rig(PUMA, np.array([0.1, 0.4, -0.3, 0.2, 0.3, 0.1]), settings(PUMA, feedback_ramp=0.2))
    rig.run(1.0)
    rig.supervisor.adopt(settings(PUMA, feedback_ramp=60.0))
    rig.run(0.01)
    assert rig.supervisor.machine.ramp.part == 1.0
