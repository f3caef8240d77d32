"""Memory of a compiler that has done its work."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

#: In the file names of libraries that are needed only to compile, and in those of all.
COMPILER, LIBRARIES = "libllvmlite", ".so"
_DONT_NEED = 4


def drop_compiler_pages(libraries: str = COMPILER) -> int:
    """Take LLVM's instructions, some 60 MB, and what was freed out of this process's resident memory.

    With `LIBRARIES` the instructions of all libraries go. Returns the number of bytes that they may fill.

    They come back from the library's file, page by page, if they are executed again. Only on Linux; elsewhere, and
    where memory is locked, nothing happens.
    """
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "malloc_trim"):  # in glibc
        libc.malloc_trim(0)
    advise = libc.madvise
    advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    dropped = 0
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, access, *_, name = line.split(maxsplit=5)
        # instructions are never written to; other parts of a library may have been
        if access == "r-xp" and libraries in Path(name).name:
            first, end = (int(address, 16) for address in place.split("-"))
            if advise(first, end - first, _DONT_NEED) == 0:
                dropped += end - first
    return dropped
