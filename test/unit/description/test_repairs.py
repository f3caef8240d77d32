"""Lenient loading: repairs, their warnings, and faults that stay errors."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import pytest

from rne_dynamics.description.model_file import load_model

pytest.importorskip("pinocchio", reason="the oracle is Pinocchio: rosdep, or pip install '.[test]'")

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation
from support.urdf_text import ARM, arm, arm_and

from rne_dynamics.cli.main import main
from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.lint.findings import Severity
from rne_dynamics.description.repairs import _rpy
from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.description.urdf_tree import rotation_rpy
from rne_dynamics.errors import DescriptionError

QUATERNION = 'quat_xyzw="0.1 0.2 -0.3 0.9"'
#: text, line, element, what the warning says
REPAIRED = {
    "xacro_at_the_top": (arm_and('<xacro:property name="a" value="1"/>'), 17, "<xacro:property>", "it is ignored"),
    "xacro_in_a_joint": (
        arm(("<dynamics", "<xacro:block/><dynamics")), 15, "joint 'shoulder' <xacro:block>", "it is ignored",
    ),
    "axis_twice": (
        arm(('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="0 1 0"/>')), 13, "joint 'shoulder' <axis>",
        "first in line 13, with the same values",
    ),
    "two_origins": (
        arm(('<origin xyz="0 0 0.5" rpy="0 0 0"/>', '<origin xyz="0 0 0.5"/>\n<origin xyz="0 0 9"/>')),
        13, "joint 'shoulder' <origin>", "first in line 12, with other values; the first is used",
    ),
    "two_inertials": (
        arm(("    </inertial>\n", '    </inertial><inertial><mass value="9"/></inertial>\n')), 7,
        "link 'upper' <inertial>", "with other values",
    ),
    "blank_line_first": (f'\n\n<?xml version="1.0"?>\n{ARM}', 1, "file", "has blanks before the XML declaration"),
    "lower_above_upper": (
        arm(('lower="-1"', 'lower="3"')), 14, "joint 'shoulder' <limit>", "lower is 3, above upper, which is 2",
    ),
    "effort_of_minus_one": (
        arm(('effort="30"', 'effort="-1"')), 14, "joint 'shoulder' <limit>", "effort is -1, which means none",
    ),
    "velocity_of_minus_one": (
        arm(('velocity="4"', 'velocity="-1.0"')), 14, "joint 'shoulder' <limit>", "velocity is -1",
    ),
    "quaternion": (
        arm(('<origin xyz="0 0 0.5" rpy="0 0 0"', f'<origin xyz="0 0 0.5" {QUATERNION}')), 12,
        "joint 'shoulder' <origin>", "quat_xyzw '0.1 0.2 -0.3 0.9', of length 0.974679, scaled to 1",
    ),
    "quaternion_of_an_inertial": (
        arm(('xyz="0.1 0 0" rpy="0 0 0"', f'xyz="0.1 0 0" {QUATERNION}')), 4, "link 'upper' <inertial> <origin>",
        "quat_xyzw",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REPAIRED)
def test_each_repair_is_one_warning_with_its_line(case: str, caplog: pytest.LogCaptureFixture) -> None:
    """And the model is that of the file without the fault."""
    text, line, element, says = REPAIRED[case]
    strict, report = lint(text), lint(text, lenient=True)
    assert (strict.ok, strict.repairable, report.ok) == (False, True, True)
    (repair,) = report.findings
    assert (repair.severity, repair.line, repair.element) == (Severity.WARNING, line, element)
    assert says in repair.message
    with pytest.raises(DescriptionError, match=r"or load it with lenient=True \(--lenient\)"):
        load_urdf(text)
    with caplog.at_level(logging.WARNING, "rne_dynamics"):
        model = load_urdf(text, lenient=True)
    assert sum(says in record.getMessage() for record in caplog.records) == 1
    bounds = {
        "lower_above_upper": (-math.inf, math.inf, 4.0, 30.0),
        "effort_of_minus_one": (-1.0, 2.0, 4.0, math.inf),
        "velocity_of_minus_one": (-1.0, 2.0, math.inf, 30.0),
    }.get(case, (-1.0, 2.0, 4.0, 30.0))
    assert (model.lower[0], model.upper[0], model.velocity_limit[0], model.effort_limit[0]) == bounds
    R = Rotation.from_quat([0.1, 0.2, -0.3, 0.9]).as_matrix()
    placed, turned = (R if case == name else np.eye(3) for name in ("quaternion", "quaternion_of_an_inertial"))
    np.testing.assert_allclose(model.tree.joint("shoulder").rotation, placed, atol=2e-16)
    inertia = model.tree.link("upper").inertia.inertia  # type: ignore[union-attr]  # it has one
    np.testing.assert_allclose(inertia, turned @ np.diag([0.02, 0.03, 0.04]) @ turned.T, atol=1e-17)


@pytest.mark.parametrize(
    "case",
    ["two_origins", "two_inertials"],
)
def test_pinocchio_reads_the_same(case: str) -> None:
    ours, theirs = load_urdf(REPAIRED[case][0], lenient=True), pin.buildModelFromXML(REPAIRED[case][0])
    q = np.array([0.7])
    placed = theirs.jointPlacements[1]
    np.testing.assert_allclose(ours.tree.joint("shoulder").position, placed.translation, atol=0.0)
    data = theirs.createData()
    np.testing.assert_allclose(pin.crba(theirs, data, q)[0, 0], ours.tree.link("upper").inertia.about_origin[1, 1])  # type: ignore[union-attr]  # it has one


@pytest.mark.parametrize(
    "quaternion",
    [
        *np.random.default_rng(7).normal(size=(5, 4)).tolist(),
        *Rotation.from_euler("ZYX", [[0.3, p, -0.7] for p in (math.pi / 2, -math.pi / 2, 1.57079)]).as_quat().tolist(),
        [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, -1], [1e-9, 0, 1, 1e-9],
    ],
)  # fmt: skip
def test_any_quaternion_becomes_the_same_rotation(quaternion: list[float]) -> None:
    np.testing.assert_allclose(
        rotation_rpy(*_rpy(*quaternion)), Rotation.from_quat(quaternion).as_matrix(), atol=1e-15
    )


@pytest.mark.parametrize(
    "change",
    [
        ('effort="30"', 'effort="-30"'),
        ('xyz="0 0 0.5" rpy="0 0 0"', 'quat_xyzw="0 0 0 0"'),
        ('xyz="0 0 0.5" rpy="0 0 0"', 'quat_xyzw="0 0 0 1" rpy="1 0 0"'),
        ('xyz="0 0 0.5" rpy="0 0 0"', 'quat_wxyz="1 0 0 0"'),
        ("0 1 0", "0 0 0"),
        ('value="2"', 'value="${mass}"'),
        ('value="2"', 'value="-1"'),
        ('lower="-1"', 'lower="x"'),
        ("<robot", "text<?xml version='1.0'?><robot"),
    ],
)
def test_what_stays_refused(change: tuple[str, str]) -> None:
    report = lint(arm(change) if change[0] != "<robot" else ARM.replace(*change, 1), lenient=True)
    assert not report.ok
    assert not report.repairable


def test_lines_after_skipped_blanks_are_those_of_the_file() -> None:
    text = f'\n \n<?xml version="1.0"?>\n{arm(("0 1 0", "0 0 0"))}'
    assert [(f.line, f.severity.value) for f in lint(text, lenient=True).findings] == [(1, "warning"), (16, "error")]
    assert lint("\n<?xml version='1.0'?>\n<robot>\n<link></robot>", lenient=True).findings[0].line == 4


def test_all_repairs_at_once_with_other_faults() -> None:
    text = arm(
        ('lower="-1"', 'lower="3"'), ('effort="30"', 'effort="-1"'), ('velocity="4"', 'velocity="-1"'),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="0 1 0"/><axis xyz="1 0 0"/><xacro:x/>'),
    )  # fmt: skip
    assert len(lint(text, lenient=True).repairs) == 6
    assert not lint(text.replace('value="2"', 'value="-2"')).repairable


def test_commands_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(REPAIRED["two_origins"][0])
    for command in ("check", "info"):
        assert main([command, str(path)]) == 1
        refused = capsys.readouterr()
        assert "--lenient" in refused.err + refused.out
        assert main([command, str(path), "--lenient"]) == 0
        done = capsys.readouterr()
        assert "the first is used" in (done.out if command == "check" else done.err)


def test_of_a_model_file_the_urdf_is_repaired(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(REPAIRED["effort_of_minus_one"][0])
    (tmp_path / "arm.yaml").write_text("urdf: arm.urdf\nfriction:\n  shoulder: {viscous: 1.0}\n")
    with pytest.raises(DescriptionError, match="effort is -1"):
        load_model(tmp_path / "arm.yaml")
    assert load_model(tmp_path / "arm.yaml", lenient=True).effort_limit[0] == math.inf
