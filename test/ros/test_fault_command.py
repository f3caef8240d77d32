"""`make faults`: its arguments, its listing and its table; the campaign itself is in test/ros/test_faults.py."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")

from faults.campaign import FAULTS, Result
from faults.command import figures, main
from faults.table import BEGIN, END, inserted


def test_list_shows_every_fault_and_how_many_of_each_kind(capsys):
    assert main(["--list"]) == 0
    text = capsys.readouterr().out
    assert all(fault.name in text for fault in FAULTS)
    assert f"{len(FAULTS)} faults: " in text


def test_list_of_a_kind_as_json(capsys):
    assert main(["--list", "--json", "--only", "process"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["kind"] for row in rows} == {"process"}
    assert "frozen" in {row["name"] for row in rows}


@pytest.mark.parametrize(("words", "said"), [
    (["--only", "nan"], "names that have it: nan-position"),
    (["--only", "process", "--table", "page.md"], "leave --only out"),
    (["--workers", "0"], "between 1 and 16"),
    (["--law", "none"], "no law named 'none'"),
    (["--arm", "none"], "no arm of the campaign is called 'none'"),
    (["--report", "none/a.html"], "no folder 'none'; create it first"),
    (["--table", "none/a.md"], "no folder 'none'; create it first"),
])
def test_what_cannot_be_meant_is_refused(words, said, capsys):
    assert main(words) == 1
    assert said in capsys.readouterr().err


def test_figures_count_and_report_what_was_seen():
    results = (Result(FAULTS[0], "", 10, 1.0), Result(FAULTS[1], "the arm fell", 5, 2.0))
    report = figures(results, 3.0)
    assert (report["passed"], report["failed"], report["efforts"]) == (1, 1, 15)
    assert report["faults"][1]["seen"] == "the arm fell"


def test_table_goes_between_its_markers_and_nowhere_else():
    page = f"before\n{BEGIN}\nwhat was there before\n{END}\nafter\n"
    new = inserted(page, FAULTS)
    assert new.startswith(f"before\n{BEGIN}\n")
    assert new.endswith(f"{END}\nafter\n")
    assert "what was there before" not in new
    assert inserted(new, FAULTS) == new
    assert all(f"`{fault.name}`" in new for fault in FAULTS)


def test_a_page_without_markers_is_refused(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    assert main(["--table", str(page)]) == 1
    assert "no place for the table" in capsys.readouterr().err
