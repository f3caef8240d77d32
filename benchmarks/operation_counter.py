"""Multiplications and additions of a kernel, counted while it runs.

The kernel's own source is run as plain Python on counting numbers. Multiplications by stored constants 0, 1 or 2 count,
as they do for the processor. Changes of sign, copies and comparisons do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from operator import add, sub
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.plain import PlainKernels

_Arrays = TypeVar("_Arrays", bound=tuple[Any, ...])


@dataclass
class Operations:
    """Number of operations of each kind; subtractions count as additions."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    functions: int = 0  # sines, cosines, square roots

    @property
    def total(self) -> int:
        """Sum of all kinds."""
        return sum(astuple(self))

    def __add__(self, other: Operations) -> Operations:
        return Operations(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: Operations) -> Operations:
        return Operations(*map(sub, astuple(self), astuple(other)))


class OperationCounter:
    """Counting numbers, and kernels run on them: `operations` grows with every operation."""

    def __init__(self) -> None:
        self.operations = Operations()
        self._number = _counting_number(self.operations)
        self._plain = PlainKernels(self._functions(math.sqrt, math.cos, math.sin), lambda shape: self.zeros(*shape))

    def array(self, values: ArrayLike) -> Any:
        """The values as an object array of counting numbers."""
        plain = np.asarray(values, dtype=np.float64)
        out = np.empty(plain.shape, dtype=object)
        for index, value in np.ndenumerate(plain):
            out[index] = self._number(value)
        return out

    def zeros(self, *shape: int) -> Any:
        """An object array of counting zeros, for work arrays and results."""
        return self.array(np.zeros(shape))

    def arrays(self, fields: _Arrays) -> _Arrays:
        """A named tuple with its arrays of floats as arrays of counting numbers."""
        floats = (isinstance(x, np.ndarray) and x.dtype == np.float64 for x in fields)
        return type(fields)(*(self.array(x) if real else x for x, real in zip(fields, floats, strict=True)))

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Run a kernel as plain Python; floating arguments must come from `array` or `zeros`."""
        return self._plain(kernel)(*arguments)

    def _functions(self, *functions: Callable[[float], float]) -> dict[str, Callable[[float], float]]:
        def counted(function: Callable[[float], float]) -> Callable[[float], float]:
            def call(x: float) -> float:
                self.operations.functions += 1
                number: float = self._number(function(float(x)))
                return number

            return call

        return {function.__name__: counted(function) for function in functions}


def _counting_number(tally: Operations) -> type[float]:
    """A float type whose arithmetic is counted in `tally` and returns the same type."""

    class Counting(float):
        def __neg__(self) -> Counting:
            return Counting(float.__neg__(self))

        def __abs__(self) -> Counting:
            return Counting(float.__abs__(self))

    def counted(name: str, kind: str) -> Callable[[Any, Any], Any]:
        plain = getattr(float, name)

        def operation(self: Any, other: Any) -> Any:
            value = plain(float(self), float(other))
            setattr(tally, kind, getattr(tally, kind) + 1)
            return Counting(value)

        return operation

    for kind, names in (("additions", ("add", "sub")), ("multiplications", ("mul",)), ("divisions", ("truediv",))):
        for name in names:
            setattr(Counting, f"__{name}__", counted(f"__{name}__", kind))
            setattr(Counting, f"__r{name}__", counted(f"__r{name}__", kind))
    return Counting
