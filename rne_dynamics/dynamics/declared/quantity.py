"""A quantity of an open arm, declared once: its kernel, inputs and output.

From the declaration come the compiled forms (`forms`), the checked function that users call, and what `bind`,
`compiled`, batches, warm-up and benchmarks need to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import update_wrapper
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.sealed import ODD_ARGUMENTS, Sealed
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches, check_open_arm, state_arrays
from rne_dynamics.dynamics.declared.arm import Workspace
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.declared.bound_forms import BOUND_FORMS, Bound, BoundParts, in_parts
from rne_dynamics.dynamics.declared.forms import Compiled, Shape, Size, compiled_forms, either_form
from rne_dynamics.errors import ModelError, no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import OK
from rne_dynamics.model.robot import RobotModel

F = TypeVar("F", bound=Callable[..., Any])
#: (robot, base, *inputs, wrenches), all checked and with a row for each state, to the outputs of all states.
Engine = Callable[..., Array]


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


#: What compiled functions raise for other arguments, and what is no open arm for `packed`.
_NOT_QUICK = (*ODD_ARGUMENTS, AttributeError, ModelError)
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
        sealed: Sealed | None = None,
        bound: Callable[[BoundParts], Bound] | None = None,
        rows: Callable[[RobotModel, str], RowsForm] | None = None,
    ) -> None:
        self.name, self.inputs, self.output, self.packed, self.plain = name, inputs, output, packed, plain
        self._rows = rows
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

    def shape(self, robot: RobotModel) -> tuple[int, ...]:
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
        super().__init__(name, inputs, output, packed, self.answer, options)
        if mimic is not None:  # `sealed` is a half of it: each takes seconds to compile
            self.packed = either_form(name, kernel, packed, mimic.packed)
        self._fault, self.mimic, self.parts = fault, mimic, parts
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
        out = (engine or self.compute)(robot, base, *rows, loads)
        first = 0 if self.parts is None else 1
        return out.reshape((*out.shape[:first], *lead, *out.shape[first + 1 :]))

    def public(self, function: F) -> F:
        """Make a public function quick: one state in contiguous arrays, no options, goes to compiled code at once.

        All other calls go to `function`, which has the same arguments and returns `answer`.
        """
        made = update_wrapper(_QUICK[len(self.inputs)](self, function), function)
        if self.plain == self.answer:  # a second one, which takes other robots too, is of a higher layer
            self.plain = made
        return cast(F, made)

    def prepare(self, robot: object) -> bool:
        """Compile the form for one state of a robot; False where that was done before, or the robot has none."""
        return isinstance(robot, RobotModel) and self.function(robot).prepare()

    def sizes(self) -> Callable[[Any], Any]:
        """The function of a robot that gives the shape of an output fastest, as `np.empty` takes it."""
        # written out, as `collections.namedtuple` does: anything else takes longer than the call of compiled code
        sizes = (
            f"robot.{k.attribute}" + f" * {k.times}" * (k.times != 1) if isinstance(k, Size) else str(k)
            for k in self.output
        )
        return cast("Callable[[Any], Any]", eval(f"lambda robot: ({', '.join(sizes)})"))


def _forwarded(given: tuple[Any, ...]) -> Iterator[Any]:
    return (value for value in given if value is not _LATER)


def _quick_of_one(quantity: Quantity, function: Callable[..., Any]) -> Callable[..., Any]:
    sealed, sizes, parts, empty = quantity.sealed, quantity.sizes(), quantity.parts, np.empty

    def quick(robot: Any, q: Any = _LATER, **options: Any) -> Any:
        if not options and type(robot) is RobotModel:
            try:
                out = empty(sizes(robot))
                if sealed.call(robot.packed, q, out) == OK:
                    return out if parts is None else parts(out[0], out[1], out[2])
            except _NOT_QUICK:
                if quantity.prepare(robot):
                    return quick(robot, q)
        return function(robot, *_forwarded((q,)), **options)

    return quick


def _quick_of_two(quantity: Quantity, function: Callable[..., Any]) -> Callable[..., Any]:
    sealed, sizes, parts, empty = quantity.sealed, quantity.sizes(), quantity.parts, np.empty

    def quick(robot: Any, q: Any = _LATER, qd: Any = _LATER, **options: Any) -> Any:
        if not options and type(robot) is RobotModel:
            try:
                out = empty(sizes(robot))
                if sealed.call(robot.packed, q, qd, out) == OK:
                    return out if parts is None else parts(out[0], out[1], out[2])
            except _NOT_QUICK:
                if quantity.prepare(robot):
                    return quick(robot, q, qd)
        return function(robot, *_forwarded((q, qd)), **options)

    return quick


def _quick_of_three(quantity: Quantity, function: Callable[..., Any]) -> Callable[..., Any]:
    sealed, sizes, parts, empty = quantity.sealed, quantity.sizes(), quantity.parts, np.empty
    mimic = None if quantity.mimic is None else quantity.mimic.sealed

    def quick(robot: Any, q: Any = _LATER, qd: Any = _LATER, x: Any = _LATER, **options: Any) -> Any:
        if not options and type(robot) is RobotModel:
            try:
                out = empty(sizes(robot))
                chosen = sealed if mimic is None or not robot.has_mimic else mimic
                if chosen.call(robot.packed, q, qd, x, out) == OK:
                    return out if parts is None else parts(out[0], out[1], out[2])
            except _NOT_QUICK:
                if quantity.prepare(robot):
                    return quick(robot, q, qd, x)
        return function(robot, *_forwarded((q, qd, x)), **options)

    return quick


_QUICK = {1: _quick_of_one, 2: _quick_of_two, 3: _quick_of_three}
