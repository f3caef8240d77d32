"""`make faults`: its arguments, its listing and its table; the campaign itself is in test/ros/test_faults.py."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from faults.campaign import FAULTS
from faults.command import main


def test_list_shows_every_fault_and_how_many_of_each_kind(capsys):
    assert main(["--list"]) == 0
    text = capsys.readouterr().out
    assert all(fault.name in text for fault in FAULTS)
    assert f"{len(FAULTS)} faults: " in text


@pytest.mark.parametrize(("words", "said"), [
    (["--only", "nan"], "names that have it: nan-position"),
    (["--only", "process", "--table", "page.md"], "leave --only out"),
    (["--workers", "0"], "between 1 and 16"),
    (["--law", "none"], "no law named 'none'"),
    (["--arm", "none"], "no arm of the campaign is called 'none'"),
    (["--table", "none/a.md"], "no folder 'none'; create it first"),
])
def test_what_cannot_be_meant_is_refused(words, said, capsys):
    assert main(words) == 1
    assert said in capsys.readouterr().err


def test_a_page_without_markers_is_refused(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    assert main(["--table", str(page)]) == 1
    assert "no place for the table" in capsys.readouterr().err
