"""Machine code for batches: a block of states at a time, one in each lane of a register."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.compiling.linking import c_function
from rne_dynamics.compiling.processor import Processor, processor
from rne_dynamics.straight_line.batch_ir import WIDE, module_text
from rne_dynamics.straight_line.machine_code import (
    Form,
    is_right,
    machine_code,
    warn_of_wrong_code,
)
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.trace import Program


def _text(program: Program, recipe: Recipe, target: Processor) -> str:
    amd = target.name.startswith("znver")
    return module_text(program, target, recipe.iteration, reads_strips=amd and 8 * sum(recipe.widths) >= WIDE)


BATCH = Form("batch", _text)


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
    loaded, target = machine_code(recipe, BATCH), processor()
    if loaded is None or target is None:
        return None
    address = loaded.addresses["run"]
    code = BatchCode(runner(address, len(recipe.widths)), address, loaded.keep)
    if _is_right(code, target, recipe, loaded.sample, loaded.expected):
        return code
    warn_of_wrong_code(recipe)
    return None


def runner(address: int, arguments: int) -> Callable[..., None]:
    """`BatchCode.run` of the function at an address."""
    return c_function(address, ctypes.c_int64, *[ctypes.c_void_p] * (arguments + 2))


def _is_right(code: BatchCode, target: Processor, recipe: Recipe, sample: Any, expected: Any) -> bool:
    rows = target.width + 1
    parts = np.split(sample, np.cumsum(recipe.widths)[:-1])
    arguments = [np.tile(part, (rows, 1)) for part in parts]
    out, refused = np.empty((rows, len(expected))), np.empty(rows, dtype=np.uint8)
    code.run(rows, *(array.ctypes.data for array in (*arguments, out, refused)))
    return not refused.any() and is_right(out, expected)
