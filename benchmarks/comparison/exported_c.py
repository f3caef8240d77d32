"""The C of `rne export`, with its tests of states, compared with CasADi's C and with one function without tests."""

from __future__ import annotations

from collections.abc import Iterator

from comparison.c_reference import C, build, c_source, contender, loaded, over_rows, traced
from comparison.contenders import Case, Comparison, Contender
from comparison.peers.casadi import casadi_source
from comparison.plan import LeftOut, Plan
from comparison.robots import BenchRobot

from rne_dynamics.c_export.export import to_c
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.verification.engines import Rows

SECTION = "exported"
EXPORTED, CASADI = "rne export", "CasADi"
STATES = 256
OPTIONS = ("-O2", "-O3 -march=native")
COMPARED = "inverse_dynamics", "forward_dynamics", "mass_matrix"


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """Every robot, quantity and choice of compiler options."""
    for robot in plan.robots:
        rows = robot.states(STATES)
        for quantity in COMPARED:
            try:
                sources = {EXPORTED: _exported(robot, quantity, plan), C: c_source(traced(robot.model, quantity))}
                if "casadi" in plan.peers:
                    sources[CASADI] = casadi_source(robot.model, quantity)
                for options in OPTIONS:
                    yield _case(robot, quantity, rows, sources, options, plan)
            except RneDynamicsError as error:
                yield LeftOut(f"{quantity} of {robot.name} in {SECTION}", str(error))


def _case(
    robot: BenchRobot, quantity: str, rows: Rows, sources: dict[str, str], options: str, plan: Plan
) -> Case:
    declared = QUANTITIES[quantity]
    given = [getattr(rows, name) for name in declared.inputs]
    contenders = list[Contender]()
    for name, text in sources.items():
        library = plan.folder / f"{robot.name}_{quantity}_{name}_{options}.so".replace(" ", "_")
        build(text, library, options.split())
        contenders.append(contender(name, loaded(library), given, robot.model.n, declared.shape(robot.model)))
    compared = [Comparison(EXPORTED, (C,))]
    if CASADI in sources:
        compared.append(Comparison(EXPORTED, (CASADI,), "exported-c"))
    return Case(SECTION, robot.name, f"{quantity}, {options}", tuple(contenders), tuple(compared), tolerance=1e-8)


def _exported(robot: BenchRobot, quantity: str, plan: Plan) -> str:
    """A text that includes the exported files, and the function `run` over them."""
    export = to_c(robot.model, quantities=[quantity])
    for name, text in export.files.items():
        (plan.folder / name).write_text(text, encoding="utf-8")
    (function,) = export.functions
    arrays = ", ".join((*(f"a{k}" for k in range(len(function.inputs))), "out"))
    body = (f"if ({function.name}({arrays}) != 0)", "out[0] = NAN;")
    include = export.files[f"{export.prefix}_dynamics.c"]
    return "\n".join((include, *over_rows(function.program.widths, len(function.program.results), body), ""))
