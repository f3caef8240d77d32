"""Machine code of a quantity for one robot alone: its recipe, and the code that is kept with the robot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe

if TYPE_CHECKING:
    from rne_dynamics.dynamics.declared.quantity import Declared
    from rne_dynamics.straight_line.state_code import StateCode

#: One thread compiles at a time.
_COMPILING = threading.Lock()
#: Place of the base motion among what kernels read before the state.
_BASE = 2


def recipe_of(quantity: Declared, robot: RobotModel, link: str = "", base: Array | None = None) -> Recipe | None:
    """What straight-line code of a quantity is made from; None for a quantity that has no form for rows of states.

    Parameters
    ----------
    quantity, robot
        What to compute, and of what; without loads.
    link
        Of a Jacobian.
    base
        Motion of the base (12,), as `BaseMotion.packed`; at rest by default.
    """
    form = quantity.rows_form(robot, link)
    if form is None:
        return None
    model: list[Any] = [rounded_turns(x, ROTATION) if x is robot.parameters else x for x in form.model]
    if base is not None:
        model[_BASE] = base.reshape(1, 12)
    rng = np.random.default_rng(1)
    q = random_configuration(robot, rng)
    sample = tuple(q if name == "q" else rng.normal(size=robot.n) for name in quantity.inputs)
    axis = 0 if quantity.parts is None else 1
    return Recipe(
        quantity.name, robot.name, form.kernel, tuple(model), form.loads, sample, quantity.shape(robot), axis
    )


def code_of(quantity: Declared, robot: RobotModel, link: str = "", base: Array | None = None) -> StateCode | None:
    """Machine code for one state, made at the first call and kept with the robot; None where there is none."""
    key = quantity.name, link, b"" if base is None else base.tobytes()
    return kept_code(robot.own_code, key, lambda: recipe_of(quantity, robot, link, base))


def kept_code(kept: dict[Any, Any], key: Any, recipe: Callable[[], Recipe | None]) -> StateCode | None:
    """Machine code by the `own_code` of a robot, made from a recipe at the first call."""
    if key not in kept:
        from rne_dynamics.straight_line.state_code import state_code  # with LLVM

        with _COMPILING:
            if key not in kept:
                made = recipe()
                kept[key] = None if made is None else state_code(made)
    found: StateCode | None = kept[key]
    return found


def rounded_turns(rows: Array, first: int) -> Array:
    """Rows with rotations from column `first` on, entries within round-off of 0 or ±1 rounded."""
    rounded: Array = rows.copy()
    turns = rounded[:, first : first + 9]
    whole = np.rint(turns)
    turns[:] = np.where(np.abs(turns - whole) < np.finfo(float).eps, whole, turns)
    return rounded
