"""Description of the computer, and pinning to one core."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rne_dynamics.compiling.jit import COMPILED

#: Packages whose versions are in reports, by their names for pip.
PACKAGES = ("numpy", "llvmlite", "pin", "mujoco")


def cores() -> tuple[int, ...]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def description() -> dict[str, Any]:
    """Processor, cores, load, Python and packages."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return {
        "cpu": _cpu(),
        "cores": len(cores()),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiled": COMPILED,
        "packages": found,
    }


def _cpu() -> str:
    with contextlib.suppress(OSError):
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
        if match:
            return " ".join(match[1].split())
    return platform.processor() or "unknown"


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Within the context, pin the calling thread to one core if the system allows it.

    Threads that start inside are pinned too: start them before.
    """
    allowed = cores()
    if not hasattr(os, "sched_setaffinity") or len(allowed) == 1:
        yield
        return
    try:
        os.sched_setaffinity(0, {allowed[-1]})
    except OSError:  # not permitted: run without pinning
        yield
        return
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
