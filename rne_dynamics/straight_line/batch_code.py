"""Machine code for batches: a block of states at a time, one in each lane of a register."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.compiling.linking import c_function
from rne_dynamics.compiling.plain import call_rows
from rne_dynamics.compiling.processor import Processor, processor
from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line.batch_ir import WIDE, module_text
from rne_dynamics.straight_line.machine_code import Form, Loaded, machine_code
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.trace import Program


def _text(program: Program, recipe: Recipe, target: Processor) -> str:
    amd = target.name.startswith("znver")
    return module_text(program, target, recipe.iteration, reads_strips=amd and 8 * sum(recipe.widths) >= WIDE)


@dataclass(frozen=True, eq=False)
class BatchCode:
    """A loaded function."""

    #: ``run(rows, *arguments, out, refused)``: addresses of row-major arrays of doubles, and of one byte per row, which
    #: is set if the row's result is invalid. It does not hold Python's lock.
    run: Callable[..., None]
    #: Of `run`.
    address: int
    _keep: tuple[Any, ...]  # keeps its memory alive


def batch_code(recipe: Recipe) -> BatchCode | None:
    """The function, if there is machine code, not of a last stage, that equals Python in every lane."""
    if recipe.multiplies:
        return None
    loaded = machine_code(recipe, BATCH)
    if loaded is None:
        return None
    address = loaded.addresses["run"]
    return BatchCode(runner(address, len(recipe.widths)), address, loaded.keep)


def runner(address: int, arguments: int) -> Callable[..., None]:
    """`BatchCode.run` of the function at an address."""
    return c_function(address, ctypes.c_int64, *[ctypes.c_void_p] * (arguments + 2))


def _answer(recipe: Recipe, loaded: Loaded) -> Array:
    """Rows of answers to the sample, one more than there are lanes."""
    target = processor()
    assert target is not None
    rows = target.width + 1
    arguments = [np.tile(part, (rows, 1)) for part in np.split(loaded.sample, np.cumsum(recipe.widths)[:-1])]
    out, refused = np.empty((rows, len(loaded.expected))), np.empty(rows, dtype=np.uint8)
    call_rows(loaded.addresses["run"], rows, (*arguments, out, refused))
    out[refused != 0] = np.nan
    return out


BATCH = Form("batch", _text, _answer)
