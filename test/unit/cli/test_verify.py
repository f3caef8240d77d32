"""`rne verify` from its command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.flexible_links import cloud_arm

import rne_dynamics as rne
from rne_dynamics.cli import main as cli
from rne_dynamics.cli.simulated import verify
from rne_dynamics.flexible.equations import EquationsOfMotion
from rne_dynamics.verification import agreement
from rne_dynamics.verification.agreement import compare_flexible
from rne_dynamics.verification.closed_engines import CLOSED_ENGINES
from rne_dynamics.verification.engines import ENGINES, QUANTITIES


@pytest.mark.parametrize(("name", "engines", "quantities", "sizes", "says"), [
    ("scara", [e.name for e in ENGINES], QUANTITIES, {"n": 4}, ()),
    ("pantograph", [e.name for e in CLOSED_ENGINES], QUANTITIES, {"n": 3, "bodies": 8, "loops": 5},
     ["3 coordinates, 8 bodies, 5 loops"]),
    pytest.param(
        "flexible_arm", ["book_recursion", "energy"], ["inverse", "forward", "mass matrix"], {"n": 2, "modes": 4},
        ["book_recursion / energy", "recursive Lagrange, Book", "accelerations"], marks=pytest.mark.slow,
    ),
])  # fmt: skip
def test_tables_for_people_and_figures_for_machines(name, engines, quantities, sizes, says, capsys):
    if name == "flexible_arm":
        assert cli.main(["verify", name, "--states", "1"]) == 0
        text = capsys.readouterr().out
        assert all(word in text for word in (*engines, *says, "moving base", "all agree"))
    assert cli.main(["verify", name, "--states", "1", "--bare", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["agrees"] is True
    assert sizes.items() <= report.items()
    assert {p["quantity"] for p in report["pairs"]} == set(quantities)
    assert {engine for p in report["pairs"] for engine in (p["first"], p["second"])} == set(engines)
    assert all(p["relative"] <= p["tolerance"] for p in report["pairs"])


def test_disagreement_is_an_exit_code(capsys, monkeypatch):
    real = verify.compare

    def spoilt(*args, **kwargs):
        report = real(*args, **kwargs)
        first = report.disagreements[0]
        return type(report)((type(first)(**{**vars(first), "relative": float("inf")}), *report.disagreements[1:]), ())

    monkeypatch.setattr(verify, "compare", spoilt)
    assert cli.main(["verify", "planar2", "--states", "1"]) == 1
    assert "DISAGREEMENT" in capsys.readouterr().out
    assert cli.main(["verify", "planar2", "--states", "1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["pairs"][0]["relative"] == "inf"


@pytest.mark.slow
def test_disagreement_of_a_flexible_arm_is_an_exit_code(capsys, monkeypatch):
    real = agreement.energy_equations

    def spoilt(*args, **kwargs):
        J, bias = real(*args, **kwargs)
        return EquationsOfMotion(J, bias * (1.0 + 1e-9))

    monkeypatch.setattr(agreement, "energy_equations", spoilt)
    assert cli.main(["verify", "flexible_beam", "--states", "2"]) == 1
    assert "DISAGREEMENT" in capsys.readouterr().out


def test_links_that_are_no_beams_are_compared_too():
    arm, _ = cloud_arm(rne.load_urdf("puma560"), {"link2": 2}, np.random.default_rng(0), stiffening=False)
    assert compare_flexible(arm, 2).agrees
