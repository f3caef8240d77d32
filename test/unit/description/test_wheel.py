"""The 69 URDFs of the example-robot-data wheel: all that are robots load, with the numbers Pinocchio reads."""

from __future__ import annotations

import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.robots import WHEEL
from urdf_parser_py.urdf import URDF

from rne_dynamics.description.urdf_tree import rotation_rpy

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")

import numpy as np
import pinocchio as pin
from support.wheel import NOT_ROBOTS, wheel_robots, wheel_urdf, wheel_urdfs

from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.share import share_file
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import DescriptionError
from rne_dynamics.model import layout
from rne_dynamics.model.tree import JointKind


def name(path: Path) -> str:
    return f"{path.parents[1].name}-{path.stem}"


def soft_limits(path: Path) -> dict[str, tuple[float, float]]:
    """Of the joints that have some, by name."""
    return {
        joint.get("name", ""): (float(safety.attrib["soft_lower_limit"]), float(safety.attrib["soft_upper_limit"]))
        for joint in ElementTree.parse(path).getroot().iter("joint")
        if (safety := joint.find("safety_controller")) is not None and "soft_lower_limit" in safety.attrib
    }


def test_all_files_are_accounted_for_and_what_is_no_robot_says_so() -> None:
    assert len(wheel_urdfs()) == len(wheel_robots()) + len(NOT_ROBOTS) == 69
    for file in NOT_ROBOTS:
        with pytest.raises(DescriptionError, match="has no <link>"):
            load_urdf(wheel_urdf(file))


#: Some of all kinds for every change, and the others in the slow stage.
ROBOTS = [
    pytest.param(path, id=name(path), marks=[] if path.name in WHEEL else [pytest.mark.slow]) for path in wheel_robots()
]
#: What urdf_parser_py refuses.
REFUSED = {"icub.urdf", "icub_reduced.urdf", "pr2.urdf", "romeo_laas_small.urdf"}


@pytest.mark.parametrize("path", ROBOTS)
def test_joints_limits_friction_masses_and_frames_are_those_of_pinocchio(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And it loads silently."""
    robot, model = load_urdf(path), pin.buildModelFromUrdf(str(path))
    assert lint(path).ok
    assert capfd.readouterr() == ("", "")
    moving = [joint for joint in robot.tree.joints if joint.kind is not JointKind.FIXED]
    soft = soft_limits(path)  # which Pinocchio does not read
    assert {joint.name for joint in moving} == set(model.names[1:])
    for joint in moving:
        theirs = model.joints[model.getJointId(joint.name)]
        iq, iv = theirs.idx_q, theirs.idx_v
        if joint.kind is not JointKind.CONTINUOUS:
            low, high = soft.get(joint.name, (-np.inf, np.inf))
            lower, upper = model.lowerPositionLimit[iq], model.upperPositionLimit[iq]
            assert joint.limits.lower == max(low, lower if lower > -1e9 else -np.inf)
            assert joint.limits.upper == min(high, upper if upper < 1e9 else np.inf)
        if np.isfinite(joint.limits.effort):
            assert joint.limits.effort == model.upperEffortLimit[iv]
            assert joint.limits.velocity == model.upperVelocityLimit[iv]
        assert joint.friction.viscous == model.damping[iv]
        assert joint.friction.coulomb_forward == model.upperDryFrictionLimit[iv]
    masses = [model.inertias[model.getJointId(joint_name)].mass for joint_name in robot.body_names]
    np.testing.assert_allclose(robot.parameters[:, layout.MASS], masses, rtol=1e-12, atol=1e-12)
    base = model.inertias[0].mass
    assert robot.mass == pytest.approx(pin.computeTotalMass(model) + base, rel=1e-12)
    tree, data = robot.tree, model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    poses = {tree.root: (np.eye(3), np.zeros(3))}
    for joint in tree.depth_first:
        R, p = poses[joint.parent]
        poses[joint.child] = (R @ joint.rotation, p + R @ joint.position)
        theirs = data.oMf[model.getFrameId(joint.child, pin.FrameType.BODY)]
        np.testing.assert_allclose(poses[joint.child][0], theirs.rotation, atol=1e-9)
        np.testing.assert_allclose(poses[joint.child][1], theirs.translation, atol=1e-9)


@pytest.mark.parametrize("path", [robot for robot in ROBOTS if robot.values[0].name not in REFUSED])
def test_urdf_parser_py_reads_the_same_numbers(path: Path) -> None:
    theirs, tree = URDF.from_xml_string(path.read_bytes()), load_urdf(path).tree
    assert [x.name for x in tree.links] == [x.name for x in theirs.links]
    assert [x.name for x in tree.joints] == [x.name for x in theirs.joints]
    for link, other in zip(tree.links, theirs.links, strict=True):
        assert (link.inertia is None) == (other.inertial is None)
        if link.inertia is not None:
            xyz, R = _pose(other.inertial.origin)
            assert (link.inertia.mass, link.inertia.com.tolist()) == (other.inertial.mass, xyz)
            inertia = R @ np.array(other.inertial.inertia.to_matrix()) @ R.T
            np.testing.assert_allclose(link.inertia.inertia, inertia, rtol=0.0, atol=1e-15 * np.abs(inertia).max())
    for joint, other in zip(tree.joints, theirs.joints, strict=True):
        xyz, R = _pose(other.origin)
        assert (joint.kind.value, joint.parent, joint.child) == (other.type, other.parent, other.child)
        assert joint.position.tolist() == xyz
        np.testing.assert_array_equal(joint.rotation, R)
        if joint.kind in (JointKind.FIXED, JointKind.FLOATING):
            continue
        axis = np.array(other.axis or (1.0, 0.0, 0.0))
        np.testing.assert_allclose(joint.axis, axis / np.linalg.norm(axis), rtol=0.0, atol=1e-15)
        if other.mimic is not None and other.mimic.joint in theirs.joint_map:
            assert joint.mimic is not None
            multiplier, offset = other.mimic.multiplier, other.mimic.offset
            assert joint.mimic.multiplier == (1.0 if multiplier is None else multiplier)
            assert joint.mimic.offset == (offset or 0.0)


def _pose(origin: object) -> tuple[list[float], np.ndarray]:
    xyz, rpy = getattr(origin, "xyz", None), getattr(origin, "rpy", None)
    return [float(x) for x in xyz or (0.0, 0.0, 0.0)], rotation_rpy(*(rpy or (0.0, 0.0, 0.0)))


@pytest.mark.soak
def test_a_seven_joint_arm_loads_in_5_ms() -> None:
    path = share_file("urdf/panda.urdf")
    taken = []
    for _ in range(50):  # the fastest: background load comes on top
        start = time.process_time()
        load_urdf(path)
        taken.append(time.process_time() - start)
    assert min(taken) < 5e-3
