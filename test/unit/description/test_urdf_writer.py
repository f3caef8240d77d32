"""URDFs written from models: read back here, by Pinocchio and by MuJoCo."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arms import gripper
from support.errors import relative_error
from support.other_tools import in_mujoco, in_pinocchio
from support.robots import robot as loaded

import rne_dynamics as rne
from rne_dynamics.cli.main import main
from rne_dynamics.description.share import shipped_robots
from rne_dynamics.description.urdf_tree import rotation_rpy, rpy_of
from rne_dynamics.errors import ModelError
from rne_dynamics.model.tree import Friction, JointKind, KinematicTree, Limits, TreeJoint, TreeLink

ANGLES = st.floats(-math.pi, math.pi)


@given(ANGLES, st.floats(-12.0, 0.0), st.booleans(), ANGLES)
def test_roll_pitch_and_yaw_anywhere_and_close_to_a_right_angle(roll: float, power: float, near: bool, yaw: float):
    pitch = math.pi / 2 - 10.0**power if near else roll / 2.0
    for sign in (1.0, -1.0):
        R = rotation_rpy(roll, sign * pitch, yaw)
        assert np.abs(rotation_rpy(*rpy_of(R)) - R).max() < 1e-15


def one_friction(tree: KinematicTree) -> KinematicTree:
    """A tree that rubs as much in both directions."""
    both = [replace(j.friction, coulomb_backward=j.friction.coulomb_forward) for j in tree.joints]
    return replace(tree, joints=tuple(replace(j, friction=f) for j, f in zip(tree.joints, both, strict=True)))


@pytest.mark.parametrize("name", [*shipped_robots(), "solo12.urdf", "hextilt_flying_arm_5.urdf", "gripper"])
def test_what_is_written_reads_back(name: str) -> None:
    robot = rne.assemble(one_friction(gripper().tree)) if name == "gripper" else loaded(name)
    text = rne.to_urdf(robot)
    again = rne.load_urdf(text)
    assert again.joint_names == robot.joint_names
    assert again.link_names == robot.link_names
    for field in ("lower", "upper", "velocity_limit", "effort_limit"):
        assert np.array_equal(getattr(robot, field), getattr(again, field))
    for joint in robot.tree.joints:
        there = again.tree.joint(joint.name)
        assert (there.friction, there.rotor_inertia, there.mimic) == (joint.friction, joint.rotor_inertia, joint.mimic)
    rng = np.random.default_rng(1)
    q, (qd, qdd) = robot.neutral + 0.0, rng.normal(size=(2, robot.n))
    q = rne.integrate_configuration(robot, q, rng.uniform(-1.0, 1.0, robot.n))
    tau = rne.inverse_dynamics(robot, q, qd, qdd)
    assert relative_error(rne.inverse_dynamics(again, q, qd, qdd), tau) < 1e-12


@pytest.mark.parametrize("name", ["puma560", "scara", "panda.urdf"])
def test_other_tools_read_the_same_dynamics(name: str) -> None:
    robot = loaded(name)
    if robot.has_mimic:
        robot = rne.assemble(replace(robot.tree, joints=tuple(replace(j, mimic=None) for j in robot.tree.joints)))
    text = rne.to_urdf(robot)
    assert in_pinocchio(robot, text, 2) < 1e-12
    assert in_mujoco(robot, text, 2) < 1e-12


def test_every_kind_of_joint_odd_names_and_missing_bounds() -> None:
    body = rne.Inertia(1.0, [0.1, 0.2, 0.3], np.diag([0.2, 0.2, 0.2]))
    kinds = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.PLANAR, JointKind.FLOATING, JointKind.FIXED)
    names = ["base", *(f'a "<&> {k.value}' for k in kinds)]
    joints = [
        TreeJoint(f"j'{k.value}", k, parent, child, limits=Limits(upper=2.0) if k is JointKind.PRISMATIC else Limits())
        for k, parent, child in zip(kinds, names, names[1:], strict=False)
    ]
    tree = KinematicTree("odd & <names>", tuple(TreeLink(n, body) for n in names), tuple(joints))
    again = rne.load_urdf(rne.to_urdf(tree)).tree
    assert again.name == tree.name
    assert [x.name for x in again.links] == names
    assert [j.kind for j in again.joints] == [JointKind.CONTINUOUS, *kinds[1:]]  # no bounds: continuous
    slide = again.joints[1].limits
    assert slide == Limits(upper=2.0), "without an effort limit controllers do not start"


def test_a_payload_and_a_locked_joint_are_written() -> None:
    robot = rne.load_urdf("puma560", payload=rne.Payload("link6", 2.0, (0, 0, 0.1)), lock={"joint2": 0.4})
    again = rne.load_urdf(rne.to_urdf(robot))
    assert again.joint_names == robot.joint_names
    assert again.mass == pytest.approx(robot.mass, rel=1e-15)


def test_friction_by_direction_is_refused() -> None:
    tree = rne.load_urdf("planar2").tree
    joint = replace(tree.joints[0], friction=Friction(0.1, 1.0, 2.0))
    with pytest.raises(ModelError, match="joint 'joint1': Coulomb friction is 1 forward and 2 backward; URDF has one"):
        rne.to_urdf(replace(tree, joints=(joint, *tree.joints[1:])))


def test_what_urdf_cannot_say_is_refused() -> None:
    tree = rne.load_urdf("planar2").tree
    joint = replace(tree.joints[0], friction=Friction(0.1, 1.0, 2.0))
    with pytest.raises(ModelError, match="joint 'joint1': Coulomb friction is 1 forward and 2 backward; URDF has one"):
        rne.to_urdf(replace(tree, joints=(joint, *tree.joints[1:])))
    for name in ("pantograph", "flexible_beam"):
        with pytest.raises(ModelError, match="URDF describes trees of rigid links"):
            rne.to_urdf(rne.load_model(name))


def test_the_command(tmp_path, capsys) -> None:
    assert main(["export", "scara"]) == 0
    assert rne.load_urdf(capsys.readouterr().out).joint_names == rne.load_urdf("scara").joint_names
    file = tmp_path / "planar2.urdf"
    assert main(["export", "planar2", "--out", str(file)]) == 0
    assert rne.load_urdf(file).n == 2
