"""An arm with flexible links over ROS: simulator and controller on the published two-link arm, and its tip."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

import rne_dynamics as rne
from rne_dynamics.cli.with_ros.demo_report import evaluate, evaluate_vibration
from rne_dynamics.cli.with_ros.moves import Plan, pause, programmes, stable_bandwidth
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.errors import ModelError
from rne_dynamics.flexible.energy import tip_deflections
from rne_dynamics.flexible.static import static_deflection
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.tree import Payload
from rne_dynamics.ros.messages.topic_recording import TopicRecorder
from rne_dynamics.ros.node.robot import load_robot
from rne_dynamics.ros.sessions.demonstration import Run, Session, run
from rne_dynamics.ros.sessions.processes import wait_until

from .peer import PATIENCE, START, fresh

pytestmark = pytest.mark.slow

ARM = rne.load_model("flexible_arm")
START_AT = np.array([0.2, 0.9])


class Rig:
    """The simulated arm alone, its brakes on, and this side of its topics."""

    def __init__(self, start, peer) -> None:
        self.peer = peer
        self.simulator = start(
            "simulator", model="flexible_arm", rate=500.0, deflections_divisor=2,
            initial_position=dict(zip(ARM.joint_names, START_AT.tolist(), strict=True)),
        )
        self.states = TopicRecorder(peer.node, JointState, "joint_states")
        self.tips = TopicRecorder(peer.node, JointState, "simulator/deflections")
        self.wrenches = peer.node.create_publisher(WrenchStamped, "simulator/wrench", 10)
        wait_until(lambda: self.tips.latest() is not None, START, "deflections", [self.simulator])

    def now(self, recorder: TopicRecorder) -> JointState:
        return fresh(recorder, [self.simulator])

    def push(self, force: float) -> None:
        message = WrenchStamped()
        message.header.frame_id, message.wrench.force.y = "tip", force
        self.wrenches.publish(message)


@pytest.fixture(scope="module")
def rig(start, make_peer):
    return Rig(start, make_peer(ARM.joint_names))


def test_joint_states_are_what_encoders_see_and_tips_have_a_topic_of_their_own(rig):
    message = rig.now(rig.states)
    assert list(message.name) == list(ARM.joint_names)
    np.testing.assert_array_equal(message.position, START_AT)
    tips = rig.now(rig.tips)
    parts = ("x", "y", "z", "rx", "ry", "rz")
    assert list(tips.name) == [f"{link}/{part}" for link in ("link1", "link2") for part in parts]
    assert not any(tips.position), "the arm lies flat, so nothing bends it"
    # the URDF knows nothing of bending, and may lack the beams' masses
    assert rig.peer.node.count_publishers("robot_description") == 0


def test_brakes_hold_the_joints_and_not_the_links(rig):
    wait_until(rig.wrenches.get_subscription_count, PATIENCE, "the wrench's topic", [rig.simulator])
    force = 0.2
    still = tip_deflections(ARM, static_deflection(ARM, START_AT, wrenches={"tip": [0, force, 0, 0, 0, 0]}))
    assert abs(still[1, 1]) > 0.005
    rig.push(force)
    wait_until(lambda: any(rig.now(rig.tips).position), PATIENCE, "the push to act", [rig.simulator])
    wait_until(lambda: rig.tips.drain() or len(rig.tips.samples) > 700, PATIENCE, "a swing", [rig.simulator])
    seen = [rig.tips.decode(s) for s in rig.tips.samples]
    way = np.array([m.position for m in seen]).reshape(-1, 2, 6)[..., 1]
    assert way[:, 1].max() > 1.2 * still[1, 1], "it swings about where the force holds it"
    assert way[:, 0].max() > 0.7 * still[0, 1]
    # velocities are the rates of the positions
    rate = np.array([m.velocity for m in seen]).reshape(-1, 2, 6)[:, 1, 1]
    slope = (way[2:, 1] - way[:-2, 1]) / (4 / 500.0)
    lost = np.diff([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in seen]) != 4_000_000
    good = ~(lost[1:] | lost[:-1])
    assert np.abs(rate[1:-1] - slope)[good].max() < 0.05 * np.abs(rate).max()
    message = rig.now(rig.states)
    np.testing.assert_array_equal(message.position, START_AT)
    assert not any(message.velocity)


@pytest.mark.soak
def test_the_controller_tracks_and_a_shaper_leaves_the_tip_quiet():
    rate = 500.0
    there = START_AT + np.array([0.2, -0.1])
    moves = Quintic(START_AT, there, 1.5), Quintic(there, START_AT, 1.5)
    settle = 0.5 * pause(ARM, moves)  # half a period shows half a swing at least
    omega = stable_bandwidth(ARM, np.array([START_AT, there]), rate)
    plain, zv = (programmes(ARM, moves, kind, 1, omega, compare=False)[0] for kind in (None, "zv"))
    recordings = run(
        Session(
            {"model": "flexible_arm"}, ARM.joint_names, START_AT, tuple(Run(p.moves, settle) for p in (plain, zv)),
            ARM.effort_limit, rate, omega, flexible=True,
        ),
        lambda what, fraction: None,
    )
    residual = []
    for recording, programme in zip(recordings, (plain, zv), strict=True):
        tracking = evaluate(recording, programme.moves, Plan(moves, ARM.effort_limit), rate, settle)
        assert tracking.run.rms.max() < 5e-3
        residual.append(evaluate_vibration(ARM, recording, programme.moves, settle).residual)
    assert min(residual[0]) > 0.1, "without a shaper it shakes"
    assert max(residual[1]) < 0.1 * min(residual[0])


def test_controllers_get_the_rigid_arm_and_the_simulator_the_flexible_one():
    arm = load_robot("flexible_arm6", "", (), (0.0, 0.0, -1.62)).robot
    assert isinstance(arm, FlexibleArm)
    np.testing.assert_array_equal(arm.gravity, [0.0, 0.0, -1.62])
    heavy = arm.with_payload(Payload("tool0", 0.5))
    assert heavy.mass == pytest.approx(arm.mass + 0.5)
    assert isinstance(heavy, FlexibleArm)
    np.testing.assert_array_equal(arm.with_effort_limit(np.full(6, 3.0)).effort_limit, np.full(6, 3.0))
    with pytest.raises(ModelError):
        arm.with_payload(Payload("tool9", 0.5))
    described = load_robot("flexible_arm6", "", ("waist", "elbow"), ())
    assert described.robot.joint_names == ("waist", "elbow")
    assert described.locked == dict.fromkeys(("shoulder", "wrist_roll", "wrist_pitch", "flange_roll"), 0.0)
    assert isinstance(described.robot, FlexibleArm)
    assert described.robot.modes == arm.modes
