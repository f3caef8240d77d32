"""The 69 URDFs of the example-robot-data wheel: all that are robots load, with the numbers Pinocchio reads."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.wheel import NOT_ROBOTS, wheel_robots, wheel_urdf, wheel_urdfs

from rne_dynamics.description.lint import lint
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import DescriptionError
from rne_dynamics.model import layout
from rne_dynamics.model.tree import JointKind


def name(path: Path) -> str:
    return f"{path.parents[1].name}-{path.stem}"


def test_all_files_are_accounted_for() -> None:
    assert len(wheel_urdfs()) == len(wheel_robots()) + len(NOT_ROBOTS) == 69


@pytest.mark.parametrize("file", NOT_ROBOTS)
def test_what_is_no_robot_says_so(file: str) -> None:
    with pytest.raises(DescriptionError, match="has no <link>"):
        load_urdf(wheel_urdf(file))


@pytest.mark.parametrize("path", wheel_robots(), ids=name)
def test_loads_quickly_and_silently(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    start = time.perf_counter()
    robot = load_urdf(path)
    assert time.perf_counter() - start < 5.0
    assert robot.n >= 0
    assert lint(path).ok
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("path", wheel_robots(), ids=name)
def test_joints_limits_friction_and_masses_are_those_of_pinocchio(path: Path) -> None:
    robot = load_urdf(path)
    model = pin.buildModelFromUrdf(str(path))
    moving = [joint for joint in robot.tree.joints if joint.kind is not JointKind.FIXED]
    assert {joint.name for joint in moving} == set(model.names[1:])
    for joint in moving:
        theirs = model.joints[model.getJointId(joint.name)]
        iq, iv = theirs.idx_q, theirs.idx_v
        if joint.kind is not JointKind.CONTINUOUS:
            assert joint.limits.lower == model.lowerPositionLimit[iq]
            assert joint.limits.upper == model.upperPositionLimit[iq]
        if np.isfinite(joint.limits.effort):
            assert joint.limits.effort == model.upperEffortLimit[iv]
            assert joint.limits.velocity == model.upperVelocityLimit[iv]
        assert joint.friction.viscous == model.damping[iv]
        assert joint.friction.coulomb_forward == model.upperDryFrictionLimit[iv]
    for body, joint_name in enumerate(robot.body_names):
        inertia = model.inertias[model.getJointId(joint_name)]
        row = robot.parameters[body]
        assert row[layout.MASS] == pytest.approx(inertia.mass, rel=1e-12, abs=1e-12)
    base = model.inertias[0].mass
    assert robot.root_inertia.mass == pytest.approx(base, rel=1e-12, abs=1e-12)
    assert robot.mass == pytest.approx(pin.computeTotalMass(model) + base, rel=1e-12)


@pytest.mark.parametrize("path", wheel_robots(), ids=name)
def test_link_frames_are_those_of_pinocchio_at_zero(path: Path) -> None:
    tree = load_urdf(path).tree
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    poses = {tree.root: (np.eye(3), np.zeros(3))}
    for joint in tree.depth_first:
        R, p = poses[joint.parent]
        poses[joint.child] = (R @ joint.rotation, p + R @ joint.position)
        theirs = data.oMf[model.getFrameId(joint.child, pin.FrameType.BODY)]
        np.testing.assert_allclose(poses[joint.child][0], theirs.rotation, atol=1e-9)
        np.testing.assert_allclose(poses[joint.child][1], theirs.translation, atol=1e-9)
