"""Whether a call of a kernel would have to compile it first."""

from __future__ import annotations

from typing import Any

from rne_dynamics.compiling.jit import COMPILED


def is_ready(kernel: Any, *arguments: Any) -> bool:
    """Whether a kernel is compiled for arguments like these, in this process or on disk; always without numba."""
    if not COMPILED:
        return True
    types = tuple(kernel.typeof_pyval(argument) for argument in arguments)
    return types in kernel.overloads or kernel._cache.has(types, kernel.targetctx)
