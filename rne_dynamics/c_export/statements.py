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
from rne_dynamics.straight_line.graph import Graph, Node
from rne_dynamics.straight_line.lines import COS, SIN, TWO_OVER_PI


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
_CALLS = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "abs": "fabs", "copysign": "copysign"}
_CHOICES = {"min": "<", "max": ">"}


class Expression(NamedTuple):
    """An expression of C."""

    #: It, in C.
    text: str
    #: How strongly its last operator binds.
    binds: int = _ATOM
    #: How many operations it has.
    operations: int = 0
    #: Names of the constants in it.
    uses: tuple[str, ...] = ()

    def within(self, least: int) -> str:
        """The text as an operand of an operator that needs operands which bind at least so strongly."""
        return self.text if self.binds >= least else f"({self.text})"


class Statements:
    """The constants, `all`, that compute nodes of a graph; `inputs` and `known` are expressions of other nodes.

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
        self.all: dict[str, Expression] = {}
        self._graph, self._inputs, self._precision = graph, inputs, precision
        self._done: dict[int, Expression] = {}
        named, at = {*wanted, *(x for pair in margins for x in pair)}, dict[int, list[int]]()
        for k, pair in enumerate(margins):
            at.setdefault(max(pair), []).append(k)
        order = graph.needed(named, known)
        uses = Counter(x for user in order if user not in known for x in graph.nodes[user].operands)
        for x in order:
            made = Expression(known[x]) if x in known else self._expression(x)
            short = made.operations < _LONGEST and graph.nodes[x].name in (*_INFIX, "neg")
            if made.operations and not (uses[x] == 1 and short and x not in named):
                made = self._constant(f"v{x}", made)
            self._done[x] = made
            for k in at.get(x, ()):
                self._constant(f"m{k}", self._margin(*(self._done[y] for y in margins[k])))

    @property
    def lines(self) -> list[str]:
        """The statements as lines of C."""
        return [f"const {self._precision.type} {name} = {made.text};" for name, made in self.all.items()]

    def __getitem__(self, x: int) -> str:
        """A wanted node: the name of its constant, an input or a literal."""
        return self._done[x].within(_ATOM)

    def _constant(self, name: str, made: Expression) -> Expression:
        self.all[name] = made
        return Expression(name, uses=(name,))

    def _margin(self, left: Expression, right: Expression) -> Expression:
        coarser = self._precision.coarser
        factor = "" if coarser == 1.0 else f"{self._precision.constant(coarser)} * "
        return Expression(f"{left.within(_ATOM)} - {factor}{right.within(_ATOM)}", _SUM, 2, left.uses + right.uses)

    def _expression(self, x: int) -> Expression:
        """The expression of a node, with the names in it."""
        node = self._graph.nodes[x]
        if node.name == "input":
            return Expression(self._inputs[int(node.leaf)])
        if node.name == "constant":
            return Expression(self._precision.constant(node.leaf), _ATOM if node.leaf >= 0.0 else _SUM)
        parts = [self._done[y] for y in node.operands]
        text, binds = self._operation(node, parts)
        uses = tuple(dict.fromkeys(name for part in parts for name in part.uses))
        return Expression(text, binds, 1 + sum(part.operations for part in parts), uses)

    def _operation(self, node: Node, parts: list[Expression]) -> tuple[str, int]:
        """The text of an operation on its operands, and how strongly it binds."""
        first, *others = (part.within(_ATOM) for part in parts)
        suffix = self._precision.suffix
        if node.name in _INFIX:
            sign, binds = _INFIX[node.name]
            second, value = parts[1].within(binds + 1), self._graph.known(node.operands[1])
            if node.name == "add" and value is not None and value < 0.0:
                sign, second = "-", self._precision.constant(-value)
            # the order of operations is the graph's: the second operand of a + (b + c) keeps its parentheses
            return f"{parts[0].within(binds)} {sign} {second}", binds
        if node.name in _CALLS:
            return f"{_CALLS[node.name]}{suffix}({', '.join(part.text for part in parts)})", _ATOM
        if node.name in _CHOICES:
            return f"{others[0]} {_CHOICES[node.name]} {first} ? {others[0]} : {first}", 0
        if node.name == "neg":
            return f"-{first}", _SUM
        return f"1.0{suffix} / {first}", _PRODUCT


# Sines and cosines of all angles at once, in a loop that compilers can turn into vector instructions. n is the integer
# nearest to 2x/π and r = x − n π/2, with π/2 as the sum of three numbers (Cody and Waite), of which the first two have
# so few digits that their products with n are exact. The polynomials of r are fdlibm's for doubles, those of Moshier's
# Cephes (sinf.c) for floats. Errors are below two round-offs of 1. Large angles are left to libm.

#: Name of the function in C.
SINES = "sines_and_cosines"
#: Largest angle that is not left to libm; n fits in 16 bits.
LARGEST_ANGLE = 1e4
#: By type: π/2, and the polynomials as of `SIN` and `COS`.
_TABLES: Mapping[str, tuple[tuple[float, ...], ...]] = MappingProxyType(
    {
        "double": ((1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21), SIN, COS),
        "float": (
            (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
            (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
            (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
        ),
    }
)


def sines(precision: Precision) -> str:
    """The function ``sines_and_cosines(x, count, sine, cosine)``."""
    half_pi, sin, cos = _TABLES[precision.type]
    numbers = {
        "first": half_pi[0], "second": half_pi[1], "third": half_pi[2], "largest": LARGEST_ANGLE,
        "two_over_pi": TWO_OVER_PI, "half": 0.5, "zero": 0.0, "one": 1.0,
    }  # fmt: skip
    return _TEXT.format(
        name=SINES, type=precision.type, s=precision.suffix, sin=_horner(sin, precision), cos=_horner(cos, precision),
        **{name: precision.constant(value) for name, value in numbers.items()},
    )  # fmt: skip


def _horner(coefficients: tuple[float, ...], precision: Precision) -> str:
    text = precision.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        text = f"{precision.constant(coefficient)}\n            + z * ({text})"
    return text


_TEXT = """
/* Sines and cosines of angles; NaN of what is not finite. */
static void {name}(const {type} *x, int count, {type} *sine, {type} *cosine)
{{
    int k, large = 0;
    for (k = 0; k < count; k++)
        large |= !(fabs{s}(x[k]) < {largest});
    if (large) {{
        for (k = 0; k < count; k++) {{
            sine[k] = sin{s}(x[k]);
            cosine[k] = cos{s}(x[k]);
        }}
        return;
    }}
    for (k = 0; k < count; k++) {{
        /* x = n pi / 2 + r; pi / 2 is the sum of three numbers, so that r has all its digits */
        const int n = (int)(x[k] * {two_over_pi} + (x[k] < {zero} ? -{half} : {half}));
        const {type} turns = ({type})n;
        const {type} near = (x[k] - turns * {first}) - turns * {second};
        const {type} r = near - turns * {third};
        const {type} z = r * r;
        const {type} sin_r = r + z * r * ({sin});
        const {type} cos_r = {one} - ({half} * z - z * z * ({cos}));
        const {type} s = n & 1 ? cos_r : sin_r;
        const {type} c = n & 1 ? sin_r : cos_r;
        sine[k] = n & 2 ? -s : s;
        cosine[k] = (n + 1) & 2 ? -c : c;
    }}
}}
"""
