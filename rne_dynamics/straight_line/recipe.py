"""Inputs of straight-line code: a kernel, its arguments besides the state, and a sample state; its status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rne_dynamics.model.inertia import Array


@dataclass(frozen=True, eq=False)
class Iteration:
    """A step that is repeated until it converges, for start values that no fixed formula gives."""

    #: ``kernel(*model, first, x, out)``: from the first input and a vector x the next one, and by how much it may
    #: change still; (rows, n), (rows, m) and (rows, m + 1). It returns 0, or another number to refuse the state.
    kernel: Callable[..., Any]
    #: The first x.
    start: Array
    #: An x on the way, and the limit for the first input of the recipe's sample.
    sample: Array
    limit: Array
    #: Change after which x is the limit but for round-off: steps converge as those of Newton's method.
    settled: float
    #: Number of steps after which the state is refused.
    most: int


@dataclass(frozen=True, eq=False)
class Recipe:
    """A quantity of one robot, to be traced."""

    #: Their names.
    quantity: str
    robot: str
    #: ``kernel(*model, *inputs, out)`` fills `out` for rows of states, and returns −1 or the number of what
    #: moves no inertia, or nothing.
    kernel: Callable[..., Any]
    #: The first arguments: arrays and numbers.
    model: tuple[Any, ...]
    #: A generic state, a vector for each input: comparisons in the kernel come out the same for almost all states.
    sample: tuple[Array, ...]
    #: Of the output for one state.
    shape: tuple[int, ...]
    #: Makes a vector that the kernel takes before the inputs, if it needs one.
    iteration: Iteration | None = None
    #: Helpers of the kernel that are replaced by others, see `PlainKernels`.
    instead: Mapping[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)
    #: Of an output of matrices: whether the last one, negated, multiplies the others in the end.
    multiplies: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """Numbers in a row of each input."""
        return tuple(len(vector) for vector in self.sample)


#: As a sum: all inputs finite and every decision as in the sample; a number that is not finite; a comparison with
#: another outcome, or an angle too large for the sines. Then its outputs are not valid.
VALID, NOT_FINITE, REFUSED = 0, 1, 2
