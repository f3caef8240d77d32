"""Machine code for one quantity of one robot on this processor: compiled by LLVM, kept on disk, loaded."""

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

from rne_dynamics.model.robot import RobotModel
from rne_dynamics.straight_line import store
from rne_dynamics.straight_line.graph import TooLargeError
from rne_dynamics.straight_line.quantities import Quantity, row_shape, widths
from rne_dynamics.straight_line.trace import Program, trace
from rne_dynamics.straight_line.vector_ir import module_text

try:
    import llvmlite
    import llvmlite.binding as llvm
except ImportError:  # it comes with numba
    llvm = None

#: Where relocations are checked and `ptr` is a type.
_OLDEST_LLVM = 20
#: Rooms whose sources decide what is compiled.
_ROOMS = ("straight_line", "dynamics", "spatial", "model", "compiling")
#: Round-off is far smaller, whatever a forward dynamics' condition; damaged code is not.
_GROSS = 1e-6


@dataclass(frozen=True, eq=False)
class MachineCode:
    """A loaded function.

    Attributes
    ----------
    run
        ``run(rows, *arguments, out, refused)``: addresses of row-major arrays of doubles, and of one byte a row, set
        where the row's answer does not count. It holds no lock of Python's.
    """

    run: Callable[..., None]
    _keep: tuple[Any, ...]  # the memory that it lies in


@dataclass(frozen=True)
class Processor:
    """What is compiled for: name and features as LLVM has them, doubles in a vector register."""

    name: str
    features: str
    width: int


@cache
def processor() -> Processor | None:
    """This machine's; `None` where there is no LLVM, no fused multiplication and addition, or no system known here."""
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


def machine_code(robot: RobotModel, quantity: Quantity) -> MachineCode | None:
    """Straight-line code, from disk or compiled now; `None` where this machine or the kernel offers none.

    The kernel offers none where it finds a joint that moves no inertia, where there are no joints, or too many (some
    fifty, thirty for the mass matrix of a chain).
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


def _compiled(robot: RobotModel, quantity: Quantity, target: Processor) -> bytes:
    """The sample state and what Python makes of it, then the object code; nothing where there is no program."""
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


def _proven(robot: RobotModel, quantity: Quantity, target: Processor, content: bytes) -> MachineCode | None:
    """The function, if it makes of the sample in every lane what Python made of it."""
    sizes = widths(robot, quantity)
    inputs, results = sum(sizes), math.prod(row_shape(robot, quantity))
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
        f"straight-line {quantity} of robot {robot.name!r} does not compute what it was made from: the general "
        f"kernels take its place. Please report it, with the processor ({target.name}) and the versions of numba and "
        "llvmlite",
        RuntimeWarning,
        stacklevel=4,
    )
    return None


def object_code(program: Program, target: Processor) -> bytes:
    """Compile. LLVM's passes over the module are left out: it is written as they would leave it."""
    machine = _machine(target)
    module = llvm.parse_assembly(module_text(program, target.width))
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


def loaded(content: bytes, target: Processor, arguments: int) -> MachineCode:
    """Object code as a function."""
    linker = llvm.create_lljit_compiler(_machine(target))
    builder = llvm.JITLibraryBuilder().add_object_img(content).add_current_process().export_symbol("run")
    library = builder.link(linker, "straight_line")
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (arguments + 2))
    return MachineCode(kind(library["run"]), (library, linker))


def key(robot: RobotModel, quantity: Quantity, target: Processor) -> str:
    """A name that is another one wherever the machine code would be."""
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


def source_files() -> tuple[Path, ...]:
    """The files that the machine code depends on."""
    package = Path(__file__).resolve().parents[1]
    return tuple(path for folder in _ROOMS for path in sorted((package / folder).rglob("*.py")))


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine(target: Processor) -> Any:
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.name, features=target.features, opt=3, reloc="pic", codemodel="small", jit=True
    )
