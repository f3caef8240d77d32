"""Every fault that the checks find, with line, element, value and fix; valid descriptions have none."""

from __future__ import annotations

import pytest
from support.urdf_text import INERTIA, arm, arm_and, joint, link, robot

from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.lint.findings import Severity
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import DescriptionError

TWO = (link("a"), link("b"))


def chain(first: str, second: str = "") -> str:
    """Links a, b, c with joints j1 (a to b) and j2 (b to c); the texts go inside them. j2 is on line 6."""
    return robot(
        link("a"), link("b"), link("c"), joint("j1", "a", "b", inside=first), joint("j2", "b", "c", inside=second)
    )


#: text, line, element, what the message must say, what the fix must say
ERRORS = {
    "root_is_sdf": ("<sdf/>", 1, "<sdf>", "must be <robot>", "convert this one"),
    "no_link": ("<robot name='a'>\n</robot>", 1, "<robot>", "no <link>", "give the file of a robot"),
    "link_without_name": (arm(('<link name="base"/>', "<link/>")), 2, "<link>", "no name", 'name="..."'),
    "joint_without_name": (arm(('name="shoulder" ', "")), 9, "<joint>", "no name", 'name="..."'),
    "link_twice": (arm_and('<link name="upper"/>'), 17, "link 'upper'", "first in line 3", "rename or delete"),
    "joint_twice": (
        robot(*TWO, link("c"), joint("j", "a", "b"), joint("j", "b", "c")), 6, "joint 'j'", "first in line 5", "rename",
    ),
    "joint_of_unknown_type": (
        arm(("revolute", "revolut")), 9, "joint 'shoulder'", "type is 'revolut'", "write type='revolute'",
    ),
    "joint_without_type": (arm((' type="revolute"', "")), 9, "joint 'shoulder'", "type is missing", "write type="),
    "parent_missing": (
        arm(('    <parent link="base"/>\n', "\n")), 9, "joint 'shoulder' <parent>", "is missing",
        '<parent link="..."/>',
    ),
    "child_names_nothing": (
        arm(('child link="upper"', "child")), 11, "joint 'shoulder' <child>", "names no link", '<child link="..."/>',
    ),
    "dangling_parent": (
        arm(('parent link="base"', 'parent link="bas"')), 10, "joint 'shoulder' <parent>", "no link 'bas'",
        "write 'base'",
    ),
    "dangling_child": (
        arm(('child link="upper"', 'child link="lower"')), 11, "joint 'shoulder' <child>", "no link 'lower'",
        "add the link",
    ),
    "missing_root": (
        robot(*TWO, link("c"), joint("j1", "world", "a"), joint("j2", "a", "b"), joint("j3", "b", "c")),
        5, "joint 'j1' <parent>", "no link 'world', which is the root", '<link name="world"/>',
    ),
    "two_parents": (
        robot(*TWO, link("c"), joint("j1", "a", "c"), joint("j2", "b", "c")), 6, "joint 'j2'", "two parents: 'a'",
        "delete",
    ),
    "two_roots": (robot(*TWO, link("c"), joint("j", "a", "b")), 4, "link 'c'", "second root, besides", "add a joint"),
    "joint_on_itself": (robot(link("a"), joint("j", "a", "a")), 3, "joint 'j'", "'a' with itself", "two different"),
    "loop_of_all": (
        robot(*TWO, joint("j1", "a", "b"), joint("j2", "b", "a")), 2, "link 'a'", "'a', 'b' form a loop",
        "cut the loop",
    ),
    "loop_next_to_the_root": (
        robot(link("r"), *TWO, joint("j1", "a", "b"), joint("j2", "b", "a")), 3, "link 'a'", "loop", "cut the loop",
    ),
    "second_inertial": (
        arm(("    </inertial>\n", "    </inertial><inertial/>\n")), 7, "link 'upper' <inertial>", "first in line 4",
        "delete",
    ),
    "second_axis": (
        arm(('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="1 0 0"/>')),
        13, "joint 'shoulder' <axis>", "is there twice", "delete one",
    ),
    "xacro_element": (
        arm_and("<xacro:macro/>"), 17, "<xacro:macro>", "xacro element", "give the .xacro file",
    ),
    "xacro_in_a_joint": (
        arm(('<axis xyz="0 1 0"/>', '<xacro:axis_of_shoulder/>')), 13, "joint 'shoulder' <xacro:axis_of_shoulder>",
        "xacro element", "give the .xacro file",
    ),
    "xacro_in_an_inertial": (
        arm(('<mass value="2"/>', '<mass value="2"/><xacro:box/>')), 5, "link 'upper' <inertial> <xacro:box>",
        "xacro element", "give the .xacro file",
    ),
    "soft_limit_no_number": (
        arm(('velocity="4"/>', 'velocity="4"/><safety_controller soft_lower_limit="low"/>')), 14,
        "joint 'shoulder' <safety_controller>", "soft_lower_limit is 'low'", "as a number",
    ),
    "zero_axis": (arm(("0 1 0", "0 0 0")), 13, "joint 'shoulder' <axis>", "'0 0 0'", "make the joint fixed"),
    "axis_without_xyz": (arm((' xyz="0 1 0"', "")), 13, "joint 'shoulder' <axis>", "xyz is missing", 'xyz="0 0 1"'),
    "axis_of_two": (arm(("0 1 0", "0 1")), 13, "joint 'shoulder' <axis>", "'0 1'", "give 3"),
    "axis_nan": (arm(("0 1 0", "0 nan 0")), 13, "joint 'shoulder' <axis>", "'0 nan 0'", "write the value"),
    "origin_in_wrong_locale": (
        arm(("0 0 0.5", "0 0 0,5")), 12, "joint 'shoulder' <origin>", "'0 0 0,5'",
        "with a decimal point",
    ),
    "centre_with_commas": (
        arm(("0.1 0 0", "0.1, 0, 0")), 4, "link 'upper' <inertial> <origin>", "'0.1, 0, 0'",
        "without commas",
    ),
    "moment_with_a_blank": (
        arm(('ixx="0.02"', 'ixx="0. 02"')), 6, "link 'upper' <inertia>", "ixx is '0. 02'", "give 1",
    ),
    "origin_missing_number": (arm(("0 0 0.5", "0 0.5")), 12, "joint 'shoulder' <origin>", "not 2", "give 3"),
    "origin_by_quaternion": (
        arm(('xyz="0 0 0.5" rpy="0 0 0"', 'quat_xyzw="0 0 0 1"')), 12, "joint 'shoulder' <origin>", "quat_xyzw",
        "as rpy",
    ),
    "lower_above_upper": (
        arm(('lower="-1"', 'lower="3"')), 14, "joint 'shoulder' <limit>", "lower is 3, above upper, which is 2", "swap",
    ),
    "limit_nan": (arm(('upper="2"', 'upper="nan"')), 14, "joint 'shoulder' <limit>", "upper is 'nan'",
        "write the value"),
    "limit_infinite": (arm(('upper="2"', 'upper="inf"')), 14, "joint 'shoulder' <limit>", "upper is 'inf'", "leave"),
    "limit_empty": (arm(('upper="2"', 'upper=""')), 14, "joint 'shoulder' <limit>", "upper is ''", "give the value"),
    "effort_in_wrong_locale": (
        arm(('effort="30"', 'effort="30,5"')), 14, "joint 'shoulder' <limit>", "effort is '30,5'", "decimal point",
    ),
    "effort_negative": (
        arm(('effort="30"', 'effort="-30"')), 14, "joint 'shoulder' <limit>", "effort is -30", "largest magnitude",
    ),
    "velocity_no_number": (
        arm(('velocity="4"', 'velocity="fast"')), 14, "joint 'shoulder' <limit>", "velocity is 'fast'", "as a number",
    ),
    "damping_negative": (
        arm(('damping="0.5"', 'damping="-0.5"')), 15, "joint 'shoulder' <dynamics>", "damping is -0.5", "magnitude",
    ),
    "friction_no_number": (
        arm(('friction="0.25"', 'friction="low"')), 15, "joint 'shoulder' <dynamics>", "friction is 'low'",
        "as a number",
    ),
    "mass_missing": (arm(('      <mass value="2"/>\n', "\n")), 4, "link 'upper' <mass>", "mass is missing",
        "<mass value"),
    "mass_without_value": (arm((' value="2"', "")), 5, "link 'upper' <mass>", "mass is missing", "<mass value"),
    "mass_negative": (arm(('value="2"', 'value="-2"')), 5, "link 'upper' <mass>", "value is -2 kg", "write the mass"),
    "mass_nan": (arm(('value="2"', 'value="NaN"')), 5, "link 'upper' <mass>", "value is 'NaN'", "write the value"),
    "mass_in_wrong_locale": (arm(('value="2"', 'value="2,5"')), 5, "link 'upper' <mass>", "'2,5'", "decimal point"),
    "mass_vast": (arm(('value="2"', 'value="1e200"')), 5, "link 'upper' <mass>", "'1e200'", "SI units"),
    "centre_nan": (arm(("0.1 0 0", "nan 0 0")), 4, "link 'upper' <inertial> <origin>", "'nan 0 0'", "write the value"),
    "inertia_incomplete": (arm(('iyz="0" ', "")), 6, "link 'upper' <inertia>", "iyz is missing", 'write iyz="..."'),
    "inertia_nan": (arm(('iyz="0"', 'iyz="nan"')), 6, "link 'upper' <inertia>", "iyz is 'nan'", "write the value"),
    "moment_negative": (arm(('iyy="0.03"', 'iyy="-0.03"')), 6, "link 'upper' <inertia>", "iyy is -0.03", "its sign"),
    "inertia_grossly_indefinite": (
        arm(('ixy="0"', 'ixy="0.5"')), 6, "link 'upper' <inertia>",
        "not positive definite: its principal moments are -0.475",
        "products",
    ),
    "mimic_of_itself": (chain('<mimic joint="j1"/>'), 5, "joint 'j1' <mimic>", "circle: j1 -> j1", "move by itself"),
    "mimic_circle": (
        chain('<mimic joint="j2"/>', '<mimic joint="j1"/>'), 5, "joint 'j1' <mimic>", "circle: j1 -> j2 -> j1",
        "by itself",
    ),
    "mimic_of_a_fixed_joint": (
        robot(*TWO, link("c"), joint("j1", "a", "b", "fixed"), joint("j2", "b", "c", inside='<mimic joint="j1"/>')),
        6, "joint 'j2' <mimic>", "which is fixed", "name a joint that moves",
    ),
    "floating_joint_that_mimics": (
        robot(*TWO, link("c"), joint("j1", "a", "b"), joint("j2", "b", "c", "floating", '<mimic joint="j1"/>')),
        6, "joint 'j2' <mimic>", "floating joint cannot mimic", "delete",
    ),
    "mimic_multiplier_no_number": (
        chain("", '<mimic joint="j1" multiplier="2x"/>'), 6, "joint 'j2' <mimic>", "multiplier is '2x'", "as a number",
    ),
    "empty": ("", 1, "file", "is empty", "give a URDF"),
    "xml_fault": ("<robot>\n<link></robot>", 2, "XML", "mismatched tag", "close every element"),
}  # fmt: skip

#: as above; the file loads
WARNINGS = {
    "robot_without_name": (arm((' name="arm"', "")), 1, "<robot>", "no name", 'name="..."'),
    "misspelt_at_top": (arm_and("<Link/>"), 17, "<Link>", "no URDF element", "write <link>"),
    "misspelt_element": (arm(("<limit ", "<limits ")), 14, "joint 'shoulder' <limits>", "no URDF element",
        "write <limit>"),
    "misspelt_attribute": (
        arm(('upper="2"', 'uper="2"')), 14, "joint 'shoulder' <limit>", "'uper' is unknown", "write 'upper'",
    ),
    "axis_not_of_length_one": (arm(("0 1 0", "0 2 0")), 13, "joint 'shoulder' <axis>", "length 2", "divide it"),
    "no_limit": (
        arm(('    <limit lower="-1" upper="2" effort="30" velocity="4"/>\n', "\n")),
        9, "joint 'shoulder'", "position, speed and effort have no bound", "add <limit>",
    ),
    "lower_missing": (arm(('lower="-1" ', "")), 14, "joint 'shoulder' <limit>", "lower is missing", 'lower="..."'),
    "effort_missing": (arm((' effort="30"', "")), 14, "joint 'shoulder' <limit>", "effort is missing", 'effort="..."'),
    "velocity_missing": (arm((' velocity="4"', "")), 14, "joint 'shoulder' <limit>", "velocity is missing",
        "data sheet"),
    "effort_zero": (arm(('effort="30"', 'effort="0"')), 14, "joint 'shoulder' <limit>", "effort is 0", "data sheet"),
    "effort_none": (arm(('effort="30"', 'effort="1e9"')), 14, "joint 'shoulder' <limit>", "effort is 1e+09: it has no",
                    "data sheet"),
    "velocity_zero": (arm(('velocity="4"', 'velocity="0"')), 14, "joint 'shoulder' <limit>", "velocity is 0",
        "data sheet"),
    "cannot_move": (arm(('upper="2"', 'upper="-1"')), 14, "joint 'shoulder' <limit>", "cannot move", "write the range"),
    "soft_limits_beyond_the_range": (
        arm(('velocity="4"/>', 'velocity="4"/><safety_controller soft_lower_limit="2" soft_upper_limit="3"/>')), 14,
        "joint 'shoulder' <safety_controller>", "2 to 3 leave nothing of the joint's range -1 to 2", "inside the range",
    ),
    "limits_in_degrees": (arm(('upper="2"', 'upper="180"')), 14, "joint 'shoulder' <limit>", "180 rad", "from degrees"),
    "limits_in_millimetres": (
        arm(("revolute", "prismatic"), ('upper="2"', 'upper="600"')), 14, "joint 'shoulder' <limit>", "600 m",
        "millimetres",
    ),
    "moment_with_a_blank_at_its_end": (
        arm(('ixx="0.02"', 'ixx="0.02 "')), 6, "link 'upper' <inertia>",
        "ixx is '0.02 ', with a blank at its end: urdfdom", "delete the blank",
    ),
    "placement_in_degrees": (
        arm(('xyz="0 0 0.5" rpy="0 0 0"', 'xyz="0 0 0.5" rpy="0 90 0"')), 12, "joint 'shoulder' <origin>",
        "rpy is '0 90 0', in radians more than a turn", 'write rpy="0 1.570796327 0" if these are degrees',
    ),
    "inertia_turned_by_degrees": (
        arm(('xyz="0.1 0 0" rpy="0 0 0"', 'xyz="0.1 0 0" rpy="0 0 -45"')), 4, "link 'upper' <inertial> <origin>",
        "rpy is '0 0 -45'", 'write rpy="0 0 -0.7853981634"',
    ),
    "friction_above_the_effort_limit": (
        arm(('damping="0.5" friction="0.25"', 'damping="0.25" friction="30"')), 15, "joint 'shoulder' <dynamics>",
        "friction is 30 N m, while the effort limit is 30 N m: its drive cannot move it", "swapped?",
    ),
    "centre_of_millimetres_near_by": (
        arm(("0.1 0 0", "3 0 0")), 4, "link 'upper' <inertial> <origin>", "3 m from the link's frame; no joint is more",
        "millimetres",
    ),
    "mass_in_grams": (arm(('value="2"', 'value="1300000"')), 5, "link 'upper' <mass>", "1.3e+06 kg", "from grams"),
    "mass_zero_with_inertia": (arm(('value="2"', 'value="0"')), 6, "link 'upper' <inertia>", "the mass is 0",
        "write the mass"),
    "centre_in_millimetres": (
        arm(("0.1 0 0", "100 0 0")), 4, "link 'upper' <inertial> <origin>", "100 m from", "millimetres",
    ),
    "link_in_millimetres": (
        robot(*TWO, link("c"), joint("j1", "a", "b", inside='<origin xyz="0 0 0.3"/>'),
              joint("j2", "b", "c", inside='<origin\nxyz="0 300 0"/>')),
        6, "joint 'j2' <origin>", "300 m from the joint before it; neighbouring links reach at most 0.3 m",
        "millimetres",
    ),
    "inertia_missing": (
        arm((f"      <inertia {INERTIA}/>\n", "\n")), 4, "link 'upper' <inertia>", "point mass", "add <inertia>",
    ),
    "triangle_inequality": (
        arm(('izz="0.04"', 'izz="0.06"')), 6, "link 'upper' <inertia>", "0.02 + 0.03 < 0.06", "from CAD again",
    ),
    "inertia_slightly_indefinite": (
        arm(('ixy="0"', 'ixy="0.026"')), 6, "link 'upper' <inertia>", "not positive definite", "products",
    ),
    "inertia_of_a_grain": (
        arm((INERTIA, 'ixx="2e-11" ixy="0" ixz="0" iyy="3e-11" iyz="0" izz="4e-11"')),
        6, "link 'upper' <inertia>", "less than a millimetre", "units",
    ),
    "inertia_of_a_house": (
        arm((INERTIA, 'ixx="200" ixy="0" ixz="0" iyy="300" iyz="0" izz="400"')), 3, "link 'upper' <inertia>", "across",
        "kg mm^2",
    ),
    "moves_nothing": (
        robot(link("a"), '<link name="b"/>', joint("j", "a", "b")), 3, "link 'b'", "'j' moves no inertia",
        "add the <inertial>",
    ),
    "slides_nothing": (
        robot(link("a"), '<link name="b"/>', joint("j", "a", "b", "prismatic")), 3, "link 'b'", "no mass",
        "make the joint fixed",
    ),
    "turns_a_point_on_its_axis": (
        robot(link("a"), '<link name="b"><inertial><mass value="1"/></inertial></link>', joint("j", "a", "b")),
        3, "link 'b'", "no inertia about its axis", "add the <inertial>",
    ),
    "shape_without_inertia": (
        robot(link("a"), '<link name="b"><visual/></link>', link("c"), joint("j", "a", "b"), joint("k", "b", "c")),
        3, "link 'b'", "has no <inertial>", "add its <inertial>",
    ),
    "mimic_of_nothing": (chain("", '<mimic joint="j3"/>'), 6, "joint 'j2' <mimic>", "no joint 'j3'", "write 'j"),
    "mimic_beyond_its_limits": (
        chain("", '<mimic joint="j1" multiplier="2" offset="0.5"/>'),
        6, "joint 'j2' <mimic>", "from -1.5 to 2.5, outside its own limits -1 to 1", "widen its limits",
    ),
    "mimic_that_stays": (chain("", '<mimic joint="j1" multiplier="0"/>'), 6, "joint 'j2' <mimic>", "multiplier is 0",
        "fixed"),
}  # fmt: skip


#: as above; only doubtful
NOTES = {
    "speed_in_degrees": (
        arm(('velocity="4"', 'velocity="180"')), 14, "joint 'shoulder' <limit>",
        "velocity is 180 rad/s, 28.6 turns per second", 'write velocity="3.14159" if it is in degrees per second',
    ),
    "damping_above_the_effort_limit": (
        arm(('damping="0.5"', 'damping="10"')), 15, "joint 'shoulder' <dynamics>",
        "the effort limit of 30 N m is used up at 2.98 rad/s, while the velocity limit is 4 rad/s", "swapped?",
    ),
}  # fmt: skip


CASES = {Severity.ERROR: ERRORS, Severity.WARNING: WARNINGS, Severity.NOTE: NOTES}


@pytest.mark.parametrize(("severity", "case"), [(severity, case) for severity in CASES for case in CASES[severity]])
def test_findings_name_line_element_value_and_fix(severity: Severity, case: str) -> None:
    """And a robot is refused for errors alone, in one line with the file."""
    text, line, element, says, fix = CASES[severity][case]
    report = lint(text if text.strip() else text.encode())
    fitting = [f for f in report.of(severity) if (f.line, f.element) == (line, element) and says in f.message]
    assert len(fitting) == 1, f"not found once among {[(f.line, str(f)) for f in report.findings]}"
    assert fix in fitting[0].fix
    assert report.ok is (severity is not Severity.ERROR)
    if report.ok:
        load_urdf(text)
        return
    with pytest.raises(DescriptionError) as caught:
        load_urdf(text.encode())
    message = str(caught.value)
    assert message.startswith("<text>:")
    assert "\n" not in message


def test_a_missing_root_is_one_finding_and_no_loop() -> None:
    report = lint(ERRORS["missing_root"][0])
    assert [(f.line, f.element) for f in report.findings] == [(5, "joint 'j1' <parent>")]
    # a loop without a parent is a loop too
    lines = ERRORS["missing_root"][0].replace("</robot>", "")
    more = lint("\n".join([lines, link("d"), link("e"), joint("k", "d", "e"), joint("l", "e", "d"), "</robot>"]))
    assert ["'d', 'e' form a loop" in f.message for f in more.findings] == [False, True]
