"""Joint states that are wrong but plausible, in closed loop with the gains that ship: no runaway."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import Tolerances
from rne_dynamics.control.supervision.states import DRIVING, Mode
from rne_dynamics.errors import StateProblem
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.simulator import Simulator

HOMES = {
    "planar2": [0.3, 0.8], "puma560": [0.2, 0.6, -0.6, 0.3, 0.5, 0.2], "panda": [0.1, -0.5, 0.1, -2.0, 0.1, 1.6, 0.5],
}
ROBOTS = {name: rne.load_urdf(name) for name in HOMES}
JOINTS = [(robot, j) for robot, home in HOMES.items() for j in range(len(home))]
#: A joint of each in every run, all with the soak tests.
SOME = (("planar2", 1), ("puma560", 2), ("panda", 2))
WRONG = {"sign": -1.0, "degrees": 57.3, "radians for degrees": 0.01745, "zero": 0.0}
#: What is promised of wrong velocities, and measured of frozen readings at 1 kHz, in velocity limits.
PEAK = 1.5
#: Where the arm is stopped without states in motion: a Panda comes this far by dead reckoning.
UNSEEN = 1.6


def arm(name, period=2e-3, friction=True, **states):
    """An arm with the gains that ship (ω = 40 rad/s), held."""
    robot = ROBOTS[name]
    plain = settings(robot, bandwidth=40.0)
    changed = replace(
        plain, limits=replace(plain.limits, rate=100.0 * robot.effort_limit),
        states=replace(plain.states, **states),
    )
    rig = Rig(robot, np.array(HOMES[name]), changed, period=period)
    rig.simulator = Simulator(
        ArmPlant(robot, friction=friction), np.array(HOMES[name]), dt=period, command_timeout=0.2,
        hold_until_command=True,
    )
    return rig


def go(rig, speed=0.6, duration=0.6):
    """All joints at once, at most `speed` times their velocity limits fast."""
    n, limit = rig.robot.n, rig.settings.limits.velocity
    way = np.minimum(0.5, speed * limit * duration / 1.875) * np.where(np.arange(n) % 2, -1.0, 1.0)
    rig.move(
        rig.supervisor.queue.reference.q + way, duration,
        tolerances=Tolerances(rig.robot.joint_names, path=np.full(n, 0.1), goal=np.full(n, 0.01), goal_time=0.2),
    )


def peak(rig, seconds, corrupt):
    """Largest speed in velocity limits before the arm is released on purpose."""
    peaks, limit = [0.0], rig.settings.limits.velocity

    def watched(state):
        s = rig.supervisor
        if s.mode in DRIVING or (s.mode is Mode.STOPPING and s.machine.stop.support(rig.now) >= 1.0):
            peaks.append(float((np.abs(rig.simulator.state.qd) / limit).max()))
        return corrupt(state)

    rig.run(seconds, corrupt=watched)
    rig.check()
    return max(peaks)


def scaled(j, factor):
    def corrupt(state):
        state["qd"][j] *= factor
        return state

    return corrupt


def frozen(j, *, speed_too):
    """Joint j reads what it read first, and no speed or that of then."""
    first = {}

    def corrupt(state):
        first.setdefault("q", state["q"][j])
        first.setdefault("qd", state["qd"][j] if speed_too else 0.0)
        state["q"][j], state["qd"][j] = first["q"], first["qd"]
        return state

    return corrupt


def late(period, seconds):
    """States on their way for that long."""
    queue: deque = deque()

    def corrupt(state):
        queue.append(state)
        return queue.popleft() if len(queue) > round(seconds / period) else None

    return corrupt


# -- velocities -------------------------------------------------------------------------------------------------------


def wrong_velocity(name, j, kind, period, friction, times=(None, 0.15, 0.3, 0.45)):
    for began in times:
        rig = arm(name, period, friction)
        corrupt = scaled(j, WRONG[kind])
        fastest = peak(rig, 0.4, corrupt if began is None else lambda state: state)
        if rig.mode is not Mode.HOLDING:
            # degrees on a joint of little inertia: it trembles at every other state, which the sums do not see, until
            # the reported speed counts as too fast
            assert kind == "degrees"
            assert fastest < 0.2
            continue
        go(rig)
        if began is not None:
            fastest = max(fastest, peak(rig, began, lambda state: state))
        fastest = max(fastest, peak(rig, 1.0, corrupt))
        assert fastest <= PEAK, f"wrong from {began} s of the motion on"
        assert rig.supervisor.machine.stream.filter.estimated == (rig.robot.joint_names[j],)
        assert rig.mode is Mode.HOLDING


@pytest.mark.parametrize(("name", "j", "kind"), [(*SOME[k % len(SOME)], kind) for k, kind in enumerate(WRONG)])
def test_a_wrong_velocity_is_replaced_by_the_estimate(name, j, kind):
    wrong_velocity(name, j, kind, 2e-3, friction=False, times=(None, 0.3))


@pytest.mark.soak
@pytest.mark.parametrize(("period", "friction"), [(1e-3, True), (2e-3, False), (4e-3, True)])
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize(("name", "j"), JOINTS)
def test_a_wrong_velocity_of_any_joint_at_any_rate(name, j, kind, period, friction):
    wrong_velocity(name, j, kind, period, friction)


def test_velocities_are_believed_again_when_somebody_recovers():
    rig = arm("planar2")
    rig.run(0.4)
    go(rig)
    rig.run(1.0, corrupt=scaled(0, -1.0))
    assert rig.supervisor.machine.stream.filter.estimated == ("joint1",)
    rig.supervisor.stop(rig.now, "test")
    rig.run(2.0)
    rig.simulator.reset()
    rig.supervisor.recover(rig.now)
    rig.run(0.4)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.machine.stream.filter.estimated == ()


# -- readings that freeze ---------------------------------------------------------------------------------------------


def freezing(name, j, speed_too, friction, times=(0.15, 0.3, 0.45)):
    for began in times:
        rig = arm(name, friction=friction)
        rig.run(0.4)
        go(rig)
        rig.run(began)
        assert peak(rig, 0.9, frozen(j, speed_too=speed_too)) <= PEAK, f"from {began} s of the motion on"
        assert rig.mode is Mode.FAULT
        assert rig.supervisor.counters.refused[StateProblem.FROZEN] == 1
        assert f"position of joint {rig.robot.joint_names[j]!r} has stood still" in rig.supervisor.cause


@pytest.mark.parametrize(("name", "j", "speed_too"), [(*joint, k % 2 > 0) for k, joint in enumerate(SOME)])
def test_a_reading_that_freezes_in_motion_is_a_fault(name, j, speed_too):
    freezing(name, j, speed_too, friction=False, times=(0.15, 0.45))


@pytest.mark.soak
@pytest.mark.parametrize("friction", [True, False])
@pytest.mark.parametrize("speed_too", [False, True])
@pytest.mark.parametrize(("name", "j"), JOINTS)
def test_a_reading_of_any_joint_that_freezes_in_motion(name, j, speed_too, friction):
    freezing(name, j, speed_too, friction)


def test_a_slow_joint_whose_reading_freezes_shows_in_its_feedback():
    rig = arm("puma560", friction=False)
    rig.run(0.4)
    go(rig, speed=0.06, duration=1.0)
    rig.run(0.5)
    assert 0.05 < np.abs(rig.simulator.state.qd[1]) < 0.15
    assert peak(rig, 1.0, frozen(1, speed_too=False)) <= PEAK
    assert rig.supervisor.counters.refused[StateProblem.FROZEN] == 1


def test_a_joint_that_does_not_move_at_all_is_stuck_not_frozen():
    """The states do not show it; the path tolerance ends the motion."""
    rig = arm("planar2")
    rig.run(0.4)
    go(rig, speed=0.3)
    first = rig.simulator.state.q[0]

    def held(state):
        rig.simulator._state = replace(
            rig.simulator.state, q=np.array([first, rig.simulator.state.q[1]]),
            qd=np.array([0.0, rig.simulator.state.qd[1]]),
        )
        state["q"][0], state["qd"][0] = first, 0.0
        return state

    rig.run(0.5, corrupt=held)
    assert rig.mode is Mode.HOLDING
    assert "path" in rig.endings[0][0].value
    assert rig.supervisor.counters.refused[StateProblem.FROZEN] == 0


@pytest.mark.parametrize(("period", "resolution", "speed"), [
    *((4e-3, resolution, speed) for resolution in (0.0, 1e-4, 1e-3) for speed in (0.02, 0.95)),
    (1e-3, 1e-4, 0.02), (1e-3, 1e-3, 0.1),
])
def test_healthy_encoders_are_neither_frozen_nor_estimated(period, resolution, speed):
    rig = arm("puma560", period)

    def coarse(state):
        if resolution:
            state["q"] = np.round(state["q"] / resolution) * resolution
        return state

    rig.run(0.4, corrupt=coarse)
    go(rig, speed)
    rig.run(1.0, corrupt=coarse)
    assert rig.mode is Mode.HOLDING
    assert rig.supervisor.machine.stream.filter.estimated == ()
    assert not rig.supervisor.counters.refused


def test_friction_that_nobody_compensates_is_not_a_frozen_reading():
    rig = arm("puma560")
    plain = rig.settings
    rig.supervisor.adopt(replace(plain, tracking=replace(plain.tracking, friction_compensation=None)))
    rig.run(0.4)
    for _ in range(2):
        go(rig, 0.3)
        rig.run(0.35)
        go(rig, 0.1)
        rig.run(0.9)
    assert rig.mode is Mode.HOLDING
    assert not rig.supervisor.counters.refused
    assert rig.supervisor.machine.stream.filter.estimated == ()


# -- delays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "recover_automatically"), [
    ("planar2", True), pytest.param("panda", False, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_delay_longer_than_the_timeout_is_no_new_normal(name, recover_automatically):
    rig = arm(name)
    rig.supervisor.adopt(replace(rig.settings, recover_automatically=recover_automatically))
    rig.run(1.0)
    go(rig)
    rig.run(0.3)
    assert peak(rig, 5.0, late(rig.period, 0.15)) <= UNSEEN
    assert Mode.HOLDING not in rig.modes[rig.modes.index(Mode.STOPPING):]
    assert rig.supervisor.counters.refused[StateProblem.DELAYED] > 100
    assert not rig.sent[-1].any()


def test_after_a_delay_somebody_may_take_the_stream_as_it_is():
    rig = arm("planar2")
    rig.run(1.0)
    corrupt = late(rig.period, 0.15)
    rig.run(2.0, corrupt=corrupt)
    assert rig.mode is Mode.FAULT
    rig.simulator.reset()
    rig.supervisor.recover(rig.now)
    rig.run(0.1, corrupt=lambda state: (corrupt(state) or state) | {"q": state["q"], "qd": state["qd"]})
    assert rig.mode is Mode.HOLDING


def test_a_stalled_machine_is_held_again_as_soon_as_states_arrive_in_time():
    """The states of 0.3 s arrive at once: late ones are refused, then all is as before."""
    rig = arm("planar2")
    rig.run(1.0)
    waiting: deque = deque()
    rig.run(0.05)
    before = rig.supervisor.counters.refused.total()

    def stalled(state):
        waiting.append(state)

    for _ in range(300):  # nothing is computed meanwhile, not even the watchdog
        rig.simulator.advance(1)
        rig.now += rig.period
        rig.sequence += 1
        s = rig.simulator.state
        stalled({"stamp": round(1e9 * s.t) + 10**18, "q": s.q.copy(), "qd": s.qd.copy(), "sequence": rig.sequence})
    for state in waiting:
        rig.now += 5e-6
        rig.supervisor.observe(
            state["stamp"], rig.now, state["q"], state["qd"], np.zeros(2), sequence=state["sequence"]
        )
    assert rig.supervisor.counters.refused[StateProblem.DELAYED] > 100
    assert rig.supervisor.counters.refused.total() > before
    rig.run(0.3)
    assert rig.mode is Mode.HOLDING
    assert Mode.FAULT not in rig.modes


# -- clocks -----------------------------------------------------------------------------------------------------------
