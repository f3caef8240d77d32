"""The comparison finds disagreements, and reports what it could not compare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.arms import chain, gripper
from support.robots import robot

from rne_dynamics.verification import agreement
from rne_dynamics.verification.agreement import TOLERANCE, TOLERANCE_LINEAR, compare, engines_of
from rne_dynamics.verification.engines import ENGINES, QUANTITIES, bare_states, loaded_states


def test_every_engine_meets_every_other_that_computes_the_same():
    seen: list[float] = []
    disagreements = compare(chain(2), 2, progress=lambda what, done: seen.append(done)).disagreements
    assert (seen[0], seen[-1]) == (0.0, 1.0)
    assert seen == sorted(seen)
    for d in disagreements:  # recursions are held to more
        linear = {d.first, d.second} <= {"newton_euler", "nasser"}
        assert d.tolerance == (TOLERANCE_LINEAR if linear else TOLERANCE)
    found = {(d.quantity, frozenset((d.first, d.second))) for d in disagreements}
    for quantity in QUANTITIES:
        names = [engine.name for engine in ENGINES if engine.offers(quantity)]
        names += ["newton_euler"] * (quantity == "forward")  # its answer is the acceleration it started from
        assert {pair for q, pair in found if q == quantity} == {
            frozenset((a, b)) for a in names for b in names if a < b
        }


def test_the_recursion_of_document_000_is_left_out_where_joints_mimic():
    """`forward_dynamics` serves such robots by composite bodies, which would then be compared with themselves."""
    assert {engine.name for engine in ENGINES} - {engine.name for engine in engines_of(gripper())} == {"nasser"}
    assert engines_of(chain(2)) == ENGINES


@pytest.mark.parametrize("spoil", [lambda qdd: qdd * (1.0 + 1e-7), lambda qdd: np.full_like(qdd, np.nan)])
def test_an_engine_that_is_wrong_is_found(monkeypatch, spoil):
    wrong = [
        replace(e, functions={**e.functions, "forward": lambda *rows, f=e.functions["forward"]: spoil(f(*rows))})
        if e.name == "lagrange" else e
        for e in ENGINES
    ]
    monkeypatch.setattr(agreement, "ENGINES", tuple(wrong))
    report = compare(chain(3), 5)
    assert not report.agrees
    apart = {frozenset((d.first, d.second)) for d in report.disagreements if not d.agrees}
    assert apart
    assert all("lagrange" in pair for pair in apart)
    assert "lagrange" in (report.worst().first, report.worst().second)


def test_a_motion_without_inertia_is_a_remark_not_a_disagreement():
    report = compare(robot("romeo.urdf"), 2)
    assert report.agrees
    assert any("moves no inertia" in remark for remark in report.remarks)
    assert {d.quantity for d in report.disagreements} >= {"inverse", "mass matrix", "reactions"}


def test_loaded_states_are_the_bare_ones_with_loads_and_a_base_that_moves():
    model = robot("panda")
    bare, loaded = bare_states(model, 4, 9), loaded_states(model, 4, 9)
    for name in ("q", "qd", "qdd"):
        np.testing.assert_array_equal(getattr(bare, name), getattr(loaded, name))
    assert bare.wrenches.shape == (1, 0, 6)
    assert loaded.wrenches.shape == (4, model.bodies, 6)
    assert np.abs(loaded.wrenches).max() > 0.0
    assert loaded.base.shape == (4, 12)
    assert np.abs(loaded.tau - bare.tau).max() > 1.0
