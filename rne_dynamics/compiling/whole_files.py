"""Files that are read completely or not at all, despite concurrent writers and failing disks."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from functools import cache
from pathlib import Path

from rne_dynamics.compiling.private_files import distrust

_DIGEST = hashlib.sha256().digest_size


def read_whole(path: Path) -> bytes | None:
    """What `write_whole` wrote; None if the file is missing, truncated or changed.

    None too, with a warning, if another user may have written it (see `distrust`): a hash is no signature.
    """
    try:
        with path.open("rb") as file:
            why = distrust(os.fstat(file.fileno()))
            content = b"" if why else file.read()
    except OSError:
        return None
    if why:
        warn_of(f"{path} {why}")
        return None
    payload = content[_DIGEST:]
    return payload if hashlib.sha256(payload).digest() == content[:_DIGEST] else None


@cache
def warn_of(why: str) -> None:
    """Warn, once for each reason, that kernels on disk are not used."""
    warnings.warn(
        f"compiled kernels are not loaded, but compiled again: {why}; they are machine code, so only this user and "
        "root may write them. Correct the owner (chown) and the permissions (chmod go-w), or set NUMBA_CACHE_DIR to a "
        "folder of your own",
        RuntimeWarning,
        stacklevel=2,
    )


def write_whole(path: Path, payload: bytes) -> None:
    """Write a hash and the payload under another name, then rename, so that readers see the old file or the new one.

    Raises
    ------
    OSError
        The disk is full, or the folder cannot be written.
    """
    number, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
