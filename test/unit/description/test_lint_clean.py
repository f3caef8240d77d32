"""Descriptions without a fault, and faults that are found once, together, and in seconds."""

from __future__ import annotations

import re
import time

import pytest
from support.urdf_text import ARM, INERTIA, arm, joint, link, robot
from support.wheel import wheel_urdf

from rne_dynamics.advice import rne as typed
from rne_dynamics.description.lint.description import MOST_COORDINATES, lint
from rne_dynamics.description.lint.findings import Severity
from rne_dynamics.description.share import share_file, shipped_robots
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.errors import DescriptionError


@pytest.mark.parametrize("name", shipped_robots())
def test_robots_that_ship_have_no_finding(name: str) -> None:
    assert lint(share_file(f"urdf/{name}.urdf")).findings == ()


def links_of(first: str, second: str, kind: str = "revolute") -> str:
    """Links a, b and c at some distances."""
    return robot(
        link("a"), link("b"), link("c"), joint("j1", "a", "b", kind, f'<origin xyz="{first}"/>'),
        joint("j2", "b", "c", inside=f'<origin xyz="{second}"/>'),
    )  # fmt: skip


#: Nothing is found here.
CLEAN = {
    "the sample arm": ARM,
    "a rod, two equal moments and one zero, as CAD rounds it": arm(
        (INERTIA, 'ixx="0" ixy="-1e-20" ixz="0" iyy="0.0301" iyz="0" izz="0.0301"')
    ),
    "what a fixed joint does not use": arm(
        ("revolute", "fixed"), ("0 1 0", "0 0 0"), ('lower="-1"', 'lower="3"'), ('effort="30"', 'effort="x"')
    ),
    "a mimic that carries the weight of a massless leader": robot(
        link("a"), '<link name="b"/>', link("c"), joint("j", "a", "b"),
        joint("k", "a", "c", inside='<mimic joint="j"/>'),
    ),
    "long links whose neighbours are long": links_of("0 0 0.3", "0 29 0"),
    "a long link after one without length": links_of("0 0 0.001", "0 0.9 0"),
    "a far place of the robot": links_of("0 0 300", "0 0.3 0", "fixed"),
}  # fmt: skip


@pytest.mark.parametrize("case", CLEAN)
def test_what_is_no_fault(case: str) -> None:
    assert lint(CLEAN[case]).findings == ()
    load_urdf(CLEAN[case])


@pytest.mark.parametrize(("text", "lines", "elements"), [
    (arm(("revolute", "spherical")), [9], ["joint 'shoulder'"]),  # its child is no second root
    (robot(link("a"), link("b"), link("c")), [3, 4], ["link 'b'", "link 'c'"]),  # and no loop
    (links_of("0 0 300", "0 0.3 0"), [5], ["joint 'j1' <origin>"]),
])  # fmt: skip
def test_nothing_else_is_found(text: str, lines: list[int], elements: list[str]) -> None:
    assert [(f.line, f.element) for f in lint(text).findings] == list(zip(lines, elements, strict=True))


def test_checks_go_on_after_the_first_fault() -> None:
    text = arm(
        ("0 1 0", "0 0 0"),
        ('value="2"', 'value="-2"'),
        ('lower="-1"', 'lower="3"'),
        ('child link="upper"', 'child link="x"'),
    )
    assert [f.line for f in lint(text).of(Severity.ERROR)] == [3, 5, 11, 13, 14]
    with pytest.raises(DescriptionError, match=re.escape(f"and 4 more: `{typed('check')}` lists them")):
        load_urdf(text)


def test_one_link_that_outweighs_all_others() -> None:
    links = [link("a"), *(link(f"l{i}", 900.0 if i == 2 else 1.0) for i in range(5))]
    joints = [joint(f"j{i}", f"l{i - 1}" if i else "a", f"l{i}") for i in range(5)]
    (finding,) = lint(robot(*links, *joints)).findings
    assert (finding.severity, finding.line, finding.element) == (Severity.WARNING, 5, "link 'l2' <mass>")
    chain_of = [link("l0"), *(x for i in range(MOST_COORDINATES + 1) for x in (
        link(f"l{i + 1}"), joint(f"j{i}", f"l{i}", f"l{i + 1}")))]
    assert any(f"at most {MOST_COORDINATES} are allowed" in f.message for f in lint(robot(*chain_of)).findings)


@pytest.mark.slow
def test_many_faults_and_many_links_end_in_seconds() -> None:
    count = MOST_COORDINATES
    links = [link(f"l{i}") for i in range(count)]
    dangling = [joint(f"j{i}", f"x{i}", f"l{i}") for i in range(count)]
    start = time.process_time()
    assert len(lint(robot(*links, *dangling)).of(Severity.ERROR)) >= count
    (finding,) = lint(robot(*links, *dangling, joint("one", "l0", "more"))).findings
    assert f"at most {MOST_COORDINATES} are allowed" in finding.message
    assert time.process_time() - start < 30.0


def test_real_faults_in_published_robots_are_found() -> None:
    romeo = lint(wheel_urdf("romeo_laas_small.urdf")).of(Severity.WARNING)
    assert any(f.element == "link 'body' <inertia>" and "not positive definite" in f.message for f in romeo)
    pendulum = lint(wheel_urdf("double_pendulum.urdf")).of(Severity.WARNING)
    assert sum("effort is 0" in f.message for f in pendulum) == 2
    hand = lint(wheel_urdf("alex_psyonic_hands.urdf")).of(Severity.WARNING)
    assert sum("the mimic is ignored" in f.message for f in hand) == 8
