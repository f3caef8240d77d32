"""A quantity of an open arm, declared once: its kernel, inputs and output.

From the declaration come the compiled forms (`forms`), the checked function that users call, and what `bind`,
`c_function`, batches, warm-up and benchmarks need to know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, check_open_arm, state_arrays
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.declared import Declared, Function
from rne_dynamics.dynamics.declared.forms import Compiled, Shape, compiled_forms, either_form
from rne_dynamics.dynamics.declared.specialised import RowsForm, with_base_and_loads
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

if TYPE_CHECKING:
    from rne_dynamics.straight_line.state_code import StateCode

F = TypeVar("F", bound=Callable[..., Any])
#: (robot, base, *inputs, wrenches), all checked and with a row for each state, to the outputs of all states.
Engine = Callable[..., Array]


class Quantity(Declared):
    """A quantity whose forms are all made of one kernel.

    Parameters
    ----------
    name, inputs, output
        As of `Declared`.
    kernel
        ``kernel(arm, *inputs, out)`` computes it for one state; `arm` is an `Arm`.
    base_motion
        Whether the base may move.
    fault
        Of a kernel that returns −1 or the number of what moves no inertia: which of the model's attributes has the
        names. Otherwise the kernel returns nothing.
    mimic
        What computes it for robots with mimic joints, if `kernel` does not.
    parts
        The named tuple of the output's three parts, for three inputs: the kernel takes its output as three arrays; the
        forms have it as one, (3, …). `None` for an output that is one array.
    every_mass
        Whether it depends on masses that move no joint's effort, see `with_moved_masses`.

    Attributes
    ----------
    packed, batch
        Its compiled forms, see `compiled_forms`.
    without_mimic
        `packed` for robots without mimic joints alone, if there is a `mimic`.
    """

    def __init__(
        self,
        name: str,
        kernel: Compiled,
        inputs: tuple[str, ...],
        output: Shape,
        *,
        base_motion: bool = False,
        fault: str = "",
        mimic: Quantity | None = None,
        parts: Callable[..., Any] | None = None,
        every_mass: bool = False,
    ) -> None:
        packed, self.batch = compiled_forms(name, kernel, output, apart=parts is not None)
        options = ("base_motion",) if base_motion else ()
        super().__init__(name, inputs, output, packed, self.answer, options, parts)
        self.without_mimic = packed
        if mimic is not None:
            self.packed = either_form(name, kernel, packed, mimic.packed)
        self._fault, self.mimic, self._every_mass = fault, mimic, every_mass

    def for_robot(self, robot: RobotModel) -> Quantity:
        """The declaration whose kernel computes it for a robot: this one, or that for mimic joints."""
        return self.mimic if self.mimic is not None and robot.has_mimic else self

    def form(self, robot: RobotModel) -> Compiled:
        """As of `Declared`: that for arms without mimic joints, or with them."""
        return self.for_robot(robot).without_mimic

    def rows_form(self, robot: RobotModel, link: str = "") -> RowsForm:
        """As of `Declared`: the batch form, with the base at rest and no loads."""
        base, no_loads = robot.base_at_rest.reshape(1, 12), np.empty((1, 0, 6))
        kernel, model = self.for_robot(robot).batch, (robot.topology, robot.parameters, base)
        return RowsForm(kernel, model, (no_loads,), moves_masses=not self._every_mass)

    def fill(self, robot: RobotModel, base: Array, *rows: Array) -> None:
        """Fill the last of checked rows from the others by the batch form; `SingularInertiaError` where it fails."""
        chosen = self.for_robot(robot)
        fault = chosen.batch(robot.topology, robot.parameters, base, *rows)
        if fault >= 0:
            raise no_inertia(getattr(robot, chosen._fault)[fault], robot.name)

    def compute(self, robot: RobotModel, base: Array, *rows: Array) -> Array:
        """The outputs of checked rows by the batch form: an `Engine`."""
        first = 0 if self.parts is None else 1
        out = np.empty((*self.shape(robot)[:first], len(rows[0]), *self.shape(robot)[first:]))
        self.fill(robot, base, *rows, out)
        return out

    def answer(
        self,
        robot: RobotModel,
        *vectors: ArrayLike,
        wrenches: Wrenches | None = None,
        base_motion: BaseMotion | None = None,
        engine: Engine | None = None,
    ) -> Array:
        """The output for states of any leading shape, all checked; by another engine than the kernel if one is given.

        An output in parts has these along its first axis.

        Raises
        ------
        ArgumentError, ModelError, SingularInertiaError
            As `inverse_dynamics` and `forward_dynamics`.
        """
        check_open_arm(robot)
        lead, rows = state_arrays(robot, **dict(zip(self.inputs, vectors, strict=True)))
        base, loads = packed_base(robot, base_motion, lead), bodies_wrenches(robot, wrenches, lead)
        code, inputs = None, rows
        if engine in (None, self.compute):
            loaded = bool(wrenches) or base_motion is not None
            code = self.call_code(robot, loaded=loaded)
            if loaded and code is not None:
                inputs = [*rows, *with_base_and_loads(robot, len(rows[0]), base, loads)]
        if code is None:
            out = (engine or self.compute)(robot, base, *rows, loads)
        else:
            out = self._by_own_code(code, robot, tuple(inputs), base, *rows, loads)
        first = 0 if self.parts is None else 1
        return out.reshape((*out.shape[:first], *lead, *out.shape[first + 1 :]))

    def _by_own_code(
        self, code: StateCode, robot: RobotModel, inputs: tuple[Array, ...], base: Array, *rows: Array
    ) -> Array:
        """As `compute`, by machine code of these inputs, but for the states that it leaves to the kernel."""
        out, refused = code.rows(inputs, self.shape(robot))
        if refused.any():
            chosen = np.flatnonzero(refused)
            given = (x if len(x) == 1 else x[chosen] for x in (base, *rows))
            some = self.compute(robot, *given)
            out[chosen] = np.moveaxis(some, 0 if self.parts is None else 1, 0)
        return out if self.parts is None else np.ascontiguousarray(np.moveaxis(out, 0, 1))

    def public(self, function: F) -> F:
        """Decorator of the checked function that users call."""
        self.plain = function
        return function

    def of(self, robot: RobotModel) -> Function:
        """The checked function of the vectors alone for an open arm, made at the first call."""
        try:
            found: Function = robot.own_code[self.name]
        except (AttributeError, KeyError):
            return self.first_call(robot, self.answer)
        return found
