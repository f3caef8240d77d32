"""Expansion of xacro files; what xacro refuses becomes one sentence with file, line where it is known, and fix.

A xacro file is a program: ``${9**9**9}`` computes for ever in one instruction, which nothing inside a process can end.
So a process of its own expands one file, within limits of time and memory. Its standard output is the URDF or the
refusal, its exit code which of them, its standard error what xacro says.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from xml.parsers.expat import ErrorString, ExpatError

from rne_dynamics.advice import install_ros
from rne_dynamics.description.markup import MOST_BYTES, read_markup
from rne_dynamics.description.share import package_folders
from rne_dynamics.errors import DescriptionError, MissingDependencyError

_log = logging.getLogger(__name__)
#: Longest text of xacro's in a message, characters.
_LONGEST = 300
#: Computing time, s; the largest published robots take 2 s on a slow computer.
SECONDS = 7
#: Longest time, s, on a busy computer, or of a file on a network.
PATIENCE = 120.0
#: Address space of the process, bytes.
MEMORY = 800_000_000
_REFUSED = 3
_END = "end its macros by <xacro:if>, make its expressions smaller, or give the URDF it expands to"


def expand_xacro(path: Path, data: bytes, mappings: Mapping[str, str]) -> bytes:
    """The URDF that a xacro file expands to, as UTF-8; `data` is its content, checked before xacro reads the file.

    A xacro file is a program that evaluates expressions and reads other files. Expand only files you trust. It runs in
    a process of its own, within limits of time and memory. `DescriptionError` where xacro refuses it
    or needs more, `MissingDependencyError` without xacro.
    """
    read_markup(data, str(path))
    if find_spec("xacro") is None:
        raise MissingDependencyError(
            f"{path}: xacro is not installed; `{install_ros('xacro', 'xacro')}`, or give the URDF it expands to"
        )
    words = [sys.executable, "-m", __name__, str(path), json.dumps({k: str(v) for k, v in mappings.items()})]
    root = str(Path(__file__).resolve().parents[2])
    places = [root, *(place for place in sys.path if place and place != root)]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise DescriptionError(f"{path}: xacro has not ended after {PATIENCE:g} s; {_END}") from None
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode == 0:
        if said:
            _log.info("%s: xacro says: %s", path, " ".join(said.split()))
        return done.stdout
    last = (said.strip().splitlines() or ["no message"])[-1][:200]
    reasons = {
        _REFUSED: done.stdout.decode("utf-8", "replace"),
        -signal.SIGXCPU: f"{path}: xacro has not ended after {SECONDS} s of computing; {_END}",
    }
    raise DescriptionError(reasons.get(done.returncode, f"{path}: xacro ended with {done.returncode} ({last}); {_END}"))


def expanded(path: Path, mappings: Mapping[str, str]) -> bytes:
    """As `expand_xacro`, in this process and without limits."""
    import xacro

    try:
        with contextlib.redirect_stdout(sys.stderr), _finding_packages(xacro, path):
            text: str = xacro.process_file(str(path), mappings=dict(mappings)).toprettyxml(indent="  ")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - expressions in xacro may raise anything
        raise _refusal(xacro, path, error) from None
    return text.encode()


@contextlib.contextmanager
def _finding_packages(xacro: ModuleType, path: Path) -> Iterator[None]:
    """Within the context, ``$(find PACKAGE)`` finds what ``package://`` finds; xacro itself needs ROS and its index."""
    from xacro import substitution_args

    def find(name: str) -> str:
        reading = [Path(file) for file in (xacro.filestack or [])[-1:] if file]
        for folder in package_folders(name, *reading, path):
            return str(folder)
        unset = "" if os.environ.get("AMENT_PREFIX_PATH") else " (not set)"
        raise DescriptionError(
            f"package {name!r} is not found in AMENT_PREFIX_PATH{unset} and the folders above {path}; source the "
            "workspace that has it, or put its folder next to the file's own package"
        )

    own = substitution_args._eval_find
    substitution_args._eval_find = find
    try:
        yield
    finally:
        substitution_args._eval_find = own


def _refusal(xacro: ModuleType, path: Path, error: BaseException) -> DescriptionError:
    """The error to raise for one of xacro's: in its own words, with the file that it was reading."""
    cause, expression = error, ""
    while isinstance(inner := getattr(cause, "exc", None), BaseException):
        expression = str(getattr(cause, "suffix", "") or expression)
        cause = inner
    file = next((str(name) for name in reversed(xacro.filestack or []) if name), str(path))
    by = "" if file == str(path) else f" (part of {path})"
    said = " ".join(f"{cause.args[0] if cause.args else type(cause).__name__} {expression}".split())
    if isinstance(cause, DescriptionError):
        return DescriptionError(f"{file}: {cause}")
    if isinstance(cause, ExpatError):
        file, said = f"{file}:{cause.lineno}", f"XML: {ErrorString(cause.code)}"
    elif isinstance(cause, OSError):
        said = f"file {cause.filename} cannot be read: {cause.strerror}"
    elif isinstance(cause, RecursionError):
        said = "its macros call each other without end (recursion)"
    elif type(cause).__name__ == "ArgException":
        return DescriptionError(f"{file}: argument {said!r} is not given{by}; give it: --arg {said}:=VALUE "
                                "(in Python mappings)")  # fmt: skip
    return DescriptionError(f"{file}: {said[:_LONGEST]}{by}; correct the file")


def main() -> int:
    """Expand the file of the command line."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(_refuse_devices)
    try:
        text = expanded(Path(sys.argv[1]), json.loads(sys.argv[2]))
        if len(text) > MOST_BYTES:
            raise DescriptionError(f"{sys.argv[1]}: it expands to more than {MOST_BYTES // 1_000_000} MB; {_END}")
    except (DescriptionError, MemoryError) as error:
        much = f"{sys.argv[1]}: xacro needs more than {MEMORY // 1_000_000} MB; {_END}"
        sys.stdout.buffer.write((much if isinstance(error, MemoryError) else str(error)).encode("utf-8", "replace"))
        return _REFUSED
    sys.stdout.buffer.write(text)
    return 0


def _refuse_devices(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse to open what is neither file nor folder: reading a pipe never ends."""
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        with contextlib.suppress(OSError, ValueError):  # `open` reports it
            place = Path(os.fsdecode(arguments[0]))
            if not (place.is_file() or place.is_dir() or not place.exists()):
                raise DescriptionError(f"{place} is a pipe or a device; include a file")


if __name__ == "__main__":
    sys.exit(main())
