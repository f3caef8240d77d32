"""Effort along a reference in one compiled call: law, ramps, limits.

A control loop sleeps between two states, and what it touches after that is cold. Twenty small numpy calls on seven
numbers, each quick in a tight loop, then take four times the time of this one; see docs/control_loop.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.control.control_law import (
    CORIOLIS,
    FEEDBACK,
    FRICTION,
    GRAVITY,
    INERTIA,
    CompiledLaw,
    Reference,
    TorqueTerms,
    on_base,
)
from rne_dynamics.control.guards import effort_limiter, effort_limits
from rne_dynamics.control.guards.effort_limiter import EffortLimiter, Limited, limit_kernel
from rne_dynamics.control.laws.computed_torque import TABLE_ROWS
from rne_dynamics.control.thresholds import OVERSPEED
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import columns

#: Bit of what `answer_kernel` gives back: a joint is as fast as that. Above all bits of the limiter.
RUNAWAY = 256

_TERMS = TorqueTerms._fields
_empty, _new = np.empty, tuple.__new__  # a quarter of the time of a named tuple's own
_COMMAND = len(_TERMS)
_ROWS = _COMMAND + 1


# rows of what the kernel reads besides the state and the reference: the law's table, ∫e dt, a weight for each term,
# and the time since the last effort in the first column
_TABLE, _INTEGRAL, _WEIGHTS, _STEP, _LAW_ROWS = columns(TABLE_ROWS, 1, len(_TERMS), 1)


@cache
def answer_kernel(law_kernel: Callable[..., None]) -> Callable[..., int]:
    """The kernel of a law, then ramps and limits."""

    @kernel
    def answer_in_one_call(
        model: Any, law: Array, aim: Reference, q: Array, qd: Array, place: Array, speed: Array, memory: Array,
        answer: Array, flags: NDArray[np.uint8],
    ) -> int:
        """The law answers for `q` and `qd`; otherwise as `_limited`."""
        law_kernel(model, law[:_INTEGRAL], q, qd, aim, law[_INTEGRAL], answer)
        return _limited(law, place, speed, memory, answer, flags)

    return answer_in_one_call


@helper
def _limited(law: Array, place: Array, speed: Array, memory: Array, answer: Array, flags: NDArray[np.uint8]) -> int:
    """Rows of `answer`, (6, n): the terms, each times its weight, and the command; all flags together."""
    fast = False
    for j in range(speed.shape[0]):
        for row in range(_COMMAND):
            weight = law[_WEIGHTS + row, j]
            if weight != 1.0:
                answer[row, j] = weight * answer[row, j] if weight != 0.0 else 0.0
        memory[effort_limiter.SUPPORT, j] = answer[GRAVITY, j]
        memory[effort_limiter.MOTION, j] = (
            answer[INERTIA, j] + answer[CORIOLIS, j] + answer[FRICTION, j] + answer[FEEDBACK, j]
        )
        memory[effort_limiter.POSITION, j], memory[effort_limiter.SPEED, j] = place[j], speed[j]
        fast |= abs(speed[j]) > OVERSPEED * memory[effort_limits.VELOCITY, j]
    together = limit_kernel(memory, law[_STEP, 0], True, 1.0, answer[_COMMAND], flags)
    return together | RUNAWAY if fast and together >= 0 else together


class QuickAnswer:
    """`Torques.tracking` and `EffortLimiter.limit` of an open arm in one call, without terms `compensated`."""

    def __init__(self, compiled: CompiledLaw, compensated: frozenset[str]) -> None:
        law, model, table = compiled
        n = table.shape[1]
        self._kernel = answer_kernel(law)
        self._base = (model if hasattr(model, "base") else model[0]).base.copy()
        self._model = on_base(model, self._base)
        self._law = np.zeros((_LAW_ROWS, n))
        self._step, self._shape = self._law[_STEP], (_ROWS, n)
        self._law[:_INTEGRAL] = table
        for row, name in enumerate(_TERMS, _WEIGHTS):
            self._law[row] = name not in compensated
        self._integral: Array | None = None
        self._feedback = 1.0
        self._flags = np.zeros(n, np.uint8)

    def move_base(self, base: Array) -> None:
        """How the base moves from now on, as `BaseMotion.packed` gives it; shape (12,)."""
        self._base[:] = base

    def answer(
        self, q: Array, qd: Array, reference: Reference, feedback: float, integral: Array, limiter: EffortLimiter,
        dt: float, place: Array, speed: Array,
    ) -> tuple[Array, Limited, bool]:
        """The answer at a state, (n,) each, `dt` after the last, s; limits hold at measured `place` and `speed`.

        Rows, (6, n), of the command's terms, in the order of `TorqueTerms`, and of what the limits leave of it; that as
        `Limited`; whether a joint is faster than `OVERSPEED` times its limit.
        """
        law = self._law
        self._step[0] = dt
        if integral is not self._integral:
            law[_INTEGRAL] = self._integral = integral
        if feedback != self._feedback:
            law[_WEIGHTS + FEEDBACK] = self._feedback = feedback
        answer, flags = _empty(self._shape), self._flags
        together = self._kernel(self._model, law, reference, q, qd, place, speed, limiter.memory, answer, flags)
        command, changed = answer[_COMMAND], together & ~RUNAWAY
        if together < 0:
            limiter.judge(together, dt, command, flags)  # raises
        # the memory of flags that are all zero is used again: it is never read
        limited = _new(Limited, (command, flags.copy() if changed else flags, changed != 0))
        return answer, limited, together >= RUNAWAY
