"""What straight-line code is made from: a kernel, what it reads besides the state, and a sample state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rne_dynamics.model.inertia import Array


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
    axis
        Of the output that counts the states: 0, or 1 for an output in parts.
    """

    quantity: str
    robot: str
    kernel: Callable[..., Any]
    model: tuple[Any, ...]
    loads: tuple[Array, ...]
    sample: tuple[Array, ...]
    shape: tuple[int, ...]
    axis: int = 0

    @property
    def widths(self) -> tuple[int, ...]:
        """Numbers in a row of each input."""
        return tuple(len(vector) for vector in self.sample)
