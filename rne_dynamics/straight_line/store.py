"""Files of machine code that survive the process: whole or not at all, and never another one's."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from functools import cache
from pathlib import Path

from rne_dynamics.spatial.jit import COMPILED

_DIGEST = hashlib.sha256().digest_size


def folders() -> tuple[Path, ...]:
    """Where kernels are looked for."""
    if not COMPILED:
        return ()
    from rne_dynamics.spatial import kernel_cache

    return kernel_cache.folders()


def target() -> Path | None:
    """Where compiled kernels are kept; `None`, which has been said, where they cannot be."""
    if not COMPILED:
        return None
    from rne_dynamics.spatial import kernel_cache

    return kernel_cache.target()


def load(key: str) -> bytes | None:
    """What was saved under a key; `None` where nothing was, or only a part or something else has come down."""
    for place in folders():
        try:
            content = _path(place, key).read_bytes()
        except OSError:
            continue
        payload = content[_DIGEST:]
        if content[:_DIGEST] == _digest(key, payload):
            return payload
    return None


def save(key: str, payload: bytes) -> None:
    """Keep `payload`; where that cannot be, say so once and go on."""
    place = target()
    if place is None:
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".straight_line-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(key, payload) + payload)
            Path(temporary).replace(_path(place, key))  # whoever reads at the same time sees the old file or the new
        except OSError:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        _say_once(place, error.strerror)


@cache
def _say_once(place: Path, reason: str | None) -> None:
    warnings.warn(
        f"straight-line machine code cannot be kept in {place} ({reason}): it is compiled anew in every process. "
        "Mend: set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=4,
    )


def _path(place: Path, key: str) -> Path:
    return place / f"straight_line-{key}.o"


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + payload).digest()
