from __future__ import annotations

import logging
import math
import subprocess
import sys

import numpy as np
import pytest
from support.urdf_text import ARM, arm, arm_and, joint, link, robot

from rne_dynamics.advice import rne as typed
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import ModelError
from rne_dynamics.model.tree import Friction, JointKind, Limits, rotation_about


def test_the_sample_arm_is_read_whole() -> None:
    model = load_urdf(ARM)
    assert (model.name, model.n, model.joint_names, model.link_names) == ("arm", 1, ("shoulder",), ("base", "upper"))
    assert (model.lower[0], model.upper[0], model.velocity_limit[0], model.effort_limit[0]) == (-1.0, 2.0, 4.0, 30.0)
    shoulder = model.tree.joint("shoulder")
    assert shoulder.kind is JointKind.REVOLUTE
    np.testing.assert_array_equal(shoulder.axis, [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(shoulder.position, [0.0, 0.0, 0.5])
    assert (shoulder.friction.viscous, shoulder.friction.coulomb_forward, shoulder.friction.coulomb_backward) == (
        0.5,
        0.25,
        0.25,
    )
    inertia = model.tree.links[1].inertia
    assert inertia is not None
    assert inertia.mass == 2.0
    np.testing.assert_array_equal(inertia.com, [0.1, 0.0, 0.0])
    np.testing.assert_array_equal(inertia.inertia, np.diag([0.02, 0.03, 0.04]))


def test_base_and_gravity_reach_the_model() -> None:
    """What a URDF says is compared with Pinocchio in test_wheel.py."""
    model = load_urdf(ARM, base="floating", gravity=(0.0, 0.0, -1.62))
    assert (model.base, model.n, model.nq, model.gravity.tolist()) == ("floating", 7, 8, [0.0, 0.0, -1.62])
    with pytest.raises(ModelError, match="'fixed' or 'floating'"):
        load_urdf(ARM, base="loose")  # type: ignore[arg-type]  # what is refused here


def test_defaults_of_urdf() -> None:
    model = load_urdf(
        robot(link("a"), link("b"), '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>')
    )
    only = model.tree.joint("j")
    assert (only.axis.tolist(), only.position.tolist()) == ([1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(only.rotation, np.eye(3))
    assert (only.limits, only.friction, only.rotor_inertia) == (Limits(), Friction(), 0.0)


SOFT = 'velocity="4"/><safety_controller k_velocity="10"'


@pytest.mark.parametrize(
    ("change", "lower", "upper", "effort"),
    [
        ((' effort="30"', ""), -1.0, 2.0, math.inf),
        (('lower="-1" ', ""), 0.0, 2.0, 30.0),
        (("revolute", "continuous"), -math.inf, math.inf, 30.0),  # whatever it says
        *((('velocity="4"', f"{SOFT} {soft}"), lower, upper, 30.0) for soft, lower, upper in (
            ('soft_lower_limit="-0.5" soft_upper_limit="1.5"', -0.5, 1.5),
            ('soft_lower_limit="-5" soft_upper_limit="5"', -1.0, 2.0),
            ('soft_upper_limit="1.5"', -1.0, 1.5),
            ("", -1.0, 2.0),
            ('soft_lower_limit="1" soft_upper_limit="1"', -1.0, 2.0),
            ('soft_lower_limit="2.5" soft_upper_limit="3"', -1.0, 2.0),
        )),
    ],
)  # fmt: skip
def test_bounds_and_soft_limits_that_narrow_them(
    change: tuple[str, str], lower: float, upper: float, effort: float
) -> None:
    model = load_urdf(arm(change))
    assert (model.lower[0], model.upper[0], model.effort_limit[0]) == (lower, upper, effort)


@pytest.mark.parametrize("kind", ["continuous", "planar"])
def test_bounds_that_a_kind_does_not_have_are_not_read(kind: str) -> None:
    model = load_urdf(arm(("revolute", kind), ('upper="2"', 'upper="none"'), ('lower="-1"', 'lower="9"')))
    assert np.isinf(model.upper).all()


MIMIC = robot(
    link("a"), link("b"), link("c"), joint("j", "a", "b"),
    joint("k", "b", "c", inside='<mimic joint="j" multiplier="-0.5" offset="0.25"/>'),
)  # fmt: skip


def test_a_mimic_of_a_joint_that_does_not_exist_moves_by_itself() -> None:
    assert load_urdf(MIMIC.replace('mimic joint="j"', 'mimic joint="x"')).joint_names == ("j", "k")


def test_lock_freezes_a_joint_and_what_mimics_it() -> None:
    model = load_urdf(MIMIC, lock={"j": 0.4})
    assert model.n == 0
    np.testing.assert_allclose(model.tree.joint("k").rotation, rotation_about([0.0, 0.0, 1.0], 0.05), atol=1e-15)
    with pytest.raises(ModelError, match="no joint named 'x'"):
        load_urdf(ARM, lock={"x": 0.0})


def test_names_need_no_care() -> None:
    names = ('<robot name="arm">', '<robot name="a &amp; &lt;b&gt; &quot;c&quot;">'), ('"shoulder"', '"é &lt; 3"')
    model = load_urdf(arm(*names))
    assert (model.name, model.joint_names) == ('a & <b> "c"', ("é < 3",))


REFUSED_BY_URDF_PARSER_PY = """
  <material name="no colour"/>
  <material name="odd"><color rgba="1 0 x"/></material>
  <material><texture/></material>
  <gazebo reference="upper"><plugin><![CDATA[ <any> ]]></plugin><mu1>x</mu1></gazebo>
  <transmission name="t"><type>own/Type</type><flexJoint name="f"/></transmission>
  <transmission/>
  <ros2_control name="x" type="system"><hardware/></ros2_control>
  <link name="shaped">
    <visual><geometry/><material name="x"/></visual>
    <visual><geometry><box size="1 2"/></geometry></visual>
    <collision><geometry><capsule/></geometry></collision>
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1" note="n"/></inertial>
  </link>
  <joint name="f" type="fixed"><parent link="upper"/><child link="shaped"/>
    <safety_controller k="1"/><calibration reference_position="x"/><limit/><mimic/></joint>
"""


def test_what_dynamics_does_not_need_never_stops_it() -> None:
    model = load_urdf(arm_and(REFUSED_BY_URDF_PARSER_PY, ('name="arm"', 'name="arm" version="7.x"')))
    assert model.mass == 3.0


def test_loading_prints_nothing_and_warns_through_logging(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "rne_dynamics"):
        assert load_urdf(arm_and(REFUSED_BY_URDF_PARSER_PY, ('effort="30"', 'effort="0"'))).mass == 3.0
    assert capfd.readouterr() == ("", "")
    assert any("effort is 0" in record.getMessage() for record in caplog.records)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any(f"`{typed('check')}` lists them" in warning for warning in warnings)


def test_loading_prints_nothing_where_logging_is_not_set_up() -> None:
    code = "import sys; from rne_dynamics.description.urdf import load_urdf; load_urdf(sys.stdin.read())"
    text = arm_and(REFUSED_BY_URDF_PARSER_PY, ('effort="30"', 'effort="0"'))
    done = subprocess.run([sys.executable, "-c", code], input=text, text=True, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.slow
def test_a_long_chain_is_no_matter_of_recursion() -> None:
    count = 1500
    links = [link(f"l{i}") for i in range(count + 1)]
    joints = [joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(count)]
    assert load_urdf(robot(*links, *reversed(joints))).n == count
