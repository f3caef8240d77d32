"""Pose targets through the supervisor and a simulated arm: reached, or at rest near them; within limits, no faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.supervised import Rig, settings

import rne_dynamics as rne
from rne_dynamics.control.motion.limits import continuous
from rne_dynamics.control.streaming.limits import ACCELERATION, VELOCITY, StreamLimits, default_acceleration
from rne_dynamics.control.streaming.pose_following import PoseFollower, PoseLimits
from rne_dynamics.control.supervision.motion_queue import Ending
from rne_dynamics.control.supervision.states import Mode
from rne_dynamics.dynamics.kinematics.inverse_kinematics import pose_task
from rne_dynamics.errors import ControlError, ModelError

LINKS = {"puma560": "tool0", "ur10": "wrist_3_link", "panda": "panda_link7"}


class Arm:
    """A simulated arm that is held, and where its link is to go."""

    def __init__(self, name: str, start: np.ndarray | None = None, period: float = 4e-3, **options) -> None:
        self.robot, self.link = rne.load_urdf(name), LINKS[name]
        robot = self.robot
        acceleration = default_acceleration(robot, robot.velocity_limit, robot.effort_limit)
        self.limits = StreamLimits(
            robot.joint_names, robot.lower, robot.upper, robot.velocity_limit, acceleration=acceleration,
            continuous=continuous(robot),
        )
        self.settings = settings(robot, stream=self.limits, pose=PoseLimits(self.link, **options))
        middle = np.clip(robot.neutral, robot.lower, robot.upper) + 0.1 * (0.5 * (robot.lower + robot.upper))
        self.rig = Rig(robot, middle if start is None else start, self.settings, period=period)
        self.endings: list[tuple[Ending, str]] = []
        self.references: list[rne.Reference] = []
        self.rig.run(0.02)

    @property
    def reference(self) -> rne.Reference:
        return self.rig.supervisor.queue.reference

    def pose(self, q: np.ndarray) -> np.ndarray:
        return rne.forward_kinematics(self.robot, q)[self.link]

    def aim(self, pose, detour: np.ndarray | None = None) -> None:
        self.rig.supervisor.poses.aim(
            pose_task(self.robot, self.link, pose).target, detour, lambda *ending: self.endings.append(ending)
        )

    def detour(self, pose: np.ndarray) -> np.ndarray | None:
        """As a node plans it."""
        follower = PoseFollower(self.robot, self.settings.pose, self.limits.table)
        follower.place(self.reference.q, self.reference.qd)
        return follower.posture_for(pose_task(self.robot, self.link, pose).target)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / self.rig.period)):
            self.rig.run(self.rig.period)
            self.references.append(self.reference)

    def go(self, pose, detour: np.ndarray | None = None, longest: float = 10.0) -> tuple[Ending, str]:
        """Aim, and wait for the end."""
        self.aim(pose, detour)
        before, waited = len(self.endings), 0.0
        while len(self.endings) == before:
            assert waited < longest, "no rest in time"
            self.run(0.05)
            waited += 0.05
        self.waited = waited
        assert self.rig.mode is Mode.HOLDING, self.rig.supervisor.cause
        return self.endings[-1]

    def check_limits(self) -> None:
        """Of references and of the arm itself."""
        q, qd, qdd = (np.array([getattr(x, name) for x in self.references]) for name in ("q", "qd", "qdd"))
        table, robot = self.limits.table, self.robot
        assert ((q >= robot.lower - 1e-6) & (q <= robot.upper + 1e-6)).all()
        assert (np.abs(qd) <= table[VELOCITY] * (1.0 + 1e-4)).all()
        assert (np.abs(qdd) <= table[ACCELERATION] * (1.0 + 1e-6)).all()
        assert (np.abs(np.array(self.rig.speeds)) <= 1.1 * robot.velocity_limit).all()
        self.references.clear()
        for record in (self.rig.speeds, self.rig.power, self.rig.sent, self.rig.times):
            record.clear()


@pytest.mark.parametrize(("name", "targets"), [
    ("puma560", 2), *(pytest.param(name, 5, marks=pytest.mark.slow) for name in LINKS),
    *(pytest.param(name, 500, marks=pytest.mark.soak) for name in LINKS),
])
def test_random_targets_in_and_out_of_reach(name, targets):
    """In and out of reach by turns; what is not on the straight way is approached by a detour, if there is one."""
    rng = np.random.default_rng(4)
    arm = Arm(name)
    robot, good, reachable = arm.robot, 0, 0
    size = np.linalg.norm(arm.pose(rne.random_configuration(robot, rng, 1000))[:, :3, 3], axis=1).max()
    for k in range(targets):
        pose = arm.pose(rne.random_configuration(robot, rng))
        if k % 2:
            direction = rng.normal(size=3)
            pose[:3, 3] = rng.uniform(1.05, 1.6) * size * direction / np.linalg.norm(direction)
        ending, _ = arm.go(pose, arm.detour(pose))
        assert ending in (Ending.SUCCEEDED, Ending.UNREACHED)
        assert ending is Ending.UNREACHED or k % 2 == 0
        reachable, good = reachable + (k % 2 == 0), good + (ending is Ending.SUCCEEDED)
        if ending is Ending.SUCCEEDED:
            np.testing.assert_allclose(arm.pose(arm.reference.q), pose, atol=1.5e-3)
            assert np.linalg.norm((arm.pose(arm.reference.q) - pose)[:3, 3]) < 2.5e-4
        arm.check_limits()
    assert good >= 0.95 * reachable


def test_the_way_is_straight_and_within_the_speeds_of_the_pose():
    arm = Arm("ur10", np.array([0.3, -1.2, 1.6, -0.5, 1.2, 0.4]), 2e-3, speed=0.2, turn_speed=0.4)
    here = arm.pose(arm.reference.q)
    goal = here.copy()
    goal[:3, 3] += [0.1, 0.15, -0.1]
    goal[:3, :3] = Rotation.from_rotvec([0.3, -0.2, 0.1]).as_matrix() @ here[:3, :3]
    ending, text = arm.go(goal)
    assert ending is Ending.SUCCEEDED
    assert "at the pose" in text
    way = arm.pose(np.array([x.q for x in arm.references]))
    p = way[:, :3, 3] - here[:3, 3]
    unit = (goal - here)[:3, 3] / np.linalg.norm((goal - here)[:3, 3])
    assert np.abs(p - np.outer(p @ unit, unit)).max() < 1e-3
    turns = Rotation.from_matrix(way[:, :3, :3] @ here[:3, :3].T).as_rotvec()
    axis = np.array([0.3, -0.2, 0.1]) / np.linalg.norm([0.3, -0.2, 0.1])
    assert np.abs(turns - np.outer(turns @ axis, axis)).max() < 5e-3
    assert np.linalg.norm(np.diff(way[:, :3, 3], axis=0), axis=1).max() < 1.4 * 0.2 * arm.rig.period
    assert np.linalg.norm(np.diff(turns, axis=0), axis=1).max() < 1.4 * 0.4 * arm.rig.period  # makes up for the start
    arm.check_limits()


def test_a_stream_of_targets_is_followed():
    arm = Arm("puma560", np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0]))
    here, off = arm.pose(arm.reference.q), []
    for k in range(1, 150):  # 50 per second, 0.1 m/s, on a circle
        pose, angle = here.copy(), 1.0 * 0.02 * k
        pose[:3, 3] += 0.1 * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        arm.aim(pose)
        arm.run(0.02)
        off.append(np.linalg.norm((arm.pose(arm.reference.q) - pose)[:3, 3]))
        assert arm.rig.mode is Mode.TRACKING
    assert max(off) < 0.015  # 0.1 s behind, and the acceleration at the start
    ending, _ = arm.go(pose)
    assert ending is Ending.SUCCEEDED
    assert len(arm.endings) == 1, "of the last target"
    arm.check_limits()


def test_out_of_reach_the_arm_rests_near_and_says_what_binds():
    arm = Arm("ur10", np.array([0.3, -1.2, 1.6, -0.5, 1.2, 0.4]))
    pose = arm.pose(arm.reference.q)
    pose[:3, 3] = [0.5, 1.6, 0.4]
    ending, text = arm.go(pose)
    assert ending is Ending.UNREACHED
    there = arm.pose(arm.rig.supervisor.q)[:3, 3]
    assert f"{np.linalg.norm(there - pose[:3, 3]):.2g}"[:3] in text
    before = arm.reference.q.copy()
    arm.run(0.5)
    np.testing.assert_allclose(arm.reference.q, before, atol=2e-5)
    assert np.abs(arm.rig.supervisor.qd).max() < 1e-3


def test_a_cancelled_motion_brakes_and_a_new_target_begins_again():
    arm, pose = on_the_way([0.0, 0.3, 0.1], 0.4)
    arm.rig.supervisor.cancel("test")
    with pytest.raises(ControlError, match="pose target"):
        arm.aim(pose)
    for _ in range(6):  # before: the next target of a stream moved an arm again that was stopped
        arm.run(0.1)
        with pytest.raises(ControlError, match="ignored"):
            arm.aim(pose)
    arm.run(0.6)
    assert arm.endings[-1][0] is Ending.CANCELLED
    assert arm.rig.mode is Mode.HOLDING
    assert arm.go(pose)[0] is Ending.SUCCEEDED
    arm.check_limits()


def on_the_way(shift: list[float], seconds: float) -> tuple[Arm, np.ndarray]:
    """A PUMA some time after it was given a pose that is shifted, m, and that pose."""
    arm = Arm("puma560", np.array([0.2, 0.4, -0.4, 0.1, 0.8, 0.0]))
    pose = arm.pose(arm.reference.q)
    pose[:3, 3] += shift
    arm.aim(pose)
    arm.run(seconds)
    return arm, pose


def test_a_trajectory_takes_over_without_a_jump_and_refuses_targets():
    arm, pose = on_the_way([0.0, 0.3, 0.1], 0.4)
    arm.rig.move(np.array([0.5, 0.3, -0.5, 0.0, 0.6, 0.2]), 2.0)
    arm.run(0.1)
    assert arm.endings[-1][0] is Ending.REPLACED
    with pytest.raises(ControlError, match="ignored"):
        arm.aim(pose)
    arm.run(2.5)
    assert arm.rig.endings[-1][0] is Ending.SUCCEEDED
    steps = np.abs(np.diff([x.qd for x in arm.references], axis=0))
    assert (steps <= 3.0 * arm.limits.table[ACCELERATION] * arm.rig.period).all()


def test_a_stream_of_targets_does_not_move_an_arm_again_that_was_stopped():
    """Before: the next target of the stream did, also after a contact."""
    arm, pose = on_the_way([0.0, 0.3, 0.1], 0.2)
    arm.rig.supervisor.cancel("~/cancel")
    for _ in range(30):
        arm.run(0.05)
        with pytest.raises(ControlError, match="ignored"):
            arm.aim(pose)
    assert arm.rig.mode is Mode.HOLDING
    arm.run(0.6)
    assert arm.go(pose)[0] is Ending.SUCCEEDED


@pytest.mark.slow
def test_speed_scaling_slows_the_pose_and_zero_stops_it():
    arm, _pose = on_the_way([0.0, 0.2, 0.1], 0.2)
    arm.rig.supervisor.scale_speed(0.0)
    arm.run(2.0)
    assert not arm.endings
    assert np.abs(arm.reference.qd).max() < 1e-6
    arm.rig.supervisor.scale_speed(0.5)
    arm.run(5.0)
    assert arm.endings[-1][0] is Ending.SUCCEEDED
    arm.check_limits()


def test_lost_states_and_other_limits_on_the_way():
    arm, _pose = on_the_way([0.0, 0.4, 0.1], 0.2)
    slower = replace(arm.limits, velocity=0.2 * arm.robot.velocity_limit)
    arm.rig.supervisor.adopt(replace(arm.settings, stream=slower))
    arm.run(0.5)
    assert (np.abs(arm.reference.qd) <= 0.2 * arm.robot.velocity_limit * (1.0 + 1e-6)).all()
    arm.rig.run(1.0, corrupt=lambda state: None)
    assert arm.rig.mode in (Mode.RELEASED, Mode.FAULT, Mode.STOPPING)
    assert arm.endings[-1][0] is Ending.STOPPED


def test_a_controller_without_pose_limits_refuses_and_a_link_must_exist():
    arm = Arm("puma560")
    arm.rig.supervisor.adopt(replace(arm.settings, pose=None, no_pose="set target_pose.link"))
    with pytest.raises(ControlError, match=r"set target_pose\.link"):
        arm.aim(np.eye(4))
    arm.rig.supervisor.adopt(replace(arm.settings, pose=PoseLimits("hand")))
    with pytest.raises(ModelError, match="no link named 'hand'"):
        arm.aim(np.eye(4))
    with pytest.raises(ControlError, match=r"target_pose\.speed is -1"):
        PoseLimits("tool0", speed=-1.0)
