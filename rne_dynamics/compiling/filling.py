"""Functions of Python that make or fill the answer of a kernel: ``f(a0, …, out=None)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.compiling.kinds import ArrayKind, Kind, kind_of


def filling(
    kernel: Any,
    first: tuple[Any, ...],
    inputs: int,
    shape: tuple[int, ...],
    otherwise: Callable[..., Any],
    name: str,
    doc: str = "",
) -> Callable[..., Any]:
    """``f(a0, …, out=None)``, compiled now: it takes vectors, and gives `out` or a new array.

    Parameters
    ----------
    kernel
        ``kernel(*first, a0, …, out)`` returns 0 where it has filled `out`.
    first
        Its first arguments, the same in every call.
    inputs
        How many vectors there are.
    shape
        Of the answer.
    otherwise
        Called as `f` with all but C-contiguous arrays of float64 of these dimensions, `out` writable, and where the
        kernel has not filled `out`.
    name, doc
        Of `f`; `doc` begins with its signature.
    """
    kinds = *map(kind_of, first), *(ArrayKind("<f8", 1),) * inputs, ArrayKind("<f8", len(shape))
    if COMPILED:
        made: Callable[..., Any] = kernel.filling(kinds, (otherwise, *first, np.empty(shape)), name, doc)
        return made

    def plain(*given: Any, **named: Any) -> Any:
        arrays = (*given, *named.values())
        if len(arrays) == inputs:
            arrays = *arrays, np.empty(shape)
        counted = named.keys() <= {"out"} and len(given) >= inputs and len(arrays) == inputs + 1
        taken = counted and all(map(_is, arrays, kinds[len(first) :]))
        if taken and arrays[-1].flags.writeable and kernel(*first, *arrays) == 0:
            return arrays[-1]
        return otherwise(*given, **named)

    plain.__name__ = plain.__qualname__ = name
    return plain


def _is(value: Any, kind: Kind) -> bool:
    return type(value) is np.ndarray and kind_of(value) == kind and value.flags.aligned
