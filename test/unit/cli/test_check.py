from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from support.urdf_text import ARM, arm

from rne_dynamics.cli.main import main


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(arm(("0 1 0", "0 0 0"), ('effort="30"', 'effort="0"'), ('value="2"', 'value="-2"')))
    return path


def test_findings_in_the_order_of_the_lines_as_table_and_json(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(faulty)]) == 1
    out = capsys.readouterr().out
    places = [out.index(text) for text in ("value is -2 kg", "an axis must not be zero", "effort is 0")]
    assert places == sorted(places)
    for column in ("line", "severity", "element", "what", "fix"):
        assert column in out
    assert out.endswith(f"{faulty}: 2 errors, 1 warning\n")
    assert main(["check", str(faulty), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["file"], report["ok"]) == (str(faulty), False)
    assert report["counts"] == {"error": 2, "warning": 1, "note": 0}
    assert report["findings"][1] == {
        "severity": "error",
        "line": 13,
        "element": "joint 'shoulder' <axis>",
        "message": "xyz is '0 0 0'; an axis must not be zero",
        "fix": "write the direction of motion, or make the joint fixed",
    }


def test_warnings_fail_only_with_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm(('effort="30"', 'effort="0"')))
    assert main(["check", str(path)]) == 0
    assert main(["check", str(path), "--strict"]) == 1
    assert main(["check", "puma560", "--strict"]) == 0
    capsys.readouterr()


def test_what_urdf_parser_py_refuses_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace("</robot>", '  <transmission name="t"/>\n</robot>'))
    assert main(["check", str(path), "--strict"]) == 0
    out = capsys.readouterr().out
    assert "urdf_parser_py refuses the file here (Required element not set in XML: type)" in out
    assert "17" in out.split("transmission 't'")[0].splitlines()[-1]
    assert out.endswith(f"{path}: 1 note\n")


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ARM.encode())))
    assert main(["check", "-"]) == 0
    assert capsys.readouterr().out == "<stdin>: nothing to fix\n"


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "no_such.urdf"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rne check: no_such.urdf does not exist")
    assert err.count("\n") == 1


def test_names_with_markup_are_printed_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm(('"shoulder"', '"[red]:x: 1"'), ("0 1 0", "0 0 0")))
    assert main(["check", str(path)]) == 1
    assert "joint '[red]:x: 1' <axis>" in capsys.readouterr().out


def test_arguments_reach_xacro(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(
        '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="1"/>'
        '<link name="l"><inertial><mass value="$(arg m)"/></inertial></link></robot>'
    )
    assert main(["check", str(path)]) == 0
    assert main(["check", str(path), "--arg", "m:=-1"]) == 1
    assert "value is -1 kg" in capsys.readouterr().out
    assert main(["check", str(path), "--arg", "m=-1"]) == 1
    assert "write NAME:=VALUE" in capsys.readouterr().err
