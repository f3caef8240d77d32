from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.mechanisms import SHIPPED
from support.urdf_text import changed

from rne_dynamics.cli.main import main
from rne_dynamics.description.share import share_file

Capture = pytest.CaptureFixture[str]
FIVE_BAR = share_file("urdf/five_bar.yaml").read_text()
FOUR_BAR = share_file("urdf/four_bar.yaml").read_text()
ROCKER = next(line for line in FOUR_BAR.splitlines() if "rocker_joint:" in line)
PANTOGRAPH = share_file("urdf/pantograph.yaml").read_text()
BAR_C = PANTOGRAPH[PANTOGRAPH.index("  - name: C") : PANTOGRAPH.index("# q2 = -90")]


def write(folder: Path, text: str, *changes: tuple[str, str]) -> Path:
    file = folder / "model.yaml"
    file.write_text(changed(text, *changes).replace("urdf: ", f"urdf: {share_file('urdf/puma560.urdf').parent}/"))
    return file


def findings(file: Path, capsys: Capture) -> list[tuple[str, int, str, str]]:
    main(["check", str(file), "--json"])
    report = json.loads(capsys.readouterr().out)
    return [(f["severity"], f["line"], f["element"], f["message"]) for f in report["findings"]]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_is_clean(name: str, figures, run_rne) -> None:
    out, err = run_rne("check", name, "--strict")
    assert f"{name}.urdf: nothing to fix" in out  # no effort of passive joints is missed
    assert err == ""
    mechanism = figures("check", name)["mechanism"]
    assert mechanism["freedoms"] == mechanism["actuated"]
    assert mechanism["gruebler"] == mechanism["actuated"] - mechanism["redundant"]
    assert mechanism["distance_to_singular"] > 0.1


#: What is changed in a mechanism's file; severity, line and element of the finding, its message and fix in parts.
FOUND = {
    "redundant constraints": (
        FOUR_BAR, (), "note", 8, "loops",
        "3 of 5 blocked directions are redundant: Grübler's count gives -2 degrees of freedom, the rank 1;", "",
    ),
    "too few motors": (
        FIVE_BAR, ("[left_joint, right_joint]", "[left_joint]"), "error", 4, "actuated",
        "the mechanism has 2 degrees of freedom and 1 motor: 1 passive joint not determined", "add 1 joint to actuated",
    ),
    "too many motors": (
        FIVE_BAR, ("[left_joint, right_joint]", "[left_joint, right_joint, left_elbow]"), "note", 4, "actuated",
        "the mechanism has 2 degrees of freedom and 3 motors, 1 more than can move", "",
    ),
    "a frame half a turn off": (
        FOUR_BAR, ("xyz: [0.35, 0, 0]", "xyz: [0.35, 0, 0], rpy: [3.141592653589793, 0, 0]"), "error", 8,
        "loop 'hinge'", "and 180 deg, and from there no motion", "turn one of the loop's frames by half a turn",
    ),
    "nothing moves": (
        FOUR_BAR, ("kind: revolute", "kind: weld"), "error", 4, "loops",
        "block every motion: 3 independent directions are blocked, of 3 joints", "",
    ),
    "a joint on no loop": (
        PANTOGRAPH, (BAR_C, ""), "error", None, "actuated",
        "4 degrees of freedom and 3 motors: 1 passive joint not determined; on no loop: jointC", "",
    ),
    "a rough posture": (
        FOUR_BAR, (ROCKER, "  rocker_joint: 1.8"), "warning", None, "loop 'hinge'", "has a closure error of ",
        f"rocker_joint: {float(ROCKER.split()[-1]):.9g}",
    ),
    "loops that cannot close": (
        FIVE_BAR, ("left_forearm, xyz: [0.3,", "left_forearm, xyz: [9,"), "error", 7, "loop 'tip'",
        "its closure error at the given posture is", "",
    ),
}  # fmt: skip
ROD = """<robot name="rod">
  <link name="base"/><link name="cross"/><link name="fork"/>
  {}
  <joint name="crank" type="continuous"><parent link="base"/><child link="crank_link"/><axis xyz="0 0 1"/></joint>
  <joint name="first" type="continuous"><parent link="crank_link"/><child link="cross"/><origin xyz="0.2 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="second" type="continuous"><parent link="cross"/><child link="fork"/><axis xyz="0 1 0"/></joint>
  <joint name="spin" type="continuous"><parent link="fork"/><child link="rod"/><axis xyz="1 0 0"/></joint>
  <joint name="rocker" type="continuous"><parent link="base"/><child link="rocker_link"/><origin xyz="0.5 0.3 0.1"/>
    <axis xyz="1 0 0"/></joint>
</robot>"""
BODY = """<link name="{}"><inertial><origin xyz="{}"/><mass value="0.8"/>
    <inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
ROD_MODEL = """
urdf: rod.urdf
actuated: [crank]
loops:
  - name: ball
    kind: spherical
    a: {link: rocker_link, xyz: [0, 0, 0.35]}
    b: {link: rod, xyz: [0.6, 0, 0]}
posture: {crank: 0.4, first: 0.2, second: -0.7, rocker: 0.2}
"""


@pytest.mark.parametrize("case", FOUND)
def test_what_is_found_has_line_element_and_fix(case: str, tmp_path: Path, capsys: Capture) -> None:
    text, change, severity, line, element, says, fix = FOUND[case]
    file = write(tmp_path, text, *[change] * bool(change))
    found = next(row for row in findings(file, capsys) if says in row[3])
    assert found[:3] == (severity, line or found[1], element)
    assert main(["check", str(file)]) == int(severity == "error")
    assert fix in " ".join(capsys.readouterr().out.split())


def test_a_joint_on_no_loop_is_named(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path, share_file("urdf/pantograph.yaml").read_text())
    text = file.read_text()
    start, end = text.index("  - name: C"), text.index("# q2 = -90")
    file.write_text(text[:start] + text[end:])
    ((severity, _, element, message),) = findings(file, capsys)
    assert (severity, element) == ("error", "actuated")
    assert message.endswith("4 degrees of freedom and 3 motors: 1 passive joint not determined; on no loop: jointC")


def test_nothing_moves(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path, FOUR_BAR, ("kind: revolute", "kind: weld"))
    found = findings(file, capsys)
    assert ("error", 4, "loops", "block every motion: 3 independent directions are blocked, of 3 joints") in [
        (s, line, e, m.split(";")[0]) for s, line, e, m in found
    ]


def test_a_rough_posture_is_corrected_to_what_was_found(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path, FOUR_BAR)
    text = file.read_text()
    exact = next(line for line in text.splitlines() if "rocker_joint:" in line)
    file.write_text(text.replace(exact, "  rocker_joint: 1.8"))
    main(["check", str(file), "--json"])
    (rough,) = (f for f in json.loads(capsys.readouterr().out)["findings"] if f["severity"] == "warning")
    assert rough["element"] == "loop 'hinge'"
    assert rough["message"].startswith("has a closure error of ")
    assert f"rocker_joint: {float(exact.split()[-1]):.9g}" in rough["fix"]


def test_posture_outside_limits(tmp_path: Path, capsys: Capture) -> None:
    text = share_file("urdf/five_bar.urdf").read_text()
    (tmp_path / "five_bar.urdf").write_text(changed(text, ('lower="-2.8"', 'lower="-2.1"')))
    (tmp_path / "model.yaml").write_text(FIVE_BAR)
    ((severity, line, element, message),) = findings(tmp_path / "model.yaml", capsys)
    assert (severity, element) == ("warning", "posture 'left_joint'")
    assert FIVE_BAR.splitlines()[line - 1].startswith("  left_joint:")
    assert "is -2.15781 where the loops are closed, outside the joint's limits -2.1 to -1.2" in message


@pytest.mark.parametrize(("apart", "severity"), [(1e-2, "warning"), (0.0, "error")])
def test_singular_postures(apart: float, severity: str, tmp_path: Path, capsys: Capture) -> None:
    # the slider drives the crank: at the dead centre it does not hold it
    text = share_file("urdf/slider_crank.yaml").read_text()
    start = text.index("posture:")
    stroke = 0.05 * (1 - apart**2 / 2) + 0.15 * (1 - (apart / 3) ** 2 / 2)
    file = write(
        tmp_path,
        f"{text[:start]}posture: {{crank_joint: {apart}, rod_joint: {-apart * 4 / 3}, slider_joint: {stroke}}}\n",
        ("[crank_joint]", "[slider_joint]"),
    )
    ((found, _, element, message),) = findings(file, capsys)
    assert (found, element) == (severity, "posture")
    assert ("is near a singular one" if severity == "warning" else "is singular: the actuated joints do not") in message


def test_faults_of_file_and_urdf_are_both_reported(tmp_path: Path, figures, run_rne) -> None:
    urdf = share_file("urdf/four_bar.urdf").read_text().replace('<mass value="0.8"/>', '<mass value="-0.8"/>')
    (tmp_path / "four_bar.urdf").write_text(urdf)
    file = tmp_path / "model.yaml"
    file.write_text(FOUR_BAR.replace("actuated", "actuatd"))
    out = run_rne("check", file, code=1).out
    assert all(text in out for text in ("value is -0.8 kg", "key 'actuatd' is unknown"))
    report = figures("check", file, code=1)
    assert (report["ok"], report["urdf"]["ok"], report["mechanism"]) == (False, False, None)


def test_a_model_file_without_loops(tmp_path: Path, figures) -> None:
    file = write(tmp_path, "urdf: puma560.urdf\npayload: {link: link6, mass: 2}\n")
    report = figures("check", file)
    assert (report["findings"], report["mechanism"], report["urdf"]["ok"]) == ([], None, True)


def test_no_yaml_and_no_urdf(tmp_path: Path, figures, run_rne) -> None:
    file = tmp_path / "model.yaml"
    file.write_text("urdf: [")
    assert "is no YAML" in run_rne("check", file, code=1).out
    file.write_text("urdf: nix.urdf")
    assert "nix.urdf does not exist" in figures("check", file, code=1)["findings"][0]["message"]


def test_info_shows_loops_and_motors(figures, run_rne) -> None:
    report = figures("info", "five_bar")
    mechanism = report["mechanism"]
    motors = {row["name"] for row in report["joints"] if row["gravity_effort"] is not None}
    assert motors == set(mechanism["actuated"])
    assert set(mechanism["posture"]) == motors | set(mechanism["passive"])
    shown = [*(row["name"] for row in mechanism["loops"]), f"degrees of freedom: {mechanism['freedoms']}"]
    out = run_rne("info", "five_bar").out
    assert all(text in out for text in shown)


@pytest.mark.slow
def test_an_idle_freedom_is_no_fault_and_every_command_takes_it(tmp_path: Path, capsys: Capture, run_rne) -> None:
    bodies = (("crank_link", "0.1 0 0", 0.001, 0.003, 0.003), ("rod", "0.3 0 0", 2e-4, 0.02, 0.02),
              ("rocker_link", "0 0 0.17", 0.008, 0.008, 0.001))  # fmt: skip
    (tmp_path / "rod.urdf").write_text(ROD.format("\n  ".join(BODY.format(*body) for body in bodies)))
    file = tmp_path / "model.yaml"
    file.write_text(ROD_MODEL)
    found = findings(file, capsys)
    assert all(severity != "error" for severity, *_ in found)
    assert any("leave 1 freedom idle" in message for *_, message in found)
    assert "degrees of freedom: 2, 1 of them idle" in run_rne("info", file).out
    assert main(["simulate", str(file), "--seconds", "0.2"]) == 0
