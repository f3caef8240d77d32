"""A program as scalar C, for comparison with vector code in benchmarks."""

from __future__ import annotations

from rne_dynamics.straight_line.graph import Node
from rne_dynamics.straight_line.trace import Program

_INFIX = {"add": "+", "sub": "-", "mul": "*"}
_CALLS = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "abs": "fabs"}


def c_source(program: Program, name: str = "run") -> str:
    """A function ``void name(long long rows, const double *a0, …, double *out)`` over row-major arrays.

    Guards are omitted: results are invalid for states that the kernel treats differently from the sample.
    """
    arguments = range(len(program.widths))
    parameters = [f"const double *restrict a{k}" for k in arguments]
    lines = ["#include <math.h>", f"void {name}(long long rows, {', '.join(parameters)}, double *restrict out) {{"]
    steps = [f"a{k} += {columns}" for k, columns in zip(arguments, program.widths, strict=True)]
    steps.append(f"out += {len(program.results)}")
    lines.append(f"for (; rows > 0; rows--, {', '.join(steps)}) {{")
    inputs = [f"a{k}[{column}]" for k, columns in enumerate(program.widths) for column in range(columns)]
    nodes = program.graph.nodes
    lines += [f"const double v{x} = {_expression(nodes[x], inputs)};" for x in program.graph.needed(program.results)]
    lines += [f"out[{place}] = v{x};" for place, x in enumerate(program.results)]
    return "\n".join((*lines, "}", "}", ""))


def _expression(node: Node, inputs: list[str]) -> str:
    if node.name == "constant":
        return node.leaf.hex()
    if node.name == "input":
        return inputs[int(node.leaf)]
    values = [f"v{x}" for x in node.operands]
    if node.name in _INFIX:
        return f" {_INFIX[node.name]} ".join(values)
    if node.name in _CALLS:
        return f"{_CALLS[node.name]}({values[0]})"
    if node.name == "copysign":
        return f"copysign({values[0]}, {values[1]})"
    if node.name in ("min", "max"):
        return f"{values[1]} {'<' if node.name == 'min' else '>'} {values[0]} ? {values[1]} : {values[0]}"
    return f"-{values[0]}" if node.name == "neg" else f"1.0 / {values[0]}"
