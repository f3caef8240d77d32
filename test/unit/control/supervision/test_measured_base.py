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


@pytest.mark.slow
def test_a_hand_guided_arm_floats_on_the_ship():
    one = rig(tracking=False)
    one.run(1.5)
    assert one.mode is Mode.FLOATING
    unknown = rig(tracking=False, base=None)
    unknown.run(1.5)
    assert moved(one) < 0.25 * moved(unknown)


@pytest.mark.parametrize(
    ("how", "tracking"),
    [
        ("silent", True), ("the same for ever", True),
        *(pytest.param(how, True, marks=pytest.mark.slow) for how in ("not finite", "a quaternion of zeros")),
        *(pytest.param(how, False, marks=pytest.mark.slow)
          for how in ("silent", "the same for ever", "not finite", "a quaternion of zeros")),
    ],
)  # fmt: skip
def test_without_usable_messages_the_arm_is_stopped_and_released(how, tracking):
    one, last = rig(tracking=tracking), {}
    one.run(0.4)
    nan = np.full(3, np.nan)
    one.base_message = {
        "the same for ever": lambda reading: last.setdefault("one", reading),
        "silent": lambda reading: None,
        "not finite": lambda reading: reading._replace(acceleration=nan),
        "a quaternion of zeros": lambda reading: reading._replace(orientation=np.zeros(4)),
    }[how]
    begun = len(one.sent)
    one.run(SENSOR.timeout + 0.02)
    assert one.mode is Mode.STOPPING
    assert "no usable base motion" in one.supervisor.cause
    assert ("the last one was refused" in one.supervisor.cause) is (how != "silent")
    stop = one.settings.stop
    one.run(stop.brake_time + stop.hold_time)
    assert moved(one) < 0.05, "the arm is held meanwhile, by gravity as it was last seen"
    one.run(stop.ramp_time + 0.05)
    assert one.mode is Mode.FAULT
    assert one.supervisor.counters.lost == 1
    sent = one.check()  # finite, within effort and rate limits
    assert not sent[-1].any()
    assert len(sent) > begun
    one.base_message = lambda reading: reading
    one.run(0.2)
    assert one.mode is Mode.FAULT, "messages that come back do not start an arm"
    one.supervisor.recover(one.now)
    one.run(0.2)
    assert one.mode in (Mode.HOLDING, Mode.FLOATING)
    one.check()


@pytest.mark.parametrize("seed", [
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4)),
    *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(4, 8)),
])  # fmt: skip
def test_whatever_the_sensor_says_efforts_stay_within_their_limits(seed):
    """Random lies and gaps of random length: every effort is finite, within effort and rate limits, and a gap longer
    than the time-out stops the arm."""
    rng = np.random.default_rng(seed)
    one = rig(tracking=bool(seed % 2))
    one.run(0.2)
    lies = (
        lambda r: None,
        lambda r: r._replace(acceleration=rng.normal(size=3) * 10.0 ** rng.uniform(-3, 300)),
        lambda r: r._replace(angular_velocity=rng.normal(size=3) * 10.0 ** rng.uniform(-3, 3)),
        lambda r: r._replace(angular_velocity=np.full(3, np.nan)),
        lambda r: r._replace(orientation=rng.normal(size=4)),
        lambda r: r._replace(orientation=None),
        lambda r: r._replace(stamp=int(r.stamp + rng.integers(-(10**10), 10**10))),
        lambda r: r._replace(stamp=int(rng.integers(-(2**31), 2**31))),
    )
    for _ in range(12):
        lie, part = lies[rng.integers(len(lies))], rng.uniform(0.2, 1.0)
        one.base_message = lambda r, lie=lie, part=part: lie(r) if rng.random() < part else r
        one.run(float(rng.uniform(0.02, 0.2)))
    one.check()
    one.base_message = lambda reading: None
    stop = one.settings.stop
    one.run(SENSOR.timeout + stop.brake_time + stop.hold_time + stop.ramp_time + 0.1)
    assert one.mode is Mode.FAULT
    assert not one.check()[-1].any()


def test_an_arm_whose_base_is_not_known_is_not_held_for_ever():
    stop = StopPlan(policy="hold", hold_time=0.1, ramp_time=0.3, brake_time=0.2)
    one = rig(stop=stop)
    one.run(0.4)
    one.base_message = lambda reading: None
    one.run(SENSOR.timeout + stop.brake_time + stop.hold_time + stop.ramp_time + 0.1)
    assert one.mode is Mode.FAULT
    assert not one.check()[-1].any()


@pytest.mark.slow
def test_joint_states_that_stop_too_change_nothing_about_the_end():
    one = rig()
    one.run(0.4)
    one.base_message = lambda reading: None
    one.run(0.15)
    stop = one.settings.stop
    one.run(stop.brake_time + stop.hold_time + stop.ramp_time + 0.3, corrupt=lambda state: None)
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
