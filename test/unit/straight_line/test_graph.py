"""The graph merges equal terms and folds constants."""

from __future__ import annotations

import numpy as np
import pytest

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.spatial.vector import cos_sin, cross
from rne_dynamics.straight_line.graph import Graph, Guard
from rne_dynamics.straight_line.symbol import Symbol, symbolic_kernels, zeros
from rne_dynamics.straight_line.trace import Program


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def x(graph: Graph) -> Symbol:
    return Symbol(graph, graph.input(0, 0.3))


@pytest.fixture
def y(graph: Graph) -> Symbol:
    return Symbol(graph, graph.input(1, -2.0))


def test_constants_are_worked_out(graph, x, y):
    assert graph.known((0.0 * x).node) == 0.0
    assert (1.0 * x).node == (x + 0.0).node == (0.0 + x).node == (x - 0.0).node == (x / 1.0).node == x.node
    assert graph.known((x - x).node) == 0.0
    assert graph.known((y * 0.0 + 2.0 - np.float64(5.0)).node) == -3.0


def test_the_same_term_is_one_node_whatever_the_order(x, y):
    assert (x * y).node == (y * x).node
    assert (x + y).node == (y + x).node
    assert (x - y).node != (y - x).node
    assert (x * y + x).node == (x + y * x).node


def test_signs_are_drawn_out_of_products_and_sums(x, y):
    assert ((-x) * y).node == (-(x * y)).node
    assert ((-x) * (-y)).node == (x * y).node
    minus = -x
    assert (-minus).node == x.node
    assert (x + (-y)).node == (x - y).node
    assert (x - (-y)).node == (x + y).node
    first = x - y
    assert (y - x).node == (-first).node
    assert (-3.0 * x).node == (-(3.0 * x)).node


def test_quotients_share_the_reciprocal(graph, x, y):
    x / y, 2.0 / y, y / y
    assert [node.name for node in graph.nodes].count("reciprocal") == 1


def test_a_quotient_times_its_divisor_is_the_dividend(graph, x, y):
    assert ((x / y) * y).node == (y * (x / y)).node == x.node
    assert graph.known(((1.0 / y) * y).node) == graph.known((y / y).node) == 1.0
    assert ((x / y) * x).node != y.node


def test_all_nodes_can_be_evaluated_for_other_inputs(graph, x, y):
    node = ((x - y) * 2.0 / (x + 1.0)).node
    assert graph.evaluated([0.3, -2.0]) == graph.values
    assert graph.evaluated([1.0, 4.0])[node] == -3.0


def test_what_no_result_needs_is_dropped(graph, x, y):
    unused = x * y
    result = x + y
    assert unused.node not in graph.needed([result.node])
    assert graph.needed([result.node]) == [x.node, y.node, result.node]


def test_comparisons_become_guards_once(graph, x, y):
    assert x > y
    assert not x <= y
    assert x > y
    assert Symbol(graph, graph.constant(1.0)) > 0.0
    assert graph.guards == [Guard("gt", x.node, y.node, True), Guard("le", x.node, y.node, False)]
    assert Program(graph, (2,), (), regular=True).needed() == sorted([x.node, y.node])


def test_symbols_go_through_kernels_and_their_helpers(graph, x, y):
    out = zeros((3,))
    symbolic_kernels(graph)(_mixed)(x, y, out)
    values = [graph.values[v.node] for v in out]
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(values, [c * -2.0 - 0.3, -2.0, abs(-2.0) * np.sqrt(s)], rtol=1e-15)
    assert [node.name for node in graph.nodes].count("sin") == 1


def test_symbols_are_no_keys_of_dictionaries(x):
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


@kernel
def _mixed(x, y, out):
    c, s = cos_sin(x)
    scratch = np.zeros(1)
    scratch[0] += cross((0.0, c, x), (0.0, 1.0, y))[0]
    out[0] = scratch[0]
    out[1] = min(x, y, max(x, y))
    out[2] = abs(y) * np.sqrt(s)
