"""Files that a user names, read within limits: no pipe or device that never ends, no bomb.

What a file is or holds that it must not is an `OSError` with a text, as that of a missing file, so that one handler
reports both. What it is for, and which format, is known by the callers.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

#: Most bytes of all arrays of one file: what reads them may copy them once within 1 GB.
MOST_ARRAYS = 400_000_000
#: Longest line of a table, characters.
LONGEST_LINE = 1_000_000
#: What zipfile and NumPy raise for archives and headers that are none.
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, TypeError, SyntaxError, TokenError)


def check_regular(path: str | Path, most: int | None = None) -> int:
    """Size of a regular file, bytes; `OSError` for another kind of file, or one of more than `most` bytes."""
    found = Path(path).stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device; give a file", str(path))
    if most is not None and found.st_size > most:
        raise _too_large(path, most)
    return found.st_size


def read_limited(path: str | Path, most: int) -> bytes:
    """Content of a regular file of at most `most` bytes; raises as `check_regular`."""
    check_regular(path)
    with open(path, "rb") as stream:  # noqa: PTH123
        data = stream.read(most + 1)
    if len(data) > most:
        raise _too_large(path, most)
    return data


def limited_lines(file: IO[str]) -> Iterator[str]:
    """The lines of a text file; `OSError` for one that is longer than `LONGEST_LINE`."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise OSError(errno.EFBIG, f"it has a line of more than {LONGEST_LINE} characters")
        yield line


def read_arrays(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Plain arrays of an ``.npz`` by name; `OSError`, also beyond `MOST_ARRAYS` bytes unpacked; `ValueError`."""
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MOST_ARRAYS:
                raise _too_large(path, MOST_ARRAYS, "unpacked ")
            found = {}
            for member in members:
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{member.filename} is compressed in another way than NumPy does")
                with archive.open(member) as stream:
                    found[member.filename.removesuffix(".npy")] = _array(stream, member)
    except _BROKEN as error:
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from None
    return found


def _array(stream: IO[bytes], member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array; its memory is that which the archive has for it, whatever its own header declares."""
    form = np.lib.format
    headers = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
    version = form.read_magic(stream)
    if version not in headers:
        raise ValueError(f"{member.filename} is of version {version}; 1.0 and 2.0 are read")
    shape, fortran, dtype = headers[version](stream)
    if dtype.hasobject:
        raise ValueError(f"{member.filename} holds objects; write arrays of numbers and texts")
    size, has = math.prod(shape) * dtype.itemsize, member.file_size - stream.tell()
    if size != has or min(shape, default=0) < 0:
        declared = f"{shape}, {size} bytes"[:120]
        raise ValueError(f"{member.filename} declares the shape {declared}; it has {has}")
    raw = stream.read(has)
    if len(raw) < size:
        raise EOFError(f"{member.filename} ends early")
    flat = np.frombuffer(raw, dtype) if size else np.empty(math.prod(shape), dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def _too_large(path: str | Path, most: int, how: str = "") -> OSError:
    amount = f"{most // 1_000_000} MB" if most >= 1_000_000 else f"{most // 1000} kB"
    return OSError(errno.EFBIG, f"it is {how}larger than {amount}", str(path))

