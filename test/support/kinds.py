"""How often kernels have been compiled or loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def kinds_of(kernel: Callable[..., Any]) -> int:
    """Number of combinations of kinds of arguments that a kernel has machine code for in this process."""
    return len(getattr(kernel, "loaded", ()))
