"""The Python functions that `bind` returns, one for each number of inputs.

Each is one call of compiled code; what that refuses goes the long way, to the checked function. One function of any
number of arguments would cost a call of six joints 20 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.sealed import ODD_ARGUMENTS
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.packed_arm import OK
from rne_dynamics.model.robot import RobotModel

#: What `bind` returns: (q, …, out=None) to the answer.
Bound = Callable[..., Any]


@dataclass(frozen=True)
class BoundParts:
    """What a bound function is made of.

    Parameters
    ----------
    call
        The compiled function, (arm, *inputs, out) to a code.
    arm
        The robot as one array (`pack`).
    shape
        Of the output.
    long_way
        (out, *inputs) to the answer, checked.
    robot
        The model.
    """

    call: Callable[..., Any]
    arm: Array
    shape: tuple[int, ...]
    long_way: Callable[..., Any]
    robot: RobotModel


def bound_of_one(made_of: BoundParts) -> Bound:
    """A function (q, out=None)."""
    call, arm, shape, long_way, empty = made_of.call, made_of.arm, made_of.shape, made_of.long_way, np.empty

    def bound(q: Array, out: Array | None = None) -> Any:
        into = empty(shape) if out is None else out
        try:
            if call(arm, q, into) == OK:
                return into
        except ODD_ARGUMENTS:  # the long way takes them, or says what is wrong
            return long_way(out, q)
        return long_way(out, q)

    return bound


def bound_of_two(made_of: BoundParts) -> Bound:
    """A function (q, qd, out=None)."""
    call, arm, shape, long_way, empty = made_of.call, made_of.arm, made_of.shape, made_of.long_way, np.empty

    def bound(q: Array, qd: Array, out: Array | None = None) -> Any:
        into = empty(shape) if out is None else out
        try:
            if call(arm, q, qd, into) == OK:
                return into
        except ODD_ARGUMENTS:  # the long way takes them, or says what is wrong
            return long_way(out, q, qd)
        return long_way(out, q, qd)

    return bound


def bound_of_three(made_of: BoundParts) -> Bound:
    """A function (q, qd, x, out=None)."""
    call, arm, shape, long_way, empty = made_of.call, made_of.arm, made_of.shape, made_of.long_way, np.empty

    def bound(q: Array, qd: Array, x: Array, out: Array | None = None) -> Any:
        into = empty(shape) if out is None else out
        try:
            if call(arm, q, qd, x, into) == OK:
                return into
        except ODD_ARGUMENTS:  # the long way takes them, or says what is wrong
            return long_way(out, q, qd, x)
        return long_way(out, q, qd, x)

    return bound


BOUND_FORMS = {1: bound_of_one, 2: bound_of_two, 3: bound_of_three}


def in_parts(fill: Bound, parts: Callable[..., Any]) -> Bound:
    """A bound function (q, qd, x, out=None) whose answer names the parts of its output."""
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
    """`out`, filled with the answer.

    Raises
    ------
    ArgumentError
        An `out` that is no such array as `bind` wants.
    """
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
