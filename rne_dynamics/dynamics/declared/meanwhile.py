"""Answers of plain Python while another process compiles machine code that takes long."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rne_dynamics.compiling.addresses import in_python
from rne_dynamics.compiling.meanwhile import MOST_ROWS, Meanwhile, is_possible
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe

#: Of smaller robots machine code is compiled within a second.
LEAST_BODIES = 12
_KEY = "meanwhile"


def has_machine_code(robot: RobotModel) -> bool:
    """Whether a robot has machine code of its own: it is wanted, and this computer can make it."""
    if not robot.specialised:
        return False
    from rne_dynamics.straight_line.machine_code import processor  # with LLVM

    return processor() is not None


def compiles_quickly(robot: RobotModel) -> bool:
    """Whether all of a robot's code is compiled within a second, or before it is needed.

    The latter are models that share machine code: they drive arms.
    """
    return robot.shares_code or (robot.bodies < LEAST_BODIES and has_machine_code(robot))


def may_take_long(robot: RobotModel, name: str) -> bool:
    """Whether a quantity of a robot may still have to be compiled, and may take long."""
    return not compiles_quickly(robot) and not _kept_with(robot).get((name, _KEY))


def compiles_elsewhere(
    robot: RobotModel, name: str, rows: int, is_ready: Callable[[], bool], call: Callable[[], Any]
) -> bool:
    """Whether plain Python should answer for some states, because another process is compiling what `call` needs.

    That process is started at the first call. None is for robots that compile quickly, and where `is_ready` says that
    machine code is on disk: that of the robot, or the general kernels of models that have none.
    """
    if not 0 < rows <= MOST_ROWS or not may_take_long(robot, name):
        return False
    kept, key = _kept_with(robot), (name, _KEY)
    if key not in kept:
        kept[key] = not is_possible() or is_ready()
    if not kept[key]:
        kept[key] = kept.setdefault((*key, "call"), Meanwhile(call)).over()
    return not kept[key]


def _kept_with(robot: RobotModel) -> dict[Any, Any]:
    """What is known of compilation: for a robot with machine code, or for all others."""
    return robot.own_code if has_machine_code(robot) else _general()


@cache
def _general() -> dict[Any, Any]:
    return {}


def is_on_disk(recipe: Recipe | None) -> bool:
    """Whether nothing of a recipe for one state is left to compile."""
    from rne_dynamics.straight_line.machine_code import is_compiled  # with LLVM
    from rne_dynamics.straight_line.state_code import STATE

    return recipe is None or is_compiled(recipe, STATE)


def call_first_row(
    function: Callable[..., Any], robot: RobotModel, rows: tuple[Array, ...], options: dict[str, Any]
) -> None:
    """Call a public function with one state and with rows, for which there may be different kernels."""
    function(robot, *(x[0].copy() for x in rows), **options)
    function(robot, *rows, **options)


def plain_rows(recipe: Recipe, inputs: tuple[Array, ...]) -> Array | None:
    """Outputs for rows of states by plain Python, (B, …); None where something moves no inertia."""
    out = np.zeros((*recipe.shape[: recipe.axis], len(inputs[0]), *recipe.shape[recipe.axis :]))
    fault = in_python(recipe.kernel)(*recipe.model, *inputs, *recipe.loads, out)
    return None if fault is not None and fault >= 0 else np.moveaxis(out, recipe.axis, 0)
