"""What is known of a quantity, however it is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rne_dynamics.compiling.filling import filling
from rne_dynamics.dynamics.declared.arguments import check_open_arm
from rne_dynamics.dynamics.declared.forms import Compiled, Shape, Size
from rne_dynamics.dynamics.declared.inertia_code import inertia_of, shared_code
from rne_dynamics.dynamics.declared.parts import in_parts
from rne_dynamics.dynamics.declared.specialised import (
    Output,
    RowsForm,
    kept_code,
    loaded_recipe,
    recipe_of,
    with_base_and_loads,
)
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.packed_arm import put_own_code
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line.recipe import Recipe

if TYPE_CHECKING:
    from rne_dynamics.straight_line.state_code import StateCode

#: A function of vectors.
Function = Callable[..., Any]
#: Links of a robot that have machine code of their own for one quantity.
MOST_LINKS = 8


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
        ``packed(array, *inputs, out)`` computes it for one state of an array of `pack`, see `compiled_forms`; of a link
        ``packed(array, link, *inputs, out)``.
    plain
        Its checked function.
    options
        The options of `bind` that it has: ``"base_motion"``, ``"link"``.
    parts
        The named tuple of the output's three parts; None for an output that is one array.
    rows
        Its form for rows of states, as `rows_form` says.
    """

    #: The quantities whose compiled forms `packed` calls. A robot without code of this one uses theirs.
    made_of: tuple[Declared, ...] = ()

    def __init__(
        self,
        name: str,
        inputs: tuple[str, ...],
        output: Shape,
        packed: Compiled,
        plain: Callable[..., Any],
        options: tuple[str, ...] = (),
        parts: Callable[..., Any] | None = None,
        rows: Callable[[RobotModel, str], RowsForm] | None = None,
    ) -> None:
        self.name, self.inputs, self.output, self.packed, self.plain = name, inputs, output, packed, plain
        self.parts, self._rows = parts, rows
        self.options = options

    def form(self, robot: RobotModel) -> Compiled:
        """The compiled form for one state of a robot."""
        return self.packed

    def rows_form(self, robot: RobotModel, link: str = "") -> RowsForm | None:
        """A kernel for rows of states of a robot, or of one of its links; None for a quantity without one."""
        return None if self._rows is None else self._rows(robot, link)

    def recipe(self, robot: RobotModel, link: str = "", base: Array | None = None) -> Recipe | None:
        """What straight-line code is made from; None for a quantity without a kernel for rows of states."""
        form = self.rows_form(robot, link)
        output = Output(self.name, self.inputs, self.shape(robot), 0 if self.parts is None else 1)
        return None if form is None else recipe_of(output, form, robot, base)

    def code(
        self, robot: RobotModel, link: str = "", base: Array | None = None, *, quick: bool = False
    ) -> StateCode | None:
        """Machine code for one state of this robot alone, for a base at rest or of this motion; None without one.

        Plain functions ask with `quick`, see `kept_code`.
        So have `MOST_LINKS` links: to ask for all links of a robot once would take longer by machine code.
        """
        if self.rows_form(robot, link) is None:
            return None
        key = self.name, link, b"" if base is None else base.tobytes()
        if link and key not in robot.own_code and robot.own_code.get(self.name, 0) >= MOST_LINKS:
            return None
        if link and key not in robot.own_code:
            robot.own_code[self.name] = robot.own_code.get(self.name, 0) + 1
        return kept_code(robot, key, lambda: cast("Recipe", self.recipe(robot, link, base)), quick=quick)

    def has_code(self, robot: RobotModel, link: str = "") -> bool:
        """Whether the plain function of a robot has machine code, which is made if that is quick."""
        return robot.specialised and self.code(robot, link, quick=True) is not None

    def array(self, robot: RobotModel, base: Array | None, *, checked: bool, quick: bool = False) -> Array:
        """The robot as one array for `packed`, see `RobotModel.pack`, with machine code of what this is made of."""
        found = {part.name: part.code(robot, base=base, quick=quick) for part in self.made_of}
        arm = robot.pack(robot.base_at_rest if base is None else base, checked=checked)
        put_own_code(arm, {name: code.address for name, code in found.items() if code is not None})
        return arm

    def loaded_code(self, robot: RobotModel) -> StateCode | None:
        """As `code`, of the inputs, the base's motion (12,) and loads at the bodies (6 bodies,); None without one."""

        def made() -> Recipe:
            return loaded_recipe(cast("Recipe", self.recipe(robot)), robot.bodies)

        if "base_motion" not in self.options:
            return None
        return kept_code(robot, (self.name, "loaded"), made, quick=True)

    def call_code(
        self, robot: RobotModel, link: str = "", *, loaded: bool = False
    ) -> StateCode | None:
        """The code of a robot's plain functions: `code`, `loaded_code` or what models share; None without one."""
        if not robot.shares_code:
            exact = self.loaded_code if loaded else partial(self.code, link=link, quick=True)
            return exact(robot) if robot.specialised else None
        form = self.rows_form(robot, link)
        if form is None or (loaded and "base_motion" not in self.options):
            return None

        def made() -> Recipe:
            plain = cast("Recipe", self.recipe(robot, link))
            return loaded_recipe(plain, robot.bodies) if loaded else plain

        moves, read = form.moves_masses, (x for x in form.model if x is not robot.parameters)
        # a link's frame is not in the model's arrays: arms whose tools differ by it alone share no code
        name = self.name, loaded, *(x.tobytes() if isinstance(x, np.ndarray) else x for x in read)
        code = shared_code(robot, name, made, moves_masses=moves)
        return None if code is None else replace(code, constant=(inertia_of(robot, moves_masses=moves),))

    def general(
        self, robot: RobotModel, arm: Array, otherwise: Function, link: str = "", name: str = "", doc: str = ""
    ) -> Function:
        """``f(*inputs, out=None)`` by the general kernel, of a model array; all else goes to `otherwise`."""
        first = (arm, robot.link_index(link)) if link else (arm,)
        shape = self.shape(robot)
        return filling(self.form(robot), first, self.widths(robot), shape, otherwise, name or self.name, doc)

    def checked_call(self, robot: RobotModel, long_way: Function, link: str = "") -> Function:
        """The checked function of the vectors: machine code for this robot alone, where there is none the general one.

        The long way is taken with vectors that are not one state in contiguous arrays of finite numbers.
        """
        code = self.call_code(robot, link)
        if code is not None:
            return self.finished(code.checked(self.name, "", long_way), robot)
        arm = robot.packed
        if self.made_of and robot.specialised:
            arm = self.array(robot, None, checked=True, quick=True)
        return self.finished(self.general(robot, arm, long_way, link), robot)

    def first_call(self, robot: RobotModel, checked: Function, link: str = "") -> Function:
        """`checked_call` of an open arm, kept with it by the quantity's name, and by that with the link's.

        `checked` takes the robot, the link if there is one, and all vectors. Other kinds of robots are refused.
        """
        check_open_arm(robot)
        key, given = ((self.name, link), (robot, link)) if link else (self.name, (robot,))
        call = robot.own_code[key] = self.checked_call(robot, partial(checked, *given), link)
        return call

    def own_rows(
        self, robot: RobotModel, inputs: tuple[Array, ...], link: str = "", more: tuple[Array, Array] | None = None
    ) -> Array | None:
        """The outputs of checked rows by machine code for the robot alone, (B, …); None where there is none for all.

        `more` is the base's motion and the loads, as kernels take them, where they are not rest and none.
        """
        code = self.call_code(robot, link, loaded=more is not None)
        if more is not None:
            inputs = *inputs, *with_base_and_loads(robot, len(inputs[0]), *more)
        if code is None:
            return None
        out, refused = code.rows(inputs, self.shape(robot))
        return None if refused.any() else out

    def finished(self, fill: Function, robot: RobotModel) -> Function:
        """The function that users call, made of one that fills or makes the output as machine code has it."""
        return fill if self.parts is None else in_parts(fill, self.parts)

    def shape(self, robot: RigidRobot) -> tuple[int, ...]:
        """Shape of the output for one state of a robot."""
        return tuple(k.of(robot) if isinstance(k, Size) else k for k in self.output)

    def widths(self, robot: RigidRobot) -> tuple[int, ...]:
        """Numbers in a row of each input."""
        return tuple(robot.nq if name == "q" else robot.n for name in self.inputs)
