"""Walker and Orin: the mass matrix by both methods, and forward dynamics by either (issue item: both selectable)."""

from __future__ import annotations

import numpy as np
import pytest
from support.errors import relative_error
from support.robots import CASES, robot

import rne_dynamics as rne
from rne_dynamics.errors import ArgumentError


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_columns_of_inverse_dynamics_are_the_composite_bodies(case):
    model = robot(*case)
    rng = np.random.default_rng(31)
    q = rne.random_configuration(model, rng, 20)
    columns = rne.mass_matrix(model, q, method="columns")
    composite = rne.mass_matrix(model, q, method="composite")
    assert np.array_equal(rne.mass_matrix(model, q), composite)
    assert relative_error(columns, composite) < 1e-12
    assert relative_error(columns, columns.transpose(0, 2, 1)) < 1e-13


def test_a_robot_without_joints_has_an_empty_mass_matrix():
    model = rne.assemble(rne.model.tree.KinematicTree("stone", (rne.model.tree.TreeLink("stone"),), ()))
    assert rne.mass_matrix(model, [], method="columns").shape == (0, 0)


def test_an_unknown_mass_matrix_method_is_refused():
    with pytest.raises(ArgumentError, match="method is 'rows'; it must be one of 'composite', 'columns'"):
        rne.mass_matrix(robot("puma560"), np.zeros(6), method="rows")
