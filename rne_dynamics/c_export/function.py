"""One function in C: a quantity of a robot, or the Jacobian of one of its links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from types import MappingProxyType

from rne_dynamics.c_export.checked import checked_nodes
from rne_dynamics.c_export.statements import Precision, Statements
from rne_dynamics.errors import ModelError
from rne_dynamics.straight_line.graph import Guard
from rne_dynamics.straight_line.trace import Program

#: What is exported: the name of the output, what it is.
EXPORTED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "inverse_dynamics": ("tau", "Efforts that accelerations qdd need."),
        "forward_dynamics": ("qdd", "Accelerations that efforts tau give."),
        "gravity_torque": ("tau", "Efforts that hold the robot still."),
        "bias_torque": ("tau", "Efforts at zero acceleration: Coriolis, centrifugal and gravity terms."),
        "mass_matrix": ("M", "Mass matrix, row after row; symmetric."),
        "jacobian": ("J", "Jacobian"),
    }
)
#: Widest line of C.
_WIDTH = 120


@dataclass(frozen=True)
class Function:
    """A function of the export.

    Parameters
    ----------
    name
        In C.
    quantity, link
        What it computes; `link` is empty if the quantity is not of a link.
    inputs
        Names of its input arrays.
    program
        Its operations.
    """

    name: str
    quantity: str
    link: str
    inputs: tuple[str, ...]
    program: Program

    @property
    def output(self) -> str:
        """Name of its output array."""
        return EXPORTED[self.quantity][0]

    @property
    def operations(self) -> int:
        """How many operations it executes, without tests."""
        graph = self.program.graph
        leaves = ("input", "constant")
        return sum(graph.nodes[x].name not in leaves for x in graph.needed(self.program.results))

    def declaration(self, precision: Precision) -> str:
        """Its declaration without semicolon."""
        given = ", ".join(f"const {precision.type} *{name}" for name in self.inputs)
        return f"int {self.name}({given}, {precision.type} *{self.output})"

    def definition(self, prefix: str, precision: Precision) -> str:
        """Its definition; raises `ModelError` if a constant has no literal in this precision."""
        program, status = self.program, prefix.upper()
        inputs = [f"{name}[{k}]" for name, width in zip(self.inputs, program.widths, strict=True) for k in range(width)]
        results, places = checked_nodes(program.graph, program.results, len(inputs))

        def test(guard: Guard, left: str, right: str) -> Sequence[str]:
            return self._inertia_test(guard, left, right, status, precision)

        values = Statements(program.graph, inputs, program.results, precision, test)
        lines = [f"    {line}" for line in values.lines]
        tested = [*(inputs[place] for place in places), *(values[x] for x in results)]
        lines += wrap(f"    if (!isfinite({balanced_sum(tested)}))", _WIDTH, subsequent_indent=" " * 8)
        lines.append(f"        return {status}_NOT_FINITE;")
        lines += [f"    {self.output}[{k}] = {values[x]};" for k, x in enumerate(program.results)]
        return "\n".join((self.declaration(precision), "{", *lines, f"    return {status}_OK;", "}", ""))

    def _inertia_test(self, guard: Guard, left: str, right: str, status: str, precision: Precision) -> Sequence[str]:
        """Return unless the inertia that a joint moves is more than round-off; NaN of an input is reported as such."""
        if self.quantity != "forward_dynamics" or guard.name != "gt" or not guard.outcome:
            raise ModelError(f"{self.quantity} decides by {guard}, for which the export has no status")
        if precision.coarser != 1.0:
            right = f"{precision.constant(precision.coarser)} * {right}"
        inputs = " && ".join(
            f"all_finite({name}, {w})" for name, w in zip(self.inputs, self.program.widths, strict=True)
        )
        return f"if (!({left} > {right}))", f"    return {inputs} ? {status}_NO_INERTIA : {status}_NOT_FINITE;"


def balanced_sum(terms: list[str]) -> str:
    """A sum of names as a tree, which a processor adds in parallel."""
    while len(terms) > 1:
        pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
        terms = [f"({' + '.join(pair)})" if len(pair) == 2 else pair[0] for pair in pairs]
    return terms[0].removeprefix("(").removesuffix(")")
