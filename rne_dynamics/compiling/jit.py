"""Decorators of kernels: functions that are compiled at their first call; without LLVM they stay plain Python."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rne_dynamics.advice import install
from rne_dynamics.compiling.objects import lie_as_expected
from rne_dynamics.compiling.processor import processor

F = TypeVar("F", bound=Callable[..., Any])
UNCOMPILED_TEXT = "{}: the dynamics kernels run as plain Python, about 200 times slower. To compile them: {}"

#: Environment variable: where it is set, kernels run as plain Python.
PLAIN = "RNE_DYNAMICS_PLAIN"


def _uncompiled() -> str:
    if os.environ.get(PLAIN):
        return UNCOMPILED_TEXT.format(f"{PLAIN} is set", "unset it")
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return UNCOMPILED_TEXT.format("llvmlite is not installed", install("llvmlite", "python3-llvmlite"))
    if processor() is None or not lie_as_expected():
        return UNCOMPILED_TEXT.format("this computer is none that kernels are compiled for", "see docs/install.md")
    return ""


#: Why kernels run as plain Python, and what to do; empty where they are compiled.
UNCOMPILED = _uncompiled()
#: True where kernels are compiled.
COMPILED = not UNCOMPILED
if UNCOMPILED:
    warnings.warn(UNCOMPILED, RuntimeWarning, stacklevel=2)


def kernel(function: F) -> F:
    """A function that Python calls, compiled once and kept on disk; see `Kernel`."""
    return _made(function)


def threaded_kernel(function: F) -> F:
    """As `kernel`, for long calls (loops over many states): other Python threads run meanwhile.

    Not for single states: releasing Python's lock costs time in every call, and another thread may then hold it
    for milliseconds.
    """
    return _made(function, releases_lock=True)


def rare_kernel(function: F) -> F:
    """As `kernel`, for what is called `apart` at rare events: compiled in 20 % of the time, up to 20 times slower."""
    return _made(function, rare=True)


def _made(function: F, **options: Any) -> F:
    if not COMPILED:
        return function
    from rne_dynamics.compiling.kernel import Kernel

    return cast("F", Kernel(function, **options))


def helper(function: F) -> F:
    """A function that only kernels and other helpers call: a part of each of them."""
    function.attributes = "alwaysinline"  # type: ignore[attr-defined]
    return function


def routine(function: F) -> F:
    """As `helper`, for long functions with several callers: called instead of inlined, which compiles faster."""
    function.attributes = ""  # type: ignore[attr-defined]
    return function
