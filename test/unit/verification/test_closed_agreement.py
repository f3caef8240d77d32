"""Formulations of mechanisms agree, and errors in one of them are found."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.mechanisms import crank_and_rocker_in_space, five_bar, geared_five_bar

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.verification import agreement
from rne_dynamics.verification.agreement import compare
from rne_dynamics.verification.closed_engines import CLOSED_ENGINES
from rne_dynamics.verification.engines import QUANTITIES, bare_states

PINS = Path(__file__).parents[3] / "examples" / "pantograph_pins.yaml"


#: How each mechanism is made.
CASES = {
    "five_bar": partial(rne.load_model, "five_bar"),
    "pantograph with its pins": partial(rne.load_model, PINS),
    "geared_five_bar": geared_five_bar,
    "space_linkage": crank_and_rocker_in_space,
}


@pytest.mark.parametrize("name", CASES)
def test_all_formulations_agree(name: str) -> None:
    found = compare(CASES[name](), 3)
    assert found.agrees
    assert not found.remarks
    assert all(d.relative < 1e-10 for d in found.disagreements)
    for quantity in QUANTITIES:
        names = {e.name for e in CLOSED_ENGINES if e.offers(quantity)}
        names |= {"cut_loops"} if quantity == "forward" else set()  # the accelerations it started from
        met = {name for d in found.disagreements if d.quantity == quantity for name in (d.first, d.second)}
        assert met == names


@pytest.mark.parametrize("wrong", ["constraint_forces", "free_bodies"])
def test_an_engine_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    engines = tuple(
        replace(e, functions=e.functions | {"forward": lambda *rows, f=e.functions["forward"]: f(*rows) * (1.0 + 1e-7)})
        if e.name == wrong else e
        for e in CLOSED_ENGINES
    )
    monkeypatch.setattr(agreement, "CLOSED_ENGINES", engines)
    found = compare(five_bar(), 2)
    apart = [d for d in found.disagreements if not d.agrees]
    assert apart
    assert all(wrong in (d.first, d.second) for d in apart)


def test_states_are_within_limits_and_close() -> None:
    mechanism = rne.load_model("five_bar")
    rows = bare_states(mechanism, 20, 0)
    assert rows.q.shape == (20, 2)
    assert (rows.q >= mechanism.lower).all()
    assert (rows.q <= mechanism.upper).all()
    np.testing.assert_allclose(rne.inverse_dynamics(mechanism, rows.q, rows.qd, rows.qdd), rows.tau, rtol=1e-12)


def test_too_many_and_too_few_motors_are_named() -> None:
    bars = five_bar()
    for motors in (("left",), ("left", "right", "left_rod")):
        mechanism = Mechanism(bars.robot, bars.loops, motors, bars.posture)
        with pytest.raises(ArgumentError, match=rf"has 2 degrees of freedom and {len(motors)} actuated joints"):
            compare(mechanism, 2)
