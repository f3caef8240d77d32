"""The parameter schema, on values and on a real node."""

from __future__ import annotations

import math
from array import array

import pytest
import rclpy
from rclpy.context import Context
from rclpy.parameter import Parameter as RosParameter

from rne_dynamics.errors import ControlError, ParameterError
from rne_dynamics.ros import computed_torque_controller, effort_gate, gravity_compensation, move, simulator
from rne_dynamics.ros.parameters.files import Parameter, per_joint
from rne_dynamics.ros.parameters.table import COMMON, ParameterTable

GAIN = Parameter("gains.{joint}.p", 1.0, "Gain.", "1/s^2", 0.0, 100.0)
SCHEMA = (
    GAIN,
    Parameter("timeout", 0.5, "Time.", "s", 0.0, 1.0),
    Parameter("count", 3, "Number.", "", 0, 10),
    Parameter("kind", "slow", "Which.", choices=("slow", "fast")),
    Parameter("on", True, "Whether.", read_only=True),
    Parameter("names", (), "Names.", kind=str),
    Parameter("offset", (0.0, 0.0), "Offset.", "m", -1.0, 1.0, length=(2,)),
)
BY_NAME = {p.name: p for p in SCHEMA}


@pytest.mark.parametrize(("name", "value", "parsed"), [
    ("timeout", 1, 1.0), ("timeout", 0.25, 0.25), ("count", 4, 4), ("kind", "fast", "fast"), ("on", False, False),
    ("names", ["a", "b"], ("a", "b")), ("names", [], ()), ("offset", [1, 0.5], (1.0, 0.5)),
    ("offset", array("d", [0.1, 0.2]), (0.1, 0.2)),
])
def test_what_is_taken(name, value, parsed):
    result = BY_NAME[name].parse(name, value)
    assert result == parsed
    assert type(result) is type(parsed)


@pytest.mark.parametrize(("name", "value", "said"), [
    ("timeout", math.nan, "finite"), ("timeout", math.inf, "finite"), ("timeout", 1.5, "between 0 and 1"),
    ("timeout", "0.5", "a number"), ("timeout", True, "a number"), ("timeout", None, "a number"),
    ("count", 2.0, "an integer"), ("count", 11, "between 0 and 10"), ("count", True, "an integer"),
    ("kind", "medium", "slow, fast"), ("kind", 5, "a string"), ("on", 1, "true or false"),
    ("names", "ab", "list"), ("names", [1], "a string"), ("offset", [0.0], "2"), ("offset", [0.0, math.nan], "finite"),
    ("offset", [0.0, 2.0], r"offset[1]"),
])
def test_what_is_refused_and_how_it_is_said(name, value, said):
    with pytest.raises(ParameterError) as error:
        BY_NAME[name].parse(name, value)
    assert said in str(error.value)
    assert name in str(error.value)


@pytest.fixture
def make_node():
    nodes = []

    def make(**overrides):
        values = [RosParameter(n.replace("__", "."), value=v) for n, v in overrides.items()]
        nodes.append(rclpy.create_node("parameters", parameter_overrides=values))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


def test_a_node_declares_them_with_descriptors(make_node):
    node = make_node(timeout=1, gains__a__p=5)
    table = ParameterTable(node, SCHEMA)
    table.declare_joints(["a", "b"])
    assert per_joint(table.values, "gains.{joint}.p", ["b", "a"]).tolist() == [1.0, 5.0]
    assert table["timeout"] == 1.0
    descriptor = node.describe_parameter("gains.a.p")
    assert descriptor.floating_point_range[0].to_value == 100.0
    assert "1/s^2" in descriptor.description
    assert node.describe_parameter("on").read_only


def test_changes_are_swapped_in_whole_or_not_at_all(make_node):
    node = make_node()
    table = ParameterTable(node, SCHEMA)
    table.declare_joints(["a"])
    seen = []

    def apply(values):
        if values["timeout"] == 0.9:
            raise ControlError("not together with this")
        return lambda: seen.append((values["timeout"], values["gains.a.p"]))

    table.prepare = apply
    before = table.values

    def change(**values):
        return node.set_parameters_atomically([RosParameter(n.replace("__", "."), value=v) for n, v in values.items()])

    assert not change(timeout=0.1, gains__a__p=math.nan).successful
    assert not change(timeout=0.9, gains__a__p=2.0).successful
    assert not change(on=False).successful
    assert table.values is before
    assert seen == []
    assert node.get_parameter("gains.a.p").value == 1.0
    assert change(timeout=0.1, gains__a__p=2).successful
    assert seen == [(0.1, 2.0)]
    assert table["gains.a.p"] == 2.0
    assert not node.set_parameters_atomically([RosParameter("timeout", RosParameter.Type.NOT_SET)]).successful


DOUBLE, DOUBLES = RosParameter.Type.DOUBLE, RosParameter.Type.DOUBLE_ARRAY


def as_ros_has_it(node, name):
    """Type and value of a parameter, and the type in its description."""
    parameter = node.get_parameter(name)
    value = parameter.value if isinstance(parameter.value, float) else list(parameter.value)
    return parameter.type_, value, node.describe_parameter(name).type


def test_integers_become_doubles_where_doubles_are_meant(make_node):
    node = make_node(timeout=1, offset=[0, 1], gains__a__p=5)
    table = ParameterTable(node, SCHEMA)
    table.declare_joints(["a"])
    assert as_ros_has_it(node, "timeout") == (DOUBLE, 1.0, DOUBLE.value)
    assert as_ros_has_it(node, "offset") == (DOUBLES, [0.0, 1.0], DOUBLES.value)
    assert as_ros_has_it(node, "gains.a.p") == (DOUBLE, 5.0, DOUBLE.value)
    for set_them in (node.set_parameters, node.set_parameters_atomically):
        set_them([RosParameter("gains.a.p", value=90), RosParameter("offset", value=[1, 0])])
        assert as_ros_has_it(node, "gains.a.p") == (DOUBLE, 90.0, DOUBLE.value)
        assert as_ros_has_it(node, "offset") == (DOUBLES, [1.0, 0.0], DOUBLES.value)
        set_them([RosParameter("gains.a.p", value=5.0), RosParameter("offset", value=[0.0, 1.0])])
    assert node.set_parameters([RosParameter("count", value=3)])[0].successful
    assert node.get_parameter("count").type_ == RosParameter.Type.INTEGER


@pytest.mark.parametrize("where", ["file", "command line"])
def test_integers_that_a_process_is_given_are_doubles_too(tmp_path, where):
    file, context = tmp_path / "node.yaml", Context()
    file.write_text("/**:\n  ros__parameters: {timeout: 1, offset: [0, 1], gains: {a: {p: 90}}}\n", encoding="utf-8")
    single = [word for given in ("timeout:=1", "offset:=[0, 1]", "gains.a.p:=90") for word in ("-p", given)]
    rclpy.init(args=["x", "--ros-args", *(single if where == "command line" else ["--params-file", str(file)])],
               context=context)  # fmt: skip
    try:
        node = rclpy.create_node("parameters", context=context)
        ParameterTable(node, SCHEMA).declare_joints(["a"])
        assert as_ros_has_it(node, "timeout") == (DOUBLE, 1.0, DOUBLE.value)
        assert as_ros_has_it(node, "offset") == (DOUBLES, [0.0, 1.0], DOUBLES.value)
        assert as_ros_has_it(node, "gains.a.p") == (DOUBLE, 90.0, DOUBLE.value)
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def test_an_empty_list_is_no_value_for_rcl_and_an_empty_list_here():
    context = Context()
    rclpy.init(args=["x", "--ros-args", "-p", "joints:=[]"], context=context)
    try:
        node = rclpy.create_node("parameters", context=context)
        assert ParameterTable(node, COMMON)["joints"] == ()
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


@pytest.mark.parametrize("wrong", ["900", True, [1.0], None])
def test_what_is_refused_leaves_the_type(make_node, wrong):
    node = make_node()
    ParameterTable(node, SCHEMA)
    before = as_ros_has_it(node, "timeout")
    unset = RosParameter("timeout", RosParameter.Type.NOT_SET)
    assert not node.set_parameters([unset if wrong is None else RosParameter("timeout", value=wrong)])[0].successful
    assert as_ros_has_it(node, "timeout") == before


@pytest.mark.parametrize("module", [computed_torque_controller, gravity_compensation, effort_gate, simulator, move])
def test_every_node_has_a_sound_schema(module):
    schema = (*COMMON, *module.SCHEMA)
    names = [p.name for p in schema]
    assert len(set(names)) == len(names)
    for parameter in schema:
        assert parameter.parse(parameter.name, parameter.default) == parameter.default
        assert parameter.description.endswith(".")
        assert "\n" not in parameter.description
