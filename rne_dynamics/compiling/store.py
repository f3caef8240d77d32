"""Machine code on disk: one file each, named by a hash of all that it depends on.

Files are of this user only (`private_files`), and written whole or not at all. docs/start_up.md says where they are.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

from rne_dynamics.advice import rne
from rne_dynamics.compiling.private_files import distrusted_folder, make_folder, read_whole, warn_of, write_whole

#: Environment variables: the folder; and whether to print what is read and written.
FOLDER, SHOW = "RNE_DYNAMICS_CACHE_DIR", "RNE_DYNAMICS_SHOW_CACHE"
#: Files unused for this time, s, are deleted when a file is saved: every payload has files of its own.
KEPT = 30 * 86400.0
_ENDING = ".code"


@cache
def _places() -> tuple[tuple[Path, str], ...]:
    """Folders, symbolic links resolved, each with the reason not to use it, or ""."""
    found = [Path(os.environ[FOLDER])] if os.environ.get(FOLDER) else []
    found.append(Path(__file__).resolve().parents[1] / "__pycache__" / "kernels")
    user = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):  # the user has no home folder
        found.append((Path(user) if user else Path.home() / ".cache") / "rne_dynamics")
    resolved = [Path(os.path.realpath(folder)) for folder in found]
    return tuple((folder, distrusted_folder(folder)) for folder in resolved)


@cache
def folders() -> tuple[Path, ...]:
    """Folders to read files from, which nobody else may write: RNE_DYNAMICS_CACHE_DIR, the package's, the user's."""
    return tuple(folder for folder, why in _places() if not why)


@cache
def target() -> Path | None:
    """The first of `folders` that can be written; None, with a warning, if there is none."""
    for folder, why in _places():
        if why:
            warn_of(why)
        elif can_be_written(folder):
            return folder
    _complain(f"none of {', '.join(str(folder) for folder, _ in _places())} can be written")
    return None


def can_be_written(folder: Path) -> bool:
    """Whether files can be created in a folder, which is created if missing."""
    try:
        make_folder(folder)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def _complain(why: str) -> None:
    warnings.warn(
        f"machine code cannot be kept, so that every process compiles it again: {why}. Fix: set {FOLDER} to a folder "
        f"that can be written, or fill one by `{rne('warmup --dir DIR')}` and start with {FOLDER}=DIR",
        RuntimeWarning,
        stacklevel=2,
    )


def load(name: str) -> bytes | None:
    """The content saved under a name; None if there is none, or if it was damaged or exchanged."""
    mark = name.encode()
    for place, why in _places():
        path = place / (name + _ENDING)
        if why:
            if path.exists():
                warn_of(why)
            continue
        content = read_whole(path)
        if content is not None and content.startswith(mark):
            with contextlib.suppress(OSError):  # a folder that can only be read
                os.utime(path)
            _show("loaded", path)
            return content[len(mark) :]
    return None


def save(name: str, payload: bytes) -> None:
    """Save `payload`; a failure causes one warning."""
    place = target()
    if place is None:
        return
    path = place / (name + _ENDING)
    try:
        write_whole(path, name.encode() + payload)
        _show("saved", path)
        _sweep(place)
    except OSError as error:
        _complain(f"{place}: {error.strerror}")


def _show(what: str, path: Path) -> None:
    if os.environ.get(SHOW):
        print(f"[cache] {what} {path}")


def _sweep(place: Path) -> None:
    oldest = time.time() - KEPT
    for path in place.glob("*" + _ENDING):
        with contextlib.suppress(FileNotFoundError):  # another process was first
            if path.stat().st_mtime < oldest:
                path.unlink()
