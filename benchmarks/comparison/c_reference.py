"""Straight-line C of one robot, compiled here: the speed of generated code without vectors."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from comparison.contenders import Contender

from rne_dynamics.c_export.statements import PRECISIONS, Statements
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import MissingDependencyError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.graph import Graph
from rne_dynamics.straight_line.trace import Program, trace

#: Name in reports.
C = "scalar C"
COMPILERS = ("gcc", "cc", "clang")
FLAGS = ("-O3", "-march=native")
#: Time-out of the compiler, s.
_PATIENCE = 120.0


def compiler() -> str:
    """Path of the C compiler; `MissingDependencyError` if there is none."""
    for name in COMPILERS:
        path = shutil.which(name)
        if path is not None:
            return path
    raise MissingDependencyError(f"no C compiler is installed ({', '.join(COMPILERS)})")


def in_c(robot: RobotModel, quantity: str, arrays: Sequence[Array], folder: Path) -> Contender:
    """Contender that runs the C of a robot over all rows of `arrays`; raises as `compiled`."""
    return contender(C, compiled(robot, quantity, folder), arrays, robot.n, QUANTITIES[quantity].shape(robot))


def contender(
    name: str, run: Callable[..., None], arrays: Sequence[Array], n: int, shape: tuple[int, ...]
) -> Contender:
    """Contender that calls a function as that of `c_source` for all rows of `arrays`, with answers of this shape."""
    given = [np.ascontiguousarray(array) for array in arrays]
    out: Array = np.empty((len(given[0]), *shape))

    def answer() -> Array:
        run(*pointers(*given, out))
        return np.array(out)

    names = {"run": run, "states": pointers(*given, out), "alive": (given, out)}
    return Contender(name, "run(*states)", names, answer, n, len(out))


def compiled(robot: RobotModel, quantity: str, folder: Path) -> Callable[..., None]:
    """The function ``run(rows, pointer, …, pointer)`` over row-major arrays; compiled once per folder.

    Raises
    ------
    MissingDependencyError
        There is no compiler.
    RneDynamicsError
        The compiler fails or takes too long.
    """
    library = folder / f"{robot.name}_{quantity}.so"
    if not library.exists():
        build(c_source(traced(robot, quantity)), library, FLAGS)
    return loaded(library)


def traced(robot: RobotModel, quantity: str, recorder: Callable[[], Graph] = Graph) -> Program:
    """The operations of a quantity; `RneDynamicsError` if it has no straight-line code."""
    recipe = QUANTITIES[quantity].recipe(robot)
    if recipe is None:
        raise RneDynamicsError(f"{quantity} has no straight-line code")
    return trace(recipe, recorder)


def c_source(program: Program) -> str:
    """A function ``void run(long long rows, const double *a0, …, double *out)`` over row-major arrays, without tests.

    Its results are invalid for states that the kernel treats differently from the sample.
    """
    inputs = [f"a{k}[{column}]" for k, columns in enumerate(program.widths) for column in range(columns)]
    values = Statements(program.graph, inputs, program.results, PRECISIONS["double"])
    body = (*values.lines, *(f"out[{place}] = {values[x]};" for place, x in enumerate(program.results)))
    return "\n".join(("#include <math.h>", *over_rows(program.widths, len(program.results), body, "restrict"), ""))


def over_rows(widths: Sequence[int], results: int, body: Sequence[str], qualifier: str = "") -> list[str]:
    """The function `run` of `c_source` with statements for one row, whose arrays are a0, …, and `out`."""
    parameters = ", ".join(f"const double *{qualifier} a{k}" for k in range(len(widths)))
    steps = ", ".join(["rows--", *(f"a{k} += {width}" for k, width in enumerate(widths)), f"out += {results}"])
    head = f"void run(long long rows, {parameters}, double *{qualifier} out) {{"
    return [head, f"for (; rows > 0; {steps}) {{", *body, "}", "}"]


def build(text: str, library: Path, flags: Sequence[str]) -> None:
    """Compile a source text, kept besides the library; raises as `compiled`."""
    source = library.with_suffix(".c")
    source.write_text(text, encoding="utf-8")
    _compile([compiler(), *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"])


def loaded(library: Path) -> Callable[..., None]:
    """The function `run` of a library."""
    run: Callable[..., None] = ctypes.CDLL(str(library)).run
    run.restype = None  # type: ignore[attr-defined]  # a function of ctypes
    return run


def _compile(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.CalledProcessError as error:
        raise RneDynamicsError(f"{command[0]} does not compile the straight-line C: {error.stderr[-200:]}") from None
    except subprocess.TimeoutExpired:
        raise RneDynamicsError(f"{command[0]} has not compiled the straight-line C in {_PATIENCE:g} s") from None


def pointers(*arrays: Array) -> tuple[Any, ...]:
    """Rows and addresses for `compiled`; the caller keeps the arrays alive."""
    return (ctypes.c_longlong(len(arrays[0])), *(ctypes.c_void_p(array.ctypes.data) for array in arrays))
