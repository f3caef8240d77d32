"""Graph of a kernel's operations, with common subexpressions merged and constants folded.

A node is an operation and its operands, earlier nodes. `Graph` returns the existing node of an equal operation and
simplifies by identities of real numbers: 0 x = 0, 1 x = x, x + 0 = x, (x / y) y = x, signs factored out of products.
They hold for all finite numbers, y not zero. A quotient becomes a product with the reciprocal, which costs half a unit
in the last place and lets several quotients share one division.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from rne_dynamics.errors import RneDynamicsError

#: Largest number of nodes of blocks of states and of C: more take compilers many seconds, and the code exceeds the
#: processor's caches.
LARGEST = 30_000


class TooLargeError(RneDynamicsError):
    """A robot with too many links for straight-line code."""


class Node(NamedTuple):
    """An operation: its name, the indices of its operands, and for leaves the value or the index of the input."""

    name: str
    operands: tuple[int, ...] = ()
    leaf: float = 0.0


class Guard(NamedTuple):
    """A comparison in the kernel, and its outcome for the sample."""

    name: str  # one of COMPARISONS
    left: int
    right: int
    outcome: bool


#: The operations on numbers.
OPERATIONS: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "neg": operator.neg,
        "reciprocal": lambda x: 1.0 / x if x != 0.0 else math.copysign(math.inf, x),
        "sqrt": lambda x: math.sqrt(x) if x >= 0.0 else math.nan,
        "sin": math.sin,
        "cos": math.cos,
        "abs": abs,
        "min": lambda a, b: b if b < a else a,
        "max": lambda a, b: b if b > a else a,
        "copysign": math.copysign,
    }
)
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
        "ne": operator.ne,
    }
)  # fmt: skip
_COMMUTATIVE = frozenset(("add", "mul"))


class Graph:
    """Nodes in order of computation, and their values for one sample; `TooLargeError` at `largest` nodes."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self.nodes: list[Node] = []
        self.values: list[float] = []
        self.guards: list[Guard] = []
        self._numbers: dict[Node, int] = {}

    def constant(self, value: float) -> int:
        """The node of a constant."""
        return self._node(Node("constant", (), float(value) + 0.0), float(value))  # + 0.0: no negative zero

    def input(self, place: int, sample: float) -> int:
        """The node of input number `place`, with its value in the sample."""
        return self._node(Node("input", (), float(place)), float(sample))

    def apply(self, name: str, *operands: int) -> int:
        """The node of an operation, simplified."""
        if all(self.is_constant(x) for x in operands):
            return self.constant(OPERATIONS[name](*(self.values[x] for x in operands)))
        rule = _RULES.get(name)
        found = None if rule is None else rule(self, *operands)
        return self.plain(name, *operands) if found is None else found

    def plain(self, name: str, *operands: int) -> int:
        """The node of an operation, not simplified."""
        if name in _COMMUTATIVE:
            operands = tuple(sorted(operands))
        return self._node(Node(name, operands), OPERATIONS[name](*(self.values[x] for x in operands)))

    def compare(self, name: str, left: int, right: int) -> bool:
        """Outcome of a comparison in the sample; it becomes a guard unless it is the same for all inputs.

        Numbers that depend on inputs never count as equal: kernels compare for equality to skip terms without effect,
        and terms that cancel in Python need not cancel with fused multiplication and addition.
        """
        if name in ("eq", "ne") and left != right and not (self.is_constant(left) and self.is_constant(right)):
            return name == "ne"
        outcome = COMPARISONS[name](self.values[left], self.values[right])
        guard = Guard(name, left, right, outcome)
        if not (self.is_constant(left) and self.is_constant(right)) and guard not in self.guards:
            self.guards.append(guard)
        return outcome

    def is_constant(self, x: int) -> bool:
        """Whether a node is a constant."""
        return self.nodes[x].name == "constant"

    def known(self, x: int) -> float | None:
        """The value of a constant; `None` for any other node."""
        return self.values[x] if self.is_constant(x) else None

    def negated(self, x: int) -> int | None:
        """y if x is −y; `None` otherwise."""
        return self.nodes[x].operands[0] if self.nodes[x].name == "neg" else None

    def exists(self, name: str, *operands: int) -> int | None:
        """The node of an operation if it exists."""
        return self._numbers.get(Node(name, operands))

    def evaluated(self, inputs: Sequence[float]) -> list[float]:
        """The values of all nodes for other inputs than the sample."""
        values: list[float] = []
        for node in self.nodes:
            if node.name in ("constant", "input"):
                values.append(node.leaf if node.name == "constant" else inputs[int(node.leaf)])
            else:
                values.append(OPERATIONS[node.name](*(values[x] for x in node.operands)))
        return values

    def needed(self, wanted: Iterable[int], known: Container[int] = ()) -> list[int]:
        """All nodes that the wanted ones depend on, in order, without what only `known` ones depend on."""
        needed = set(wanted)
        for x in range(len(self.nodes) - 1, -1, -1):
            if x in needed and x not in known:
                needed.update(self.nodes[x].operands)
        return sorted(needed)

    def _node(self, node: Node, value: float) -> int:
        number = self._numbers.get(node)
        if number is None:
            if len(self.nodes) == self._largest:
                raise TooLargeError(f"more than {self._largest} operations")
            number = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
            self.values.append(value)
        return number


def _add(g: Graph, a: int, b: int) -> int | None:
    for x, y in ((a, b), (b, a)):
        if g.known(x) == 0.0:
            return y
        minus = g.negated(x)
        if minus is not None:
            return g.apply("sub", y, minus)
    return None


def _subtract(g: Graph, a: int, b: int) -> int | None:
    if a == b:
        return g.constant(0.0)
    if g.known(b) == 0.0:
        return a
    if g.known(a) == 0.0:
        return g.apply("neg", b)
    minus_a, minus_b = g.negated(a), g.negated(b)
    if minus_b is not None:
        return g.apply("add", a, minus_b)
    if minus_a is not None:
        return g.apply("neg", g.apply("add", minus_a, b))
    reverse = g.exists("sub", b, a)
    return None if reverse is None else g.apply("neg", reverse)


def _multiply(g: Graph, a: int, b: int) -> int | None:
    for x, y in ((a, b), (b, a)):
        factor, minus = g.known(x), g.negated(x)
        if factor == 0.0:
            return g.constant(0.0)
        if factor == 1.0:
            return y
        if factor is not None and factor < 0.0:
            return g.apply("neg", g.apply("mul", g.constant(-factor), y))
        if minus is not None:
            return g.apply("neg", g.apply("mul", minus, y))
        if g.exists("reciprocal", x) == y:
            return g.constant(1.0)
        rest = _without_divisor(g, y, x)
        if rest is not None:
            return rest
    return None


def _without_divisor(g: Graph, quotient: int, divisor: int) -> int | None:
    """a if the quotient is a times the reciprocal of the divisor; `None` otherwise."""
    inverse, node = g.exists("reciprocal", divisor), g.nodes[quotient]
    if inverse is None or node.name != "mul" or inverse not in node.operands:
        return None
    return node.operands[0] if node.operands[1] == inverse else node.operands[1]


def _sin(g: Graph, a: int) -> int | None:
    minus = g.negated(a)
    return None if minus is None else g.apply("neg", g.apply("sin", minus))


def _cos(g: Graph, a: int) -> int | None:
    minus = g.negated(a)
    return None if minus is None else g.apply("cos", minus)


_RULES: Mapping[str, Callable[..., int | None]] = MappingProxyType(
    {"add": _add, "sub": _subtract, "mul": _multiply, "neg": Graph.negated, "sin": _sin, "cos": _cos}
)
