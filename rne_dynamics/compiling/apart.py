"""Calls of kernels whose machine code is made once, and not in each of their callers.

A kernel that is called is compiled as a part of its caller; one that is called apart is compiled by itself and kept on
disk like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from rne_dynamics.compiling.kinds import kind_of

if TYPE_CHECKING:
    from rne_dynamics.compiling.expressions import Expressions

R = TypeVar("R")


class _Apart:
    """`apart(kernel, arguments)`: a call of a `kernel` with a tuple of arguments."""

    def __call__(self, kernel: Callable[..., R], arguments: tuple[Any, ...]) -> R:
        return kernel(*arguments)

    @staticmethod
    def in_code(code: Expressions, kernel: Any, arguments: tuple[Any, ...]) -> Any:
        """The call from compiled code."""
        return code.called_apart(kernel, arguments, tuple(map(kind_of, arguments)))


apart = _Apart()
