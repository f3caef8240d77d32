"""`rne verify` on arms with flexible links, from its command line."""

from __future__ import annotations

import json

import numpy as np
from support.flexible_links import cloud_arm

import rne_dynamics as rne
from rne_dynamics.cli import main as cli
from rne_dynamics.flexible.equations import EquationsOfMotion
from rne_dynamics.verification import agreement
from rne_dynamics.verification.agreement import compare_flexible


def test_the_figures_for_machines(capsys):
    assert cli.main(["verify", "flexible_arm6", "--states", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["agrees"] is True
    assert (report["n"], report["modes"]) == (6, 6)
    assert {p["quantity"] for p in report["pairs"]} == {"inverse", "forward", "mass matrix"}
    for pair in report["pairs"]:
        assert (pair["first"], pair["second"]) == ("book_recursion", "energy")
        assert pair["relative"] <= 1e-12
    seconds = report["seconds"]
    assert 0.0 < seconds["book_recursion"] < seconds["energy"]


def test_the_tables_for_people(capsys):
    assert cli.main(["verify", "flexible_arm", "--states", "2"]) == 0
    text = capsys.readouterr().out
    for said in (
        "book_recursion / energy", "recursive Lagrange, Book", "accelerations", "moving base", "all agree",
    ):
        assert said in text
    assert cli.main(["verify", "flexible_arm", "--states", "2", "--bare"]) == 0
    assert "moving base" not in capsys.readouterr().out


def test_disagreement_is_found_and_is_an_exit_code(capsys, monkeypatch):
    real = agreement.energy_equations

    def spoilt(*args, **kwargs):
        J, bias = real(*args, **kwargs)
        return EquationsOfMotion(J, bias * (1.0 + 1e-9))

    monkeypatch.setattr(agreement, "energy_equations", spoilt)
    assert cli.main(["verify", "flexible_beam", "--states", "2"]) == 1
    assert "DISAGREEMENT" in capsys.readouterr().out


def test_links_that_are_no_beams_are_compared_too():
    arm, _ = cloud_arm(rne.load_urdf("puma560"), {"link2": 2}, np.random.default_rng(0), stiffening=False)
    agreement = compare_flexible(arm, 2)
    assert agreement.agrees
    assert {d.quantity for d in agreement.disagreements} == {"inverse", "forward", "mass matrix"}
