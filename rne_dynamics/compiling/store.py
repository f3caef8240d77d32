"""Machine code on disk: one file each, named by a hash of all that it depends on. docs/start_up.md says where they are.

Files of machine code and pickles are written by this user or root only, and read completely or not at all. Writers may
be concurrent and disks may fail.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

#: Permissions by which others may write.
_OTHERS, _GROUP = stat.S_IWOTH, stat.S_IWGRP
_DIGEST = hashlib.sha256().digest_size


def distrust(state: os.stat_result, *, sticky: bool = False) -> str:
    """Why another user may have written a file or folder; "" if none can, and on Windows.

    It must belong to this user or root, and nobody else may write to it, but a group of this user alone (umask 002);
    `sticky` skips the permissions.
    """
    if not hasattr(os, "geteuid"):
        return ""
    if state.st_uid not in (0, os.geteuid()):
        return f"belongs to user {state.st_uid}"
    if sticky:
        return ""
    if state.st_mode & _OTHERS:
        return "may be written by everybody"
    if state.st_mode & _GROUP and not _only_us(state.st_gid):
        return f"may be written by group {state.st_gid}"
    return ""


def distrusted_folder(folder: Path) -> str:
    """Why another user may replace files in `folder`, without symbolic links, or rename one above; "" if none can.

    A folder above it may be writable by everybody if it is sticky, as /tmp. Folders that do not exist are skipped.
    """
    for place in (folder, *folder.parents):
        try:
            state = place.stat()
        except OSError:
            continue
        if not stat.S_ISDIR(state.st_mode):
            continue
        sticky = place != folder and state.st_mode & stat.S_ISVTX
        why = distrust(state, sticky=bool(sticky))
        if why:
            return f"{place} {why}"
    return ""


def make_folder(folder: Path) -> None:
    """Create a folder and missing ones above it, writable by this user only, whatever the umask."""
    for place in (*reversed(folder.parents), folder):
        if not place.is_dir():
            place.mkdir(mode=0o755, exist_ok=True)


@cache
def _only_us(group: int) -> bool:
    """Whether no other user is in a group."""
    import grp
    import pwd

    try:
        me = pwd.getpwuid(os.geteuid()).pw_name
        members = set(grp.getgrgid(group).gr_mem)
    except KeyError:  # a user or group without a name
        return False
    members.update(user.pw_name for user in pwd.getpwall() if user.pw_gid == group)
    return members <= {me}


def read_whole(path: Path) -> bytes | None:
    """What `write_whole` wrote; None if missing, damaged or, with a warning, if another user may have written it."""
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
        "root may write them. Correct the owner (chown) and the permissions (chmod go-w), or set "
        "RNE_DYNAMICS_CACHE_DIR to a folder of your own",
        RuntimeWarning,
        stacklevel=2,
    )


def write_whole(path: Path, payload: bytes) -> None:
    """Write a hash and the payload elsewhere, then rename: readers see the old file or the new one; `OSError`."""
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


#: Environment variables: the folder; and whether to print what is read and written.
FOLDER, SHOW = "RNE_DYNAMICS_CACHE_DIR", "RNE_DYNAMICS_SHOW_CACHE"
#: Files unused for this time, s, are deleted when a file is saved: every payload has files of its own.
KEPT = 30 * 86400.0
_ENDING = ".code"


@cache
def _places() -> tuple[tuple[Path, str], ...]:
    """RNE_DYNAMICS_CACHE_DIR, the package's folder, the user's, links resolved, each with why it is not used, or ""."""
    found = [Path(os.environ[FOLDER])] if os.environ.get(FOLDER) else []
    found.append(Path(__file__).resolve().parents[1] / "__pycache__" / "kernels")
    user = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):  # the user has no home folder
        found.append((Path(user) if user else Path.home() / ".cache") / "rne_dynamics")
    resolved = [Path(os.path.realpath(folder)) for folder in found]
    return tuple((folder, distrusted_folder(folder)) for folder in resolved)


@cache
def target() -> Path | None:
    """The first folder that can be written; None, with a warning, if there is none."""
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
        "that can be written",
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
