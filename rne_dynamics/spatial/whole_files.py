"""Files that are read whole or not at all, whoever writes them at the same time and however the disk fails."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST = hashlib.sha256().digest_size


def read_whole(path: Path) -> bytes | None:
    """What `write_whole` wrote; None where there is no file, or only a part of one, or one that was changed."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    payload = content[_DIGEST:]
    return payload if hashlib.sha256(payload).digest() == content[:_DIGEST] else None


def write_whole(path: Path, payload: bytes) -> None:
    """Write under another name, led by a hash, then rename: whoever reads finds all of it or what was there before.

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
