"""What numba does with a kernel, and with a part of kernels, without what neither needs.

numba makes machine code of every function, also of helpers, which are only called as parts of kernels; and while it
compiles, Python looks for garbage among millions of objects that are none. Without both, a first start takes a quarter
less.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import codegen as _codegen
from numba.core import compiler as _compiler
from numba.core import compiler_machinery as _machinery
from numba.core import typed_passes as _typed_passes

# numba is typed in parts
compiler: Any = _compiler
machinery: Any = _machinery
Compiler: Any = _compiler.CompilerBase
Library: Any = _codegen.JITCodeLibrary
Lowering: Any = _typed_passes.NativeLowering

#: New objects after which Python looks for garbage among them while a kernel is compiled; 700 otherwise.
_NEW_OBJECTS = 50_000
#: Passes for closures, and for several operations on whole arrays at once: no kernel has either.
_LEFT_OUT = ("inline_closure_likes", "nopython_rewrites")


@contextmanager
def rare_collections() -> Iterator[None]:
    """Within the context, Python looks for garbage less often, if at all."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], _NEW_OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Part(Library):  # type: ignore[misc]
    """A helper's code as LLVM's instructions only, which are optimised in its callers."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(Lowering):  # type: ignore[misc]
    """Writes a helper's instructions for LLVM; nothing to execute."""

    _name = "rne_dynamics_lower_part"

    def run_pass(self, state: Any) -> bool:
        library = state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]

        def part(*_arguments: Any) -> None:
            raise TypeError(f"{state.func_id.func_qualname} is a part of kernels: Python cannot call it")

        # callers find the instructions by this function
        state.targetctx.insert_user_function(part, lowered.fndesc, [library])
        state["cr"] = lowered._replace(cfunc=part)
        return True


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Compiles a kernel."""

    lowering = Lowering

    def define_pipelines(self) -> list[Any]:
        """numba's passes without `_LEFT_OUT`."""
        passes = machinery.PassManager("rne_dynamics")
        for each, description in compiler.DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if each._name not in _LEFT_OUT:
                passes.add_pass(self.lowering if each is Lowering else each, description)
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Any) -> Any:
        """As numba, with rare collections of garbage."""
        with rare_collections():
            return super().compile_extra(func)


class PartCompiler(KernelCompiler):
    """Prepares a helper for being compiled with its callers."""

    lowering = _LowerPart
