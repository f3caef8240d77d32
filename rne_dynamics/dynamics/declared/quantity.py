"""A quantity of an open arm, declared once: its kernel, inputs and output.

From the declaration come the two compiled forms (for one state, for a batch; they have the quantity's name and its
kernel's module, by which their machine code is kept), machine code of one robot (`specialised`), the checked function
that users call, and what `bind`, `c_function`, batches, warm-up and benchmarks need to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import filling, threaded_kernel
from rne_dynamics.compiling.jit import kernel as compiled
from rne_dynamics.dynamics.declared.arguments import (
    Arm,
    BaseMotion,
    Wrenches,
    all_finite,
    arm_of,
    bodies_wrenches,
    check_open_arm,
    packed_base,
    state_arrays,
)
from rne_dynamics.dynamics.declared.specialised import (
    efforts_parameters,
    kept_code,
    loaded_recipe,
    rounded_turns,
    rows_by,
    sample_of,
    shared_code,
    with_base_and_loads,
)
from rne_dynamics.errors import ArgumentError, no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe

if TYPE_CHECKING:
    from rne_dynamics.straight_line.state_code import StateCode

#: (q, …, out=None) to the answer.
Bound = Callable[..., Any]


def in_parts(fill: Bound, parts: Callable[..., Any]) -> Bound:
    """A function (q, qd, x, out=None) whose answer names the parts of its output."""

    def bound(q: Array, qd: Array, x: Array, out: Array | None = None) -> Any:
        answer = fill(q, qd, x) if out is None else fill(q, qd, x, out)
        return parts(answer[0], answer[1], answer[2])

    return bound


def check_out(out: object, shape: tuple[int, ...], inputs: Iterable[object]) -> None:
    """`ArgumentError` for an `out` that cannot be filled with an answer of this shape."""
    if type(out) is not np.ndarray or out.dtype != np.float64 or out.shape != shape or not out.flags.carray:
        kind = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else f"a {type(out).__name__}"
        raise ArgumentError(f"out is {kind}; it must be a writable C-contiguous float64 array of shape {shape}")
    for k, value in enumerate(inputs):
        if isinstance(value, np.ndarray) and np.may_share_memory(out, value):
            raise ArgumentError(f"out shares memory with argument {k}, which would change under way; give another")


def filled(answer: Array, out: Array, inputs: tuple[ArrayLike, ...]) -> Array:
    """`out`, checked and filled with the answer."""
    check_out(out, answer.shape, inputs)
    out[...] = answer
    return out


Compiled = Callable[..., Any]


@dataclass(frozen=True)
class Size:
    """A dimension that depends on the robot: `times` an attribute of the model."""

    attribute: str
    times: int = 1

    def __rmul__(self, times: int) -> Size:
        return replace(self, times=times * self.times)

    def of(self, robot: object) -> int:
        """The dimension for a robot."""
        return self.times * int(getattr(robot, self.attribute))


N, NQ, BODIES = Size("n"), Size("nq"), Size("bodies")
#: The shape of an output for one state.
Shape = tuple[Size | int, ...]


def compiled_forms(name: str, kernel: Compiled, *, apart: bool) -> tuple[Compiled, Compiled]:
    """The forms of ``kernel(arm, *extra, *inputs, out)`` for one state and for a batch; of three parts if `apart`.

    The kernel returns nothing, or −1 or the number of what moves no inertia. ``one(arm, extra, checked, *inputs, out)``
    returns 0 where `out` is filled, if `checked` not for NaN and infinity; ``batch(arm, extra, *inputs, out)`` −1 or
    what the kernel returned, base and loads of `arm` with one row for all states, or one for each.
    """

    def named(function: Compiled) -> Compiled:
        function.__module__ = kernel.__module__
        function.__qualname__ = function.__name__ = f"{name.replace(' ', '_')}_{function.__name__}"
        return function

    def one(arm: Arm, extra: tuple[Any, ...], checked: bool, *given: Array) -> int:
        inputs, out = given[:-1], given[-1]
        if checked:
            for x in inputs:
                if not all_finite(x):
                    return 1
        fault = kernel(arm, *extra, *inputs, (out[0], out[1], out[2]) if apart else out)
        return 1 if fault is not None and fault >= 0 else 0

    def batch(arm: Arm, extra: tuple[Any, ...], *given: Array) -> int:
        topology, parameters, base, wrenches = arm
        inputs, out = given[:-1], given[-1]
        for b in range(out.shape[0]):
            base_now = base[b if base.shape[0] > 1 else 0]
            here = Arm(topology, parameters, base_now, wrenches[b if wrenches.shape[0] > 1 else 0])
            rows = [x[b] for x in inputs]
            fault = kernel(here, *extra, *rows, (out[b, 0], out[b, 1], out[b, 2]) if apart else out[b])
            if fault is not None and fault >= 0:
                return int(fault)
        return -1

    return compiled(named(one)), threaded_kernel(named(batch))


F = TypeVar("F", bound=Callable[..., Any])
#: A function of vectors.
Function = Callable[..., Any]
#: (robot, base, *inputs, wrenches), all checked and with a row for each state, to the outputs of all states.
Engine = Callable[..., Array]
#: Other engines get rows in pieces whose matrices have about this many entries, so that long batches fit the memory.
ENTRIES = 2**20
#: Links of a robot that have machine code of their own for one quantity.
MOST_LINKS = 8


@dataclass(eq=False)
class Quantity:
    """A quantity and all that is made of its kernel.

    Attributes: `one`, `batch`: its compiled forms, see `compiled_forms`; `options`: the options of `bind` that it has:
    ``"base_motion"``, ``"link"``; `plain`: the checked function that users call.
    """

    #: Of its public function.
    name: str
    #: ``kernel(arm, *extra, *inputs, out)`` computes it for one state; `arm` is an `Arm`.
    kernel: Compiled
    #: Names of the vectors that it takes: ``"q"``, then up to two of shape (n,).
    inputs: tuple[str, ...]
    #: Shape of its output, of `Size` and numbers.
    output: Shape
    _: KW_ONLY
    #: Whether the base may move.
    base_motion: bool = False
    #: Of a kernel that returns −1 or the number of what moves no inertia: which of the model's attributes has the
    #: names. Otherwise the kernel returns nothing.
    fault: str = ""
    #: What computes it for robots with mimic joints, if `kernel` does not.
    mimic: Quantity | None = None
    #: The named tuple of the output's three parts, for three inputs: the kernel takes its output as three arrays; the
    #: forms have it as one, (3, …). `None` for an output that is one array.
    parts: Callable[..., Any] | None = None
    #: Whether it depends on masses that move no joint's effort, see `with_moved_masses`.
    every_mass: bool = False
    #: ``extra(robot, link)`` gives further arguments of the kernel that are the same for all states.
    extra: Callable[[RobotModel, str], tuple[Any, ...]] = lambda _robot, _link: ()
    #: Whether it is that of a link.
    of_link: bool = False
    #: What machine code of one robot is made of instead of the batch form; whether it has a last stage, see `Recipe`.
    traced: Compiled | None = None
    multiplies: bool = False

    def __post_init__(self) -> None:
        self.one, self.batch = compiled_forms(self.name, self.kernel, apart=self.parts is not None)
        self.options = (*["base_motion"] * self.base_motion, *["link"] * self.of_link)
        self.plain: Function = self.answer

    def for_robot(self, robot: RobotModel) -> Quantity:
        """The declaration whose kernel computes it for a robot: this one, or that for mimic joints."""
        return self.mimic if self.mimic is not None and robot.has_mimic else self

    def shape(self, robot: RigidRobot) -> tuple[int, ...]:
        """Shape of the output for one state of a robot."""
        return tuple(k.of(robot) if isinstance(k, Size) else k for k in self.output)

    def widths(self, robot: RigidRobot) -> tuple[int, ...]:
        """Numbers in a row of each input."""
        return tuple(robot.nq if name == "q" else robot.n for name in self.inputs)

    # machine code of one robot

    def recipe(self, robot: RobotModel, link: str = "", base: Array | None = None) -> Recipe:
        """Recipe of the straight-line code, for a base at rest or of this motion (12,), without loads."""
        parameters = rounded_turns(robot.parameters) if self.every_mass else efforts_parameters(robot)
        motion = robot.base_at_rest if base is None else base
        arm = Arm(robot.topology, parameters, motion.reshape(1, 12), np.empty((1, 0, 6)))
        kernel = self.traced or self.for_robot(robot).batch
        return Recipe(
            self.name, robot.name, kernel, (arm, self.extra(robot, link)), sample_of(robot, self.inputs),
            self.shape(robot), multiplies=self.multiplies,
        )  # fmt: skip

    def code(
        self, robot: RobotModel, link: str = "", base: Array | None = None, *, quick: bool = False
    ) -> StateCode | None:
        """Machine code for one state of this robot alone, for a base at rest or of this motion; None without one."""
        return kept_code(robot, (self.name, link), lambda: self.recipe(robot, link, base), base, quick=quick)

    def call_code(self, robot: RobotModel, link: str = "", *, loaded: bool = False) -> StateCode | None:
        """The code of a robot's plain functions, its own or what models share; None without one.

        With `loaded` it takes the base's motion (12,) and loads at the bodies (6 bodies,) after the inputs.
        `MOST_LINKS` links have code of their own: to ask for all of a robot's once would take longer by machine code.
        """
        if loaded and not self.base_motion:
            return None

        def made() -> Recipe:
            plain = self.recipe(robot, link)
            return loaded_recipe(plain, robot.bodies) if loaded else plain

        if robot.shares_code:
            # a link's frame is not in the model's arrays: arms whose tools differ by it alone share no code
            more = (x.tobytes() if isinstance(x, np.ndarray) else x for x in self.extra(robot, link))
            return shared_code(robot, (self.name, loaded, *more), made, moves_masses=not self.every_mass)
        if not robot.specialised:
            return None
        if loaded:
            return kept_code(robot, (self.name, "loaded"), made, quick=True)
        if link and (self.name, link, b"") not in robot.own_code:
            count = robot.own_code.get(self.name, 0)
            if count >= MOST_LINKS:
                return None
            robot.link(link)  # which refuses an unknown name
            robot.own_code[self.name] = count + 1
        return self.code(robot, link, quick=True)

    # functions of Python

    def general(
        self, robot: RobotModel, base: Array | None, otherwise: Function, link: str = "", name: str = "",
        doc: str = "", *, checked: bool = False,
    ) -> Function:
        """``f(*inputs, out=None)`` by the general kernel; all else, NaN with `checked` too, goes to `otherwise`."""
        first = arm_of(robot, base), self.extra(robot, link), checked
        chosen = self.for_robot(robot)
        return filling(chosen.one, first, self.widths(robot), self.shape(robot), otherwise, name or self.name, doc)

    def first_call(self, robot: RobotModel, link: str = "") -> Function:
        """The checked function of the vectors alone for an open arm, kept with it by the name, with the link's if any.

        Machine code for this robot alone, where there is none the general one. `answer` takes vectors that are not one
        state in contiguous arrays of finite numbers. Other kinds of robots are refused.
        """
        check_open_arm(robot)
        key, otherwise = ((self.name, link), partial(self.answer, robot, link=link)) if link else (
            self.name, partial(self.answer, robot)
        )  # fmt: skip
        code = self.call_code(robot, link)
        if code is None:
            fill = self.general(robot, None, otherwise, link, checked=True)
        else:
            fill = code.checked(self.name, "", otherwise)
        call = robot.own_code[key] = self.finished(fill, robot)
        return call

    def of(self, robot: RobotModel) -> Callable[..., Array]:
        """The checked function of the vectors alone for an open arm, made at the first call; not of parts."""
        try:
            found: Function = robot.own_code[self.name]
        except (AttributeError, KeyError):
            return self.first_call(robot)
        return found

    def finished(self, fill: Function, robot: RobotModel) -> Function:
        """The function that users call, made of one that fills or makes the output as machine code has it."""
        return fill if self.parts is None else in_parts(fill, self.parts)

    def public(self, function: F) -> F:
        """Decorator of the checked function that users call."""
        self.plain = function
        return function

    # rows of states

    def fill(self, robot: RobotModel, base: Array, *rows: Array, link: str = "") -> None:
        """Fill the last of checked rows (inputs, loads, output) by the batch form; raises `SingularInertiaError`."""
        *inputs, loads, out = rows
        chosen = self.for_robot(robot)
        arm = Arm(robot.topology, robot.parameters, base, loads)
        fault = chosen.batch(arm, self.extra(robot, link), *inputs, out)
        if fault >= 0:
            raise no_inertia(getattr(robot, chosen.fault)[fault], robot.name)

    def compute(self, robot: RobotModel, base: Array, *rows: Array, link: str = "") -> Array:
        """The outputs of checked rows by the batch form: an `Engine`."""
        out = np.empty((len(rows[0]), *self.shape(robot)))
        self.fill(robot, base, *rows, out, link=link)
        return out

    def answers(
        self, robot: RobotModel, base: Array, *rows: Array, link: str = "", loaded: bool, engine: Engine | None = None
    ) -> Array:
        """The outputs of checked rows, by machine code where there is some, otherwise by an engine.

        `loaded` says whether the base moves or there are loads.
        """
        *inputs, loads = rows
        code = self.call_code(robot, link, loaded=loaded) if engine in (None, self.compute) else None
        given = [*inputs, *with_base_and_loads(robot, len(rows[0]), base, loads)] if loaded else inputs

        def general(chosen: Any) -> Array:
            some = [x if len(x) == 1 else x[chosen] for x in (base, *rows)]
            if engine is None:
                return self.compute(robot, *some, link=link)
            step = max(1, ENTRIES // max(1, robot.n**2))
            pieces = (slice(k, k + step) for k in range(0, max(1, len(some[1])), step))
            return np.concatenate([engine(robot, *(x if len(x) == 1 else x[p] for x in some)) for p in pieces])

        return rows_by(code, tuple(given), self.shape(robot), general)

    def answer(
        self,
        robot: RobotModel,
        *vectors: ArrayLike,
        link: str = "",
        wrenches: Wrenches | None = None,
        base_motion: BaseMotion | None = None,
        engine: Engine | None = None,
    ) -> Array:
        """The output for states of any leading shape, all checked; by another engine than the kernel if one is given.

        An output in parts has these along its first axis. Raises as `inverse_dynamics` and `forward_dynamics`.
        """
        check_open_arm(robot)
        lead, rows = state_arrays(robot, **dict(zip(self.inputs, vectors, strict=True)))
        base, loads = packed_base(robot, base_motion, lead), bodies_wrenches(robot, wrenches, lead)
        loaded = bool(wrenches) or base_motion is not None
        out = self.answers(robot, base, *rows, loads, link=link, loaded=loaded, engine=engine)
        out = out.reshape((*lead, *self.shape(robot)))
        return out if self.parts is None else np.ascontiguousarray(np.moveaxis(out, len(lead), 0))
