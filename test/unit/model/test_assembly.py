from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support.errors import relative_error

from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics
from rne_dynamics.errors import ModelError
from rne_dynamics.model.assembly import assemble, with_lock, with_payload
from rne_dynamics.model.bodies import align_z
from rne_dynamics.model.inertia import Inertia
from rne_dynamics.model.tree import JointKind, KinematicTree, Limits, Payload, TreeJoint, TreeLink, rotation_about

BODY = Inertia(1.0, np.array([0.1, 0.2, 0.3]), np.diag([0.02, 0.03, 0.04]))


@pytest.mark.parametrize("axis", [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -1, 0], [0.6, 0, -0.8], [1e-9, 0, -1.0]])
def test_align_z_is_a_rotation_onto_the_axis(axis):
    axis = np.array(axis, dtype=float) / np.linalg.norm(axis)
    R = align_z(axis)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert np.allclose(R[:, 2], axis, atol=1e-8)


def one_joint(kind: JointKind, **more) -> KinematicTree:
    return KinematicTree(
        "one", (TreeLink("base", BODY), TreeLink("tip", BODY)), (TreeJoint("j", kind, "base", "tip", **more),)
    )


def test_whatever_the_axis_the_link_moves_about_it():
    rng = np.random.default_rng(1)
    for _ in range(5):
        axis, position = rng.normal(size=(2, 3))
        robot = assemble(one_joint(JointKind.REVOLUTE, axis=axis, position=position))
        R = rotation_about(axis / np.linalg.norm(axis), 0.8)
        pose = forward_kinematics(robot, [0.8])["tip"]
        assert np.allclose(pose[:3, :3], R, atol=1e-14)
        assert np.allclose(pose[:3, 3], position, atol=1e-14)


def test_a_planar_joint_is_two_slides_and_a_turn_in_its_plane():
    normal = np.array([0.0, 1.0, 0.0])
    robot = assemble(one_joint(JointKind.PLANAR, axis=normal, limits=Limits(effort=5.0)))
    assert robot.joint_names == ("j/x", "j/y", "j/theta")
    assert robot.effort_limit.tolist() == [5.0] * 3
    pose = forward_kinematics(robot, [0.3, -0.4, 0.5])["tip"]
    assert pose[:3, 3] @ normal == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(pose[:3, 3]) == pytest.approx(0.5)
    assert np.allclose(pose[:3, :3], rotation_about(normal, 0.5), atol=1e-14)
    # sliding bodies carry the whole link, turning ones its inertia about the normal
    M = mass_matrix(robot, [0.0, 0.0, 0.0])
    assert M[0, 0] == pytest.approx(BODY.mass)
    assert M[2, 2] == pytest.approx(BODY.about_origin[1, 1])


def test_a_floating_joint_inside_the_tree_has_seven_positions_and_six_velocities():
    robot = assemble(one_joint(JointKind.FLOATING))
    assert (robot.nq, robot.n) == (7, 6)
    assert robot.joint_names[0] == "j/trans_x"
    assert robot.neutral.tolist() == [0, 0, 0, 0, 0, 0, 1]
    tau = inverse_dynamics(robot, robot.neutral, np.zeros(6), np.zeros(6))
    assert np.allclose(tau[:3], [0.0, 0.0, 9.81])


def test_fixed_joints_merge_and_their_links_keep_their_frames():
    shift = np.array([0.0, 0.0, 0.5])
    links = (TreeLink("base"), TreeLink("arm", BODY), TreeLink("tool", BODY))
    joints = (
        TreeJoint("turn", JointKind.REVOLUTE, "base", "arm", axis=np.array([1.0, 0.0, 0.0])),
        TreeJoint("weld", JointKind.FIXED, "arm", "tool", rotation_about([0, 0, 1], 0.3), shift),
    )
    robot = assemble(KinematicTree("r", links, joints))
    assert robot.bodies == 1
    assert robot.link("tool").body == robot.link("arm").body
    assert robot.mass == pytest.approx(2.0)
    assert np.allclose(forward_kinematics(robot, [0.0])["tool"][:3, 3], shift)


def test_a_tree_without_joints_is_a_robot_with_nothing_to_move():
    robot = assemble(KinematicTree("stone", (TreeLink("stone", BODY),), ()))
    assert robot.n == 0
    assert inverse_dynamics(robot, [], [], []).shape == (0,)
    assert mass_matrix(robot, []).shape == (0, 0)


def test_the_model_is_frozen():
    robot = assemble(one_joint(JointKind.REVOLUTE))
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.n = 3
    for array in (robot.parameters, robot.topology, robot.lower, robot.gravity, robot.neutral):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_payload_and_lock_give_new_models_and_leave_the_old_one():
    robot = assemble(one_joint(JointKind.REVOLUTE))
    before = robot.parameters.copy()
    loaded = with_payload(robot, Payload("tip", 2.0))
    locked = with_lock(robot, {"j": 0.3})
    assert loaded.mass == pytest.approx(robot.mass + 2.0)
    assert locked.n == 0
    assert np.array_equal(robot.parameters, before)


def test_gravity_and_base_are_kept_by_derived_models():
    robot = assemble(one_joint(JointKind.REVOLUTE), base="floating", gravity=(0.0, 0.0, -1.62))
    loaded = with_payload(robot, Payload("tip", 2.0))
    assert loaded.base == "floating"
    assert relative_error(loaded.gravity, [0.0, 0.0, -1.62]) == 0.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base": "flying"}, "base is 'flying'"),
        ({"gravity": (0.0, 0.0)}, "gravity has shape"),
        ({"gravity": (0, 0, np.nan)}, "finite"),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(ModelError, match=said):
        assemble(one_joint(JointKind.REVOLUTE), **options)


def test_unknown_names_come_with_the_nearest_known():
    robot = assemble(one_joint(JointKind.REVOLUTE))
    with pytest.raises(ModelError, match="no link named 'tipp'; did you mean 'tip'"):
        robot.link("tipp")
    with pytest.raises(ModelError, match="no joint named 'k'"):
        robot.joint_index("k")
