"""Machine code of straight-line programs for this processor, compiled by LLVM and stored on disk."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.compiling import store
from rne_dynamics.compiling.fingerprint import fingerprint, writers
from rne_dynamics.compiling.linking import linked, load
from rne_dynamics.compiling.processor import Processor, llvmlite_version, processor
from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line.graph import LARGEST, Graph, TooLargeError
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.trace import Program, trace

#: Number of operations that are traced and compiled in about half a second.
QUICK = 10_000
#: Largest relative error of the check: far above round-off, far below the error of damaged code.
_GROSS = 1e-6


@dataclass(frozen=True)
class Form:
    """A kind of machine code."""

    #: Part of the key.
    name: str
    #: LLVM assembly of a program for a processor.
    text: Callable[[Program, Recipe, Processor], str]
    #: What loaded code answers to the recipe's sample, flat or in rows; NaN where it refuses it.
    answer: Callable[[Recipe, Loaded], Array]
    #: Number of operations of a program, with those that no result needs, for which it is not made.
    largest: int = LARGEST


@dataclass(frozen=True, eq=False)
class Loaded:
    """Machine code in memory."""

    #: Of its functions, by name.
    addresses: Mapping[str, int]
    #: The state that it was traced with, flat, and Python's answer to it.
    sample: Array
    expected: Array
    #: What the memory belongs to.
    keep: Any


def machine_code(recipe: Recipe, form: Form, *, quick: bool = False) -> Loaded | None:
    """Machine code, from disk or newly compiled; `None` on some computers (`processor`), and for no or too many joints.

    Also for a joint that moves no inertia, and with `quick` for more than `QUICK` operations unless it is on disk; with
    a warning for code that does not answer the sample as Python did.
    """
    target = processor()
    if target is None or not sum(recipe.widths) or not math.prod(recipe.shape):
        return None
    name = key(recipe, form, target)
    content = store.load(name)
    if content is None and quick:
        content = store.load(f"{name}-above-{QUICK}")
    if content is None:
        content, name = _compiled(recipe, form, target, name, QUICK if quick else form.largest)
        store.save(name, content)
    if not content:
        return None
    inputs = sum(recipe.widths)
    numbers = np.frombuffer(content, count=inputs + math.prod(recipe.shape))
    addresses, keep = load(content[numbers.nbytes :], {})
    loaded = Loaded(addresses, numbers[:inputs], numbers[inputs:], keep)
    size = np.abs(loaded.expected).max()
    if np.allclose(form.answer(recipe, loaded), loaded.expected, rtol=0.0, atol=_GROSS * (size + _GROSS)):
        return loaded
    warnings.warn(
        f"straight-line {recipe.quantity} of robot {recipe.robot!r} differs from its kernel: the general kernels "
        f"replace it. Please report it with the processor ({target.name}) and the version of llvmlite",
        RuntimeWarning,
        stacklevel=5,
    )
    return None


def _compiled(recipe: Recipe, form: Form, target: Processor, name: str, largest: int) -> tuple[bytes, str]:
    """Sample, its result in Python and `linked` code, empty if there is no program, and its name on disk."""
    # here: a process whose machine code is on disk needs no LLVM
    from rne_dynamics.compiling.native import object_code

    try:
        program = trace(recipe, lambda: Graph(largest))
    except TooLargeError:
        return b"", name if largest == form.largest else f"{name}-above-{QUICK}"
    if not program.regular:
        return b"", name
    sample = np.concatenate(recipe.sample)
    code = linked(object_code(form.text(program, recipe, target), target, optimised=False))
    return sample.tobytes() + program.answer().tobytes() + code, name


def key(recipe: Recipe, form: Form, target: Processor) -> str:
    """Hash of everything that the machine code depends on."""
    digest = hashlib.sha256()
    kernel = f"{recipe.kernel.__module__}.{recipe.kernel.__qualname__}"
    stages = [] if recipe.iteration is None else [recipe.iteration.kernel]
    traced = [recipe.kernel, *stages, *recipe.instead, *recipe.instead.values()]
    named = (recipe.quantity, kernel, form.name, recipe.shape, recipe.multiplies, target, llvmlite_version())
    for part in (writers(), repr(named), *map(fingerprint, traced)):
        digest.update(part.encode())
    _add((*recipe.model, *recipe.sample), digest.update)
    if recipe.iteration is not None:
        _add(tuple(vars(recipe.iteration).values())[1:], digest.update)
    return f"straight_line-{digest.hexdigest()[:32]}"


def _add(value: Any, update: Callable[[bytes], None]) -> None:
    """Add a number, an array or a tuple of these to a hash."""
    if isinstance(value, tuple):
        for part in value:
            _add(part, update)
    elif isinstance(value, np.ndarray):
        update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
    else:
        update(repr(value).encode())
