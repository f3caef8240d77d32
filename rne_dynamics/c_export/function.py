"""One function in C: a quantity of a robot, or the Jacobian of one of its links."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from types import MappingProxyType

from rne_dynamics.c_export.statements import SINES, Expression, Precision, Statements
from rne_dynamics.errors import ModelError
from rne_dynamics.straight_line.graph import Graph
from rne_dynamics.straight_line.trace import Program

# A result that is not finite shows an input that is not, if the input reaches it through operations none of which makes
# a finite number of an infinite one. So only the other inputs are tested themselves, and results only if they can
# overflow.

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
    shows = set(tested)
    for x, node in reversed([*enumerate(graph.nodes)]):
        if x in shows and node.name in _PASSING:
            shows.update(node.operands)
    shown = {int(graph.nodes[x].leaf) for x in shows if graph.nodes[x].name == "input"}
    return tested, [place for place in range(inputs) if place not in shown]


# In a function of thousands of values, a compiler keeps most of them in memory, and the code outgrows the processor's
# cache of instructions: it then runs at half its speed. In functions of a few hundred operations, most values are in
# registers. A part contains no test: behind a test, compilers compute what is needed only there, and keep alive until
# then what it is computed from.

#: About the largest number of operations of a part; with fewer, more values pass through memory.
LONGEST = 400
#: The array of C that parts share.
SHARED = "shared"


def in_parts(
    constants: Mapping[str, Expression], kept: Sequence[str], precision: Precision
) -> tuple[list[list[str]], int]:
    """Lines of each part, and the length of the shared array, which has the `kept` constants first, in their order."""
    parts = _divided(constants)
    last = {name: k for k, part in enumerate(parts) for made in part.values() for name in made.uses}
    last |= dict.fromkeys(kept, len(parts))
    places = {name: place for place, name in enumerate(kept)}
    free, size, bodies = list[int](), len(kept), list[list[str]]()
    for k, part in enumerate(parts):
        here, body = set(part), list[str]()
        for name, made in part.items():
            for used in made.uses:
                if used not in here:
                    here.add(used)
                    body.append(f"const {precision.type} {used} = {SHARED}[{places[used]}];")
            body.append(f"const {precision.type} {name} = {made.text};")
            if last[name] > k:
                if name not in places:
                    places[name] = free.pop() if free else size
                    size = max(size, places[name] + 1)
                body.append(f"{SHARED}[{places[name]}] = {name};")
        free += [places[name] for name in sorted(here) if last[name] == k and name in places]
        bodies.append(body)
    return bodies, size


def _divided(constants: Mapping[str, Expression]) -> list[dict[str, Expression]]:
    """The constants in parts of equal length, as few as `LONGEST` allows."""
    total = sum(made.operations for made in constants.values())
    count, done = max(1, round(total / LONGEST)), 0
    parts: list[dict[str, Expression]] = [{} for _ in range(count)]
    for name, made in constants.items():
        parts[min(count - 1, done * count // total)][name] = made
        done += made.operations
    return [part for part in parts if part]


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
        results = dict.fromkeys((*(f"m{k}" for k in range(len(margins))), *(values[x] for x in program.results)))
        kept = [name for name in results if name in values.all]
        bodies, size = in_parts(values.all, kept, precision)
        at = {name: f"{SHARED}[{place}]" for place, name in enumerate(kept)}
        found = {x: at.get(values[x], values[x]) for x in program.results}
        tested, places = checked_nodes(graph, program.results, len(inputs))
        texts, calls = self._parts(bodies, status, precision)
        lines = [f"{precision.type} {SHARED}[{size}];"] if size else []
        lines += [*turning, *calls, *self._inertia_test(len(margins), status)]
        tests = [*(inputs[k] for k in places), *(found[x] for x in tested)]
        lines += _wrapped(f"if (!isfinite({balanced_sum(tests)}))")
        lines.append(f"    return {status}_NOT_FINITE;")
        lines += [f"{self.output}[{k}] = {found[x]};" for k, x in enumerate(program.results)]
        return "\n".join((*texts, *_body(self.declaration(precision), [*lines, f"return {status}_OK;"])))

    def _parts(self, bodies: list[list[str]], status: str, precision: Precision) -> tuple[list[str], list[str]]:
        """The definitions of the parts, and their calls; each takes the arrays that it uses."""
        texts, calls = list[str](), list[str]()
        for number, body in enumerate(bodies, 1):
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
