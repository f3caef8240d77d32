"""LLVM: the processor, assembly to object code, object code to addresses."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

try:
    import llvmlite
    import llvmlite.binding as llvm
except ImportError:
    llvm = None

#: First LLVM whose assembly has the type `ptr` by itself, and first one whose linker lets nothing lie too far away.
_POINTERS, _LINKS_FAR = 15, 20

#: LLVM's passes where it has no other choice than a few lists of them, which read the types of pointers.
_INLINING, _PASSES = 275, """
sroa cfg_simplification instruction_combining reassociate_expressions loop_rotate licm cfg_simplification
instruction_combining loop_deletion loop_unroll sroa gvn memcpy_optimization sccp instruction_combining
dead_store_elimination licm aggressive_dead_code_elimination cfg_simplification instruction_combining
"""


#: Libraries of one linker need different names.
_NUMBERS = count()


@dataclass(frozen=True)
class Processor:
    """Target of compilation: LLVM's name and features, and doubles per vector register."""

    name: str
    features: str
    width: int
    #: Whether it rounds a product and a sum once, in one instruction.
    fused: bool = True


@cache
def processor() -> Processor | None:
    """The processor of this computer; None without LLVM or on an unknown system."""
    if sys.platform != "linux" or llvm is None:
        return None
    has = llvm.get_host_cpu_features()
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        wide = all(has.get(name) for name in ("avx512f", "avx512dq", "avx512vl"))
        fused = bool(has.get("avx2") and has.get("fma"))
        return Processor(llvm.get_host_cpu_name(), has.flatten(), 8 if wide else 4 if fused else 2, fused)
    if machine in ("aarch64", "arm64"):
        return Processor(llvm.get_host_cpu_name(), has.flatten(), 2)
    return None


@cache
def _context() -> Any:
    """LLVM context for assembly, with the type `ptr`; that of other libraries stays as it is."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if llvm.llvm_version_info[0] < _POINTERS:
        llvm.parse_assembly("declare void @typed(i8*)")  # decides the matter for the context of all others
        llvm.set_option("rne_dynamics", "-opaque-pointers")
    if hasattr(llvm.context, "opaque_pointers_enabled"):  # llvmlite 0.44 chooses for each context
        return llvm.context.ContextRef(llvm.ffi.lib.LLVMPY_ContextCreate(True))
    return llvm.create_context()


@cache
def _machine(target: Processor, level: int = 3) -> Any:
    near = llvm.llvm_version_info[0] >= _LINKS_FAR
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.name, features=target.features, opt=level, jit=True,
        reloc="pic" if near else "static", codemodel="small" if near else "large",
    )  # fmt: skip


def object_code(text: str, target: Processor, *, optimised: bool, rare: bool = False) -> bytes:
    """Compile LLVM assembly, with LLVM's passes or, where it is optimal as it is, without.

    What is `rare` takes LLVM 20 % of the time, and runs up to 20 times slower.
    """
    module = llvm.parse_assembly(text, context=_context())
    module.verify()
    machine = _machine(target, 0 if rare else 3)
    if optimised:
        _optimise(module, machine, rare)
    code: bytes = machine.emit_object(module)
    return code


def _optimise(module: Any, machine: Any, rare: bool) -> None:
    if hasattr(llvm, "create_pass_builder"):
        # without optimisation LLVM only makes helpers a part of their callers; its passes of whole modules are for the
        # functions that several others call, of which there are few here: they take half of its time and gain 5 to 10 %
        inliner, builder = _builder(machine, 0), _builder(machine, 1)
        inliner.getModulePassManager().run(module, inliner)
        passes = builder.getFunctionPassManager()
        if rare and hasattr(passes, "add_sroa_pass"):
            passes = llvm.create_new_function_pass_manager()
            for name in ("sroa", "instruction_combine", "simplify_cfg"):
                getattr(passes, f"add_{name}_pass")()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
        return
    passes = llvm.create_module_pass_manager()
    machine.add_analysis_passes(passes)
    passes.add_function_inlining_pass(_INLINING)
    for name in _PASSES.split()[: 3 if rare else None]:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module)


def _builder(machine: Any, level: int) -> Any:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    # loops over joints are short: copies of them take LLVM a third of its time and save none
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    return llvm.create_pass_builder(machine, options)


@cache
def _linker() -> Any:
    target = processor()
    assert target is not None
    _context()
    return llvm.create_lljit_compiler(_machine(target))


def load(
    content: bytes, name: str, symbols: Sequence[str], imports: Mapping[str, int]
) -> tuple[Mapping[str, int], Any]:
    """Load object code: addresses of its symbols, and what its memory belongs to. The name is for debugging.

    One linker for all takes 0.2 ms for each; one for each takes 0.6 ms.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(content).add_current_process()
    for symbol, address in imports.items():
        builder.import_symbol(symbol, address)
    for symbol in symbols:
        builder.export_symbol(symbol)
    library = builder.link(_linker(), f"{name} {next(_NUMBERS)}")
    return {symbol: library[symbol] for symbol in symbols}, library


def c_function(address: int, *arguments: Any, result: Any = None) -> Callable[..., Any]:
    """A function of these C types at an address. It does not hold Python's lock."""
    made: Callable[..., Any] = ctypes.CFUNCTYPE(result, *arguments)(address)
    return made


def llvmlite_version() -> str:
    """The version of the package llvmlite, which is installed."""
    return str(llvmlite.__version__)
