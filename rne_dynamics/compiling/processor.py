"""The processor that machine code is made for."""

from __future__ import annotations

import hashlib
import pickle
import platform
import sys
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from rne_dynamics.compiling import store

try:
    import llvmlite
except ImportError:
    llvmlite = None

#: Kinds of computers that code is made for, by Linux's names.
_MACHINES = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm", "arm64": "arm"}
#: What lines of /proc/cpuinfo begin with that do not change.
_LASTING = ("vendor", "cpu family", "model", "stepping", "flags", "features", "cpu i", "cpu a", "cpu v", "cpu p")


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
    """The processor of this computer, kept on disk since asking loads LLVM; None without LLVM or if it is unknown."""
    kind = _MACHINES.get(platform.machine().lower())
    if sys.platform != "linux" or llvmlite is None or kind is None:
        return None
    described = f"{kind} {llvmlite_version()} {_described()}"
    name = f"processor-{hashlib.sha256(described.encode()).hexdigest()[:32]}"
    kept = store.load(name)
    if kept is not None:
        return Processor(*pickle.loads(kept))
    found = _asked(kind)
    store.save(name, pickle.dumps(astuple(found)))
    return found


def _asked(kind: str) -> Processor:
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    name, features = binding.get_host_cpu_name(), has.flatten()
    if kind == "arm":
        return Processor(name, features, 2)
    wide = all(has.get(feature) for feature in ("avx512f", "avx512dq", "avx512vl"))
    fused = bool(has.get("avx2") and has.get("fma"))
    return Processor(name, features, 8 if wide else 4 if fused else 2, fused)


def _described() -> list[str]:
    """What Linux says of the processors that stays the same."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return sorted({line for line in lines if line.lower().startswith(_LASTING)})


def llvmlite_version() -> str:
    """The version of the package llvmlite, which is installed."""
    return str(llvmlite.__version__)
