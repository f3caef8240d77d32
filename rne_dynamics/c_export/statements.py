"""A program as statements of C99: one constant for each value that is used more than once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.errors import ModelError
from rne_dynamics.straight_line.graph import Graph


class Precision(NamedTuple):
    """A floating-point type of C."""

    #: Its name.
    type: str
    #: Of its constants and mathematical functions.
    suffix: str
    #: Its round-off over that of doubles.
    coarser: float

    def constant(self, value: float) -> str:
        """The shortest literal that is read as `value` in this precision; `ModelError` for one out of its range."""
        if not self.suffix:
            rounded, text = value, repr(float(value))
        else:
            with np.errstate(over="ignore", under="ignore"):
                single = np.float32(value)
            rounded, text = float(single), f"{single!s}f"
        if not math.isfinite(rounded):
            hint = "export doubles" if math.isfinite(value) else f"`{rne('check')}` finds what is wrong"
            raise ModelError(f"the constant {value:g} cannot be written as a {self.type} of C; {hint}")
        return text


PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {"double": Precision("double", "", 1.0), "float": Precision("float", "f", 2.0**29)}
)
#: Most operations in one expression.
_LONGEST = 4
_SUM, _PRODUCT, _ATOM = 1, 2, 3
_INFIX = {"add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", _PRODUCT)}
_CALLS = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "abs": "fabs"}


class Statement(NamedTuple):
    """A constant of C."""

    #: Its name.
    name: str
    #: The expression.
    text: str
    #: Names of the constants in the expression.
    uses: tuple[str, ...]
    #: How many operations the expression has.
    operations: int


class _Expression(NamedTuple):
    text: str
    binds: int = _ATOM
    operations: int = 0
    uses: tuple[str, ...] = ()

    def within(self, least: int) -> str:
        """The text as an operand of an operator that needs operands which bind at least so strongly."""
        return self.text if self.binds >= least else f"({self.text})"


class Statements:
    """The statements, `all`, that compute nodes of a graph; `inputs` and `known` are expressions of other nodes.

    `margins`: pairs of nodes whose differences are the constants m0, m1, …, computed as early as possible, which keeps
    fewer values alive. The second node is a round-off of doubles and becomes one of this `precision`.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[str],
        wanted: Iterable[int],
        precision: Precision,
        known: Mapping[int, str] = MappingProxyType({}),
        margins: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.all: list[Statement] = []
        self._graph, self._inputs, self._precision = graph, inputs, precision
        self._done: dict[int, _Expression] = {}
        named, at = {*wanted, *(x for pair in margins for x in pair)}, dict[int, list[int]]()
        for k, pair in enumerate(margins):
            at.setdefault(max(pair), []).append(k)
        order = graph.needed(named, known)
        uses = Counter(x for user in order if user not in known for x in graph.nodes[user].operands)
        for x in order:
            made = _Expression(known[x]) if x in known else self._expression(x)
            short = made.operations < _LONGEST and graph.nodes[x].name in (*_INFIX, "neg")
            if made.operations and not (uses[x] == 1 and short and x not in named):
                made = self._constant(f"v{x}", made)
            self._done[x] = made
            for k in at.get(x, ()):
                self._constant(f"m{k}", self._margin(*(self._done[y] for y in margins[k])))

    @property
    def lines(self) -> list[str]:
        """The statements as lines of C."""
        return [f"const {self._precision.type} {one.name} = {one.text};" for one in self.all]

    def __getitem__(self, x: int) -> str:
        """A wanted node: the name of its constant, an input or a literal."""
        return self._done[x].within(_ATOM)

    def _constant(self, name: str, made: _Expression) -> _Expression:
        self.all.append(Statement(name, made.text, made.uses, made.operations))
        return _Expression(name, uses=(name,))

    def _margin(self, left: _Expression, right: _Expression) -> _Expression:
        coarser = self._precision.coarser
        factor = "" if coarser == 1.0 else f"{self._precision.constant(coarser)} * "
        return _Expression(f"{left.within(_ATOM)} - {factor}{right.within(_ATOM)}", _SUM, 2, left.uses + right.uses)

    def _expression(self, x: int) -> _Expression:
        """The expression of a node, with the names in it."""
        parts = [self._done[y] for y in self._graph.nodes[x].operands]
        uses = tuple(dict.fromkeys(name for part in parts for name in part.uses))
        return self._plain_expression(x)._replace(uses=uses)

    def _plain_expression(self, x: int) -> _Expression:
        node, suffix = self._graph.nodes[x], self._precision.suffix
        if node.name == "input":
            return _Expression(self._inputs[int(node.leaf)])
        if node.name == "constant":
            return _Expression(self._precision.constant(node.leaf), _ATOM if node.leaf >= 0.0 else _SUM)
        parts = [self._done[y] for y in node.operands]
        operations = 1 + sum(part.operations for part in parts)
        if node.name in _INFIX:
            sign, binds = _INFIX[node.name]
            if node.name == "add" and (value := self._graph.known(node.operands[1])) is not None and value < 0.0:
                sign, parts[1] = "-", _Expression(self._precision.constant(-value))
            # the order of operations is the graph's: the second operand of a + (b + c) keeps its parentheses
            return _Expression(f"{parts[0].within(binds)} {sign} {parts[1].within(binds + 1)}", binds, operations)
        if node.name in _CALLS:
            return _Expression(f"{_CALLS[node.name]}{suffix}({parts[0].text})", _ATOM, operations)
        if node.name == "copysign":
            return _Expression(f"copysign{suffix}({parts[0].text}, {parts[1].text})", _ATOM, operations)
        if node.name in ("min", "max"):
            first, second = (part.within(_ATOM) for part in parts)
            sign = "<" if node.name == "min" else ">"
            return _Expression(f"{second} {sign} {first} ? {second} : {first}", 0, operations)
        if node.name == "neg":
            return _Expression(f"-{parts[0].within(_ATOM)}", _SUM, operations)
        return _Expression(f"1.0{suffix} / {parts[0].within(_ATOM)}", _PRODUCT, operations)
