"""Functions of Python that make or fill the answer of a kernel: ``f(a0, …, out=None)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.compiling.kinds import kind_of


def filling(
    kernel: Any,
    first: tuple[Any, ...],
    widths: Sequence[int],
    shape: tuple[int, ...],
    otherwise: Callable[..., Any],
    name: str,
    doc: str = "",
    keep: Any = None,
) -> Callable[..., Any]:
    """``f(a0, …, out=None)``, compiled now: it takes vectors of `widths`, and gives `out` or a new array of `shape`.

    ``kernel(*first, a0, …, out)`` returns 0 where it has filled `out`. Where it has not, and for all but C-contiguous
    arrays of float64 of these shapes apart in memory, `otherwise` is called as `f`. `keep` must live as long as `f`.
    """
    like = *(np.empty(width) for width in widths), np.empty(shape)
    if COMPILED:
        kinds, lengths = tuple(map(kind_of, (*first, *like))), np.array([n for x in like for n in x.shape], np.int64)
        made: Callable[..., Any] = kernel.filling(kinds, len(first), (otherwise, *first, lengths, keep), name, doc)
        return made

    def plain(*given: Any, **named: Any) -> Any:
        arrays = (*given, *named.values())
        if len(arrays) == len(widths):
            arrays = *arrays, np.empty(shape)
        counted = named.keys() <= {"out"} and len(given) >= len(widths) and len(arrays) == len(like)
        taken = counted and all(map(_is_like, arrays, like)) and arrays[-1].flags.writeable
        if taken and not any(np.shares_memory(arrays[-1], x) for x in arrays[:-1]) and kernel(*first, *arrays) == 0:
            return arrays[-1]
        return otherwise(*given, **named)

    plain.__name__ = plain.__qualname__ = name
    plain.keep = keep  # type: ignore[attr-defined]
    return plain


def _is_like(value: Any, like: Any) -> bool:
    same = type(value) is np.ndarray and value.dtype == like.dtype and value.shape == like.shape
    return same and value.flags.c_contiguous and value.flags.aligned
