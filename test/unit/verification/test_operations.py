"""The operation counter counts a kernel's operations without changing its results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from comparison.generated import chain, tree
from formulations import polynomial
from operation_counter import OperationCounter, Operations
from operation_counts import count_operations, published

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.newton_euler.newton_euler import inverse_dynamics_kernel
from rne_dynamics.spatial.vector import cross, dot, rotate
from rne_dynamics.verification.engines import ENGINES, bare_states


def test_vectors_cost_what_one_counts_by_hand():
    for function, arguments, multiplications, additions in (
        (dot, (3, 3), 3, 2),
        (cross, (3, 3), 6, 3),
        (rotate, (9, 3), 9, 6),
    ):
        counter = OperationCounter()
        counter.run(function, *(tuple(counter.array(np.ones(k))) for k in arguments))
        assert counter.operations == Operations(multiplications, additions)


def test_every_kind_of_operation_is_counted_through_the_functions_called():
    counter = OperationCounter()
    out = counter.zeros(1)
    counter.run(_mixed, counter.array([0.3, 2.0]), out)
    # −x, comparisons and copies cost nothing; constants on either side count
    assert counter.operations == Operations(multiplications=2, additions=3, divisions=1, functions=2)
    assert float(out[0]) == 2.0 * math.cos(0.3) + math.sqrt(2.0) / (1.0 - 0.3) - 0.3 * 2.0

    # arrays made inside a kernel too
    counter = OperationCounter()
    counter.run(_with_scratch, counter.array([1.0, 2.0, 3.0]))
    assert counter.operations == Operations(multiplications=3, additions=3)


def test_the_kernel_computes_the_same_while_it_counts():
    robot = tree(7)
    rows = bare_states(robot, 1, 3)
    counter = OperationCounter()
    tau = counter.zeros(robot.n)
    counter.run(
        inverse_dynamics_kernel,
        Arm(robot.topology, counter.array(robot.parameters), counter.array(rows.base[0]), counter.zeros(0, 6)),
        counter.array(rows.q[0]), counter.array(rows.qd[0]), counter.array(rows.qdd[0]), tau,
    )  # fmt: skip
    # compiled code may fuse a multiplication with an addition
    np.testing.assert_allclose(tau.astype(float), rows.tau[0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("engine", "quantity"), [("newton_euler", "inverse"), ("nasser", "forward")])
def test_recursions_cost_the_same_for_every_further_link(engine, quantity):
    totals = [count_operations(engine, quantity, chain(n)).total for n in (5, 6, 7, 20)]
    step = totals[1] - totals[0]
    assert totals[2] - totals[1] == step
    assert totals[3] - totals[2] == 13 * step


@pytest.mark.slow
@pytest.mark.parametrize("engine", [e.name for e in ENGINES if e.offers("forward")])
def test_forward_counts_of_chains_are_cubics_so_larger_ones_can_be_worked_out(engine):
    counts = {n: count_operations(engine, "forward", chain(n)).total for n in (3, 4, 6, 8, 16)}
    held_out = counts.pop(16)
    assert polynomial(counts, 16) == held_out


def test_every_engine_is_counted_in_what_it_computes():
    robot = tree(3)
    for engine in ENGINES:
        for quantity in ("inverse", "forward"):
            assert (count_operations(engine.name, quantity, robot) is not None) == engine.offers(quantity)


@pytest.mark.parametrize("n", [3, 9])
def test_the_counts_that_the_documentation_gives(n):
    nasser = count_operations("nasser", "forward", chain(n))
    assert nasser == Operations(383 * n - 262, 325 * n - 228, divisions=3 * n - 2, functions=2 * n)
    recursion = count_operations("newton_euler", "inverse", chain(n))
    assert recursion == Operations(140 * n - 24, 109 * n - 24, functions=2 * n)


def test_where_the_recursion_becomes_cheaper_than_walker_and_orin():
    """Of chains, as the documentation says: than their first method from three joints on, composite bodies from six."""
    nasser, composite, columns = (
        {n: count_operations(engine, "forward", chain(n)).total for n in (3, 5, 6, 16)}
        for engine in ("nasser", "walker_orin", "walker_orin_columns")
    )
    assert all(nasser[n] < columns[n] for n in columns)
    assert nasser[5] > composite[5]
    assert nasser[6] < composite[6]
    assert nasser[16] < 0.7 * composite[16]


def test_the_published_count_is_the_documents_formula():
    assert published(6) == Operations(multiplications=1429, additions=1063)


@helper
def _root(x):
    return np.sqrt(x)


@kernel
def _mixed(x, out):
    least = min(x[0], x[1])
    out[0] = 2.0 * math.cos(least) + _root(x[1]) / (1.0 - x[0]) - abs(-x[0]) * x[1]


@kernel
def _with_scratch(x):
    scratch = np.zeros(3)
    for k in range(3):
        scratch[k] += x[k] * x[k]
    return scratch[0]
