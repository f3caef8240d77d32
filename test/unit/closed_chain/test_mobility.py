from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.mechanisms import MECHANISMS, five_bar, four_bar, ladder

from rne_dynamics.closed_chain.coordinates import mobility
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.mechanism import LoopKind


@pytest.mark.parametrize(
    ("name", "gruebler", "freedoms", "redundant"),
    [
        ("four_bar", -2, 1, 3),
        ("slider_crank", -2, 1, 3),
        ("five_bar", -1, 2, 3),
        ("geared_five_bar", -2, 1, 3),
        ("two_parallelograms", -4, 2, 6),
        ("space_linkage", 1, 1, 0),
        ("delta", 3, 3, 0),
    ],
)
def test_freedoms_by_count_and_by_rank(name, gruebler, freedoms, redundant):
    found = mobility(MECHANISMS[name]())
    assert (found.gruebler, found.freedoms, found.redundant) == (gruebler, freedoms, redundant)
    assert (found.missing_actuators, found.surplus_actuators, found.singular) == (0, 0, False)
    assert max(gap + turn for _, gap, turn in found.gaps) < 1e-14


def test_planar_pin_leaves_nothing_redundant():
    assert mobility(four_bar("coupler", LoopKind.PLANAR_PIN)).redundant == 0


def test_actuators_too_few_too_many_and_in_the_wrong_place():
    assert mobility(five_bar(("left",))).missing_actuators == 1
    both = mobility(replace(four_bar("coupler"), joint_names=("crank", "rocker")))
    assert (both.surplus_actuators, both.missing_actuators) == (1, 0)
    # two motors on one half of a ladder leave the other free
    wrong = mobility(replace(ladder(2), joint_names=("left0", "right0")))
    assert (wrong.freedoms, wrong.missing_actuators, wrong.surplus_actuators) == (2, 1, 1)


def test_posture_singular_though_the_actuators_fit():
    flat = mobility(ladder(1), np.zeros(3))
    assert flat.singular
    assert flat.missing_actuators == 0
    assert flat.distance < 1e-12
    assert flat.freedoms == 2  # a flat parallelogram may also fold across


def test_open_loop_shows_its_gap():
    (name, gap, _), *_ = mobility(four_bar("coupler"), [0.8, -0.2, 1.2]).gaps
    assert name == "knee"
    assert 0.01 < gap < 0.1
    with pytest.raises(ArgumentError, match="one posture"):
        mobility(four_bar(), np.zeros((2, 3)))
