"""The undocumented parts of numba that `compiling/` uses, and the versions they were tested with.

No other part of numba is used that is undocumented; `test/unit/compiling/test_numba_parts.py` checks that.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Versions of numba with which the tests of `compiling/` passed.
TESTED = ("0.58.1", "0.68.1")

#: Modules, classes and functions by their full name, and what they are used for.
IMPORTED: Mapping[str, str] = {
    "numba.core.caching._Cache": "what a dispatcher asks for machine code on disk; `KernelCache` implements it",
    "numba.core.codegen": "the library of a function's code, two steps of which `pipelines.py` leaves out",
    "numba.core.compiler": "numba's passes in their order",
    "numba.core.compiler.CompileResult": "a compiled kernel, which `_reduce` and `_rebuild` make bytes of and back",
    "numba.core.compiler_machinery": "lists of passes",
    "numba.core.environment": "the constants of compiled code, by name",
    "numba.core.event": "the events of compilation, which progress reports come from",
    "numba.core.runtime._nrt_python": "the addresses of numba's run-time functions, by name",
    "numba.core.runtime.nrt.rtsys": "numba's run-time functions, with those that it compiles",
    "numba.core.serialize.dumps": "pickling of a compiled kernel's types",
    "numba.core.typed_passes": "the pass that writes instructions for LLVM",
    "numba.np.arrayobj": "`populate_array` fills in an array that lies in the memory of another one",
}

#: Attributes of numba's objects, and what they are used for.
ATTRIBUTES: Mapping[str, str] = {
    "_cache": "of a dispatcher: its `KernelCache`",
    "_can_compile": "of a dispatcher: False refuses new argument types",
    "_compile_for_args": "of a dispatcher: what Python's calls lead to; that of a kernel without a wrapper refuses",
    "_defn": "of an intrinsic: the function that generates its code, for the fingerprint",
    "_final_module": "of a library: the functions outside it that its machine code calls",
    "_getvalue": "of an array in generated code: the array as a value",
    "_insert": "of a dispatcher: hands machine code for calls from Python to its C part",
    "_memo": "of Environment: the environments by name",
    "_rebuild": "of CompileResult: a kernel from what `_reduce` gave",
    "_reduce": "of CompileResult: what is pickled of a kernel",
    "_replace": "of CompileResult: the kernel without its annotated source",
    "has_dynamic_globals": "of a library: its machine code holds addresses of this process and is not kept",
    "magic_tuple": "of the code generator: the processor and its features",
    "targetoptions": "of a dispatcher: the options it was made with",
}

#: Options of `njit`, and what they are used for.
OPTIONS: Mapping[str, str] = {
    "_nrt": "False compiles without reference counts",
    "no_cfunc_wrapper": "leaves out what only C callers need",
    "no_cpython_wrapper": "leaves out what only Python callers need",
}


def incompatible(error: Exception) -> str:
    """Message for a numba in which one of these parts is missing."""
    import numba

    return (
        f"numba {numba.__version__} lacks an undocumented part that compiling needs ({error}); tested with numba "
        f"{' and '.join(TESTED)}. Install one of these versions, or set NUMBA_DISABLE_JIT=1 to run without compiling"
    )
