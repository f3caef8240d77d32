from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.urdf_text import ARM, arm


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(arm(("0 1 0", "0 0 0"), ('effort="30"', 'effort="0"'), ('value="2"', 'value="-2"')))
    return path


def test_findings_in_the_order_of_the_lines_as_table_and_json(faulty: Path, figures, run_rne) -> None:
    out = run_rne("check", faulty, code=1).out
    places = [out.index(text) for text in ("value is -2 kg", "an axis must not be zero", "effort is 0")]
    assert places == sorted(places)
    assert out.endswith(f"{faulty}: 2 errors, 1 warning\n")
    report = figures("check", faulty, code=1)
    assert (report["file"], report["ok"]) == (str(faulty), False)
    assert report["findings"][1] == {
        "severity": "error",
        "line": 13,
        "element": "joint 'shoulder' <axis>",
        "message": "xyz is '0 0 0'; an axis must not be zero",
        "fix": "write the direction of motion, or make the joint fixed",
    }


def test_warnings_fail_only_with_strict(tmp_path: Path, run_rne, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm(('effort="30"', 'effort="0"'), ('"shoulder"', '"[red]:x: 1"')))
    assert "joint '[red]:x: 1' <limit>" in run_rne("check", path).out, "names with markup are printed as they are"
    run_rne("check", path, "--strict", code=1)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ARM.encode())))
    assert run_rne("check", "-", "--strict").out == "<stdin>: nothing to fix\n"


def test_standard_input(monkeypatch: pytest.MonkeyPatch, run_rne) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ARM.encode())))
    assert run_rne("check", "-").out == "<stdin>: nothing to fix\n"


def test_arguments_reach_xacro(tmp_path: Path, run_rne) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(
        '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="1"/>'
        '<link name="l"><inertial><mass value="$(arg m)"/></inertial></link></robot>'
    )
    assert "value is -1 kg" in run_rne("check", path, "--arg", "m:=-1", code=1).out
    assert "write NAME:=VALUE" in run_rne("check", path, "--arg", "m=-1", code=1).err
