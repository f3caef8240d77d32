"""Machine code of a quantity for one robot alone: its recipe, and the code that is kept with the robot.

Machine code that takes the bodies' inertia as an input is shared by models that differ in their payload: a controller's
payload changes while it drives the arm, and nothing may be compiled then. Topology, joint placements and gravity are
constants of the code, as in code for one robot alone; mass, first moment and inertia of each body are not, which takes
12 % (Panda) to 80 % (UR5, whose model has many zeros) more operations. Where masses may be moved (`with_moved_masses`),
what becomes 0 is no input.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from rne_dynamics.model.body_inertia import kept_inertia, with_moved_masses
from rne_dynamics.model.dice import Dice, random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTATION, ROTOR
from rne_dynamics.model.on_tree import OnTree
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe

if TYPE_CHECKING:
    from rne_dynamics.straight_line.batch_code import BatchCode
    from rne_dynamics.straight_line.state_code import StateCode

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])
#: One thread compiles at a time.
_COMPILING = threading.Lock()


def sample_of(robot: RobotModel, inputs: tuple[str, ...]) -> tuple[Array, ...]:
    """A generic state: a configuration for ``"q"``, vectors (n,) for other inputs."""
    rng = Dice(1)
    q = random_configuration(robot, rng)
    return tuple(q if name == "q" else rng.normal(size=robot.n) for name in inputs)


def loaded_recipe(plain: Recipe, bodies: int) -> Recipe:
    """The recipe of a quantity, with the base's motion (12,) and loads at the bodies (6 bodies,) as further inputs."""
    kernel, rng = plain.kernel, Dice(2)

    def rows(arm: Any, extra: tuple[Any, ...], *arrays: Array) -> Any:
        *inputs, base, loads, out = arrays
        loaded = arm._replace(base=base, wrenches=loads.reshape((len(loads), bodies, 6)))
        return kernel(loaded, extra, *inputs, out)

    return replace(plain, kernel=rows, sample=(*plain.sample, rng.normal(size=12), rng.normal(size=6 * bodies)))


def with_base_and_loads(robot: RobotModel, count: int, base: Array, loads: Array) -> list[Array]:
    """Rows for the two further inputs of `loaded_recipe`, (B, 12) and (B, 6 bodies), one for each of `count` states."""
    if not loads.size:
        loads = np.zeros((1, robot.bodies, 6))
    flat = loads.reshape(len(loads), 6 * robot.bodies)
    return [np.ascontiguousarray(np.broadcast_to(x, (count, x.shape[1]))) for x in (base, flat)]


def kept_code(
    robot: RobotModel | OnTree, key: tuple[Any, ...], recipe: Callable[[], Recipe | None], base: Array | None = None,
    *, quick: bool = False,
) -> StateCode | None:
    """Machine code for one state, made at the first call and kept with the robot; None where there is none.

    It is found by `key` and the base's motion (12,). With `quick` only what is on disk, or compiled in about half a
    second.
    """
    key = *key, b"" if base is None else base.tobytes()

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


def rows_by(
    code: StateCode | None, inputs: tuple[Array, ...], shape: tuple[int, ...], general: Callable[[Any], Array]
) -> Array:
    """Outputs (B, …) by machine code; of rows that it refuses, or all without code, by ``general(chosen)``."""
    if code is None:
        return general(slice(None))
    out, refused = code.rows(inputs, shape)
    if refused.any():
        chosen = np.flatnonzero(refused)
        out[chosen] = general(chosen)
    return out


def by_own_code(
    kept: str, inputs: tuple[str, ...], checked: Callable[..., Any], code_of: Callable[[Any], StateCode | None]
) -> Callable[[F], F]:
    """Decorator of a function of a robot and vectors: with no option, its own machine code if there is any.

    It is kept with the robot by the name `kept`. ``checked(robot, q=…)`` gives the leading shape and rows of states of
    its `inputs`; the decorated function, ``__wrapped__`` of what the decorator returns, answers what the code refuses.
    """
    count = len(inputs)

    def decorate(general: F) -> F:
        defaults: dict[str, Any] = general.__kwdefaults__ or {}

        def own(robot: Any) -> Callable[..., Any]:
            code = code_of(robot)
            if code is None:
                return partial(general, robot)

            def otherwise(*vectors: Any) -> Array:
                lead, rows = checked(robot, **dict(zip(inputs, vectors, strict=True)))
                some = rows_by(
                    code, tuple(rows), code.shape, lambda chosen: general(robot, *(x[chosen] for x in rows))
                )
                return some.reshape((*lead, *code.shape))

            made: Callable[..., Any] = code.checked(kept, "", otherwise)
            return made

        @wraps(general)
        def function(robot: Any, *vectors: Any, **options: Any) -> Any:
            if len(vectors) != count or any(defaults.get(name, general) is not x for name, x in options.items()):
                return general(robot, *vectors, **options)
            try:
                call = robot.own_code[kept]
            except (AttributeError, KeyError):
                call = robot.own_code[kept] = own(robot)
            return call(*vectors)

        return cast("F", function)

    return decorate


def kept_rows(robot: RobotModel, key: tuple[Any, ...], recipe: Callable[[], Recipe]) -> BatchCode | None:
    """As `kept_code`, for rows of states."""

    def make() -> BatchCode | None:
        from rne_dynamics.straight_line.batch_code import batch_code  # with LLVM

        return batch_code(recipe())

    return _kept(robot, (*key, "rows"), make)


def _kept(robot: RobotModel | OnTree, key: tuple[Any, ...], make: Callable[[], C | None]) -> C | None:
    if key not in robot.own_code:
        with _COMPILING:
            if key not in robot.own_code:
                robot.own_code[key] = make()
    found: C | None = robot.own_code[key]
    return found


def efforts_parameters(robot: RobotModel) -> Array:
    """The model's parameters for what depends on its equations of motion only: rounded, with masses moved."""
    return with_moved_masses(robot.topology, rounded_turns(robot.parameters))


def rounded_turns(rows: Array, first: int = ROTATION) -> Array:
    """Rows, as a model's parameters; entries of their rotations, from column `first` on, near 0 and ±1 are rounded."""
    changed: Array = rows.copy()
    turns = changed[:, first : first + 9]
    whole = np.rint(turns)
    turns[:] = np.where(np.abs(turns - whole) < np.finfo(float).eps, whole, turns)
    return changed


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


#: By what the code depends on besides the inertia.
_shared: dict[Hashable, StateCode | None] = {}


def shared_code(
    robot: RobotModel, name: Hashable, recipe: Callable[[], Recipe], *, moves_masses: bool
) -> StateCode | None:
    """Machine code of `recipe`, the inertia being a further input, which is given; None without one.

    It is found by the joints alone.
    """
    from rne_dynamics.straight_line.state_code import state_code  # with LLVM

    others = np.delete(robot.parameters, np.s_[MASS:ROTOR], axis=1)
    key = name, robot.topology.tobytes(), others.tobytes(), robot.gravity.tobytes()
    with _COMPILING:
        if key not in _shared:
            _shared[key] = state_code(inertia_recipe(recipe(), moves_masses=moves_masses))
        code = _shared[key]
    return None if code is None else replace(code, constant=(inertia_of(robot, moves_masses=moves_masses),))
