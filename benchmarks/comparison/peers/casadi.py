"""CasADi (`pip install casadi`): C of our algorithms by its expressions and its code generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from comparison.c_reference import over_rows, traced

from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.graph import OPERATIONS, Graph

#: The module, imported when it is first needed.
library = partial(import_module, "casadi")


def casadi_source(robot: RobotModel, quantity: str) -> str:
    """CasADi's C, and a function `run` over it as that of `c_source`."""
    casadi = library()
    recorder = _Recorder(casadi)
    program = traced(robot, quantity, lambda: recorder)
    every = casadi.vertcat(*recorder.inputs)
    ends = [sum(program.widths[:k]) for k in range(len(program.widths) + 1)]
    inputs = [casadi.SX.sym(f"a{k}", width) for k, width in enumerate(program.widths)]
    results = casadi.densify(casadi.vertcat(*(recorder.expressions[x] for x in program.results)))
    parts = casadi.vertsplit(every, ends)
    (results,) = casadi.substitute([results], [casadi.vertcat(*parts)], [casadi.vertcat(*inputs)])
    function = casadi.Function("computed", inputs, [results])
    with TemporaryDirectory() as folder:
        made = casadi.CodeGenerator("computed.c")
        made.add(function)
        made.generate(f"{folder}/")
        text = (Path(folder) / "computed.c").read_text(encoding="utf-8")
    given = ", ".join(f"a{k}" for k in range(len(inputs)))
    body = (f"const double *given[] = {{{given}}};", "double *results[] = {out};", "computed(given, results, 0, 0, 0);")
    return "\n".join((text, *over_rows(program.widths, len(program.results), body), ""))


class _Recorder(Graph):
    """Records operations as CasADi's expressions, one for each, which CasADi simplifies by its own rules."""

    def __init__(self, casadi: Any) -> None:
        super().__init__()
        self.inputs: list[Any] = []
        self.expressions: list[Any] = []
        self._number, self._symbol = casadi.SX, casadi.SX.sym
        self._functions: Mapping[str, Callable[..., Any]] = {
            **OPERATIONS, "reciprocal": lambda x: 1.0 / x, "sqrt": casadi.sqrt, "sin": casadi.sin, "cos": casadi.cos,
            "abs": casadi.fabs, "min": casadi.fmin, "max": casadi.fmax,
            "copysign": casadi.copysign,
        }  # fmt: skip

    def constant(self, value: float) -> int:
        """As of `Graph`."""
        return self._append(self._number(float(value)), value)

    def input(self, place: int, sample: float) -> int:
        """As of `Graph`."""
        self.inputs.append(self._symbol(f"x{place}"))
        return self._append(self.inputs[-1], sample)

    def apply(self, name: str, *operands: int) -> int:
        """As of `Graph`, not simplified here."""
        made = self._functions[name](*(self.expressions[x] for x in operands))
        return self._append(made, OPERATIONS[name](*(self.values[x] for x in operands)))

    def is_constant(self, x: int) -> bool:
        """As of `Graph`."""
        return bool(self.expressions[x].is_constant())

    def _append(self, expression: Any, value: float) -> int:
        self.expressions.append(expression)
        self.values.append(float(value))
        return len(self.values) - 1
