"""One function in C: a quantity of a robot, or the Jacobian of one of its links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from types import MappingProxyType

from rne_dynamics.c_export.checked import checked_nodes
from rne_dynamics.c_export.parts import SHARED, Parts, in_parts
from rne_dynamics.c_export.sines import SINES
from rne_dynamics.c_export.statements import Precision, Statements
from rne_dynamics.errors import ModelError
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
#: Arrays of C for the values of functions.
_ARRAYS: Mapping[str, str] = MappingProxyType({"sin": "sine", "cos": "cosine"})
#: Widest line of C without its indentation.
_WIDTH = 116


@dataclass(frozen=True)
class Function:
    """A function of the export."""

    #: In C.
    name: str
    #: What it computes; `link` is empty if the quantity is not of a link.
    quantity: str
    link: str
    #: Names of its input arrays.
    inputs: tuple[str, ...]
    #: Its operations.
    program: Program

    @property
    def output(self) -> str:
        """Name of its output array."""
        return EXPORTED[self.quantity][0]

    @property
    def operations(self) -> int:
        """Number of operations, without tests."""
        graph = self.program.graph
        leaves = ("input", "constant")
        return sum(graph.nodes[x].name not in leaves for x in self.program.needed())

    def declaration(self, precision: Precision) -> str:
        """Its declaration without semicolon."""
        given = ", ".join(f"const {precision.type} *{name}" for name in self.inputs)
        return f"int {self.name}({given}, {precision.type} *{self.output})"

    def definition(self, prefix: str, precision: Precision) -> str:
        """Its definition after its parts; raises `ModelError` if a constant has no literal in this precision."""
        program, status, graph, margins = self.program, prefix.upper(), self.program.graph, self._margins()
        inputs = [f"{name}[{k}]" for name, width in zip(self.inputs, program.widths, strict=True) for k in range(width)]
        known, turning = _sines(program, inputs, precision)
        values = Statements(graph, inputs, program.results, precision, known, margins)
        named = {one.name for one in values.all}
        kept = dict.fromkeys((*(f"m{k}" for k in range(len(margins))), *(values[x] for x in program.results)))
        parts = in_parts(values.all, [name for name in kept if name in named], precision)
        at = {name: f"{SHARED}[{place}]" for name, place in parts.places.items()}
        found = {x: at.get(values[x], values[x]) for x in program.results}
        tested, places = checked_nodes(graph, program.results, len(inputs))
        texts, calls = self._parts(parts, status, precision)
        lines = [f"{precision.type} {SHARED}[{parts.size}];"] if parts.size else []
        lines += [*turning, *calls, *self._inertia_test(len(margins), status)]
        tests = [*(inputs[k] for k in places), *(found[x] for x in tested)]
        lines += _wrapped(f"if (!isfinite({balanced_sum(tests)}))")
        lines.append(f"    return {status}_NOT_FINITE;")
        lines += [f"{self.output}[{k}] = {found[x]};" for k, x in enumerate(program.results)]
        return "\n".join((*texts, *_body(self.declaration(precision), [*lines, f"return {status}_OK;"])))

    def _parts(self, parts: Parts, status: str, precision: Precision) -> tuple[list[str], list[str]]:
        """The definitions of the parts, and their calls; each takes the arrays that it uses."""
        texts, calls = list[str](), list[str]()
        for number, body in enumerate(parts.bodies, 1):
            name, text = f"part_{number}_of_{self.name}", "\n".join(body)
            used = [x for x in (*self.inputs, *_ARRAYS.values()) if re.search(rf"\b{x}\[", text)]
            parameters = ", ".join((*(f"const {precision.type} *{x}" for x in used), f"{precision.type} *{SHARED}"))
            texts += _body(f"{status}_PART void {name}({parameters})", body)
            calls.append(f"{name}({', '.join((*used, SHARED))});")
        return texts, calls

    def _margins(self) -> list[tuple[int, int]]:
        """Of each joint what the inertia that it moves has to exceed: pairs of nodes."""
        for guard in self.program.graph.guards:
            if self.quantity != "forward_dynamics" or guard.name != "gt" or not guard.outcome:
                raise ModelError(f"{self.quantity} decides by {guard}, for which the export has no status")
        return [(guard.left, guard.right) for guard in self.program.graph.guards]

    def _inertia_test(self, margins: int, status: str) -> list[str]:
        """Return unless each joint moves more inertia than round-off; NaN of an input is reported as such."""
        if not margins:
            return []
        finite = (f"all_finite({name}, {w})" for name, w in zip(self.inputs, self.program.widths, strict=True))
        return [
            f"if (!all_positive({SHARED}, {margins}))",
            f"    return {' && '.join(finite)} ? {status}_NO_INERTIA : {status}_NOT_FINITE;",
        ]


def _sines(program: Program, inputs: list[str], precision: Precision) -> tuple[dict[int, str], list[str]]:
    """Places of all sines and cosines, by node, and the lines that compute them."""
    graph, type_ = program.graph, precision.type
    turns = {x: graph.nodes[x] for x in program.needed() if graph.nodes[x].name in _ARRAYS}
    angles = list(dict.fromkeys(node.operands[0] for node in turns.values()))
    if not angles:
        return {}, []
    values = Statements(graph, inputs, angles, precision)
    lines = [f"{type_} {name}[{len(angles)}];" for name in _ARRAYS.values()] + values.lines
    lines += _wrapped(f"const {type_} angle[] = {{{', '.join(values[x] for x in angles)}}};")
    lines.append(f"{SINES}(angle, {len(angles)}, {', '.join(_ARRAYS.values())});")
    return {x: f"{_ARRAYS[node.name]}[{angles.index(node.operands[0])}]" for x, node in turns.items()}, lines


def _body(declaration: str, lines: list[str]) -> list[str]:
    return [*_wrapped(declaration), "{", *(f"    {line}" for line in lines), "}", ""]


def _wrapped(line: str) -> list[str]:
    return wrap(line, _WIDTH, subsequent_indent=" " * 4)


def balanced_sum(terms: list[str]) -> str:
    """A sum of names as a tree, which a processor adds in parallel."""
    while len(terms) > 1:
        pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
        terms = [f"({' + '.join(pair)})" if len(pair) == 2 else pair[0] for pair in pairs]
    return terms[0].removeprefix("(").removesuffix(")")
