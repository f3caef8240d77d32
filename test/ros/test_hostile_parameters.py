"""Any value for any parameter of any node: taken within its bounds or refused by name, and never by halves."""

from __future__ import annotations

import math

import pytest
import rclpy
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.parameter import Parameter as RosParameter
from support.parameter_page import NODES

from rne_dynamics.errors import ParameterError
from rne_dynamics.ros.parameters.files import JOINT, Parameter
from rne_dynamics.ros.parameters.table import ParameterTable

JOINTS = ("a", "b")
#: The parameters of all nodes.
EVERY = list(dict.fromkeys(parameter for schema in NODES.values() for parameter in schema))
INTEGERS = st.integers(-(2**63), 2**63 - 1)
SPECIAL = st.sampled_from([
    math.nan, -math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0, -1, 2**63 - 1, -(2**63), True, False, "",
    "nan", "1.0", "\x00", "hold", "effort",
])
SCALARS = st.one_of(SPECIAL, st.floats(), INTEGERS, st.booleans(), st.text(max_size=5))
LISTS = st.one_of(*(
    st.lists(element, max_size=7) for element in (st.floats(), INTEGERS, st.booleans(), st.text(max_size=5))
))
#: Types of ROS parameters.
VALUES = st.one_of(SCALARS, LISTS, st.just([b"\x00", b"\xff"]))
#: What it cannot, but a caller in Python might hand over.
STRANGE = st.one_of(VALUES, st.none(), st.binary(max_size=3), st.lists(SCALARS, max_size=7),
                    st.lists(LISTS, max_size=3), st.complex_numbers())


def acceptable(parameter: Parameter, value: object) -> bool:
    """Whether a value fits a parameter: independently of the schema's parser."""

    def one(item: object) -> bool:
        if parameter.element is bool:
            return type(item) is bool
        if parameter.element is str:
            return type(item) is str and (not parameter.choices or item in parameter.choices)
        if type(item) is not int and (parameter.element is int or type(item) is not float):
            return False
        return math.isfinite(item) and not (item < parameter.lower or item > parameter.upper)

    if not isinstance(parameter.default, tuple):
        return one(value)
    return (
        not isinstance(value, (str, bytes)) and hasattr(value, "__iter__") and all(map(one, value))
        and (not parameter.length or len(value) in parameter.length)
    )


def fitting(parameter: Parameter) -> st.SearchStrategy[object]:
    """Values that are acceptable."""
    if parameter.element is bool:
        one = st.booleans()
    elif parameter.element is str:
        one = st.sampled_from(parameter.choices) if parameter.choices else st.text(max_size=5)
    elif parameter.element is int:
        one = st.integers(int(parameter.lower), int(parameter.upper))
    else:
        one = st.floats(max(parameter.lower, -1e300), min(parameter.upper, 1e300), allow_nan=False)
    if not isinstance(parameter.default, tuple):
        return one
    lengths = parameter.length or (0, 1, 3)
    return st.sampled_from(lengths).flatmap(lambda n: st.lists(one, min_size=n, max_size=n))


@pytest.mark.slow
@settings(max_examples=100, derandomize=True)
@given(data=st.data())
def test_a_value_is_parsed_within_bounds_or_refused_by_name(data):
    parameter = data.draw(st.sampled_from(EVERY))
    value = data.draw(st.one_of(STRANGE, fitting(parameter)))
    if not acceptable(parameter, value):
        with pytest.raises(ParameterError, match=r"the\.name"):
            parameter.parse("the.name", value)
        return
    parsed = parameter.parse("the.name", value)
    items = parsed if isinstance(parameter.default, tuple) else (parsed,)
    assert all(type(item) is parameter.element for item in items)


@pytest.fixture(scope="module")
def declare():
    """A node with the parameters of a controller for two joints; what cannot be changed can be here, and is not."""
    schema = NODES["computed_torque_controller"]
    node = rclpy.create_node("hostile")
    table = ParameterTable(node, schema)
    table.declare_joints(JOINTS)
    yield node, table, {p.name.replace(JOINT, joint): p for p in schema for joint in JOINTS}
    node.destroy_node()


@settings(max_examples=8, derandomize=True)
@given(data=st.data())
def test_a_set_of_changes_is_taken_whole_or_not_at_all(declare, data):
    node, table, declared = declare
    names = data.draw(st.lists(st.sampled_from(sorted(declared)), min_size=1, max_size=5, unique=True))
    changes = {
        name: data.draw(VALUES if data.draw(st.integers(0, 4)) == 0 else fitting(declared[name]), label=name)
        for name in names
    }
    before, values_before = table.values, {name: node.get_parameter(name).value for name in declared}
    result = node.set_parameters_atomically([RosParameter(n, value=v) for n, v in changes.items()])
    good = all(acceptable(declared[n], v) and not declared[n].read_only for n, v in changes.items())
    assert result.successful == good, result.reason
    if not good:
        assert table.values is before
        assert any(name in result.reason for name in names)
        for name, value in values_before.items():
            now = node.get_parameter(name).value
            assert now == value or now is value, name
        return
    assert table.values is not before
    for name, value in table.values.items():
        assert acceptable(declared[name], list(value) if isinstance(value, tuple) else value), name
        if name in changes:
            assert value == (tuple(changes[name]) if isinstance(value, tuple) else changes[name])
        else:
            assert value == before[name]


def test_numbers_are_bounded_and_nothing_else_has_bounds():
    for parameter in EVERY:
        bounded = math.isfinite(parameter.lower) and math.isfinite(parameter.upper)
        assert bounded == (parameter.element in (int, float)), parameter.name
        assert parameter.lower <= parameter.upper
