"""Findings of `rne check` on dynamics: effort limits below gravity."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.urdf_text import arm
from support.wheel import wheel_robots

from rne_dynamics.cli.own_arm.check import check_urdf
from rne_dynamics.description.lint.description import lint
from rne_dynamics.description.lint.findings import Finding
from rne_dynamics.description.share import share_file, shipped_robots
from rne_dynamics.description.sources import read_source


def found(source: str | Path) -> list[Finding]:
    """What the dynamics add to the findings of `lint`; sizes of links are in test_check_inertia."""
    read = read_source(source)
    known = lint(read).findings
    return [
        f for f in check_urdf(read).findings
        if f not in known and not f.element.endswith("<inertia>")
    ]


def lifting(effort: float) -> str:
    """A mass of 2 kg at 0.1 m on a horizontal axis: gravity needs up to 1.962 N m, at q = 0."""
    return arm(('effort="30"', f'effort="{effort}"'), ('damping="0.5"', 'damping="0.1"'))


def test_a_drive_that_gravity_overpowers_is_a_note() -> None:
    (weak,) = found(lifting(1.9))
    assert (weak.severity.value, weak.line, weak.element) == ("note", 14, "joint 'shoulder' <limit>")
    assert "effort is 1.9 N m, while gravity needs up to 1.962 N m" in weak.message
    assert found(lifting(2.0)) == []
    assert found(arm(('effort="30"', 'effort="1.9"'), ("0 1 0", "0 0 1"))) == []
    (slide,) = found(arm(("revolute", "prismatic"), ("0 1 0", "0 0 1"), ('effort="30"', 'effort="15"')))
    assert "effort is 15 N, while gravity needs up to 19.62 N, and more than the limit in 100.0 %" in slide.message


def test_gravity_and_payload_of_a_model_file_count(tmp_path: Path, figures) -> None:
    (tmp_path / "arm.urdf").write_text(lifting(1.9))
    (tmp_path / "arm.yaml").write_text("urdf: arm.urdf\ngravity: [0, 0, -1.62]\n")
    assert figures("check", tmp_path / "arm.yaml")["urdf"]["findings"] == []
    (tmp_path / "arm.yaml").write_text(
        "urdf: arm.urdf\ngravity: [0, 0, -1.62]\npayload: {link: upper, mass: 10, com: [1, 0, 0]}\n"
    )
    assert "gravity needs up to" in figures("check", tmp_path / "arm.yaml")["urdf"]["findings"][0]["message"]


#: Joints of published robots that their drives cannot hold everywhere: with springs or counterweights, or too weak.
OVERPOWERED = {
    "baxter.urdf": {"left_s1", "right_s1"},
    "pr2.urdf": {"l_shoulder_lift_joint", "r_shoulder_lift_joint"},
    "simple_humanoid.urdf": {"WAIST_P", "WAIST_R"},
    "talos_left_arm.urdf": {"arm_left_2_joint"},
    # the arm of a shuttle works in weightlessness
    "shuttle_arm.urdf": {"shoulder_pitch", "elbow_pitch", "wrist_pitch", "wrist_yaw"},
}  # fmt: skip


@pytest.mark.parametrize("path", [
    *(path for path in wheel_robots() if path.name in ("panda.urdf", "ur5_robot.urdf", "solo12.urdf", *OVERPOWERED)),
    *(share_file(f"urdf/{name}.urdf") for name in shipped_robots()),
], ids=lambda path: path.name)
def test_published_robots_and_those_that_ship_raise_no_false_alarm(path: Path) -> None:
    findings = found(path)
    assert {f.element.split("'")[1] for f in findings} == OVERPOWERED.get(path.name, set())
    assert all(f.severity.value == "note" for f in findings)
    assert not any("from the joint before it" in f.message for f in lint(path).findings)
