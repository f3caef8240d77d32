"""Machine code for one state, and the functions of Python that call it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.native import c_function
from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line import entry
from rne_dynamics.straight_line.columns_ir import columns_text
from rne_dynamics.straight_line.entry_ir import declarations, entry_text
from rne_dynamics.straight_line.graph import LARGEST
from rne_dynamics.straight_line.machine_code import Form, Loaded, is_right, machine_code, warn_of_wrong_code
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.state_ir import iterated_text, rows_text, state_text
from rne_dynamics.straight_line.status import NOT_FINITE, REFUSED, VALID
from rne_dynamics.straight_line.trace import Program

#: What an entry does not let pass: one that checks its inputs, and one that does not.
_CHECKED, _BOUND = NOT_FINITE | REFUSED, REFUSED


@dataclass(frozen=True, eq=False)
class StateCode:
    """A loaded function of one state.

    Attributes
    ----------
    address
        Of ``i32 state(a0, …, out)``, pointers to doubles; returns `VALID`, or why not.
    widths, shape
        Numbers of each input, and the shape of the output.
    """

    address: int
    widths: tuple[int, ...]
    shape: tuple[int, ...]
    _loaded: Loaded

    def checked(self, name: str, doc: str, otherwise: Callable[..., Any]) -> Any:
        """``f(a0, …, out=None)`` of Python, which leaves NaN and infinity to `otherwise` too."""
        return self._function("checked", name, doc, otherwise)

    def bound(self, name: str, doc: str, otherwise: Callable[..., Any]) -> Any:
        """``f(a0, …, out=None)`` of Python; `otherwise` has the same arguments, and takes what the entry does not."""
        return self._function("bound", name, doc, otherwise)

    def rows(self, inputs: tuple[Array, ...], shape: tuple[int, ...]) -> tuple[Array, NDArray[np.bool_]]:
        """Outputs of this shape for rows of states, and which of them are not valid; (B, …) and (B,)."""
        count = len(inputs[0])
        out, statuses = np.empty((count, *shape)), np.empty(count, np.int32)
        self._rows(count, *(array.ctypes.data for array in inputs), out.ctypes.data, statuses.ctypes.data)
        return out, statuses != VALID

    @cached_property
    def _rows(self) -> Callable[..., None]:
        return c_function(self._loaded.addresses["rows"], ctypes.c_int64, *[ctypes.c_void_p] * (len(self.widths) + 2))

    def _function(self, kind: str, name: str, doc: str, otherwise: Callable[..., Any]) -> Any:
        return entry.python_function(self._loaded.addresses[kind], name, doc, otherwise, self._loaded.keep)


def _text(program: Program, recipe: Recipe, width: int) -> str:
    entries = (("checked", _CHECKED), ("bound", _BOUND))
    made = (entry_text(name, recipe.widths, recipe.shape, refusals) for name, refusals in entries)
    rows = rows_text(recipe.widths, math.prod(recipe.shape))
    if recipe.iteration is not None:
        state = iterated_text(program, recipe.iteration, width)
    else:
        state = (state_text if program.column is None else columns_text)(program, width)
    return "\n".join((state, rows, declarations(), *made))


#: Twice the operations of other forms still take half of the time of the general kernels: derivatives of humanoids.
STATE = Form("state", _text, ("state", "rows", "checked", "bound"), 2 * LARGEST)


def state_code(recipe: Recipe, *, quick: bool = False) -> StateCode | None:
    """The functions, if there is machine code (see `machine_code`), and Python's objects are as it expects them."""
    imports = entry.addresses()
    loaded = None if imports is None else machine_code(recipe, STATE, imports, quick=quick)
    if loaded is None:
        return None
    code = StateCode(loaded.addresses["state"], recipe.widths, recipe.shape, loaded)
    if _is_right(code, recipe, loaded):
        return code
    warn_of_wrong_code(recipe)
    return None


def _is_right(code: StateCode, recipe: Recipe, loaded: Loaded) -> bool:
    """Whether the function and both entries compute what Python did."""
    parts = [part.copy() for part in np.split(loaded.sample, np.cumsum(recipe.widths)[:-1])]
    out = np.full(recipe.shape, np.nan)
    run = c_function(code.address, *[ctypes.c_void_p] * (len(parts) + 1), result=ctypes.c_int32)
    status = run(*(array.ctypes.data for array in (*parts, out)))
    answers = [out.copy()]
    for make in (code.checked, code.bound):
        call = make("sample", "", _nothing)
        answers += [call(*parts), call(*parts, out=np.full(recipe.shape, np.nan))]
    return status == VALID and all(x is not None and is_right(x.ravel(), loaded.expected) for x in answers)


def _nothing(*arguments: Any, **named: Any) -> None:
    """The answer where the entry does not take the sample."""
