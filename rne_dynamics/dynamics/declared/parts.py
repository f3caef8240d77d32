"""Outputs in parts, and outputs that users give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array

#: (q, …, out=None) to the answer.
Bound = Callable[..., Any]


def in_parts(fill: Bound, parts: Callable[..., Any]) -> Bound:
    """A function (q, qd, x, out=None) whose answer names the parts of its output."""
    named = named_parts(parts)

    def bound(q: Array, qd: Array, x: Array, out: Array | None = None) -> Any:
        if out is not None:
            return named(fill(q, qd, x, out))
        answer = fill(q, qd, x)
        return parts(answer[0], answer[1], answer[2])

    return bound


def named_parts(parts: Callable[..., Any]) -> Callable[[Array], Any]:
    """A function that names the parts of an output, once for as long as the output is the same array.

    To take an array apart and name the parts takes as long as to compute them for a small arm.
    """
    known: tuple[Array | None, Any] = (None, None)  # in one, which threads replace as a whole

    def named(out: Array) -> Any:
        nonlocal known
        kept, answer = known
        if kept is not out:
            answer = parts(*out)
            known = out, answer
        return answer

    return named


def filled(answer: Array, out: Array, inputs: tuple[ArrayLike, ...]) -> Array:
    """`out`, filled with the answer. Raises ArgumentError: an `out` that is no such array as `bind` wants."""
    if type(out) is not np.ndarray:
        raise ArgumentError(f"out is a {type(out).__name__}; it must be a NumPy array of shape {answer.shape}")
    if out.dtype != np.float64 or out.shape != answer.shape:
        raise ArgumentError(f"out is {out.dtype} of shape {out.shape}; it must be float64 of shape {answer.shape}")
    if not out.flags.writeable:
        raise ArgumentError("out is read-only; give an array that may be written to")
    if not out.flags.carray:
        raise ArgumentError("out is not C-contiguous; give an array as np.empty makes it")
    for k, value in enumerate(inputs):
        if isinstance(value, np.ndarray) and np.may_share_memory(out, value):
            raise ArgumentError(f"out shares memory with argument {k}, which would change under way; give another")
    out[...] = answer
    return out
