"""Randomly changed URDFs load or are refused: no other exception, no output, no NaN in the model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.urdf_text import ARM, arm_and, joint, link, robot

from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.robot import RobotModel

SEEDS = [
    ARM,
    arm_and(
        '<transmission name="t"><joint name="shoulder"/><actuator><mechanicalReduction>50</mechanicalReduction>'
        "<rotorInertia>1e-4</rotorInertia></actuator></transmission>"
    ),
    robot(
        link("a"), link("b"), link("c"), link("d"),
        joint("j", "a", "b", "prismatic"),
        joint("k", "b", "c", inside='<mimic joint="j" multiplier="2" offset="1"/>'),
        joint("p", "b", "d", "planar"),
    ),
]  # fmt: skip
#: Pieces that break parsers, put in place of or between others.
PIECES = [
    "", " ", "0", "-1", "nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "1e400", "1,5", "0x1", "١", "1_0", "a",
        "x" * 300,
    '"', "<", ">", "</", "/>", "&", "&amp;", "&#0;", "&#xD800;", "&lol;", "<!--", "-->", "<![CDATA[", "]]>",
        "<?xml ?>", "<!DOCTYPE a [",
    "\x00", "\ud800", "\ufeff", "\n", "é", "<link/>", "<joint/>", "<inertial/>", "<mimic/>", "<limit/>", "<axis/>",
        "<robot/>", "quat_xyzw", '<axis xyz="0 1 0"/>', '<origin xyz="1 0 0"/>', "<safety_controller/>",
        "soft_upper_limit",
    "<xacro:x/>", "<transmission/>", "fixed", "floating", "planar", "continuous", "prismatic", "base", "upper",
        "shoulder", "j", "k",
]  # fmt: skip
SETTINGS = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def loads_or_is_refused(source: str | bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an overflow in numpy would be one
        try:
            report = lint(source)
            robot = load_urdf(source)
        except RneDynamicsError as refused:
            is_refused(source, str(refused))
            return
        assert report.ok
        assert not lint(source, lenient=True).repairs
    sound(robot)


def is_refused(source: str | bytes, message: str) -> None:
    assert "\n" not in message
    if "--lenient" in message:
        sound(load_urdf(source, lenient=True))
    else:
        with pytest.raises(RneDynamicsError):
            load_urdf(source, lenient=True)


def sound(robot: RobotModel) -> None:
    assert np.isfinite(robot.parameters).all()
    assert (robot.lower <= robot.upper).all()
    assert not np.isnan(robot.effort_limit).any()


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A URDF in which tokens are replaced, deleted, doubled or swapped."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + draw(st.sampled_from([0, 1, 3, 10, 60])))))
        kind = draw(st.sampled_from(["piece", "delete", "double", "cut"]))
        if kind == "piece":
            text = text[:start] + draw(st.sampled_from(PIECES)) + text[end:]
        elif kind == "delete":
            text = text[:start] + text[end:]
        elif kind == "double":
            text = text[:end] + text[start:end] + text[end:]
        else:
            text = text[:start]
    return text


@st.composite
def other_values(draw: st.DrawFn) -> str:
    """A well-formed URDF in which the values of attributes are others, so that the later checks are reached."""
    parts = draw(st.sampled_from(SEEDS)).split('"')
    numbers = st.floats(allow_nan=True, allow_infinity=True).map(repr)
    vectors = st.lists(numbers, min_size=3, max_size=3).map(" ".join)
    values = st.one_of(st.sampled_from(PIECES[:17] + PIECES[-11:]), numbers, vectors, st.sampled_from(parts[1::2]))
    for _ in range(draw(st.integers(1, 5))):
        parts[draw(st.integers(0, len(parts) // 2 - 1)) * 2 + 1] = draw(values)
    return '"'.join(parts)


@given(mutated())
@SETTINGS
def test_mutated_text(text: str) -> None:
    if "<" in text or not text.strip():
        loads_or_is_refused(text)


@given(other_values())
@SETTINGS
@example(ARM.replace('value="2"', 'value="1e12"').replace('"0.1 0 0"', '"1e12 1e12 1e12"'))
@example(ARM.replace('"0 1 0"', '"1e-200 1e-200 0"'))
@example(ARM.replace('"0 1 0"', '"1e12 1e12 1e-12"'))
@example(ARM.replace('lower="-1" upper="2"', 'lower="-1.7976931348623157e308" upper="1.7976931348623157e308"'))
def test_other_values(text: str) -> None:
    loads_or_is_refused(text)


@given(st.binary(max_size=200))
@SETTINGS
def test_any_bytes(data: bytes) -> None:
    loads_or_is_refused(data)


@given(st.text(max_size=60))
@settings(SETTINGS, max_examples=40)  # each is compared with the names of all robots
def test_any_string_as_a_source(text: str) -> None:
    loads_or_is_refused(text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-7", "cp037"])
def test_encodings_nobody_declared(encoding: str) -> None:
    loads_or_is_refused(ARM.encode(encoding))
