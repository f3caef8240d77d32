"""Findings of `rne check` on inertias that no body of the link's mass and size has, and those of published robots."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.robots import WHEEL
from support.urdf_text import joint, link, robot
from support.wheel import wheel_robots

from rne_dynamics.cli.own_arm.check import lint_sizes
from rne_dynamics.description.lint.description import examine
from rne_dynamics.description.lint.findings import Finding
from rne_dynamics.description.share import share_file, shipped_robots
from rne_dynamics.description.sources import read_source


def found(source: str | Path) -> list[Finding]:
    read = read_source(source)
    return list(lint_sizes(examine(read), read))


def body(name: str, mass: float, moment: float, com: str = "0 0 0", shape: str = "") -> str:
    """A link, on one line."""
    moments = f'<inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/>'
    inertial = f'<inertial><origin xyz="{com}"/><mass value="{mass}"/>{moments}</inertial>'
    return f'<link name="{name}">{inertial}{shape}</link>'


def arm(*tool: str, length: float = 0.2) -> str:
    """A base, a link of some length about y, and a tool."""
    return robot(
        '<link name="base"/>', body("upper", 0.5, 0.001, f"{length / 2} 0 0"), *tool, joint("j1", "base", "upper"),
        joint("j2", "upper", "tool", inside=f'<origin xyz="{length} 0 0"/>'),
    )  # fmt: skip


def test_a_placeholder_of_1_on_a_small_arm() -> None:
    (heavy,) = found(arm(body("tool", 1.0, 1.0)))
    assert (heavy.severity.value, heavy.line, heavy.element) == ("warning", 4, "link 'tool' <inertia>")
    assert "1 kg m^2 for 1 kg; a body of this mass has at most 0.04 kg m^2 within 0.2 m" in heavy.message
    assert found(arm(body("tool", 1.0, 1.0), length=1.0)) != []  # a ball of 1 kg m^2 and 1 kg is 3.2 m across
    assert found(arm(body("tool", 1.0, 1.01), length=1.0)) == []


@pytest.mark.parametrize(("mass", "moment", "element", "unit"), [
    (1.0, 1.2e-3 / 1e-6, "<inertia>", "kg mm^2"), (1.0, 1.2e-3 / 1e-4, "<inertia>", "kg cm^2"),
    (400.0, 0.4, "<mass>", "grams"),
])
def test_values_in_other_units(mass: float, moment: float, element: str, unit: str) -> None:
    (finding,) = found(arm(body("tool", mass, moment)))
    assert (finding.line, finding.element) == (4, f"link 'tool' {element}")
    assert f"from {unit}" in finding.fix


def test_shapes_say_how_large_a_link_is() -> None:
    pytest.importorskip("trimesh", reason="shapes are read by trimesh")

    def tool(size: float) -> str:
        return body("tool", 1.0, 0.3, shape=f'<visual><geometry><box size="{size} 0.1 0.1"/></geometry></visual>')

    assert found(arm(tool(1.2))) == []
    assert len(found(arm(tool(0.2)))) == 1


def test_what_a_joint_hardly_feels_and_what_has_no_size_is_no_finding() -> None:
    assert found(arm(body("tool", 0.01, 0.001), body("hand", 50.0, 0.5)).replace(
        "</robot>", joint("j3", "tool", "hand", "fixed") + "</robot>")) == []
    assert found(robot(link("a"), link("b"), joint("j", "a", "b"))) == []


#: Links of published robots with placeholders or formulas of other bodies; `panda_link7` has identified values, which
#: no flange of its size can have.
TRUE = {
    "alex_psyonic_hands.urdf": 4, "baxter.urdf": 8, "iris.urdf": 4, "panda.urdf": 1, "pr2.urdf": 8,
    "simple_humanoid.urdf": 22, "simple_humanoid_classical.urdf": 24, "tiago.urdf": 36, "tiago_dual.urdf": 72,
    "ur5_gripper.urdf": 3, "ur5_joint_limited_robot.urdf": 3, "ur5_robot.urdf": 3,
}  # fmt: skip


@pytest.mark.parametrize("all_robots", [
    pytest.param(False, marks=pytest.mark.slow, id="some"), pytest.param(True, marks=pytest.mark.soak, id="all"),
])  # fmt: skip
def test_findings_on_published_robots_are_true(all_robots: bool) -> None:
    pytest.importorskip("trimesh", reason="shapes are read by trimesh")
    files = [*wheel_robots(), *(share_file(f"urdf/{name}.urdf") for name in shipped_robots())]
    some = {"baxter.urdf", "panda.urdf", "iris.urdf", "simple_humanoid.urdf", "ur5_gripper.urdf", *WHEEL}
    chosen = {path.name for path in files} if all_robots else some
    count = Counter({path.name: len(found(path)) for path in files if path.name in chosen})
    assert dict(+count) == {name: number for name, number in TRUE.items() if name in chosen}
