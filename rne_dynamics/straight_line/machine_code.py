"""Machine code of one quantity of one robot for this processor, compiled by LLVM and stored on disk."""

from __future__ import annotations

import ctypes
import hashlib
import math
import platform
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rne_dynamics.dynamics.quantities import batched
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line import store
from rne_dynamics.straight_line.graph import TooLargeError
from rne_dynamics.straight_line.trace import Program, trace
from rne_dynamics.straight_line.vector_ir import module_text

try:
    import llvmlite
    import llvmlite.binding as llvm
except ImportError:  # it comes with numba
    llvm = None

#: Oldest LLVM that checks relocations and has the type `ptr`.
_OLDEST_LLVM = 20
#: Packages whose sources the machine code depends on.
_PACKAGES = ("straight_line", "dynamics", "spatial", "model", "compiling")
#: Largest relative error of the check: far above round-off, far below the error of damaged code.
_GROSS = 1e-6


@dataclass(frozen=True, eq=False)
class MachineCode:
    """A loaded function.

    Attributes
    ----------
    run
        ``run(rows, *arguments, out, refused)``: addresses of row-major arrays of doubles, and of one byte per row,
        which is set if the row's result is invalid. It does not hold Python's lock.
    """

    run: Callable[..., None]
    _keep: tuple[Any, ...]  # keeps its memory alive


@dataclass(frozen=True)
class Processor:
    """Target of compilation: LLVM's name and features, and doubles per vector register."""

    name: str
    features: str
    width: int


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


def machine_code(robot: RobotModel, quantity: str) -> MachineCode | None:
    """Straight-line code, from disk or newly compiled; `None` if there is none.

    There is none on some computers (`processor`), for a joint that moves no inertia, and for no or too many joints
    (about 50, for the mass matrix of a chain 30).
    """
    target = processor()
    if target is None or robot.n == 0:
        return None
    name = key(robot, quantity, target)
    content = store.load(name)
    if content is None:
        content = _compiled(robot, quantity, target)
        store.save(name, content)
    return _proven(robot, quantity, target, content) if content else None


def _compiled(robot: RobotModel, quantity: str, target: Processor) -> bytes:
    """The sample state and its results in Python, followed by object code; empty if there is no program."""
    try:
        program = trace(robot, quantity)
    except TooLargeError:
        return b""
    if not program.regular:
        return b""
    graph = program.graph
    sample = [value for node, value in zip(graph.nodes, graph.values, strict=True) if node.name == "input"]
    numbers = np.array([*sample, *(graph.values[x] for x in program.results)])
    return numbers.tobytes() + object_code(program, target)


def _proven(robot: RobotModel, quantity: str, target: Processor, content: bytes) -> MachineCode | None:
    """The function, if its results for the sample equal Python's in every lane."""
    declared = batched()[quantity]
    sizes = declared.widths(robot)
    inputs, results = sum(sizes), math.prod(declared.shape(robot))
    numbers = np.frombuffer(content, count=inputs + results)
    code = loaded(content[numbers.nbytes :], target, len(sizes))
    rows = target.width + 1
    arguments = [np.tile(part, (rows, 1)) for part in np.split(numbers[:inputs], np.cumsum(sizes)[:-1])]
    out, refused = np.empty((rows, results)), np.empty(rows, dtype=np.uint8)
    code.run(rows, *(array.ctypes.data for array in (*arguments, out)), refused.ctypes.data)
    expected = numbers[inputs:]
    if not refused.any() and np.allclose(out, expected, rtol=0.0, atol=_GROSS * (np.abs(expected).max() + _GROSS)):
        return code
    warnings.warn(
        f"straight-line {quantity} of robot {robot.name!r} differs from its kernel: the general kernels replace it. "
        f"Please report it with the processor ({target.name}) and the versions of numba and llvmlite",
        RuntimeWarning,
        stacklevel=4,
    )
    return None


def object_code(program: Program, target: Processor) -> bytes:
    """Compile without LLVM's optimization passes: the module is already optimized."""
    machine = _machine(target)
    module = llvm.parse_assembly(module_text(program, target.width))
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


def loaded(content: bytes, target: Processor, arguments: int) -> MachineCode:
    """Load object code as a function."""
    linker = llvm.create_lljit_compiler(_machine(target))
    builder = llvm.JITLibraryBuilder().add_object_img(content).add_current_process().export_symbol("run")
    library = builder.link(linker, "straight_line")
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (arguments + 2))
    return MachineCode(kind(library["run"]), (library, linker))


def key(robot: RobotModel, quantity: str, target: Processor) -> str:
    """Hash of everything that the machine code depends on."""
    digest = hashlib.sha256()
    for part in (_sources(), repr((quantity, robot.nq, robot.n, target, llvmlite.__version__))):
        digest.update(part.encode())
    for array in (robot.topology, robot.parameters, robot.gravity):
        digest.update(repr(array.shape).encode() + array.tobytes())
    return digest.hexdigest()[:32]


@cache
def _sources() -> str:
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in source_files():
        digest.update(str(path.relative_to(package)).encode() + path.read_bytes())
    return digest.hexdigest()


def source_files() -> list[Path]:
    """Files whose content is part of the key, those in subpackages included."""
    package = Path(__file__).resolve().parents[1]
    return [path for name in _PACKAGES for path in sorted((package / name).rglob("*.py"))]


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine(target: Processor) -> Any:
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.name, features=target.features, opt=3, reloc="pic", codemodel="small", jit=True
    )
