"""How kernels are compiled, and what happens where numba is missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from rne_dynamics.advice import install

F = TypeVar("F", bound=Callable[..., Any])
UNCOMPILED_TEXT = "{}: the dynamics kernels run as plain Python, about 200 times slower. To compile them: {}"

_njit: Callable[..., Any] | None = None
#: Why kernels run as plain Python, and what to do; empty where they are compiled.
UNCOMPILED = ""
try:
    from numba import config as _config
    from numba import njit as _njit

    if getattr(_config, "DISABLE_JIT", 0):  # njit returns the plain function then, without what a dispatcher has
        _njit = None
        UNCOMPILED = UNCOMPILED_TEXT.format("NUMBA_DISABLE_JIT is set", "unset it")
except ImportError:  # the kernels are ordinary Python too, only slow
    UNCOMPILED = UNCOMPILED_TEXT.format("numba is not installed", install("numba", "python3-numba"))
if _njit is None:
    warnings.warn(UNCOMPILED, RuntimeWarning, stacklevel=2)

#: True where kernels are compiled.
COMPILED: bool = _njit is not None

# 'contract' lets the compiler fuse multiply and add. Flags that assume away NaN or infinity are left
# out on purpose: the safety checks must still see them.
_FLAGS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


def kernel(function: F) -> F:
    """Compile an entry point (arrays in, arrays filled) once and keep the machine code on disk; see `KernelCache`."""
    return function if _njit is None else _entry(function)


def in_place_kernel(function: F) -> F:
    """As `kernel`, for functions that make no arrays: work memory and results come in as arguments.

    They are compiled without reference counts. Counting nine arrays up and down takes as long as a recursion over two
    joints, and a call from Python half of its time. numba refuses what makes an array in such a function ("NRT
    required"); an array that a helper made and returned would never be freed.
    """
    return function if _njit is None else _entry(function, _nrt=False)


def threaded_kernel(function: F) -> F:
    """As `kernel`, for long calls, loops over many states: other threads of Python run meanwhile.

    Not for single states: letting go of Python's lock costs every call a little, and another thread may then keep it
    for milliseconds.
    """
    return function if _njit is None else _entry(function, nogil=True)


def helper(function: F) -> F:
    """Compile a function that only kernels and other helpers call, as a part of each of them.

    Without the wrappers that Python needs to call it: they would take a third of the time that a first start
    spends compiling.
    """
    return function if _njit is None else _part(function)


def routine(function: F) -> F:
    """As `helper`, for long functions with several callers: called instead of inlined, which compiles faster."""
    return function if _njit is None else _part(function, forceinline=False)


def in_place_helper(function: F) -> F:
    """As `helper`, for long functions that make no arrays (`in_place_kernel`)."""
    return function if _njit is None else _part(function, _nrt=False)


def another(compiled: F) -> F:
    """A second dispatcher of a kernel, with the same options and the same machine code on disk."""
    options = {k: v for k, v in compiled.targetoptions.items() if k in ("_nrt", "nogil")}  # type: ignore[attr-defined]
    made: F = _entry(compiled.py_func, **options)  # type: ignore[attr-defined]
    return made


def _entry(function: F, **options: Any) -> F:
    from rne_dynamics.compiling.kernel_cache import KernelCache

    assert _njit is not None
    compiled: F = _njit(no_cfunc_wrapper=True, **options, **_FLAGS)(function)
    compiled._cache = KernelCache(compiled)  # type: ignore[attr-defined]  # numba has no public way
    return compiled


def _part(function: F, **options: Any) -> F:
    assert _njit is not None
    options = {"forceinline": True, **options, **_FLAGS}
    compiled: F = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    return compiled
