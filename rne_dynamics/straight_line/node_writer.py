"""The operations of a graph as LLVM instructions, for blocks of states and for single ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from itertools import accumulate

from rne_dynamics.straight_line.graph import Guard, Node
from rne_dynamics.straight_line.lines import Lines
from rne_dynamics.straight_line.trace import Program

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
_ORDERED = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "one"}


class NodeWriter(ABC):
    """Writes the nodes of a program in order. `lines`: where to."""

    def __init__(self, program: Program, lines: Lines) -> None:
        self.program, self.lines = program, lines
        self.names: dict[int, str] = {}
        #: Number of the first input of each argument.
        self.starts = tuple(accumulate(program.widths[:-1], initial=0))

    @abstractmethod
    def input(self, place: int) -> str:
        """The name of an input, loaded when its node is written."""

    @abstractmethod
    def sin_cos(self, x: int) -> tuple[str, str]:
        """The names of sine and cosine of a node."""

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
            return self.sin_cos(node.operands[0])[node.name == "cos"]
        operands = [self.names[x] for x in node.operands]
        if node.name in _ARITHMETIC:
            return lines.arithmetic(_ARITHMETIC[node.name], *operands)
        if node.name == "neg":
            return lines.let(f"fneg {lines.vector} {operands[0]}")
        if node.name == "reciprocal":
            return lines.exact("fdiv", lines.splat(1.0), operands[0])
        if node.name in ("min", "max"):
            second = lines.compare("olt" if node.name == "min" else "ogt", operands[1], operands[0])
            return lines.select(second, operands[1], operands[0])
        return lines.intrinsic({"abs": "fabs"}.get(node.name, node.name), *operands)
