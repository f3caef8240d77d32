"""Which values a function has to test, so that NaN and infinity in any input or result are noticed.

A result that is not finite shows an input that is not, if the input reaches it through operations none of which makes a
finite number of an infinite one. So only the other inputs are tested themselves, and results only if they can overflow.
"""

from __future__ import annotations

from rne_dynamics.straight_line.graph import Graph

#: Finite for finite operands, which are finite for finite inputs.
_BOUNDED = frozenset(("sin", "cos"))
_ARITHMETIC = frozenset(("add", "sub", "mul", "neg", "abs", "min", "max", "copysign"))
#: Not finite if an operand is not.
_PASSING = frozenset(("add", "sub", "mul", "neg", "abs", "sqrt", "sin", "cos"))


def checked_nodes(graph: Graph, results: tuple[int, ...], inputs: int) -> tuple[list[int], list[int]]:
    """The results to test, as nodes, and the other inputs to test, as numbers of inputs."""
    bounded: list[bool] = []
    for node in graph.nodes:
        whole = node.name in _ARITHMETIC and all(bounded[x] for x in node.operands)
        bounded.append(node.name == "constant" or node.name in _BOUNDED or whole)
    tested = [x for x in dict.fromkeys(results) if not bounded[x]]
    shows = [False] * len(graph.nodes)
    for x in tested:
        shows[x] = True
    shown = set()
    for x in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[x]
        if not shows[x]:
            continue
        if node.name == "input":
            shown.add(int(node.leaf))
        elif node.name in _PASSING:
            for y in node.operands:
                shows[y] = True
    return tested, [place for place in range(inputs) if place not in shown]
