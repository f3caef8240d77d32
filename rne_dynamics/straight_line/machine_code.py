"""Machine code of straight-line programs for this processor, compiled by LLVM and stored on disk."""

from __future__ import annotations

import ctypes
import hashlib
import math
import platform
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.compiling.fingerprint import fingerprint
from rne_dynamics.model.inertia import Array
from rne_dynamics.straight_line import store
from rne_dynamics.straight_line.graph import LARGEST, Graph, TooLargeError
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.trace import Program, trace

try:
    import llvmlite
    import llvmlite.binding as llvm
except ImportError:  # it comes with numba
    llvm = None

#: Oldest LLVM that checks relocations and has the type `ptr`.
_OLDEST_LLVM = 20
#: What all machine code depends on besides the kernels: how they are traced and written.
_WRITERS = ("straight_line/*.py", "compiling/plain.py")
#: Largest relative error of the check: far above round-off, far below the error of damaged code.
_GROSS = 1e-6


@dataclass(frozen=True)
class Processor:
    """Target of compilation: LLVM's name and features, and doubles per vector register."""

    name: str
    features: str
    width: int


@dataclass(frozen=True)
class Form:
    """A kind of machine code.

    Parameters
    ----------
    name
        Part of the key.
    text
        LLVM assembly of a program for a number of doubles per register.
    symbols
        What it defines.
    largest
        Number of operations of a program, with those that no result needs, for which it is not made.
    """

    name: str
    text: Callable[[Program, Recipe, int], str]
    symbols: tuple[str, ...]
    largest: int = LARGEST


@dataclass(frozen=True, eq=False)
class Loaded:
    """Machine code in memory.

    Attributes
    ----------
    addresses
        Of its functions, by name.
    sample, expected
        The state that it was traced with, flat, and Python's answer to it.
    keep
        What the memory belongs to.
    """

    addresses: Mapping[str, int]
    sample: Array
    expected: Array
    keep: tuple[Any, ...]


@cache
def processor() -> Processor | None:
    """The processor of this computer; `None` without LLVM, without fused multiply-add, or on an unknown system."""
    if sys.platform != "linux" or llvm is None or llvm.llvm_version_info[0] < _OLDEST_LLVM:
        return None
    has = llvm.get_host_cpu_features()
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        if not (has.get("fma") and has.get("avx2")):
            return None
        wide = all(has.get(name) for name in ("avx512f", "avx512dq", "avx512vl"))
        return Processor(llvm.get_host_cpu_name(), has.flatten(), 8 if wide else 4)
    if machine in ("aarch64", "arm64"):
        return Processor(llvm.get_host_cpu_name(), has.flatten(), 2)
    return None


def machine_code(recipe: Recipe, form: Form, imports: Mapping[str, int] | None = None) -> Loaded | None:
    """Machine code, from disk or newly compiled; `None` if there is none.

    There is none on some computers (`processor`), for a joint that moves no inertia, and for no or too many joints
    (`Form.largest`). `imports` are addresses of what the code refers to.
    """
    target = processor()
    if target is None or not sum(recipe.widths) or not math.prod(recipe.shape):
        return None
    name = key(recipe, form, target)
    content = store.load(name)
    if content is None:
        content = _compiled(recipe, form, target)
        store.save(name, content)
    if not content:
        return None
    inputs = sum(recipe.widths)
    numbers = np.frombuffer(content, count=inputs + math.prod(recipe.shape))
    addresses, keep = load(content[numbers.nbytes :], target, form.symbols, imports or {})
    return Loaded(addresses, numbers[:inputs], numbers[inputs:], keep)


def is_compiled(recipe: Recipe, form: Form) -> bool:
    """Whether `machine_code` compiles nothing: what it gives is on disk, or there is none on this computer."""
    target = processor()
    return target is None or store.load(key(recipe, form, target)) is not None


def _compiled(recipe: Recipe, form: Form, target: Processor) -> bytes:
    """The sample state and its results in Python, followed by object code; empty if there is no program."""
    try:
        program = trace(recipe, lambda: Graph(form.largest))
    except TooLargeError:
        return b""
    if not program.regular:
        return b""
    sample = np.concatenate(recipe.sample)
    return sample.tobytes() + program.answer().tobytes() + object_code(form.text(program, recipe, target.width), target)


def is_right(found: Array, expected: Array) -> bool:
    """Whether an answer to the sample, or rows of it, equals Python's but for round-off."""
    return np.allclose(found, expected, rtol=0.0, atol=_GROSS * (np.abs(expected).max() + _GROSS))


def warn_of_wrong_code(recipe: Recipe) -> None:
    """Say that machine code is not used because it computes something else."""
    target = processor()
    warnings.warn(
        f"straight-line {recipe.quantity} of robot {recipe.robot!r} differs from its kernel: the general kernels "
        f"replace it. Please report it with the processor ({target and target.name}) and the versions of numba and "
        "llvmlite",
        RuntimeWarning,
        stacklevel=5,
    )


def object_code(text: str, target: Processor) -> bytes:
    """Compile without LLVM's optimization passes: the module is already optimized."""
    machine = _machine(target)
    module = llvm.parse_assembly(text)
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


def load(
    content: bytes, target: Processor, symbols: tuple[str, ...], imports: Mapping[str, int]
) -> tuple[Mapping[str, int], tuple[Any, ...]]:
    """Load object code: addresses of its symbols, and what its memory belongs to."""
    linker = llvm.create_lljit_compiler(_machine(target))
    builder = llvm.JITLibraryBuilder().add_object_img(content).add_current_process()
    for name, address in imports.items():
        builder.import_symbol(name, address)
    for name in symbols:
        builder.export_symbol(name)
    library = builder.link(linker, "straight_line")
    return {name: library[name] for name in symbols}, (library, linker)


def key(recipe: Recipe, form: Form, target: Processor) -> str:
    """Hash of everything that the machine code depends on."""
    digest = hashlib.sha256()
    kernel = f"{recipe.kernel.__module__}.{recipe.kernel.__qualname__}"
    named = (recipe.quantity, kernel, form.name, recipe.shape, recipe.axis, target, llvmlite.__version__)
    for part in (_sources(), repr(named), *map(fingerprint, _kernels(recipe))):
        digest.update(part.encode())
    _add((*recipe.model, *recipe.loads, *recipe.sample), digest.update)
    if recipe.iteration is not None:
        _add(tuple(vars(recipe.iteration).values())[1:], digest.update)
    if recipe.columns is not None:
        _add((*recipe.columns.model, recipe.columns.matrices), digest.update)
    return digest.hexdigest()[:32]


def _add(value: Any, update: Callable[[bytes], None]) -> None:
    """Add a number, an array or a tuple of these to a hash."""
    if isinstance(value, tuple):
        for part in value:
            _add(part, update)
    elif isinstance(value, np.ndarray):
        update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
    else:
        update(repr(value).encode())


def _kernels(recipe: Recipe) -> list[Callable[..., Any]]:
    """What is traced, with all that it calls (`fingerprint`)."""
    others = [stage.kernel for stage in (recipe.iteration, recipe.columns) if stage is not None]
    return [recipe.kernel, *others, *recipe.instead, *recipe.instead.values()]


@cache
def _sources() -> str:
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _WRITERS for path in package.glob(pattern)):
        digest.update(str(path.relative_to(package)).encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine(target: Processor) -> Any:
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.name, features=target.features, opt=3, reloc="pic", codemodel="small", jit=True
    )


def c_function(address: int, *arguments: Any, result: Any = None) -> Callable[..., Any]:
    """A function of these C types at an address. It does not hold Python's lock."""
    made: Callable[..., Any] = ctypes.CFUNCTYPE(result, *arguments)(address)
    return made
