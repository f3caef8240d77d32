"""Mesh files read by trimesh within limits of size, with the files that they name."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rne_dynamics.input_file import check_regular

#: Largest file, and content of a packed one, bytes: trimesh needs up to ten times that.
MOST_BYTES = 80_000_000
#: Formats with triangles of 8 bytes, where an STL has 50, and their largest file.
_DENSE, _MOST_DENSE = (".obj", ".off", ".ply"), 20_000_000
#: Packed formats; what others pack can be anything.
_PACKED, _REFUSED = (".3mf", ".zae"), (".zip", ".gz", ".bz2", ".xz", ".tar", ".7z")


def read_mesh(read: Callable[..., Any], path: Path, **options: Any) -> Any:
    """What a function of trimesh reads from a file.

    Raises
    ------
    OSError
        No regular file, or a large one; also one that it names, as its material or its picture.
    ValueError
        An archive. trimesh raises more of its own.
    """
    from trimesh.resolvers import FilePathResolver

    class Limited(FilePathResolver):  # type: ignore[misc, unused-ignore]
        """Files that a mesh names: regular, and of limited size."""

        def get(self, name: str) -> bytes:
            """Content of a file."""
            check_regular(path.parent / name.strip(), MOST_BYTES)
            content: bytes = super().get(name)
            return content

    ending = path.suffix.lower()
    check_regular(path, _MOST_DENSE if ending in _DENSE else MOST_BYTES)
    if ending in _REFUSED:
        raise ValueError("it is an archive; unpack it")
    if ending in _PACKED:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise ValueError(f"it unpacks to more than {MOST_BYTES // 1_000_000} MB")
    return read(str(path), resolver=Limited(str(path)), **options)
