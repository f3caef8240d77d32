"""Machine code that takes the bodies' inertia as an input: models that differ in their payload share it.

A controller's payload changes while it drives the arm, and nothing may be compiled then. Topology, joint placements and
gravity are constants of the code, as in code for one robot alone; mass, first moment and inertia of each body are not,
which takes 12 % (Panda) to 80 % (UR5, whose model has many zeros) more operations. Where masses may be moved
(`with_moved_masses`), what becomes 0 is no input.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rne_dynamics.dynamics.declared.specialised import efforts_parameters
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR
from rne_dynamics.model.moved_masses import kept_inertia
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe

if TYPE_CHECKING:
    from rne_dynamics.straight_line.state_code import StateCode

#: Where a model keeps its moved inertia.
_MOVED = "moved inertia"


def inertia_of(robot: RobotModel, *, moves_masses: bool) -> Array:
    """Mass, first moment and inertia of all bodies, the input of shared code: at most 10 numbers a body."""
    if not moves_masses:
        return robot.parameters[:, MASS:ROTOR].ravel()
    if _MOVED not in robot.own_code:
        moved = efforts_parameters(robot)[:, MASS:ROTOR]
        robot.own_code[_MOVED] = moved[kept_inertia(robot.topology)]
    return cast("Array", robot.own_code[_MOVED])


def inertia_recipe(plain: Recipe, *, moves_masses: bool) -> Recipe:
    """The recipe of a quantity with `inertia_of` as its last input; its model begins with an `Arm`.

    The sample is the robot's own inertia: bodies without mass stay such.
    """
    kernel, (arm, *others) = plain.kernel, plain.model
    bodies, columns = np.nonzero(kept_inertia(arm.topology) | (not moves_masses))

    def rows(arm: Any, *arrays: Any) -> Any:
        *others, inertia, out = arrays
        parameters = arm.parameters.copy()
        parameters[bodies, MASS + columns] = inertia[0]
        return kernel(arm._replace(parameters=parameters), *others, out)

    sample = *plain.sample, arm.parameters[bodies, MASS + columns]
    return replace(plain, kernel=rows, model=(arm, *others), sample=sample)


def shared_code(
    robot: RobotModel, name: Hashable, recipe: Callable[[], Recipe], *, moves_masses: bool
) -> StateCode | None:
    """Machine code of `recipe` with `inertia_of` as its last input, found by the joints alone; None without one."""
    others = np.delete(robot.parameters, np.s_[MASS:ROTOR], axis=1)
    key = name, robot.topology.tobytes(), others.tobytes(), robot.gravity.tobytes()
    return _made(_Key(key, lambda: inertia_recipe(recipe(), moves_masses=moves_masses)))


class _Key:
    """A recipe by the key that it is found by."""

    def __init__(self, key: Hashable, recipe: Callable[[], Recipe]) -> None:
        self._key, self.recipe = key, recipe

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key


@cache
def _made(key: _Key) -> StateCode | None:
    from rne_dynamics.straight_line.state_code import state_code  # with LLVM

    return state_code(key.recipe())
