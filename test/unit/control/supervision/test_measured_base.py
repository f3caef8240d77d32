"""Controllers of an arm whose base moves and is measured; what happens when it is not measured any more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.moving_bases import Swell
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.guards.base_filter import BaseSensor
from rne_dynamics.control.supervision.settings import StartCheck
from rne_dynamics.control.supervision.states import Mode, StopPlan
from rne_dynamics.errors import ControlError
from rne_dynamics.model.tree import Friction
from rne_dynamics.simulation.plant.base_motion import BaseTrajectory

PUMA = rne.load_urdf("puma560")
#: without friction, which hides what gravity does
ROBOT = rne.assemble(
    replace(PUMA.tree, joints=tuple(replace(joint, friction=Friction()) for joint in PUMA.tree.joints))
)
START = np.array([0.3, -0.6, 0.5, 0.2, 0.4, -0.1])
SENSOR = BaseSensor(filter=20.0)
SWELL: BaseTrajectory = Swell()


def rig(**changes) -> Rig:
    return Rig(ROBOT, START, settings(ROBOT, **{"base": SENSOR, **changes}), period=2e-3, base=SWELL)


def moved(one: Rig) -> float:
    return float(np.abs(one.simulator.state.q - START).max())


@pytest.mark.slow
def test_an_arm_is_held_on_the_ship_as_on_land():
    off = {}
    for name, sensor in (("measured", SENSOR), ("unknown", None)):
        one = rig(base=sensor, bandwidth=6.0)
        one.run(0.5)
        assert one.mode is Mode.HOLDING
        far = 0.0
        for _ in range(20):
            one.run(0.05)
            far = max(far, float(np.abs(one.supervisor.queue.reference.q - one.simulator.state.q).max()))
        off[name] = far
        one.check()
    assert off["measured"] < 0.25 * off["unknown"]


@pytest.mark.parametrize("tracking", [True, False])
def test_while_the_same_message_comes_for_ever_the_arm_is_stopped_and_released(tracking):
    one, last = rig(tracking=tracking), {}
    one.run(0.4)
    one.base_message = lambda reading: last.setdefault("one", reading)
    one.run(SENSOR.timeout + 0.02)
    assert one.mode is Mode.STOPPING
    assert "no usable base motion" in one.supervisor.cause
    assert "the last one was refused" in one.supervisor.cause
    stop = one.settings.stop
    one.run(stop.brake_time + stop.hold_time)
    assert moved(one) < 0.05, "the arm is held meanwhile, by gravity as it was last seen"
    one.run(stop.ramp_time + 0.05)
    assert one.mode is Mode.FAULT
    assert one.supervisor.counters.lost == 1
    assert not one.check()[-1].any()
    one.base_message = lambda reading: reading
    one.run(0.2)
    assert one.mode is Mode.FAULT, "messages that come back do not start an arm"
    one.supervisor.recover(one.now)
    one.run(0.2)
    assert one.mode in (Mode.HOLDING, Mode.FLOATING)
    one.check()


def test_an_arm_whose_base_is_not_known_is_not_held_for_ever():
    stop = StopPlan(policy="hold", hold_time=0.1, ramp_time=0.3, brake_time=0.2)
    one = rig(stop=stop)
    one.run(0.4)
    one.base_message = lambda reading: None
    one.run(SENSOR.timeout + stop.brake_time + stop.hold_time + stop.ramp_time + 0.1)
    assert one.mode is Mode.FAULT
    assert not one.check()[-1].any()


def test_no_arm_is_started_before_its_base_is_known():
    one = rig()
    one.base_message = lambda reading: None
    one.run(0.5)
    assert one.mode is Mode.WAITING
    assert one.supervisor.cause == "no usable base motion"
    assert not one.sent
    one.base_message = lambda reading: reading
    one.run(0.1)
    assert one.mode is Mode.HOLDING


@pytest.mark.slow
def test_the_start_up_check_reckons_with_the_tilt():
    check = StartCheck(duration=0.3, tolerance=0.01)
    known = rig(check=check)
    known.run(1.0)
    assert known.supervisor.gate.open, known.supervisor.gate.text
    unknown = rig(check=check, base=None)
    unknown.run(1.0)
    assert not unknown.supervisor.gate.open


def test_what_is_computed_for_a_base_at_rest_cannot_be_combined():
    plain = settings(ROBOT, base=SENSOR)
    with pytest.raises(ControlError, match=r"hardware_compensates names gravity, which .* for a base at rest"):
        replace(plain, compensated=frozenset({"gravity"}))
    with pytest.raises(ControlError, match=r"command_delay is 0.002 s, but delays are compensated for a base at rest"):
        replace(plain, command_delay=0.002)
