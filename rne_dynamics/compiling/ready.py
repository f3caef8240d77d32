"""Whether a call of a kernel would have to compile it first."""

from __future__ import annotations

from typing import Any

from rne_dynamics.compiling.jit import COMPILED


def is_on_disk(kernel: Any, signature: str) -> bool:
    """Whether a kernel has been compiled before for a signature as numba reads it."""
    from numba.core import sigutils

    normalize: Any = sigutils.normalize_signature  # without types
    types, _ = normalize(signature)
    return bool(kernel._cache.has(types, kernel.targetctx))


def is_ready(kernel: Any, *arguments: Any) -> bool:
    """Whether a kernel is compiled for arguments like these, in this process or on disk; always without numba."""
    if not COMPILED:
        return True
    types = tuple(kernel.typeof_pyval(argument) for argument in arguments)
    return types in kernel.overloads or kernel._cache.has(types, kernel.targetctx)
