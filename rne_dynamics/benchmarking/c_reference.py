"""Straight-line C of one robot, compiled here: the speed of generated code without vectors."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.benchmarking.contenders import Contender
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.errors import MissingDependencyError, RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.c_source import c_source
from rne_dynamics.straight_line.trace import trace

#: Name in reports.
C = "scalar C"
COMPILERS = ("gcc", "cc", "clang")
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
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
    run = compiled(robot, quantity, folder)
    given = [np.ascontiguousarray(array) for array in arrays]
    out: Array = np.empty((len(given[0]), robot.n))

    def answer() -> Array:
        run(*pointers(*given, out))
        return np.array(out)

    names = {"run": run, "states": pointers(*given, out), "alive": (given, out)}
    return Contender(C, "run(*states)", names, answer, robot.n, len(out))


def compiled(robot: RobotModel, quantity: str, folder: Path) -> Callable[..., None]:
    """The function ``run(rows, pointer, …, pointer)`` over row-major arrays; compiled once per folder.

    Raises
    ------
    MissingDependencyError
        There is no compiler.
    RneDynamicsError
        The compiler fails or takes too long.
    """
    stem = folder / f"{robot.name}_{quantity}"
    source, library = stem.with_suffix(".c"), stem.with_suffix(".so")
    if not library.exists():
        recipe = QUANTITIES[quantity].recipe(robot)
        if recipe is None:
            raise RneDynamicsError(f"{quantity} has no straight-line code")
        source.write_text(c_source(trace(recipe)), encoding="utf-8")
        _compile([compiler(), *FLAGS, str(source), "-o", str(library), "-lm"])
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
