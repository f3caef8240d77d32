"""Machine code of a quantity for one robot alone: its recipe, and the code that is kept with the robot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import ROTATION
from rne_dynamics.model.moved_masses import with_moved_masses
from rne_dynamics.model.on_tree import OnTree
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Columns, Recipe

if TYPE_CHECKING:
    from rne_dynamics.straight_line.batch_code import BatchCode
    from rne_dynamics.straight_line.state_code import StateCode

C = TypeVar("C")
#: One thread compiles at a time.
_COMPILING = threading.Lock()
#: Place of the base motion among what kernels read before the state.
_BASE = 2


class RowsForm(NamedTuple):
    """A kernel for rows of states, ``kernel(*model, *inputs, *loads, out)``, and what it reads besides them.

    It fills a row of `out` for each state, or, of an output in three parts, ``out[:, b]``, and returns −1 or the number
    of what moves no inertia, or nothing.

    Parameters
    ----------
    kernel
        The kernel.
    model
        Its first arguments: for most topology, parameters and base motion.
    loads
        Those between the states and the output.
    columns
        The kernel's last stage, see `Recipe`.
    moves_masses
        Whether its output is the same with the parameters of `with_moved_masses`.
    """

    kernel: Callable[..., Any]
    model: tuple[Any, ...]
    loads: tuple[Array, ...] = ()
    columns: Columns | None = None
    moves_masses: bool = False


class Output(NamedTuple):
    """A quantity's name and inputs, the shape of its output for one state, and the axis that counts the states."""

    name: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    axis: int


def recipe_of(output: Output, form: RowsForm, robot: RobotModel, base: Array | None) -> Recipe:
    """What straight-line code is made from, for a base at rest or of this motion (12,), and no loads."""
    parameters = efforts_parameters(robot) if form.moves_masses else rounded(robot.parameters)
    model: list[Any] = [parameters if value is robot.parameters else value for value in form.model]
    if base is not None:
        model[_BASE] = base.reshape(1, 12)
    rng = np.random.default_rng(1)
    q = random_configuration(robot, rng)
    sample = tuple(q if name == "q" else rng.normal(size=robot.n) for name in output.inputs)
    return Recipe(
        output.name, robot.name, form.kernel, tuple(model), form.loads, sample, output.shape, output.axis,
        columns=form.columns,
    )  # fmt: skip


def loaded_recipe(plain: Recipe, bodies: int) -> Recipe:
    """The recipe of a quantity, with the base's motion (12,) and loads at the bodies (6 bodies,) as further inputs."""
    topology, parameters, _ = plain.model
    kernel, rng = plain.kernel, np.random.default_rng(2)

    def rows(topology: Array, parameters: Array, *arrays: Array) -> Any:
        *inputs, base, loads, out = arrays
        return kernel(topology, parameters, base, *inputs, loads.reshape((len(loads), bodies, 6)), out)

    sample = *plain.sample, rng.normal(size=12), rng.normal(size=6 * bodies)
    return replace(plain, kernel=rows, model=(topology, parameters), loads=(), sample=sample)


def with_base_and_loads(robot: RobotModel, count: int, base: Array, loads: Array) -> tuple[Array, Array]:
    """Rows for the two further inputs of `loaded_recipe`, (B, 12) and (B, 6 bodies), one for each of `count` states."""
    if not loads.size:
        loads = np.zeros((1, robot.bodies, 6))
    flat = loads.reshape(len(loads), 6 * robot.bodies)
    return tuple(np.ascontiguousarray(np.broadcast_to(x, (count, x.shape[1]))) for x in (base, flat))  # type: ignore[return-value]


def kept_code(
    robot: RobotModel | OnTree, key: tuple[Any, ...], recipe: Callable[[], Recipe | None], *, quick: bool = False
) -> StateCode | None:
    """Machine code for one state, made at the first call and kept with the robot; None where there is none.

    With `quick` only what is on disk, or compiled in about half a second.
    """

    def make() -> StateCode | None:
        from rne_dynamics.straight_line.state_code import state_code  # with LLVM

        made = recipe()
        return None if made is None else state_code(made, quick=quick)

    if not quick or key in robot.own_code:
        return _kept(robot, key, make)
    found = _kept(robot, (*key, "quick"), make)
    if found is not None:
        robot.own_code.setdefault(key, found)
    return found


def own_rows(
    robot: RobotModel, name: str, recipe: Callable[[], Recipe], inputs: tuple[Array, ...], shape: tuple[int, ...]
) -> Array | None:
    """Outputs of checked rows by machine code for the robot alone, (B, …); None where there is none for all of them.

    For what is no quantity of `bind`. The recipe is made at the first call.
    """
    code = kept_code(robot, (name,), recipe, quick=True) if robot.specialised else None
    if code is None:
        return None
    out, refused = code.rows(inputs, shape)
    return None if refused.any() else out


def kept_rows(robot: RobotModel, key: tuple[Any, ...], recipe: Recipe) -> BatchCode | None:
    """As `kept_code`, for rows of states."""

    def make() -> BatchCode | None:
        from rne_dynamics.straight_line.batch_code import batch_code  # with LLVM

        return batch_code(recipe)

    return _kept(robot, (*key, "rows"), make)


def _kept(robot: RobotModel | OnTree, key: tuple[Any, ...], make: Callable[[], C | None]) -> C | None:
    if key not in robot.own_code:
        with _COMPILING:
            if key not in robot.own_code:
                robot.own_code[key] = make()
    found: C | None = robot.own_code[key]
    return found


def efforts_parameters(robot: RobotModel) -> Array:
    """The model's parameters for what depends on its equations of motion only: `rounded`, with masses moved."""
    return with_moved_masses(robot.topology, rounded(robot.parameters))


def rounded(parameters: Array) -> Array:
    """The model's parameters; entries of rotations within round-off of 0 or ±1 are rounded."""
    return rounded_turns(parameters, ROTATION)


def rounded_turns(rows: Array, first: int) -> Array:
    """Rows with rotations from column `first` on, their entries within round-off of 0 or ±1 rounded."""
    changed: Array = rows.copy()
    turns = changed[:, first : first + 9]
    whole = np.rint(turns)
    turns[:] = np.where(np.abs(turns - whole) < np.finfo(float).eps, whole, turns)
    return changed
