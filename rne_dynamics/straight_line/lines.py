"""LLVM assembly of a graph's operations on vectors, one number per lane, or on single numbers.

Sine and cosine are accurate to about one unit in the last place: Cody and Waite. n is the integer nearest to 2x/π and
r = x − n π/2, with π/2 as the sum of three doubles. The first product and difference are exact in a fused instruction.
The rounding errors of the second product and difference, and the third product, are the tail c, so that r + c has twice
the digits despite cancellation. (The error of the difference is that of Dekker's fast two-sum. It needs
|first| ≥ |second|, or that both are multiples, of at most 2^53, of the same number: `first` is a multiple of 2^-53, and
`second` is below 2^-23.) On |r| ≤ π/4 the polynomials are those of Sun's fdlibm (k_sin.c, k_cos.c, 1993), minimax to
below 2^-58; c enters them to first order. n mod 4 selects sine or cosine and the sign.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate

from rne_dynamics.compiling.instructions import constant
from rne_dynamics.compiling.kinds import FLOAT
from rne_dynamics.straight_line.graph import Guard, Node
from rne_dynamics.straight_line.trace import Program


class Lines:
    """The lines of one function, in which every value is a vector of `width` doubles, or a double for width 1."""

    def __init__(self, width: int, text: list[str] | None = None, *, fused: bool = True) -> None:
        self.width, self.fused = width, fused
        kinds = ("double", "i64", "i1")
        self.vector, self.integers, self.mask = kinds if width == 1 else (f"<{width} x {kind}>" for kind in kinds)
        self._suffix = "f64" if width == 1 else f"v{width}f64"
        self.text: list[str] = [] if text is None else text

    def of_width(self, width: int) -> Lines:
        """The same function's lines, for values of another width."""
        return Lines(width, self.text, fused=self.fused)

    def same(self, kind: str, value: str) -> str:
        """The same value in every lane."""
        return value if self.width == 1 else f"<{', '.join([f'{kind} {value}'] * self.width)}>"

    def let(self, instruction: str) -> str:
        """Append an instruction with a value; return the value's name."""
        name = f"%v{len(self.text)}"
        self.text.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a value."""
        self.text.append(f"  {instruction}")

    def splat(self, value: float) -> str:
        """The same double in every lane."""
        return self.same("double", constant(value, FLOAT))

    def splat_mask(self, value: bool) -> str:
        """The same truth value in every lane."""
        return self.same("i1", str(value).lower())

    def exact(self, name: str, *operands: str) -> str:
        """`fadd`, `fsub`, `fmul`, `fdiv`, rounded each."""
        return self.let(f"{name} {self.vector} {', '.join(operands)}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """`llvm.<name>` of vectors, e.g. fma, sqrt, fabs."""
        arguments = ", ".join(f"{self.vector} {x}" for x in operands)
        return self.let(f"call {self.vector} @llvm.{name}.{self._suffix}({arguments})")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the processor does so."""
        if self.fused:
            return self.intrinsic("fma", a, b, c)
        return self.exact("fadd", self.exact("fmul", a, b), c)

    def compare(self, condition: str, a: str, b: str) -> str:
        """`fcmp`, e.g. olt: false where a number is NaN."""
        return self.let(f"fcmp {condition} {self.vector} {a}, {b}")

    def select(self, mask: str, a: str, b: str) -> str:
        """a where the mask is set, otherwise b."""
        return self.let(f"select {self.mask} {mask}, {self.vector} {a}, {self.vector} {b}")

    def element(self, pointer: str, place: int) -> str:
        """The address of a double in an array."""
        return self.let(f"getelementptr double, ptr {pointer}, i64 {place}")

    def shuffle(self, a: str, b: str, lanes: Sequence[int]) -> str:
        """Selected lanes of a (0 to `width` − 1) and b (from `width` on)."""
        chosen = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.let(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, <{len(lanes)} x i32> <{chosen}>"
        )


def declarations(width: int) -> list[str]:
    """Of the functions that `intrinsic` calls."""
    kind, suffix = ("double", "f64") if width == 1 else (f"<{width} x double>", f"v{width}f64")
    counts = {"fabs": 1, "sqrt": 1, "sin": 1, "cos": 1, "copysign": 2, "fma": 3}
    return [f"declare {kind} @llvm.{name}.{suffix}({', '.join([kind] * k)})" for name, k in counts.items()]


_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
_ORDERED = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "one"}


class NodeWriter(ABC):
    """Writes the nodes of a program in order. `lines`: where to."""

    def __init__(self, program: Program, lines: Lines) -> None:
        self.program, self.lines = program, lines
        self.names: dict[int, str] = {}
        #: Sines and cosines by the nodes of their angles.
        self.sines: dict[int, tuple[str, str]] = {}
        #: Number of the first input of each argument.
        self.starts = tuple(accumulate(program.widths[:-1], initial=0))

    @abstractmethod
    def input(self, place: int) -> str:
        """The name of an input, loaded when its node is written."""

    @abstractmethod
    def write_sines(self, angles: Sequence[int]) -> None:
        """Write sines and cosines of nodes."""

    def owner(self, place: int) -> tuple[int, int]:
        """The argument of an input, and the input's number there."""
        k = bisect(self.starts, place) - 1
        return k, place - self.starts[k]

    def write_nodes(self) -> None:
        """Write all nodes that results and guards need."""
        for x in self.program.needed():
            self.write_node(x)

    def write_node(self, x: int) -> None:
        """Write one node after those that it needs, once."""
        if x not in self.names:
            self.names[x] = self._value(self.program.graph.nodes[x])

    def held(self, guard: Guard) -> str:
        """The mask of a guard: true where the comparison has the sample's outcome; false for NaN."""
        lines = self.lines
        held = lines.compare(_ORDERED[guard.name], self.names[guard.left], self.names[guard.right])
        return held if guard.outcome else self.opposite(held)

    def opposite(self, mask: str) -> str:
        """The negation of a mask."""
        return self.lines.let(f"xor {self.lines.mask} {mask}, {self.lines.splat_mask(True)}")

    def _value(self, node: Node) -> str:
        lines = self.lines
        if node.name == "constant":
            return lines.splat(node.leaf)
        if node.name == "input":
            return self.input(int(node.leaf))
        if node.name in ("sin", "cos"):
            (angle,) = node.operands
            if angle not in self.sines:
                self.write_sines(node.operands)
            return self.sines[angle][node.name == "cos"]
        operands = [self.names[x] for x in node.operands]
        if node.name in _ARITHMETIC:
            return lines.exact(f"{_ARITHMETIC[node.name]} contract", *operands)  # may be fused
        if node.name == "neg":
            return lines.let(f"fneg {lines.vector} {operands[0]}")
        if node.name == "reciprocal":
            return lines.exact("fdiv", lines.splat(1.0), operands[0])
        if node.name in ("min", "max"):
            second = lines.compare("olt" if node.name == "min" else "ogt", operands[1], operands[0])
            return lines.select(second, operands[1], operands[0])
        return lines.intrinsic({"abs": "fabs"}.get(node.name, node.name), *operands)


#: Larger angles would lose digits; the general kernels compute them.
LARGEST_ANGLE = 2.0**30

# π/2 as a sum of doubles: each is the nearest one to the remainder
_HALF_PI = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"),
            float.fromhex("-0x1.f1976b7ed8fbcp-110"))  # fmt: skip
TWO_OVER_PI = 0.6366197723675814
# adding and subtracting it rounds to an integer, which is also in the lowest bits of the sum
_ROUNDER = 1.5 * 2.0**52
#: Polynomials in r²: sin r = r + r³ (…), cos r = 1 − r²/2 + r⁴ (…); constant terms first.
SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
    2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def sin_cos(lines: Lines, x: str) -> tuple[str, str]:
    """Write sine and cosine of x, C's without fused instructions; NaN if not finite, invalid beyond `LARGEST_ANGLE`."""
    if not lines.fused:
        return lines.intrinsic("sin", x), lines.intrinsic("cos", x)
    rounder = lines.splat(_ROUNDER)
    shifted = lines.intrinsic("fma", x, lines.splat(TWO_OVER_PI), rounder)
    n = lines.exact("fsub", shifted, rounder)
    minus_n = lines.let(f"fneg {lines.vector} {n}")
    first = lines.intrinsic("fma", minus_n, lines.splat(_HALF_PI[0]), x)
    second = lines.exact("fmul", n, lines.splat(_HALF_PI[1]))
    second_lost = lines.intrinsic("fma", minus_n, lines.splat(_HALF_PI[1]), second)
    r = lines.exact("fsub", first, second)
    lost = lines.exact("fsub", lines.exact("fsub", first, r), second)
    c = lines.intrinsic("fma", minus_n, lines.splat(_HALF_PI[2]), lines.exact("fadd", lost, second_lost))
    z = lines.exact("fmul", r, r)

    # sin (r + c) = r + (r³ S(z) + c)
    cubic = lines.intrinsic("fma", lines.exact("fmul", z, r), _polynomial(lines, z, SIN), c)
    sine = lines.exact("fadd", r, cubic)
    # cos (r + c) = w + ((1 − w) − z/2 + (z² C(z) − r c)) with w = 1 − z/2 rounded
    one, half = lines.splat(1.0), lines.splat(-0.5)
    w = lines.intrinsic("fma", z, half, one)
    rest = lines.intrinsic("fma", z, half, lines.exact("fsub", one, w))
    minus_r = lines.let(f"fneg {lines.vector} {r}")
    quartic = lines.intrinsic("fma", lines.exact("fmul", z, z), _polynomial(lines, z, COS), rest)
    cosine = lines.exact("fadd", w, lines.intrinsic("fma", minus_r, c, quartic))

    whole, one_ = lines.integers, lines.same("i64", "1")
    quadrant = lines.let(f"bitcast {lines.vector} {shifted} to {whole}")
    swapped = lines.let(f"icmp ne {whole} {lines.let(f'and {whole} {quadrant}, {one_}')}, zeroinitializer")
    after = lines.let(f"add {whole} {quadrant}, {one_}")
    return (
        _signed(lines, lines.select(swapped, cosine, sine), quadrant),
        _signed(lines, lines.select(swapped, sine, cosine), after),
    )


def _polynomial(lines: Lines, z: str, coefficients: tuple[float, ...]) -> str:
    """Horner's scheme, constant term first."""
    value = lines.splat(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = lines.intrinsic("fma", value, z, lines.splat(coefficient))
    return value


def _signed(lines: Lines, x: str, quadrant: str) -> str:
    """−x in quadrants 2 and 3: bit 1 becomes the sign."""
    whole = lines.integers
    bit = lines.let(f"and {whole} {quadrant}, {lines.same('i64', '2')}")
    sign = lines.let(f"shl {whole} {bit}, {lines.same('i64', '62')}")
    changed = lines.let(f"xor {whole} {lines.let(f'bitcast {lines.vector} {x} to {whole}')}, {sign}")
    return lines.let(f"bitcast {whole} {changed} to {lines.vector}")
