"""The operation counter counts a kernel's operations without changing its results."""

from __future__ import annotations

import pytest
from comparison.generated import chain
from operation_counter import Operations
from operation_counts import count_operations, published


@pytest.mark.parametrize(("engine", "quantity"), [("newton_euler", "inverse"), ("nasser", "forward")])
def test_recursions_cost_the_same_for_every_further_link(engine, quantity):
    totals = [count_operations(engine, quantity, chain(n)).total for n in (5, 6, 7, 20)]
    step = totals[1] - totals[0]
    assert totals[2] - totals[1] == step
    assert totals[3] - totals[2] == 13 * step


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
