"""How kernels are compiled, and what happens where numba is missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_njit: Callable[..., Any] | None = None
try:
    from numba import njit as _njit
except ImportError:  # the kernels are ordinary Python too, only slow
    warnings.warn(
        "numba is not installed: the dynamics kernels run as plain Python, about 200 times slower. "
        "Mend: pip install numba",
        RuntimeWarning,
        stacklevel=2,
    )

#: True where kernels are compiled.
COMPILED: bool = _njit is not None

# 'contract' lets the compiler fuse multiply and add. Flags that assume away NaN or infinity are left
# out on purpose: the safety checks must still see them.
_FLAGS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


def kernel(function: F) -> F:
    """Compile an entry point (arrays in, arrays filled) once and keep the machine code on disk; see `KernelCache`."""
    if _njit is None:
        return function
    from rne_dynamics.spatial.kernel_cache import KernelCache

    compiled: F = _njit(no_cfunc_wrapper=True, **_FLAGS)(function)
    compiled._cache = KernelCache(compiled)  # type: ignore[attr-defined]  # numba has no public way
    return compiled


def helper(function: F) -> F:
    """Compile a function that only kernels and other helpers call.

    Without the wrappers that Python needs to call it: they would take a third of the time that a first start
    spends compiling.
    """
    if _njit is None:
        return function
    compiled: F = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_FLAGS)(function)
    return compiled
