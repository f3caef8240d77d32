"""Robots of urdf_parser_py as descriptions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.urdf_text import ARM
from support.wheel import wheel_urdf
from urdf_parser_py.urdf import URDF, Inertia, Inertial, Joint, JointLimit, JointMimic, Link, Pose, Robot

import rne_dynamics as rne
from rne_dynamics.errors import DescriptionError


@pytest.mark.parametrize("name", ["panda.urdf", "talos_left_arm.urdf", "simple_humanoid.urdf"])
def test_the_robots_of_the_wheel_are_those_of_their_files(name: str) -> None:
    path = wheel_urdf(name)
    assert rne.to_urdf(rne.load_urdf(URDF.from_xml_file(str(path)))) == rne.to_urdf(rne.load_urdf(path))


def made() -> Robot:
    """An arm of two joints, made by a program."""
    robot = Robot("made")
    robot.add_link(Link("base"))
    for k, (parent, name) in enumerate((("base", "upper"), ("upper", "fore"))):
        body = Inertia(0.01, 0.0, 0.0, 0.02, 0.0, 0.02)
        robot.add_link(Link(name, inertial=Inertial(1.5, body, Pose([0.1, 0.0, 0.0], [0.0, 0.0, 0.1 * k]))))
        place, limit = Pose(np.array([0.2, 0, 0])), JointLimit(effort=10.0, velocity=2.0, lower=-1, upper=1.5)
        robot.add_joint(Joint(f"j{k}", parent, name, "revolute", axis=[0.0, 1.0, 0.0], origin=place, limit=limit))
    return robot


def test_a_robot_made_by_a_program_with_payload_locked_joint_and_base() -> None:
    robot = made()
    text = robot.to_xml_string()
    load = rne.Payload("fore", 2.0, com=(0.1, 0.0, 0.0))
    for options in ({}, {"payload": load}, {"lock": {"j1": 0.3}}, {"base": "floating"}, {"gravity": (0.0, 0.0, -1.6)}):
        ours, theirs = rne.load_urdf(robot, **options), rne.load_urdf(text, **options)  # type: ignore[arg-type]
        q = ours.neutral
        assert np.array_equal(rne.gravity_torque(ours, q), rne.gravity_torque(theirs, q))
        assert np.array_equal(rne.mass_matrix(ours, q), rne.mass_matrix(theirs, q))
    assert (ours.name, ours.joint_names) == ("made", ("j0", "j1"))
    assert rne.lint(robot).ok


FAULTS = {
    "mass": (lambda r: setattr(r.links[1].inertial, "mass", -1.0), "link 'upper' <mass>: value is -1 kg"),
    "no mass": (lambda r: setattr(r.links[1].inertial, "mass", None), "cannot write it as URDF: Required element"),
    "moment": (lambda r: setattr(r.links[2].inertial.inertia, "ixx", "heavy"), "link 'fore' <inertia>: ixx is 'heavy'"),
    "axis": (lambda r: setattr(r.joints[0], "axis", [0, 0]), "cannot write it as URDF: Invalid vector length"),
    "place": (lambda r: setattr(r.joints[0].origin, "xyz", [0, np.nan, 0]), "<origin>: xyz is '0 nan 0'"),
    "limits": (lambda r: setattr(r.joints[1].limit, "lower", 3), "joint 'j1' <limit>: lower is 3, above upper"),
    "kind": (lambda r: setattr(r.joints[1], "type", "unknown"), "joint 'j1': type is 'unknown'"),
    "parent": (lambda r: setattr(r.joints[1], "parent", "uper"), "joint 'j1' <parent>: there is no link 'uper'"),
    "mimic": (lambda r: setattr(r.joints[1], "mimic", JointMimic("j1")), "joint 'j1' <mimic>: "),
    "name": (lambda r: setattr(r.links[2], "name", None), "cannot write it as URDF: Required attribute"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_robot_is_refused_by_its_element(fault: str) -> None:
    robot, (spoil, says) = made(), FAULTS[fault]
    spoil(robot)
    with pytest.raises(DescriptionError) as caught:
        rne.load_urdf(robot)
    assert str(caught.value).startswith("<urdf_parser_py.Robot 'made'>: ")  # without a line, which it does not have
    assert says in str(caught.value)


@pytest.mark.parametrize(("source", "options", "said"), [
    (5, {}, r"source is of type int; give .* or a robot of urdf_parser_py"),
    (made(), {"mappings": {"prefix": "left_"}}, "are for xacro only"),
])
def test_other_objects_and_arguments_of_xacro_are_refused(source, options, said) -> None:
    with pytest.raises(DescriptionError, match=said):
        rne.load_urdf(source, **options)


def test_urdf_parser_py_is_not_imported_without_its_objects() -> None:
    code = f"import sys, rne_dynamics as rne; rne.load_urdf({ARM!r}); assert 'urdf_parser_py' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
