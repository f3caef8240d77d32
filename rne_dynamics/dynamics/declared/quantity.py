"""A quantity of an open arm, declared once: its kernel, inputs and output.

From the declaration come the compiled forms (`forms`), the checked function that users call, and what `bind`,
`compiled`, batches, warm-up and benchmarks need to know.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.sealed import Sealed
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, check_open_arm, state_arrays
from rne_dynamics.dynamics.declared.arm import Workspace
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.bound_forms import BOUND_FORMS, Bound, BoundParts, in_parts
from rne_dynamics.dynamics.declared.forms import Compiled, Shape, Size, compiled_forms, either_form
from rne_dynamics.dynamics.declared.quick_forms import GENERAL_FORMS, public_form
from rne_dynamics.dynamics.declared.specialised import (
    Output,
    RowsForm,
    kept_code,
    loaded_recipe,
    recipe_of,
    with_base_and_loads,
)
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe

if TYPE_CHECKING:
    from rne_dynamics.straight_line.state_code import StateCode

F = TypeVar("F", bound=Callable[..., Any])
#: (robot, base, *inputs, wrenches), all checked and with a row for each state, to the outputs of all states.
Engine = Callable[..., Array]
#: (robot, quantity, long way) to the quick function of a robot of another kind, if there is one.
Others = Callable[[Any, str, Callable[..., Any]], "Callable[..., Any] | None"]


class Declared:
    """A quantity whose compiled form for one state is given.

    Parameters
    ----------
    name
        Of its public function.
    inputs
        Names of the vectors that it takes: ``"q"``, then up to two of shape (n,).
    output
        Shape of its output, of `Size` and numbers.
    packed
        ``packed(array, *inputs, out)`` computes it for one state of an array of `pack`, see `compiled_forms`.
    plain
        Its checked function.
    options
        The options of `bind` that it has: ``"base_motion"``, ``"link"``.
    parts
        The named tuple of the output's three parts; None for an output that is one array.
    sealed
        `packed` to be called from Python, if not all its arrays but `out` are vectors.
    bound
        Makes the function that `bind` returns, if that is none of `BOUND_FORMS`.
    rows
        Its form for rows of states, as `rows_form` says.
    """

    def __init__(
        self,
        name: str,
        inputs: tuple[str, ...],
        output: Shape,
        packed: Compiled,
        plain: Callable[..., Any],
        options: tuple[str, ...] = (),
        parts: Callable[..., Any] | None = None,
        sealed: Sealed | None = None,
        bound: Callable[[BoundParts], Bound] | None = None,
        rows: Callable[[RobotModel, str], RowsForm] | None = None,
    ) -> None:
        self.name, self.inputs, self.output, self.packed, self.plain = name, inputs, output, packed, plain
        self.parts, self._rows = parts, rows
        self.options = options
        self.sealed = sealed or Sealed(packed, 1, *(1 for _ in inputs), len(output))
        self.bound = bound or BOUND_FORMS[len(inputs)]

    def function(self, robot: RobotModel) -> Sealed:
        """The form for one state of a robot, to be called from Python."""
        return self.sealed

    def rows_form(self, robot: RobotModel, link: str = "") -> RowsForm | None:
        """A kernel for rows of states of a robot, or of one of its links; None for a quantity without one."""
        return None if self._rows is None else self._rows(robot, link)

    def recipe(self, robot: RobotModel, link: str = "", base: Array | None = None) -> Recipe | None:
        """What straight-line code is made from; None for a quantity without a kernel for rows of states."""
        form = self.rows_form(robot, link)
        output = Output(self.name, self.inputs, self.shape(robot), 0 if self.parts is None else 1)
        return None if form is None else recipe_of(output, form, robot, base)

    def code(self, robot: RobotModel, link: str = "", base: Array | None = None) -> StateCode | None:
        """Machine code for one state of this robot alone, for a base at rest or of this motion; None without one."""
        if self.rows_form(robot, link) is None:
            return None
        key = self.name, link, b"" if base is None else base.tobytes()
        return kept_code(robot, key, lambda: cast("Recipe", self.recipe(robot, link, base)))

    def loaded_code(self, robot: RobotModel) -> StateCode | None:
        """As `code`, of the inputs, the base's motion (12,) and loads at the bodies (6 bodies,); None without one."""

        def made() -> Recipe:
            return loaded_recipe(cast("Recipe", self.recipe(robot)), robot.bodies)

        return kept_code(robot, (self.name, "loaded"), made) if "base_motion" in self.options else None

    def own_call(self, robot: RobotModel, long_way: Callable[..., Any], link: str = "") -> Callable[..., Any] | None:
        """The checked function of the vectors by machine code for this robot alone; None where there is none.

        The long way is taken with vectors that are not one state in contiguous arrays of finite numbers.
        """
        code = self.code(robot, link) if robot.specialised else None
        if code is None:
            return None
        call = code.checked(self.name, "", long_way)
        return call if self.parts is None else _in_parts(call, self.parts)

    def kept_call(self, robot: RobotModel, long_way: Callable[..., Any], link: str = "") -> Callable[..., Any]:
        """`own_call`, or else the long way itself, kept with the robot by the quantity's name and the link."""
        call = self.own_call(robot, long_way, link) or long_way
        robot.own_code[self.name, link] = call
        return call

    def own_rows(
        self, robot: RobotModel, inputs: tuple[Array, ...], link: str = "", more: tuple[Array, Array] | None = None
    ) -> Array | None:
        """The outputs of checked rows by machine code for the robot alone, (B, …); None where there is none for all.

        `more` is the base's motion and the loads, as kernels take them, where they are not rest and none.
        """
        if not robot.specialised:
            return None
        code = self.code(robot, link) if more is None else self.loaded_code(robot)
        if more is not None:
            inputs = *inputs, *with_base_and_loads(robot, len(inputs[0]), *more)
        if code is None:
            return None
        out, refused = code.rows(inputs, self.shape(robot))
        return None if refused.any() else out

    def shape(self, robot: RigidRobot) -> tuple[int, ...]:
        """Shape of the output for one state of a robot."""
        return tuple(k.of(robot) if isinstance(k, Size) else k for k in self.output)

    def widths(self, robot: RigidRobot) -> tuple[int, ...]:
        """Numbers in a row of each input."""
        return tuple(robot.nq if name == "q" else robot.n for name in self.inputs)


class Quantity(Declared):
    """A quantity whose forms are all made of one kernel.

    Parameters
    ----------
    name, inputs, output
        As of `Declared`.
    kernel
        ``kernel(arm, *inputs, out)`` computes it for one state; `arm` is an `Arm`.
    work
        The kernel's scratch memory.
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

    Attributes
    ----------
    packed, batch
        Its compiled forms, see `compiled_forms`.
    """

    def __init__(
        self,
        name: str,
        kernel: Compiled,
        inputs: tuple[str, ...],
        output: Shape,
        work: Workspace,
        *,
        base_motion: bool = False,
        fault: str = "",
        mimic: Quantity | None = None,
        parts: Callable[..., Any] | None = None,
    ) -> None:
        packed, self.batch = compiled_forms(name, kernel, len(inputs), output, work, bool(fault), parts is not None)
        options = ("base_motion",) if base_motion else ()
        super().__init__(name, inputs, output, packed, self.answer, options, parts)
        if mimic is not None:  # `sealed` is a half of it: each takes seconds to compile
            self.packed = either_form(name, kernel, packed, mimic.packed)
        self._fault, self.mimic = fault, mimic
        self._checked: Callable[..., Any] = self.answer
        if parts is not None:
            form, named = self.bound, parts
            self.bound = lambda made_of: in_parts(form(made_of), named)

    def for_robot(self, robot: RobotModel) -> Quantity:
        """The declaration whose kernel computes it for a robot: this one, or that for mimic joints."""
        return self.mimic if self.mimic is not None and robot.has_mimic else self

    def function(self, robot: RobotModel) -> Sealed:
        """The form for one state of a robot, to be called from Python."""
        return self.for_robot(robot).sealed

    def rows_form(self, robot: RobotModel, link: str = "") -> RowsForm:
        """As of `Declared`: the batch form, with the base at rest and no loads."""
        base, no_loads = robot.base_at_rest.reshape(1, 12), np.empty((1, 0, 6))
        return RowsForm(self.for_robot(robot).batch, (robot.topology, robot.parameters, base), (no_loads,))

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
        if engine in (None, self.compute) and robot.specialised:
            if not wrenches and base_motion is None:
                code = self.code(robot)
            else:
                code, inputs = self.loaded_code(robot), [*rows, *with_base_and_loads(robot, len(rows[0]), base, loads)]
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

    def public(self, function: F, others: Others | None = None) -> F:
        """Make a public function quick: one state in contiguous arrays, no options, goes to compiled code at once.

        All other calls go to `function`, which has the same arguments and returns `answer`. `others` makes the quick
        function of another kind of robot and keeps it with this in `own_code`; None for what has none.
        """
        first_call = partial(self.first_call, others=others)
        made = update_wrapper(public_form(self.name, function, first_call), function)
        if self.plain == self.answer:  # a second one, which takes other robots too, is of a higher layer
            self.plain, self._checked = made, function
        return cast(F, made)

    def first_call(
        self, robot: RobotModel, function: Callable[..., Any], others: Others | None = None
    ) -> Callable[..., Any]:
        """The function of the vectors alone for a robot, which is kept with it."""

        if type(robot) is not RobotModel:
            other_way = partial(function, robot)
            return other_way if others is None else others(robot, self.name, other_way) or other_way
        long_way = partial(self._checked, robot)  # not `function`, which may call the quick one again
        general = GENERAL_FORMS[len(self.inputs)]
        call = self.own_call(robot, long_way) or general(
            self.function(robot), robot, self.shape(robot), self.parts, long_way
        )
        robot.own_code[self.name] = call
        return call


def _in_parts(call: Callable[..., Any], parts: Callable[..., Any]) -> Callable[..., Any]:
    """A function of three inputs that names the three parts of its output."""

    def named(q: Any, qd: Any, x: Any) -> Any:
        answer = call(q, qd, x)
        return parts(answer[0], answer[1], answer[2])  # to take it apart by unpacking would take twice as long

    return named
