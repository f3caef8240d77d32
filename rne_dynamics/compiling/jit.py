"""Decorators that compile kernels with numba; without numba the kernels stay plain Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

from rne_dynamics.advice import install
from rne_dynamics.compiling.numba_parts import incompatible
from rne_dynamics.errors import MissingDependencyError

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

# 'contract' allows fused multiply-add. Flags that assume that there is no NaN or infinity are left out: the safety
# checks must see them.
_FLAGS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


def kernel(function: F) -> F:
    """Compile a function that Python calls, once, and keep the machine code on disk; see `KernelCache`."""
    return function if _njit is None else _entry(function)


def in_place_kernel(function: F) -> F:
    """As `kernel`, for functions that allocate no arrays: work memory and results are arguments.

    They are compiled without reference counts. Counting references of nine arrays takes as long as a recursion over
    two joints, and half of a call from Python. numba refuses to allocate an array in such a function ("NRT
    required"); an array that a helper allocated and returned would never be freed.
    """
    return function if _njit is None else _entry(function, _nrt=False)


def separate_kernel(function: F) -> F:
    """As `in_place_kernel`, for functions that only compiled code calls, by `apart`.

    Without the wrapper for calls from Python, as a `helper`; such a call is a TypeError.
    """
    if _njit is None:
        return function
    compiled: Any = _entry(function, _nrt=False, no_cpython_wrapper=True)

    def refuse(*_arguments: Any, **_named: Any) -> None:
        raise TypeError(f"{function.__module__}.{function.__name__} can be called by compiled code only: see `apart`")

    compiled._compile_for_args = refuse
    return cast("F", _without_address(compiled))


def inlined_kernel(function: F) -> F:
    """As `in_place_kernel`, for short functions that users' compiled code calls: a part of it, as a `helper` is."""
    return function if _njit is None else _entry(function, _nrt=False, forceinline=True)


def threaded_kernel(function: F) -> F:
    """As `kernel`, for long calls (loops over many states): other Python threads run meanwhile.

    Not for single states: releasing Python's lock costs time in every call, and another thread may then hold it
    for milliseconds.
    """
    return function if _njit is None else _entry(function, nogil=True)


def helper(function: F) -> F:
    """Compile a function that only kernels and other helpers call, as a part of each of them.

    It has neither a wrapper for calls from Python nor machine code of its own: `pipelines.PartCompiler`.
    """
    return function if _njit is None else _part(function)


def routine(function: F) -> F:
    """As `helper`, for long functions with several callers: called instead of inlined, which compiles faster."""
    return function if _njit is None else _part(function, forceinline=False)


def in_place_routine(function: F) -> F:
    """As `routine`, for functions that allocate no arrays (`in_place_kernel`)."""
    return function if _njit is None else _part(function, _nrt=False, forceinline=False)


def in_place_helper(function: F) -> F:
    """As `helper`, for long functions that allocate no arrays (`in_place_kernel`)."""
    return function if _njit is None else _part(function, _nrt=False)


def another(compiled: F) -> F:
    """A second dispatcher of a kernel, with the same options and machine code."""
    options = {k: v for k, v in compiled.targetoptions.items() if k in ("_nrt", "nogil")}  # type: ignore[attr-defined]
    made: F = _entry(compiled.py_func, **options)  # type: ignore[attr-defined]
    return made


def _entry(function: F, **options: Any) -> F:
    pipelines, kernel_cache = _with_numba("pipelines"), _with_numba("kernel_cache")
    compiled: F = _compiled(function, pipelines.KernelCompiler, **options)
    compiled._cache = kernel_cache.KernelCache(compiled)  # type: ignore[attr-defined]
    return compiled


def _part(function: F, **options: Any) -> F:
    options = {"forceinline": True, "no_cpython_wrapper": True, **options}
    return _without_address(_compiled(function, _with_numba("pipelines").PartCompiler, **options))


def _compiled(function: F, compiler: Any, **options: Any) -> F:
    assert _njit is not None
    made: F = _njit(no_cfunc_wrapper=True, pipeline_class=compiler, **options, **_FLAGS)(function)
    return made


def _with_numba(name: str) -> Any:
    """A module of this package that needs undocumented parts of numba; `MissingDependencyError` if one is missing."""
    try:
        return import_module(f"rne_dynamics.compiling.{name}")
    except ImportError as error:
        raise MissingDependencyError(incompatible(error)) from error


def _without_address(compiled: F) -> F:
    """A dispatcher of what Python cannot call: numba would otherwise call an address that there is not."""
    compiled._insert = lambda *_arguments, **_named: None  # type: ignore[attr-defined]
    return compiled
