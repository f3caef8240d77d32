"""What straight-line code is made from: a kernel, what it reads besides the state, and a sample state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rne_dynamics.model.inertia import Array


@dataclass(frozen=True, eq=False)
class Iteration:
    """What a kernel starts from and a fixed formula cannot give: the limit of a step that is repeated.

    Parameters
    ----------
    kernel
        ``kernel(*model, first, x, out)``: from the first input and a vector x the next one, and by how much it may
        change still; (rows, n), (rows, m) and (rows, m + 1). It returns 0, or another number to refuse the state.
    start
        The first x.
    sample, limit
        An x on the way, and the limit for the first input of the recipe's sample.
    settled
        Change after which x is the limit but for round-off: steps converge as those of Newton's method.
    most
        Number of steps after which the state is refused.
    """

    kernel: Callable[..., Any]
    start: Array
    sample: Array
    limit: Array
    settled: float
    most: int


@dataclass(frozen=True, eq=False)
class Columns:
    """A formula for each column of matrices: the last stage of a kernel, computed for several columns at once.

    The recipe's kernel has one matrix (n, n) more in its output than the recipe: what this stage shares.

    Parameters
    ----------
    kernel
        ``kernel(*model, shared, column, out)``: from a row of the shared matrix and a column of another one the same
        column of the answer; (rows, n²), (rows, n) and (rows, n). It makes no comparisons with them.
    model
        Its first arguments.
    matrices
        The number of matrices that it replaces, which are the first ones; the others are answers already.
    """

    kernel: Callable[..., Any]
    model: tuple[Any, ...]
    matrices: int


@dataclass(frozen=True, eq=False)
class Recipe:
    """A quantity of one robot, to be traced.

    Parameters
    ----------
    quantity, robot
        Their names.
    kernel
        ``kernel(*model, *inputs, *loads, out)`` fills `out` for rows of states, and returns −1 or the number of what
        moves no inertia, or nothing.
    model
        The first arguments: arrays and numbers.
    loads
        The last ones before the output.
    sample
        A generic state, a vector for each input: comparisons in the kernel come out the same for almost all states.
    shape
        Of the output for one state.
    iteration
        Makes a vector that the kernel takes before the inputs, if it needs one.
    instead
        Helpers of the kernel that are replaced by others, see `PlainKernels`.
    columns
        The last stage for matrices, if it has one.
    """

    quantity: str
    robot: str
    kernel: Callable[..., Any]
    model: tuple[Any, ...]
    loads: tuple[Array, ...]
    sample: tuple[Array, ...]
    shape: tuple[int, ...]
    iteration: Iteration | None = None
    instead: Mapping[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)
    columns: Columns | None = None

    @property
    def widths(self) -> tuple[int, ...]:
        """Numbers in a row of each input."""
        return tuple(len(vector) for vector in self.sample)
