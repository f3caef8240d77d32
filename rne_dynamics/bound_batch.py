"""One quantity for many states at once: `bind_batch`."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.closed_chain.inverse_dynamics import CLOSED_QUANTITIES
from rne_dynamics.closed_chain.specialised import recipe_of
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.declared.arguments import as_floats, state_arrays
from rne_dynamics.dynamics.declared.quantity import check_out
from rne_dynamics.dynamics.quantities import batched
from rne_dynamics.errors import ArgumentError, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.batch_code import BatchCode, batch_code
from rne_dynamics.straight_line.threads import Crew, available

Engine = Literal["straight_line", "general"]


class BatchFunction:
    """Function of `bind_batch`: ``f(q, qd, qdd, out=None)``, with the arguments of its quantity.

    Attributes: `robot`, `quantity`: what it computes, and of what; `shape`: of the output for one state; `engine`:
    ``"straight_line"``, or ``"general"`` where that was asked for or this machine has nothing else; `threads`: how many
    threads share a large batch.
    """

    def __init__(self, robot: RigidRobot, quantity: str, threads: int | None, engine: Engine) -> None:
        self.robot = robot
        self.quantity = quantity
        self.threads = available() if threads is None else threads
        self._declared = batched()[quantity]
        self._names = self._declared.inputs
        self._widths, self.shape = self._declared.widths(robot), self._declared.shape(robot)
        self._crew = Crew(self.threads)
        mechanism = mechanism_of(robot)
        # the general way fills the last of checked rows
        if mechanism is None:
            arm, no_loads = cast("RobotModel", robot), np.empty((1, 0, 6))
            base = arm.base_at_rest.reshape(1, 12)
            recipe: Any = partial(self._declared.recipe, arm)
            self._fill: Any = lambda *rows: self._declared.fill(arm, base, *rows[:-1], no_loads, rows[-1])
        else:
            general: Any = CLOSED_QUANTITIES[quantity].__wrapped__  # type: ignore[attr-defined]
            recipe = partial(recipe_of, mechanism, quantity)
            self._fill = lambda *rows: np.copyto(rows[-1], general(mechanism, *rows[:-1]))
        made = recipe() if engine == "straight_line" else None
        self._code = None if made is None else batch_code(made)
        self.engine: Engine = "general" if self._code is None else "straight_line"
        if self._code is None:
            self._fill(*(np.empty((0, width)) for width in self._widths), np.empty((0, *self.shape)))

    def __call__(self, *arguments: ArrayLike, out: Array | None = None) -> Any:
        """The quantity for every row.

        `arguments`: positions (B, nq), then velocity-like vectors (B, n), as the quantity takes them. `out`: filled and
        returned: C-contiguous float64, shape (B, …), apart from the arguments in memory. A new array where not given.
        After an exception it holds anything. Returns array or named tuple: the array (B, …); of derivatives, with shape
        (B, 3, n, n), its three parts by name, each (B, n, n). Raises ArgumentError: a wrong number of arguments, wrong
        shapes, NaN or infinity, an `out` that cannot be filled; SingularInertiaError: forward dynamics of a state in
        which a joint moves no inertia.
        """
        rows = self._rows(arguments)
        count = len(rows[0])
        answer = np.empty((count, *self.shape)) if out is None else out
        check_out(answer, (count, *self.shape), rows)
        if self._code is None:
            self._check_finite(rows)
            self._crew.deal(lambda a, b: self._fill(*(r[a:b] for r in rows), answer[a:b]), count)
        else:
            self._straight_line(self._code, rows, answer)
        parts = self._declared.parts
        return answer if parts is None else parts(*np.moveaxis(answer, 1, 0))

    def _straight_line(self, code: BatchCode, rows: tuple[Array, ...], answer: Array) -> None:
        refused = np.empty(len(answer), dtype=np.uint8)
        arrays: tuple[NDArray[Any], ...] = (*rows, answer, refused)
        places = [(array.ctypes.data, array.strides[0]) for array in arrays]
        self._crew.deal(lambda a, b: code.run(b - a, *(start + a * step for start, step in places)), len(answer))
        if refused.any():
            self._check_finite(rows)
            # angles beyond what the sine is made for, and what the kernel decides otherwise than for most states
            chosen = np.flatnonzero(refused)
            some = np.empty((len(chosen), *self.shape))
            self._fill(*(row[chosen] for row in rows), some)
            answer[chosen] = some

    def _check_finite(self, rows: tuple[Array, ...]) -> None:
        """As the plain functions check, and with their words."""
        state_arrays(self.robot, **dict(zip(self._names, rows, strict=True)))

    def _rows(self, arguments: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        if len(arguments) != len(self._names):
            raise ArgumentError(
                f"{self.quantity} takes {len(self._names)} arrays ({', '.join(self._names)}), not {len(arguments)}"
            )
        rows: list[Array] = []
        for name, width, value in zip(self._names, self._widths, arguments, strict=True):
            array = as_floats(name, value)
            wanted = f"(B, {width})" if not rows else f"({len(rows[0])}, {width}), one row a state like q"
            if array.ndim != 2 or array.shape[1] != width or (rows and len(array) != len(rows[0])):
                raise ArgumentError(f"{name} has shape {array.shape}; robot {self.robot.name!r} wants {wanted}")
            rows.append(np.require(array, np.float64, ["C", "A"]))
        return tuple(rows)


def bind_batch(
    robot: RigidRobot, quantity: str, *, threads: int | None = None, engine: Engine = "straight_line"
) -> BatchFunction:
    """The same as ``bind(robot, quantity, batch=engine, threads=threads)``, which see."""
    is_mechanism = mechanism_of(robot) is not None
    if not is_mechanism and not isinstance(robot, RobotModel):
        raise ArgumentError(
            f"robot is a {type(robot).__name__}; batches are computed for an open arm (RobotModel) or a mechanism"
        )
    quantities = CLOSED_QUANTITIES if is_mechanism else batched()
    refuse(
        ArgumentError,
        (quantity not in quantities, f"quantity is {quantity!r}; it must be one of {', '.join(map(repr, quantities))}"),
        (engine not in get_args(Engine),
         f"engine is {engine!r}; it must be one of {', '.join(map(repr, get_args(Engine)))}"),
        (threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1),
         f"threads is {threads!r}; it must be a positive integer, or None for all processors"),
    )  # fmt: skip
    return BatchFunction(robot, quantity, threads, engine)
