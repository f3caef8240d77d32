"""Inverse kinematics: reachable poses of many robots, what lies out of reach, limits, the null space, bad arguments.

Reached poses are checked with forward kinematics, which test_pinocchio.py compares with Pinocchio's.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.robots import deepest, robot
from support.urdf_text import arm as arm_text
from support.wheel import wheel_urdfs

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError, ModelError

PANDA = "panda.urdf"


def reach(arm: rne.RobotModel, link: str, count: int, **options) -> float:
    """The part of random reachable poses that is reached; each one is checked."""
    poses = rne.forward_kinematics(arm, rne.random_configuration(arm, 1, count))[link]
    good = 0
    for pose in poses:
        try:
            q = rne.inverse_kinematics(arm, link, pose, **options)
        except rne.UnreachablePoseError:
            continue
        assert ((q >= arm.lower) & (q <= arm.upper)).all()
        np.testing.assert_allclose(rne.forward_kinematics(arm, q)[link], pose, atol=2e-8)
        good += 1
    return good / count


@pytest.mark.parametrize("name", ["puma560", PANDA, "pr2.urdf"])
def test_reachable_poses_are_reached(name):
    arm = robot(name)
    assert reach(arm, deepest(arm), 100) >= 0.99


@pytest.mark.soak
def test_reachable_poses_of_every_robot_of_the_wheel_are_reached():
    for path in wheel_urdfs():
        arm = rne.load_urdf(path) if path.name != "ur3.urdf" else None
        if arm is not None and arm.n:
            assert reach(arm, deepest(arm), 100) >= 0.99, path.name


def test_a_pose_is_a_matrix_or_position_and_rotation_or_a_position_alone():
    arm = robot("puma560")
    pose = rne.forward_kinematics(arm, [0.3, -0.5, 0.4, 0.6, 0.7, -0.2])["tool0"]
    quaternion = Rotation.from_matrix(pose[:3, :3]).as_quat()
    expected = rne.inverse_kinematics(arm, "tool0", pose)
    p, R = pose[:3, 3], pose[:3, :3]
    for other in ((p, R), (p.tolist(), quaternion), (p, -1.3 * quaternion)):
        np.testing.assert_allclose(rne.inverse_kinematics(arm, "tool0", other), expected, atol=1e-7)
    free = rne.inverse_kinematics(arm, "tool0", pose[:3, 3], np.full(6, 0.1))
    np.testing.assert_allclose(rne.forward_kinematics(arm, free)["tool0"][:3, 3], pose[:3, 3], atol=1e-8)
    assert np.abs(rne.forward_kinematics(arm, free)["tool0"] - pose).max() > 1e-2


def test_a_tool_is_brought_to_the_pose():
    arm, link, tool = robot("ur10"), "wrist_3_link", np.eye(4)
    tool[:3, 3], tool[:3, :3] = [0.1, -0.05, 0.2], Rotation.from_euler("xyz", [0.3, -0.4, 0.5]).as_matrix()
    pose = rne.forward_kinematics(arm, [0.3, -1.0, 1.4, 0.6, 0.7, -0.2])[link] @ tool
    q = rne.inverse_kinematics(arm, link, pose, tool=tool)
    np.testing.assert_allclose(rne.forward_kinematics(arm, q)[link] @ tool, pose, atol=2e-8)
    q = rne.inverse_kinematics(arm, link, pose[:3, 3], tool=tool[:3, 3])
    tip = rne.forward_kinematics(arm, q)[link] @ [*tool[:3, 3], 1.0]
    np.testing.assert_allclose(tip[:3], pose[:3, 3], atol=1e-8)


def test_the_null_space_goes_to_the_posture():
    arm, link = robot(PANDA), "panda_hand"
    posture = np.array([0.2, -0.5, 0.1, -2.0, 0.1, 1.7, 0.6, 0.02])
    pose = rne.forward_kinematics(arm, posture + np.array([0.3, 0.2, -0.3, 0.3, 0.2, -0.3, 0.1, 0.0]))[link]
    q = rne.inverse_kinematics(arm, link, pose, posture, posture=posture)
    np.testing.assert_allclose(rne.forward_kinematics(arm, q)[link], pose, atol=2e-8)
    J = rne.jacobian(arm, q, link)
    null = np.eye(arm.n) - np.linalg.pinv(J, rcond=1e-10) @ J
    assert np.abs(null @ (posture - q)).max() < 1e-5
    assert np.linalg.norm(posture - q) < np.linalg.norm(posture - rne.inverse_kinematics(arm, link, pose))


def test_joints_that_do_not_move_the_link_stay():
    arm = robot("baxter.urdf")
    start = rne.random_configuration(arm, 5)
    poses = rne.forward_kinematics(arm, rne.random_configuration(arm, 6, 20))["left_hand_link"]
    still = [j for j, name in enumerate(arm.joint_names) if "left" not in name or "gripper" in name]
    for pose in poses:
        q = rne.inverse_kinematics(arm, "left_hand_link", pose, start)
        np.testing.assert_array_equal(q[still], start[still])


def test_out_of_reach_says_how_near_it_came_and_is_near():
    arm, link = robot("ur10"), "wrist_3_link"
    pose = np.eye(4)
    pose[:3, 3] = [3.0, 0.0, 0.5]
    with pytest.raises(rne.UnreachablePoseError, match=r"1\.\d+ m and .* rad away.*no limit binds") as caught:
        rne.inverse_kinematics(arm, link, pose)
    error = pickle.loads(pickle.dumps(caught.value))
    there = rne.forward_kinematics(arm, error.q)[link]
    assert np.linalg.norm(there[:3, 3] - pose[:3, 3]) == pytest.approx(error.position_error, abs=1e-9)
    assert Rotation.from_matrix(pose[:3, :3] @ there[:3, :3].T).magnitude() == pytest.approx(error.rotation_error)
    with pytest.raises(rne.UnreachablePoseError) as caught:  # a position: the arm is stretched towards it
        rne.inverse_kinematics(arm, link, pose[:3, 3])
    nearest = rne.forward_kinematics(arm, caught.value.q)[link][:3, 3]
    assert np.linalg.norm(nearest) > 1.2


def test_limits_that_bind_are_named():
    arm = rne.load_urdf(arm_text())  # one joint, up to 2 rad
    turned = ([0.0, 0.0, 0.5], Rotation.from_euler("y", 2.5).as_matrix())
    text = r"0 m and 0\.5 rad away; .*shoulder \(upper limit 2\)"
    with pytest.raises(rne.UnreachablePoseError, match=text) as caught:
        rne.inverse_kinematics(arm, "upper", turned)
    assert caught.value.limits == {"shoulder": "upper"}
    assert caught.value.q == pytest.approx([2.0])


def test_endless_joints_stay_within_half_a_turn_of_the_start():
    arm, link = robot("kinova.urdf"), "j2s6s200_link_6"
    start = np.array([7.0, 3.0, 3.0, -8.0, 2.0, 9.0])
    for pose in rne.forward_kinematics(arm, rne.random_configuration(arm, 3, 20))[link]:
        q = rne.inverse_kinematics(arm, link, pose, start)
        np.testing.assert_allclose(rne.forward_kinematics(arm, q)[link], pose, atol=2e-8)
        assert (np.abs(q - start)[np.isinf(arm.upper)] <= np.pi + 1e-9).all()


BAD = {
    "shape": (np.zeros((3, 3)), {}, r"pose has shape \(3, 3\)"),
    "nan": (np.full((4, 4), np.nan), {}, "not finite"),
    "stretched": (np.diag([2.0, 1.0, 1.0, 1.0]), {}, "no rotation matrix"),
    "mirrored": (np.diag([-1.0, 1.0, 1.0, 1.0]), {}, "determinant is -1"),
    "last row": (np.diag([1.0, 1.0, 1.0, 2.0]), {}, "last row"),
    "quaternion": (([0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]), {}, "quaternion .* has length 0"),
    "start": (np.eye(4), {"start": np.zeros(5)}, r"start has shape \(5,\)"),
    "posture": (np.eye(4), {"posture": np.full(6, np.inf)}, "posture .* not finite"),
    "tolerance": (np.eye(4), {"tolerance": 0.0}, "tolerance is 0"),
    "text": ("home", {}, "not an array of real numbers"),
    "restarts": (np.eye(4), {"restarts": -3}, "restarts is -3; it must be an integer"),
    "seed": (np.eye(4), {"seed": 0.5}, "seed is 0.5; it must be an integer"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused(case):
    pose, options, message = BAD[case]
    with pytest.raises(ArgumentError, match=message):
        rne.inverse_kinematics(robot("puma560"), "tool0", pose, **options)


@pytest.mark.parametrize(("arm", "link", "said"), [
    ("puma560", "hand", "no link named 'hand'"), ("ur10", "world", "no joint moves link 'world'"),
    ("floating", "panda_hand", "floating joint"), ("four_bar", "coupler", "open tree"),
    ("flexible_arm", "tip", "flexible links"),
])  # fmt: skip
def test_other_robots_and_links_are_refused(arm, link, said):
    model = robot(PANDA, "floating") if arm == "floating" else rne.load_model(arm)
    with pytest.raises(ModelError, match=said):
        rne.inverse_kinematics(model, link, np.eye(4))
