"""A quantity of an open arm, declared once: its kernel, inputs and output.

From the declaration come the compiled forms (`forms`), the checked function that users call, and what `bind`,
`compiled`, batches, warm-up and benchmarks need to know.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.sealed import ODD_ARGUMENTS, Sealed
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, check_open_arm, state_arrays
from rne_dynamics.dynamics.declared.arm import Workspace
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.bound_forms import BOUND_FORMS, Bound, BoundParts, in_parts
from rne_dynamics.dynamics.declared.forms import Compiled, Shape, Size, compiled_forms, either_form
from rne_dynamics.dynamics.declared.specialised import code_of
from rne_dynamics.errors import no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.packed_arm import OK
from rne_dynamics.model.robot import RobotModel

if TYPE_CHECKING:
    from rne_dynamics.straight_line.state_code import StateCode

F = TypeVar("F", bound=Callable[..., Any])
#: (robot, base, *inputs, wrenches), all checked and with a row for each state, to the outputs of all states.
Engine = Callable[..., Array]
#: (robot, quantity, long way) to the quick function of a robot of another kind, if there is one.
Others = Callable[[Any, str, Callable[..., Any]], "Callable[..., Any] | None"]


class RowsForm(NamedTuple):
    """A kernel for rows of states, and its first and its last arguments before the output; see `Declared.rows_form`.

    Parameters
    ----------
    kernel
        The kernel.
    model
        Before the states: for most topology, parameters and base motion.
    loads
        Between the states and the output.
    """

    kernel: Compiled
    model: tuple[Any, ...]
    loads: tuple[Array, ...] = ()


#: Default of an argument that may be given by its name.
_LATER: Any = object()


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
        """A kernel for rows of states and what it reads besides them, of a robot or one of its links; None without one.

        ``kernel(*model, *inputs, *loads, out)`` fills a row of `out` for each state, or, of three parts, ``out[:, b]``,
        and returns −1 or the number of what moves no inertia, or nothing.
        """
        return None if self._rows is None else self._rows(robot, link)

    def own_call(
        self, robot: RobotModel, otherwise: Callable[..., Any], link: str = ""
    ) -> Callable[..., Any] | None:
        """The robot's own checked function of the inputs; None where there is no machine code for it alone.

        `otherwise` is called with inputs that are not one state in contiguous arrays of finite numbers.
        """
        code = code_of(self, robot, link) if robot.specialised else None
        if code is None:
            return None
        call = code.checked(self.name, "", otherwise)
        return call if self.parts is None else _in_parts(call, self.parts)

    def own_rows(self, robot: RobotModel, inputs: tuple[Array, ...], link: str = "") -> Array | None:
        """The outputs of checked rows by machine code for the robot alone, (B, …); None where there is none for all."""
        code = code_of(self, robot, link) if robot.specialised else None
        if code is None:
            return None
        out, refused = code.rows(inputs, self.shape(robot))
        return None if refused.any() else out

    def shape(self, robot: RigidRobot) -> tuple[int, ...]:
        """Shape of the output for one state of a robot."""
        return tuple(k.of(robot) if isinstance(k, Size) else k for k in self.output)

    def widths(self, robot: RobotModel) -> tuple[int, ...]:
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
        own = engine in (None, self.compute) and not wrenches and base_motion is None and robot.specialised
        code = code_of(self, robot) if own else None
        if code is None:
            out = (engine or self.compute)(robot, base, *rows, loads)
        else:
            out = self._by_own_code(code, robot, base, *rows, loads)
        first = 0 if self.parts is None else 1
        return out.reshape((*out.shape[:first], *lead, *out.shape[first + 1 :]))

    def _by_own_code(self, code: StateCode, robot: RobotModel, base: Array, *rows: Array) -> Array:
        """As `compute`, by machine code for the robot alone, but for the states that this leaves to the kernel."""
        *inputs, loads = rows
        out, refused = code.rows(tuple(inputs), self.shape(robot))
        if refused.any():
            chosen = np.flatnonzero(refused)
            axis = 0 if self.parts is None else 1
            some = self.compute(robot, base, *(row[chosen] for row in inputs), loads)
            out[chosen] = np.moveaxis(some, axis, 0)
        return out if self.parts is None else np.ascontiguousarray(np.moveaxis(out, 0, 1))

    def public(self, function: F, others: Others | None = None) -> F:
        """Make a public function quick: one state in contiguous arrays, no options, goes to compiled code at once.

        All other calls go to `function`, which has the same arguments and returns `answer`. `others` makes the quick
        function of another kind of robot and keeps it with this in `own_code`; None for what has none.
        """
        made = update_wrapper(_PUBLIC[len(self.inputs)](self, function, others), function)
        if self.plain == self.answer:  # a second one, which takes other robots too, is of a higher layer
            self.plain = made
        return cast(F, made)

    def first_call(self, robot: object, function: Callable[..., Any], others: Others | None) -> Callable[..., Any]:
        """The quick function of the vectors, which is kept with the robot; `function` for what has none."""

        def long_way(*given: Any) -> Any:
            return function(robot, *(value for value in given if value is not _LATER))

        if not isinstance(robot, RobotModel):
            return long_way if others is None else others(robot, self.name, long_way) or long_way
        call = self.own_call(robot, long_way) or _QUICK[len(self.inputs)](self, robot, long_way)
        robot.own_code[self.name] = call
        return call


def _public_of_one(quantity: Quantity, function: Callable[..., Any], others: Others | None) -> Callable[..., Any]:
    name = quantity.name

    def public(robot: Any, q: Any = _LATER, **options: Any) -> Any:
        if options:
            return function(robot, *(value for value in (q,) if value is not _LATER), **options)
        try:
            call = robot.own_code[name]
        except (AttributeError, KeyError):
            call = quantity.first_call(robot, function, others)
        return call(q)

    return public


def _public_of_two(quantity: Quantity, function: Callable[..., Any], others: Others | None) -> Callable[..., Any]:
    name = quantity.name

    def public(robot: Any, q: Any = _LATER, qd: Any = _LATER, **options: Any) -> Any:
        if options:
            return function(robot, *(value for value in (q, qd) if value is not _LATER), **options)
        try:
            call = robot.own_code[name]
        except (AttributeError, KeyError):
            call = quantity.first_call(robot, function, others)
        return call(q, qd)

    return public


def _public_of_three(quantity: Quantity, function: Callable[..., Any], others: Others | None) -> Callable[..., Any]:
    name = quantity.name

    def public(robot: Any, q: Any = _LATER, qd: Any = _LATER, x: Any = _LATER, **options: Any) -> Any:
        if options:
            return function(robot, *(value for value in (q, qd, x) if value is not _LATER), **options)
        try:
            call = robot.own_code[name]
        except (AttributeError, KeyError):
            call = quantity.first_call(robot, function, others)
        return call(q, qd, x)

    return public


def _quick_of_one(quantity: Quantity, robot: RobotModel, long_way: Callable[..., Any]) -> Callable[..., Any]:
    sealed, shape, parts, empty = quantity.function(robot), quantity.shape(robot), quantity.parts, np.empty

    def quick(q: Any) -> Any:
        out = empty(shape)
        try:
            if sealed.call(robot.packed, q, out) == OK:
                return out if parts is None else parts(out[0], out[1], out[2])
        except ODD_ARGUMENTS:
            if sealed.prepare():
                return quick(q)
        return long_way(q)

    return quick


def _quick_of_two(quantity: Quantity, robot: RobotModel, long_way: Callable[..., Any]) -> Callable[..., Any]:
    sealed, shape, parts, empty = quantity.function(robot), quantity.shape(robot), quantity.parts, np.empty

    def quick(q: Any, qd: Any) -> Any:
        out = empty(shape)
        try:
            if sealed.call(robot.packed, q, qd, out) == OK:
                return out if parts is None else parts(out[0], out[1], out[2])
        except ODD_ARGUMENTS:
            if sealed.prepare():
                return quick(q, qd)
        return long_way(q, qd)

    return quick


def _quick_of_three(quantity: Quantity, robot: RobotModel, long_way: Callable[..., Any]) -> Callable[..., Any]:
    sealed, shape, parts, empty = quantity.function(robot), quantity.shape(robot), quantity.parts, np.empty

    def quick(q: Any, qd: Any, x: Any) -> Any:
        out = empty(shape)
        try:
            if sealed.call(robot.packed, q, qd, x, out) == OK:
                return out if parts is None else parts(out[0], out[1], out[2])
        except ODD_ARGUMENTS:
            if sealed.prepare():
                return quick(q, qd, x)
        return long_way(q, qd, x)

    return quick


def _in_parts(call: Callable[..., Any], parts: Callable[..., Any]) -> Callable[..., Any]:
    """A function of three inputs that names the three parts of its output."""

    def named(q: Any, qd: Any, x: Any) -> Any:
        answer = call(q, qd, x)
        return parts(answer[0], answer[1], answer[2])  # to take it apart by unpacking would take twice as long

    return named


_PUBLIC = {1: _public_of_one, 2: _public_of_two, 3: _public_of_three}
_QUICK = {1: _quick_of_one, 2: _quick_of_two, 3: _quick_of_three}
