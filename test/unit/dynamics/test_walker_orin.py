"""Walker and Orin: the mass matrix by both methods, and forward dynamics by either (issue item: both selectable)."""

from __future__ import annotations

import numpy as np
import pytest
from analytic.systems import ALL
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


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_forward_dynamics_by_either_mass_matrix(case):
    model = robot(*case)
    rng = np.random.default_rng(32)
    q = rne.random_configuration(model, rng, 5)
    qd, tau = rng.normal(size=(2, 5, model.n))
    loads = {link: rng.normal(size=(5, 6)) for link in rng.choice(model.link_names, 3, replace=False)}
    columns = rne.forward_dynamics(model, q, qd, tau, wrenches=loads, method="walker_orin_columns")
    composite = rne.forward_dynamics(model, q, qd, tau, wrenches=loads, method="walker_orin")
    for k in range(5):
        M = rne.mass_matrix(model, q[k])
        bias = rne.inverse_dynamics(model, q[k], qd[k], np.zeros(model.n), wrenches={n: w[k] for n, w in loads.items()})
        # what the efforts give one by one: they cancel in the sum where M is ill-conditioned
        one_by_one = (np.abs(np.linalg.inv(M)) @ (np.abs(tau[k]) + np.abs(bias))).max()
        assert relative_error(columns[k], composite[k], scale=one_by_one) < 1e-12


@pytest.mark.parametrize("system", ALL, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("method", ["walker_orin", "walker_orin_columns"])
def test_closed_forms(system, method):
    model = rne.assemble(system.tree())
    q, qd, qdd = np.random.default_rng(33).normal(size=(3, model.n)) * 2.0
    found = rne.forward_dynamics(model, q, qd, system.efforts(q, qd, qdd), method=method)
    assert relative_error(found, qdd, scale=1.0) < 1e-12


def test_a_robot_without_joints_has_an_empty_mass_matrix():
    model = rne.assemble(rne.model.tree.KinematicTree("stone", (rne.model.tree.TreeLink("stone"),), ()))
    assert rne.mass_matrix(model, [], method="columns").shape == (0, 0)


def test_an_unknown_mass_matrix_method_is_refused():
    with pytest.raises(ArgumentError, match="method is 'rows'; it must be one of 'composite', 'columns'"):
        rne.mass_matrix(robot("puma560"), np.zeros(6), method="rows")
