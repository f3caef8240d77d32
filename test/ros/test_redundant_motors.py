"""More motors than freedoms, driven by the real nodes: a five-bar with a third motor at an elbow."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest
from std_srvs.srv import Trigger
from support.multipliers import Closed

import rne_dynamics as rne
from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.control.motion.limited_path import leading_joints
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.ros.messages.publishers import stamp_of
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import FOLLOWING, PATIENCE, START
from .simulated_mechanism import CONTROLLER, SimulatedMechanism

pytestmark = pytest.mark.slow

MODEL = str(Path(__file__).parents[2] / "examples" / "five_bar_redundant.yaml")
ARM = rne.load_model(MODEL)
TWO = rne.load_model("five_bar")
JOINTS = list(ARM.joint_names)
TREE = ARM.robot.joint_names
LIMITS = {"left_elbow": {"effort": 5.0}}
#: States per second that a controller process answers for such a mechanism.
RATE = 500.0


def placed(left: float, right: float) -> np.ndarray:
    """The three motors where the two at the base are."""
    return assemble(TWO, [left, right])[ARM.actuated]


FROM, TO = placed(*TWO.neutral), placed(-1.7, -0.8)


@pytest.fixture(scope="module")
def rig(start, make_peer):
    return SimulatedMechanism(start, make_peer(JOINTS), model=MODEL, rate=RATE)


@pytest.fixture(scope="module")
def tracking(rig):
    """The controller, its start-up check passed: reported efforts agree with the share of gravity, preload included."""
    process = rig.start(
        CONTROLLER, model=MODEL, gains={j: {"p": 2500.0, "d": 100.0} for j in JOINTS}, limits=LIMITS,
        stop={"brake_time": 0.2, "hold_time": 0.3, "ramp_time": 0.3},
        startup_check={"duration": 0.5, "required": True}, **FOLLOWING,
    )
    wait_until(lambda: "ready: " in process.output() and rig.trajectories.get_subscription_count(), START,
               "the controller", [process, rig.simulator])
    wait_until(lambda: "agree with the model's gravity" in process.output(), START, "the start-up check",
               [process, rig.simulator])
    rig.processes.append(process)
    return process


def test_it_is_held_by_the_share_of_gravity_that_the_model_file_asks_for(rig, tracking):
    message = rig.now()
    np.testing.assert_allclose(message.position[:3], FROM, atol=1e-4)
    held = rne.gravity_torque(ARM, FROM)
    np.testing.assert_allclose(message.effort[:3], held, atol=0.02)
    assert abs(held[2]) > 0.3, "the third motor holds some of it"
    assert not any(message.effort[3:]), "the last elbow has no motor"


def test_a_quintic_of_the_leading_joints_is_tracked_and_the_third_motor_goes_along(rig, tracking):
    begin = stamp_of(rig.now()) + 3_000_000_000  # in the time of the simulator, however busy the computer is
    rig.states.samples.clear()
    goal = dict(zip(JOINTS, TO.tolist(), strict=True))
    rig.send(list(goal), (1.5, goal.values()), begin=begin)
    wait_until(lambda: rig.states.latest() and stamp_of(rig.states.latest()) > begin + 1_800_000_000, PATIENCE,
               "the end", rig.processes, period=0.02)
    messages = [m for m in map(rig.states.decode, rig.states.samples) if stamp_of(m) >= begin]
    assert len(messages) > 700
    leading = list(leading_joints(ARM, range(ARM.n)))
    reference = Quintic(FROM, TO, 1.5)
    q = np.array([m.position for m in messages])
    wanted = np.array([reference.sample((stamp_of(m) - begin) * 1e-9).q for m in messages])
    order = [list(messages[0].name).index(name) for name in TREE]
    assert np.abs(Closed(ARM).residual(q[:, order])).max() < 1e-11
    assert np.abs(q[:, leading] - wanted[:, leading]).max() < 1e-4
    np.testing.assert_allclose(q[-1, :3], TO, atol=1e-4)
    # the third's own quintic would have left the loops
    assert np.abs(q[:, :3] - wanted).max() > 5e-3
    np.testing.assert_allclose(messages[-1].effort[:3], rne.gravity_torque(ARM, TO), atol=0.05)


def test_goals_that_the_loops_do_not_allow_are_refused(rig, tracking):
    before = tracking.output().count("trajectory refused")
    rig.send(JOINTS, (1.0, [*TO[:2].tolist(), float(TO[2]) + 0.2]))
    wait_until(lambda: tracking.output().count("trajectory refused") > before, PATIENCE, "a refusal", rig.processes)
    said = [line for line in tracking.output().splitlines() if "trajectory refused" in line][-1]
    assert "but the loops put it at" in said
    assert "leave it out" in said


def test_move_names_the_leading_joints_alone(rig, tracking):
    move = rig.start("move", ["left_joint=-1.9"], model=MODEL, velocity_scale=0.3)
    assert move.wait(PATIENCE) == 0, move.output()
    assert abs(rig.now().position[0] + 1.9) < 0.01


def test_a_stop_in_the_middle_of_a_motion_decelerates_and_holds(rig, tracking):
    goal = placed(*TWO.neutral)
    leading = {name: float(goal[ARM.joint_names.index(name)]) for name in JOINTS}
    rig.send(list(leading), (2.0, leading.values()))
    wait_until(lambda: np.abs(rig.now().velocity[:3]).max() > 0.1, PATIENCE, "motion", rig.processes)
    rig.states.samples.clear()
    tracking.signal(signal.SIGINT)
    assert tracking.wait(PATIENCE) == 0
    rig.processes.remove(tracking)
    rig.states.drain()
    messages = list(map(rig.states.decode, rig.states.samples))
    speed = np.abs([m.velocity[:3] for m in messages]).max(axis=1)
    rest = int(np.argmax(speed < 0.02))
    assert 0 < rest < 0.4 * RATE, "decelerated within stop.brake_time"
    assert speed[:rest].max() < 1.0
    assert speed[rest : rest + round(0.2 * RATE)].max() < 0.05, "held for stop.hold_time, before it is released"
    assert "fault" not in tracking.output()


def test_gravity_compensation_holds_it(rig, tracking):
    assert rig.peer.call(Trigger, "simulator/reset", Trigger.Request()).success
    process = rig.start(
        "gravity_compensation", model=MODEL, limits=LIMITS, startup_check={"duration": 0.5, "required": True},
        stop={"hold_time": 0.1, "ramp_time": 0.1}, **FOLLOWING,
    )
    wait_until(lambda: "agree with the model's gravity" in process.output(), START, "the start-up check",
               [process, rig.simulator])
    time.sleep(0.5)
    message = rig.now()
    np.testing.assert_allclose(message.position[:3], FROM, atol=0.02)
    np.testing.assert_allclose(message.effort[:3], rne.gravity_torque(ARM, np.array(message.position[:3])), atol=0.05)
    process.signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0

