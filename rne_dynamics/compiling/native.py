"""LLVM: assembly to object code. Only what compiles imports this file, since LLVM takes 100 MB of memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

from rne_dynamics.compiling.processor import Processor

#: First LLVM whose assembly has the type `ptr` by itself.
_POINTERS = 15

#: LLVM's passes where it has no other choice than a few lists of them, which read the types of pointers.
_INLINING, _PASSES = 275, """
sroa cfg_simplification instruction_combining reassociate_expressions loop_rotate licm cfg_simplification
instruction_combining loop_deletion loop_unroll sroa gvn memcpy_optimization sccp instruction_combining
dead_store_elimination licm aggressive_dead_code_elimination cfg_simplification instruction_combining
"""


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
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.name, features=target.features, opt=level, reloc="pic", codemodel="small"
    )


def object_code(text: str, target: Processor, *, optimised: bool, rare: bool = False) -> bytes:
    """Compile LLVM assembly, with LLVM's passes or without; `rare`: in 20 % of the time, up to 20 times slower."""
    module = llvm.parse_assembly(text, context=_context())
    module.verify()
    machine = _machine(target, 0 if rare else 3)
    if optimised:
        _optimise(module, machine, rare)
    return bytes(machine.emit_object(module))


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
