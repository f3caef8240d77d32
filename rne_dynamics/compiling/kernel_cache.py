"""Compiled kernels on disk: one file each, named by a hash of all that its machine code depends on.

numba's own cache has these faults:

- It detects changes in the kernel's own source file only.
- Two processes can corrupt its index.
- A truncated file or a full disk ends in a traceback.
- It does not read folders that it cannot write.
- It loads the whole compiler before the first kernel.

docs/start_up.md says where the files are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import time
import warnings
from functools import cache, cached_property
from pathlib import Path
from typing import IO, Any

import llvmlite
import numba
from numba import config as _config
from numba.core.caching import _Cache

from rne_dynamics.advice import rne
from rne_dynamics.compiling.fingerprint import fingerprint
from rne_dynamics.compiling.kernel_bytes import bytes_of, kernel_of
from rne_dynamics.compiling.private_files import distrusted_folder, make_folder, read_whole, warn_of, write_whole
from rne_dynamics.compiling.progress import announce_file

try:
    import fcntl
except ImportError:  # Windows: processes that start together may compile the same kernel, no more
    fcntl = None  # type: ignore[assignment]

config: Any = _config  # numba is typed in parts
ENDING = ".kernel"
#: Age, s, at which machine code of former sources is deleted, when its kernel is compiled again.
KEPT = 7 * 86400.0
#: How long to wait for another process that compiles the same kernel, and the interval of checks, s.
PATIENCE, INTERVAL = 60.0, 0.02


@cache
def _places() -> tuple[tuple[Path, str], ...]:
    """Folders for kernels, symbolic links resolved, each with the reason not to use it, or ""."""
    found = [Path(config.CACHE_DIR) / "rne_dynamics"] if config.CACHE_DIR else []
    found.append(Path(__file__).resolve().parents[1] / "__pycache__" / "kernels")
    user = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):  # the user has no home folder
        found.append((Path(user) if user else Path.home() / ".cache") / "rne_dynamics")
    resolved = [Path(os.path.realpath(folder)) for folder in found]
    return tuple((folder, distrusted_folder(folder)) for folder in resolved)


@cache
def folders() -> tuple[Path, ...]:
    """Folders that kernels are read from: NUMBA_CACHE_DIR if it is set, the package's own folder, the user's cache.

    Folders that anybody but this user and root may write to are left out.
    """
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
        f"compiled kernels cannot be kept, so that every process compiles them again: {why}. Fix: set NUMBA_CACHE_DIR "
        f"to a folder that can be written, or fill one by `{rne('warmup --dir DIR')}` and start with "
        "NUMBA_CACHE_DIR=DIR",
        RuntimeWarning,
        stacklevel=2,
    )


class KernelCache(_Cache):
    """Machine code of one kernel on disk, loaded and saved by numba's dispatcher."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._enabled = True
        self._locks: dict[str, IO[bytes]] = {}

    @property
    def cache_path(self) -> str | None:
        """Folder of new machine code."""
        folder = target()
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Use the disk from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Delete this kernel's files."""
        folder = target()
        for path in [] if folder is None else folder.glob(f"{self._stem()}-*{ENDING}"):
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for argument types; None if it must be compiled."""
        if not self._enabled:
            return None
        name = self._name(sig, target_context.codegen())
        found = self._find(name, target_context)
        if found is None and self._wait(name):
            found = self._find(name, target_context)
            if found is not None:
                self._release(name)
        return found

    def has(self, sig: Any, target_context: Any) -> bool:
        """Whether the compiled kernel for argument types is on disk."""
        name = self._name(sig, target_context.codegen())
        return self._enabled and any((folder / name).exists() for folder in folders())

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled kernel to disk."""
        if not self._enabled:
            return
        name = self._name(sig, data.codegen)
        folder = target()
        try:
            if folder is not None and not data.library.has_dynamic_globals:
                write_whole(folder / name, bytes_of(data))
                _log("saved", folder / name)
                _sweep(folder, name)
        except OSError as error:
            _complain(str(error))
        finally:
            self._release(name)

    def _stem(self) -> str:
        function = self._dispatcher.py_func
        return f"{function.__module__.removeprefix('rne_dynamics.')}.{function.__qualname__.replace('<locals>.', '')}"

    def _name(self, sig: Any, codegen: Any) -> str:
        """File name: the kernel, a hash of arguments and machine, a hash of sources and versions."""
        return f"{self._stem()}-{_short(sig, codegen.magic_tuple())}-{self.made_of}{ENDING}"

    @cached_property
    def made_of(self) -> str:
        """Hash of sources, options and versions. Not in the constructor: the kernel's module is not imported yet."""
        options = sorted(map(repr, self._dispatcher.targetoptions.items()))
        return _short(fingerprint(self._dispatcher), options, _versions())

    def _find(self, name: str, target_context: Any) -> Any:
        for folder in folders():
            kept = read_whole(folder / name)
            if kept is not None:
                _log("loaded", folder / name)
                return kernel_of(kept, target_context)
        for folder, why in _places():
            if why and (folder / name).exists():
                warn_of(why)
        return None

    def _wait(self, name: str) -> bool:
        """Take the lock on compiling; True if another process may have compiled meanwhile."""
        folder = target()
        if folder is None or fcntl is None or name in self._locks:
            return False
        waited = False
        with contextlib.suppress(OSError):  # a file system without locks: two processes may compile the same
            lock = (folder / name).with_suffix(".lock").open("wb")
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    waited = True
                    time.sleep(INTERVAL)
                else:
                    self._locks[name] = lock
                    return True
            lock.close()
        return waited

    def _release(self, name: str) -> None:
        lock = self._locks.pop(name, None)
        if lock is not None:
            Path(lock.name).unlink(missing_ok=True)
            lock.close()


def _sweep(folder: Path, name: str) -> None:
    """Delete old machine code of the same kernel, arguments and processor from former sources."""
    oldest = time.time() - KEPT
    for path in folder.glob(f"{name.rpartition('-')[0]}-*{ENDING}"):
        with contextlib.suppress(FileNotFoundError):
            if path.name != name and path.stat().st_mtime < oldest:
                path.unlink()


@cache
def _versions() -> tuple[object, ...]:
    """Versions and settings that machine code depends on."""
    settings = (config.OPT, config.BOUNDSCHECK, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.DEBUGINFO_DEFAULT)
    return numba.__version__, llvmlite.__version__, sys.implementation.cache_tag, settings


def _short(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def show_file(what: str, path: Path) -> None:
    """Print what was done with a file of machine code where NUMBA_DEBUG_CACHE is set."""
    if config.DEBUG_CACHE:
        print(f"[cache] {what} {path}")


def _log(what: str, path: Path) -> None:
    show_file(what, path)
    announce_file(path, what == "saved")
