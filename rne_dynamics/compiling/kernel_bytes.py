"""Compiled kernels as bytes and back, without loading numba's compiler."""

from __future__ import annotations

import io
import pickle
from functools import cache
from typing import Any

from llvmlite.binding import add_symbol, address_of_symbol
from numba.core import environment
from numba.core.compiler import CompileResult
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

# numba is typed in parts
_serialized: Any = dumps
_compile_result: Any = CompileResult
_environment: Any = environment


def bytes_of(compiled: Any) -> bytes:
    """A compiled kernel as bytes."""
    # nothing reads the annotated source, and writing it takes as long as all the rest
    reduced = compiled._replace(type_annotation="")._reduce()
    module = compiled.library._final_module
    outside = [
        value.name for values in (module.functions, module.global_variables) for value in values
        if value.is_declaration and not value.name.startswith("llvm.")
    ]
    payload: bytes = _serialized((outside, reduced))
    return payload


class _Unpickler(pickle.Unpickler):
    """Leaves numba's own modules alone: their functions in a kernel are machine code already.

    numba imports the modules of all functions that a kernel was compiled from, `numba.np.arrayobj` where it allocates
    an array: 50 ms. Compiled code reads constants of these environments, never their modules' names.
    """

    def find_class(self, module: str, name: str) -> Any:
        return _rebuilt if name == "_rebuild_env" else super().find_class(module, name)


def _rebuilt(module: str, constants: list[Any], name: str) -> Any:
    """As numba's `_rebuild_env`, without importing the module."""
    found = _environment.lookup_environment(name)
    if found is None:
        found = _environment.Environment({"__name__": module})
        found.consts[:], found.env_name = constants, name
        _environment.Environment._memo[name] = found
    return found


def kernel_of(payload: bytes, target_context: Any) -> Any:
    """A compiled kernel from `bytes_of`."""
    outside, reduced = _Unpickler(io.BytesIO(payload)).load()
    # numba would load its whole compiler here, and scipy with it: 0.45 s. Machine code needs the addresses of the
    # functions it calls; the compiler is loaded only if one of them is unknown.
    if any(address_of_symbol(name) is None for name in outside):
        _know_runtime()
        if any(address_of_symbol(name) is None for name in outside):
            rtsys.initialize(target_context)
            target_context.refresh()
    return _compile_result._rebuild(target_context, *reduced)


@cache
def _know_runtime() -> None:
    """Make the functions of numba's runtime known by name, as `rtsys.initialize` does before it compiles for 25 ms."""
    for name, address in _nrt_python.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
