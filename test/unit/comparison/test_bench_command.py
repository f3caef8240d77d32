"""`make bench` from its command line, with the installed peers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from comparison import c_reference, calls, command, plan
from comparison.command import main
from comparison.results import Ratio, Results
from comparison.sections import SECTIONS
from support.hostile_files import write


@pytest.mark.slow
def test_a_quick_run_of_everything(tmp_path, capsys):
    out = tmp_path / "results.json"
    assert main(["--quick", "--robot", "scara", "--repeats", "1", "--out", str(out), "--plot", str(tmp_path)]) == 0
    results = Results.from_json(json.loads(out.read_text(encoding="utf-8")))
    assert results.agrees
    assert {m.section for m in results.measurements} == set(SECTIONS)
    assert {r.goal for r in results.ratios} >= {"plain", "bound", "derivatives", "compiled", "batch"}
    assert all((tmp_path / f"bench_{section}.png").stat().st_size > 10_000 for section in ("calls", "batch", "scaling"))
    text = capsys.readouterr().out
    words = ("single calls from Python", "chain: time", "pin / plain", "goals", "All answers agree")
    assert all(word in text for word in words)


def test_a_peer_that_computes_something_else_is_said_and_not_timed(capsys, monkeypatch):
    doubled = tuple(
        f if f.name != "mass_matrix" else replace(f, ours_from=lambda p, M: 2.0 * p.matrix(M, upper=True))
        for f in calls.FUNCTIONS
    )
    monkeypatch.setattr(calls, "FUNCTIONS", doubled)
    assert main(["calls", "--quick", "--robot", "planar2", "--repeats", "1"]) == 1
    text = capsys.readouterr().out
    assert "DISAGREEMENT: calls: planar2, mass_matrix" in text
    assert "All answers agree" not in text
    assert main(["calls", "--quick", "--robot", "planar2", "--repeats", "1", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert "mass_matrix" not in {row["quantity"] for row in report["measurements"]}


def test_peers_that_are_not_installed_are_left_out_with_a_line(capsys, monkeypatch):
    monkeypatch.setattr(plan, "find_spec", lambda name: None)
    monkeypatch.setattr(c_reference, "COMPILERS", ("no_such_compiler",))
    assert main(["calls", "--quick", "--robot", "planar2", "--repeats", "1"]) == 3
    text, said = capsys.readouterr()
    assert "nothing was compared, since no peer is installed" in said
    assert all(f"left out: {peer} in every comparison" in text for peer in ("pin", "mujoco"))
    assert "pin /" not in text


def test_a_missed_goal_is_an_exit_code_only_where_asked(monkeypatch, capsys):
    missed = Results({"packages": {}}, {"sections": [], "repeats": 1})
    missed.ratios.append(Ratio("calls", "a", "b", 1, "plain", "pin", "pin", 0.5, 0.5, "plain", 1.0, met=False))
    monkeypatch.setattr(command, "_measure", lambda *_: missed)
    assert main(["--json"]) == 0
    assert main(["--json", "--strict"]) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "there is no section 'nothing'"),
        (["--repeats", "0"], "--repeats is 0"), (["--repeats", "nan"], "--repeats is "),
        (["--robot", "no_such_robot"], "no_such_robot"),
        (["--robot", "four_bar"], "has closed loops or flexible links"),
        (["--out", "x.txt"], "--out is 'x.txt'; its ending must be .json"),
        (["--report", "x.txt"], "its ending must be .html or .htm"),
        (["--plot", __file__ + "/pictures"], "is no folder"),
        (["--out", "none/a.json"], "no folder 'none'; create it first"),
        (["--plot", "none/a"], "no folder 'none'; create it first"),
        (["--report", "none/a.html"], "no folder 'none'; create it first"),
        (["--page", __file__], "the page has no marks for figures"),
    ],
)
def test_faulty_arguments_are_one_line_before_anything_is_measured(arguments, words, capsys, monkeypatch):
    monkeypatch.setattr(command, "measure", lambda *_: pytest.fail("measured first"))
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.strip().count("\n") == 0


@pytest.mark.parametrize("name", ["deep.json", "integer.json", "fifo.json"])
def test_a_file_that_is_no_report_is_one_line(name, tmp_path, capsys):
    write(tmp_path, name)
    assert main(["--from", str(tmp_path / name)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
