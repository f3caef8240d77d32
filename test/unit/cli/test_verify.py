"""`rne verify` from its command line."""

from __future__ import annotations

import json

from rne_dynamics.cli import main as cli
from rne_dynamics.cli.simulated import verify
from rne_dynamics.verification.closed_engines import CLOSED_ENGINES
from rne_dynamics.verification.engines import ENGINES


def test_the_figures_for_machines(capsys):
    assert cli.main(["verify", "scara", "--states", "5", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["agrees"] is True
    assert report["n"] == 4
    assert {p["quantity"] for p in report["pairs"]} == {"inverse", "forward", "mass matrix", "reactions"}
    assert all(p["relative"] <= p["tolerance"] for p in report["pairs"])
    nasser = next(e for e in report["engines"] if e["engine"] == "nasser")
    assert nasser["seconds"]["forward"] > 0.0
    assert nasser["seconds"]["inverse"] is None


def test_the_tables_for_people(capsys):
    assert cli.main(["verify", "planar2", "--states", "3"]) == 0
    text = capsys.readouterr().out
    for engine in ENGINES:
        assert engine.name in text
    assert "all agree" in text
    assert "moving base" in text


def test_mechanisms_have_the_same_table_and_figures(capsys):
    assert cli.main(["verify", "pantograph", "--states", "3"]) == 0
    text = capsys.readouterr().out
    for engine in CLOSED_ENGINES:
        assert engine.name in text
    assert "3 coordinates, 8 bodies, 5 loops" in text
    assert "all agree" in text
    assert cli.main(["verify", "slider_crank", "--states", "3", "--bare", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["agrees"], report["n"], report["bodies"], report["loops"]) == (True, 1, 3, 1)
    assert {p["quantity"] for p in report["pairs"]} == {"inverse", "forward", "mass matrix", "reactions"}
    assert all(p["relative"] <= p["tolerance"] for p in report["pairs"])
    assert [e["engine"] for e in report["engines"]] == [engine.name for engine in CLOSED_ENGINES]
    assert all(e["seconds"]["forward"] for e in report["engines"] if e["engine"] != "cut_loops")


def test_disagreement_is_an_exit_code(capsys, monkeypatch):
    real = verify.compare

    def spoilt(*args, **kwargs):
        report = real(*args, **kwargs)
        first = report.disagreements[0]
        return type(report)((type(first)(**{**vars(first), "relative": float("inf")}), *report.disagreements[1:]), ())

    monkeypatch.setattr(verify, "compare", spoilt)
    assert cli.main(["verify", "planar2", "--states", "2"]) == 1
    assert "DISAGREEMENT" in capsys.readouterr().out
    assert cli.main(["verify", "planar2", "--states", "2", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["pairs"][0]["relative"] == "inf"
