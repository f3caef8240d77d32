"""Machine code for one state, and the functions of Python that call it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import filling, kernel, threaded_kernel
from rne_dynamics.compiling.plain import call
from rne_dynamics.compiling.processor import Processor
from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line.graph import LARGEST
from rne_dynamics.straight_line.machine_code import Form, Loaded, machine_code
from rne_dynamics.straight_line.recipe import NOT_FINITE, REFUSED, VALID, Recipe
from rne_dynamics.straight_line.state_ir import iterated_text, product_text, state_text
from rne_dynamics.straight_line.trace import Program


@dataclass(frozen=True, eq=False)
class StateCode:
    """A loaded function of one state."""

    #: Of ``i32 state(a0, …, out)``, pointers to doubles; returns `VALID`, or why not.
    address: int
    #: Numbers of each input, and the shape of the output.
    widths: tuple[int, ...]
    shape: tuple[int, ...]
    _loaded: Loaded
    #: Values of its last inputs that are the same in every call of the functions of Python.
    constant: tuple[Array, ...] = ()

    def checked(self, name: str, doc: str, otherwise: Callable[..., Any]) -> Any:
        """``f(a0, …, out=None)`` of Python, which leaves NaN and infinity to `otherwise` too."""
        return self._function(NOT_FINITE | REFUSED, name, doc, otherwise)

    def bound(self, name: str, doc: str, otherwise: Callable[..., Any]) -> Any:
        """``f(a0, …, out=None)`` of Python; `otherwise` has the same arguments, and takes what the code does not."""
        return self._function(REFUSED, name, doc, otherwise)

    def rows(self, inputs: tuple[Array, ...], shape: tuple[int, ...]) -> tuple[Array, NDArray[np.bool_]]:
        """Outputs of this shape for rows of states, and which of them are not valid; (B, …) and (B,)."""
        out, refused = np.empty((len(inputs[0]), *shape)), np.empty(len(inputs[0]), np.bool_)
        _rows(self.address, inputs, self.constant, out.reshape((len(out), math.prod(shape))), refused)
        return out, refused

    def _function(self, refusals: int, name: str, doc: str, otherwise: Callable[..., Any]) -> Any:
        widths = self.widths[: len(self.widths) - len(self.constant)]
        first = np.array([self.address, refusals]), self.constant  # an array is read faster than two integers
        return filling(_refusal, first, widths, self.shape, otherwise, name, doc, self._loaded)


@kernel
def _refusal(code: NDArray[np.int64], constant: tuple[Array, ...], *arrays: Array) -> int:
    """Why machine code does not fill the last array, 0 where it does; `code` is its address, and reasons that count."""
    return int(call(code[0], (*arrays[:-1], *constant, arrays[-1])) & code[1])


@threaded_kernel
def _rows(
    address: int, inputs: tuple[Array, ...], constant: tuple[Array, ...], out: Array, refused: NDArray[np.bool_]
) -> None:
    """Rows of `out` by the machine code at an address, and which it has refused."""
    for b in range(refused.shape[0]):
        refused[b] = call(address, (*(x[b] for x in inputs), *constant, out[b])) != VALID


def _text(program: Program, recipe: Recipe, target: Processor) -> str:
    if recipe.iteration is not None:
        return iterated_text(program, recipe.iteration, target)
    return (product_text if program.matrices else state_text)(program, target)


def state_code(recipe: Recipe, *, quick: bool = False) -> StateCode | None:
    """The function, if there is machine code (see `machine_code`)."""
    loaded = machine_code(recipe, STATE, quick=quick)
    if loaded is None:
        return None
    return StateCode(loaded.addresses["state"], recipe.widths, recipe.shape, loaded)


def _answer(recipe: Recipe, loaded: Loaded) -> Array:
    parts, out = np.split(loaded.sample, np.cumsum(recipe.widths)[:-1]), np.full(loaded.expected.shape, np.nan)
    if call(loaded.addresses["state"], (*parts, out)) != VALID:
        out[:] = np.nan
    return out


#: Twice the operations of other forms still take half of the time of the general kernels: derivatives of humanoids.
STATE = Form("state", _text, _answer, 2 * LARGEST)
