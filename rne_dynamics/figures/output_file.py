"""Output options of all commands, checked before any work begins: formats, folders, permissions, matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rne_dynamics.advice import install
from rne_dynamics.errors import ArgumentError, MissingDependencyError

#: Formats of figures: bitmap, vector graphics.
FIGURES = (".png", ".svg", ".pdf")


def output_file(path: str | Path, formats: Sequence[str], option: str) -> Path:
    """The path of a file to write, of an allowed ending (any if empty); `ArgumentError` names the `option`."""
    file, said = Path(path), f"{option} is {str(path)!r}"
    if not str(path) or not file.name:
        raise ArgumentError(f"{said}; name a file")
    if formats and file.suffix.lower() not in formats:
        wanted = formats[0] if len(formats) == 1 else f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise ArgumentError(f"{said}; its ending must be {wanted}")
    if file.is_dir():
        raise ArgumentError(f"{said}, which is a folder; name a file in it")
    if file.exists() and not os.access(file, os.W_OK):
        raise ArgumentError(f"{said}, a file that this user cannot write; name another")
    _check_folder(file.parent, said)
    return file


def output_folder(path: str | Path, option: str) -> Path:
    """The path of a folder to write files to, made later if only it itself is missing; raises as `output_file`."""
    folder = Path(path)
    _check_folder(folder if os.path.lexists(folder) else folder.parent, f"{option} is {str(path)!r}")
    return folder


def figure_file(path: str | Path, option: str = "--plot", formats: Sequence[str] = FIGURES) -> Path:
    """As `output_file` for a figure; raises `MissingDependencyError` where matplotlib is not installed."""
    file = output_file(path, formats, option)
    require_matplotlib(option)
    return file


def require_matplotlib(what: str = "a plot") -> None:
    """Refuse to go on without matplotlib; raises `MissingDependencyError`."""
    if find_spec("matplotlib") is None:
        how = install("matplotlib", "python3-matplotlib")
        raise MissingDependencyError(f"{what} needs matplotlib: {how}")


def _check_folder(folder: Path, said: str) -> None:
    """Refuse a folder that does not exist, or in which nothing can be written."""
    if not os.path.lexists(folder):
        raise ArgumentError(f"{said}, but there is no folder {str(folder)!r}; create it first, or name another place")
    if not folder.is_dir():
        raise ArgumentError(f"{said}, which cannot be written: {str(folder)!r} is no folder; name another place")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ArgumentError(
            f"{said}, which cannot be written: this user has no permission in the folder {str(folder)!r}; name another"
        )
