"""Machine code of straight-line programs on disk, in the kernels' folder."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from functools import cache
from pathlib import Path

from rne_dynamics.compiling.jit import COMPILED
from rne_dynamics.compiling.private_files import read_whole, write_whole

#: Files unused for this time, s, are deleted when a file is saved: every payload has a file of its own.
KEPT = 30 * 86400.0
_PATTERN = "straight_line-*.code"


def folders() -> tuple[Path, ...]:
    """Folders that kernels are read from."""
    if not COMPILED:
        return ()
    from rne_dynamics.compiling import kernel_cache

    return kernel_cache.folders()


def target() -> Path | None:
    """Folder that kernels are written to; `None`, after a warning, if there is none."""
    if not COMPILED:
        return None
    from rne_dynamics.compiling import kernel_cache

    return kernel_cache.target()


def load(key: str) -> bytes | None:
    """The content saved under a key; `None` if there is none, or if it was damaged or exchanged."""
    mark = key.encode()
    for place in folders():
        path = _path(place, key)
        content = read_whole(path)
        if content is not None and content.startswith(mark):
            with contextlib.suppress(OSError):  # a folder that can only be read
                os.utime(path)
            _show("loaded", path)
            return content[len(mark) :]
    return None


def save(key: str, payload: bytes) -> None:
    """Save `payload`; a failure causes one warning."""
    place = target()
    if place is None:
        return
    try:
        write_whole(_path(place, key), key.encode() + payload)
        _show("saved", _path(place, key))
        _sweep(place)
    except OSError as error:
        _warn_once(place, error.strerror)


def _show(what: str, path: Path) -> None:
    from rne_dynamics.compiling import kernel_cache

    kernel_cache.show_file(what, path)


def _sweep(place: Path) -> None:
    oldest = time.time() - KEPT
    for path in place.glob(_PATTERN):
        with contextlib.suppress(FileNotFoundError):  # another process was first
            if path.stat().st_mtime < oldest:
                path.unlink()


@cache
def _warn_once(place: Path, reason: str | None) -> None:
    warnings.warn(
        f"straight-line machine code cannot be kept in {place} ({reason}): it is compiled again in every process. "
        "Fix: set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=4,
    )


def _path(place: Path, key: str) -> Path:
    return place / _PATTERN.replace("*", key)
