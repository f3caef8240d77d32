"""Delay of the loop, measured at the start, and oscillations: on arms that are not the model, without a throw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.foreign_episodes import TICK, ForeignRig, Line, arms, controller_values
from support.foreign_plant import Deviation, ForeignArm

from rne_dynamics.c_export.export import end_links
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.errors import ControlError
from rne_dynamics.ros.parameters.tracking import tracking_settings

#: Panda, with the slow tests, and four_joint_arm.
ARMS = [pytest.param(3, marks=pytest.mark.slow), 5]


def rig_of(which, line, deviation, bandwidth=20.0, **parameters):
    urdf, robot = arms()[which]
    parameters = {
        "gains.{joint}.p": bandwidth**2, "gains.{joint}.d": 2.0 * bandwidth, "startup_check.duration": 0.0,
        "start.ramp_time": 0.1, "min_rate": 0.8 / line.period, **parameters,
    }  # fmt: skip
    lower, upper = np.maximum(robot.lower, -1.5), np.minimum(robot.upper, 1.5)
    start = np.random.default_rng(which).uniform(0.7 * lower + 0.3 * upper, 0.3 * lower + 0.7 * upper)
    return ForeignRig(
        robot, start, tracking_settings(robot, controller_values(robot, parameters)), period=TICK, line=line,
        arm=ForeignArm(urdf, start, TICK, deviation),
    )


def driven(rig, seconds):
    """Let time pass while the arm is driven; its largest speed then, in velocity limits."""
    rig.speeds[:-1] = []
    for _ in range(round(seconds / 0.005)):
        if rig.mode not in (Mode.RELEASED, Mode.FAULT):  # a released arm falls
            rig.run(0.005)
    return float((np.abs(np.array(rig.speeds)) / rig.robot.velocity_limit).max())


def swing_to(rig, way=0.4, duration=0.8):
    """A quick move of all joints, if the arm is still held."""
    if rig.mode is Mode.HOLDING:
        rig.move(rig.supervisor.queue.reference.q + way, duration)


@pytest.mark.parametrize(("which", "late", "acts"), [(5, 0.003, 0.002), (3, 0.005, 0.015)])
def test_the_delay_is_measured_at_the_start(which, late, acts):
    rig = rig_of(which, Line(0.002, late), Deviation(command_delay=acts))
    rig.run(0.6)
    # an effort is sent at a state's arrival; the next report that shows it is up to a period later
    assert rig.supervisor.loop.delay == pytest.approx(late + acts + 0.001, abs=0.00105)


def test_without_reported_efforts_the_delay_is_not_known_and_motion_is_allowed():
    rig = rig_of(3, Line(0.002, 0.003), Deviation())
    rig.run(0.6, corrupt=lambda state: state | {"reported": np.full(7, np.nan)})
    assert np.isnan(rig.supervisor.loop.delay)
    assert "not seen" in rig.supervisor.loop.delay_text
    rig.supervisor.ready()


def test_a_delay_beyond_what_the_gains_tolerate_locks_motion_and_the_arm_is_held():
    """Before: 1600/80 with 12 ms threw the arm while it was held."""
    rig = rig_of(5, Line(0.001, 0.006), Deviation(mass=(0.5,) * 30, command_delay=0.006), bandwidth=40.0)
    assert driven(rig, 1.0) < 0.7
    assert rig.mode is Mode.HOLDING
    with pytest.raises(ControlError, match=r"gains tolerate 5\.4 ms.*lower the gains to p = 3\d\d, d = 3\d"):
        rig.supervisor.ready()


def test_where_friction_holds_the_arm_the_delay_is_known_in_its_first_motion():
    """Its efforts change once only before."""
    rig = rig_of(2, Line(0.001, 0.006), Deviation(mass=(0.5,) * 30, command_delay=0.006), bandwidth=40.0)
    rig.run(1.0)
    swing_to(rig, 0.3)
    assert driven(rig, 0.8) < 0.7
    assert "gains tolerate 5.4 ms" in rig.endings[-1][1]


@pytest.mark.parametrize(("law", "most", "late"), [
    ("joint_impedance", "16.0", 0.018), ("cartesian_impedance", "", 0.006),
    pytest.param("pd_gravity", "8.3", 0.018, marks=pytest.mark.slow),
])
def test_a_delay_beyond_what_the_law_tolerates_locks_motion(law, most, late):
    """Before: a wrist on springs was thrown that was damped little, and whose speed was answered 18 ms later."""
    rig = rig_of(5, Line(0.001, 0.5 * late), Deviation(command_delay=0.5 * late), law=law)
    driven(rig, 0.5)
    swing_to(rig, 0.1, 0.6)
    driven(rig, 0.7)
    assert bool(rig.supervisor.loop.locked) is bool(most)
    if most:
        with pytest.raises(ControlError, match=f"law tolerates {most} ms.*law computed_torque with command_delay"):
            rig.supervisor.ready()


@pytest.mark.parametrize("which", ARMS)
def test_a_declared_delay_that_is_a_third_of_the_real_one_throws_nothing(which):
    """A declared delay allows all of the feedback before it is measured: a wrong one must be survived as well."""
    deviation = Deviation(mass=(0.5,) * 30, command_delay=0.006)
    rig = rig_of(which, Line(0.001, 0.006), deviation, bandwidth=40.0, command_delay=0.004)
    assert driven(rig, 1.0) < 0.7
    assert rig.mode is Mode.HOLDING


def test_a_delay_of_one_moment_locks_nothing():
    """A computer that was busy while the arm was taken over: the delay is measured once more when the arm moves."""
    rig = rig_of(3, Line(0.002, 0.044), Deviation())
    rig.run(0.16)
    rig.line = Line(0.002)
    rig.run(0.4)
    watch = rig.supervisor.loop
    assert "measured once" in watch.delay_text
    assert watch.part(0.0) < 0.3
    rig.supervisor.ready()
    swing_to(rig)
    assert driven(rig, 1.0) < 1.0
    assert (watch.doubt, watch.part(0.0)) == ("", 1.0)
    assert watch.delay < 0.003


@pytest.mark.parametrize("which", ARMS)
def test_a_long_delay_that_efforts_show_only_in_motion_cancels_the_motion(which):
    rig = rig_of(which, Line(0.002, 0.044), Deviation())
    rig.run(0.6)
    swing_to(rig)
    assert driven(rig, 1.0) < 1.0
    assert rig.mode is Mode.HOLDING
    with pytest.raises(ControlError, match="gains tolerate"):
        rig.supervisor.ready()


def test_states_that_become_late_in_motion_throw_nothing():
    """Before: the Panda reached 6.7 velocity limits."""
    rig = rig_of(3, Line(0.001), Deviation(mass=(0.6,) * 30))
    rig.run(0.5)
    swing_to(rig)
    rig.run(0.3)
    rig.line = Line(0.001, 0.05)
    assert driven(rig, 1.0) < 1.5


@pytest.mark.slow
@pytest.mark.parametrize(("which", "frequency"), [(5, 12.0), (5, 18.0), (3, 25.0)])
def test_elastic_gears_with_a_delay_oscillate_without_overspeed(which, frequency):
    deviation = Deviation(friction=0.3, frequency=frequency, rotor=0.4, command_delay=0.006)
    rig = rig_of(which, Line(0.001, 0.002), deviation, **{"stop.policy": "hold"})  # a released arm falls
    driven(rig, 0.5)
    swing_to(rig)
    assert driven(rig, 2.0) < 1.5


@pytest.mark.parametrize(("which", "deviation"), [
    pytest.param(3, Deviation(friction=2.0, resolution=2.0 * np.pi / 2**12), marks=pytest.mark.slow),
    (5, Deviation(friction=0.5, frequency=30.0, backlash=5e-4, resolution=2.0 * np.pi / 2**12)),
], ids=["encoder", "gears"])  # fmt: skip
def test_a_healthy_arm_keeps_all_of_its_feedback(which, deviation):
    rig = rig_of(which, Line(0.002, 0.001, 5e-4), deviation)
    rig.run(0.4)
    swing_to(rig)
    rig.run(1.0)
    assert rig.supervisor.loop.text == ""
    assert rig.supervisor.loop.part(0.0) == 1.0


def test_a_guided_arm_on_elastic_gears_does_not_swing_behind_a_delay():
    """Before: its damping fed the swinging of gears, to 2.8 velocity limits."""
    gears = Deviation(friction=0.0, frequency=25.0, rotor=0.3, command_delay=0.003)
    rig = rig_of(3, Line(0.001), gears, bandwidth=10.0)
    rig.run(0.4)
    rig.supervisor.hand_guide(True)
    rig.run(0.02, wrenches={end_links(rig.robot)[-1]: np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])})
    assert driven(rig, 1.0) < 0.8
    assert rig.mode is Mode.FLOATING


def test_a_hand_that_shakes_a_guided_arm_keeps_its_damping():
    rig = rig_of(5, Line(0.002), Deviation())
    rig.run(0.4)
    rig.supervisor.hand_guide(True)
    link = end_links(rig.robot)[-1]
    for k in range(12):  # at 6 Hz
        rig.run(1.0 / 12.0, wrenches={link: (-1.0) ** k * np.array([20.0, 20.0, 20.0, 1.0, 1.0, 1.0])})
    assert rig.supervisor.loop.damping == 1.0


def oscillating(rig):
    """Let the watch of the loop see a swing; what it says."""
    now, aim = rig.supervisor.stamp, rig.supervisor.queue.reference
    swings = ((now + 10**7 * k, aim.q + 0.05 * (-1) ** k, aim.qd, aim.qd) for k in range(20))
    return "".join(rig.supervisor.loop.oscillates(aim, *swing) for swing in swings)


@pytest.mark.parametrize("name", ["computed_torque", "joint_impedance"])
def test_of_other_settings_only_other_gains_restore_the_feedback(name):
    """Before: any did, also a joint that is not driven and moves, so that the arm went on oscillating."""
    rig = rig_of(3, Line(0.002), Deviation(), law=name)
    rig.run(0.6)
    loop, law, before = rig.supervisor.loop, rig.settings.tracking, rig.supervisor.loop.part(0.0)
    assert oscillating(rig)
    for factor, restored in ((1.0, False), (0.9, True)):
        springs = name == "joint_impedance"
        part = {"stiffness": factor * law.stiffness} if springs else {
            "gains": replace(law.gains, p=factor * law.gains.p)
        }
        rig.supervisor.adopt(replace(rig.settings, tracking=replace(law, **part)))
        assert (loop.part(0.0) == before) is restored


def test_recovery_of_a_held_arm_restores_the_feedback_softly():
    """As the text about an oscillation says; before it was refused, since a held arm has nothing to recover from."""
    rig = rig_of(3, Line(0.002), Deviation())
    rig.run(0.6)
    loop, before = rig.supervisor.loop, rig.supervisor.loop.part(0.0)
    assert "until ~/recover" in oscillating(rig)
    assert loop.part(0.0) < 0.5 * before
    rig.supervisor.recover(rig.now)
    assert rig.supervisor.machine.ramp.part == 0.0
    rig.run(0.6)
    assert rig.supervisor.loop.part(0.0) == before
    assert rig.mode is Mode.HOLDING
    with pytest.raises(ControlError, match="nothing to recover from"):
        rig.supervisor.recover(rig.now)
