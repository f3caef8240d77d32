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
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from xml.parsers.expat import ErrorString, ExpatError

from rne_dynamics.advice import install_ros
from rne_dynamics.description.markup import MOST_BYTES, read_markup
from rne_dynamics.description.share import package_folders
from rne_dynamics.errors import DescriptionError, MissingDependencyError

_log = logging.getLogger(__name__)
_EXPRESSION = re.compile(r"when evaluating expression '(.*)'", re.DOTALL)
_NAME = re.compile(r"name '(\w+)' is not defined")


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
    urdf, said = expand(path, mappings)
    if said:
        _log.info("%s: xacro says: %s", path, " ".join(said.split()))
    return urdf


def expanded(path: Path, mappings: Mapping[str, str]) -> bytes:
    """As `expand_xacro`, in this process and without limits."""
    import xacro

    try:
        with contextlib.redirect_stdout(sys.stderr), _finding_packages(xacro, path):
            document = xacro.process_file(str(path), mappings=dict(mappings))
            text: str = document.toprettyxml(indent="  ")
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
        places = [f"{v}{'' if os.environ.get(v) else ' (not set)'}" for v in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH")]
        raise DescriptionError(
            f"package {name!r} is not found in {', '.join(places)} and the folders above {path}; source the workspace "
            "that has it, or put its folder next to the file's own package"
        )

    own = substitution_args._eval_find
    substitution_args._eval_find = find
    try:
        yield
    finally:
        substitution_args._eval_find = own


class _Fault(NamedTuple):
    """A fault in plain words, and the text in the file that causes it."""

    what: str
    fix: str
    text: str = ""
    #: Whether the first occurrence of the text is the cause; otherwise an only one.
    first: bool = True


def _refusal(xacro: ModuleType, path: Path, error: BaseException) -> DescriptionError:
    """The error to raise for one of xacro's."""
    chain = [error]
    while isinstance(cause := getattr(chain[-1], "exc", None), BaseException):
        chain.append(cause)
    included = [str(file) for file in reversed(xacro.filestack or []) if file] or [str(path)]
    if isinstance(chain[-1], ExpatError):
        place = f"{included[0]}:{chain[-1].lineno}"
        fault = _Fault(f"XML: {ErrorString(chain[-1].code)}", "correct the XML at this place")
    else:
        fault = _fault(chain)
        defined = [str(macro.history[-1][-1]) for macro in reversed(xacro.macrostack or []) if macro.history[-1][-1]]
        place = _place([*defined, *included], fault) or included[0]
    by = "" if f"{place}:".startswith(f"{path}:") else f" (part of {path})"
    return DescriptionError(f"{place}: {fault.what}{by}; {fault.fix}")


def _fault(chain: list[BaseException]) -> _Fault:
    """Fault, from xacro's exception, the exceptions that it wraps, and the last of them, which is the cause."""
    cause = chain[-1]
    said = str(cause.args[0]) if cause.args else type(cause).__name__
    expressions = [found[1] for x in chain if (found := _EXPRESSION.search(str(getattr(x, "suffix", ""))))]
    if isinstance(cause, DescriptionError):
        what, _, fix = said.partition("; ")
        package = re.match(r"package '(.*?)' is not found", what)
        return _Fault(what, fix, f"find {package[1]}" if package else "")
    if type(cause).__name__ == "ArgException":
        return _Fault(f"argument {said!r} is not given", f"give it: --arg {said}:=VALUE (in Python mappings)",
                      f"arg {said}")
    if isinstance(cause, OSError) and cause.filename:
        why = "does not exist" if isinstance(cause, FileNotFoundError) else f"cannot be read: {cause.strerror}"
        return _Fault(f"file {cause.filename} {why}", "correct its name, or add the file", Path(cause.filename).name)
    if isinstance(cause, RecursionError):
        return _Fault("its macros call each other without end (recursion)", "end the recursion by <xacro:if>")
    name = _NAME.search(said)
    if isinstance(cause, NameError) and name:
        return _Fault(
            f"property {name[1]!r} is not defined, in the expression {_short(expressions[-1])!r}",
            "define it by <xacro:property>, include the file that does, or make it a parameter of the macro",
            f"${{{expressions[-1]}}}", first=False,
        )
    if expressions:
        return _Fault(f"the expression {_short(expressions[-1])!r} cannot be evaluated: {_short(said)}",
                      "correct it, or the property that it uses", f"${{{expressions[-1]}}}", first=False)
    return _of_macro(cause, " ".join(said.split()))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else f"{words[:197]}..."


def _of_macro(cause: BaseException, said: str) -> _Fault:
    """The fault of a macro's call, which xacro reports without the macro's name, or xacro's own words."""
    macros = getattr(cause, "macros", ())
    if macros:
        name, parameters = macros[0].body.getAttribute("name"), ", ".join(macros[0].params) or "none"
        call = f"<xacro:{name}"
        if given := re.fullmatch(r'Invalid parameter "(.*)"', said):
            return _Fault(f"macro {name!r} has no parameter {given[1]!r}; its parameters: {parameters}",
                          "delete it from the call, or add it to the macro's params", call, first=False)
        if missing := re.fullmatch(r"Undefined parameters \[(.*)\]", said):
            names = missing[1].replace(",", ", ")
            return _Fault(f"the call of macro {name!r} does not give {names}", "add it to the call", call, first=False)
        return _Fault(f"call of macro {name!r}: {said}", "correct the call", call, first=False)
    if unknown := re.fullmatch(r"unknown macro name: xacro:(.*)", said):
        return _Fault(f"macro {unknown[1]!r} is not defined", "include the file that defines it, or correct its name",
                      f"<xacro:{unknown[1]}")
    return _Fault(f"xacro cannot expand it: {said}", "correct the element")


def _place(files: list[str], fault: _Fault) -> str:
    """File and line of the fault's text in the first file that has it; empty where it is not known."""
    whole = re.compile(re.escape(fault.text) + (r"\b" if fault.text[-1:].isalnum() else ""))
    for file in dict.fromkeys(files) if fault.text else ():
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
        found = [number for number, line in enumerate(lines, 1) if whole.search(line)]
        if len(found) == 1 or (found and fault.first):
            return f"{file}:{found[0]}"
        if found:
            return file
    return ""


#: Computing time, s; the largest published robots take 2 s on a slow computer.
SECONDS = 7
#: Longest time, s, on a busy computer, or of a file on a network.
PATIENCE = 120.0
#: Address space of the process, bytes.
MEMORY = 800_000_000
_REFUSED = 3
_END = "end its macros by <xacro:if>, make its expressions smaller, or give the URDF it expands to"


def expand(path: Path, mappings: Mapping[str, str]) -> tuple[bytes, str]:
    """The URDF that a xacro file expands to, and what xacro says; `DescriptionError` where there is none."""
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
        return done.stdout, said
    if done.returncode == _REFUSED:
        raise DescriptionError(done.stdout.decode("utf-8", "replace"))
    if done.returncode == -signal.SIGXCPU:
        raise DescriptionError(f"{path}: xacro has not ended after {SECONDS} s of computing; {_END}")
    last = (said.strip().splitlines() or ["no message"])[-1][:200]
    raise DescriptionError(f"{path}: xacro ended with {done.returncode} ({last}); {_END}")


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
    except DescriptionError as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "replace"))
        return _REFUSED
    except MemoryError:
        sys.stdout.buffer.write(f"{sys.argv[1]}: xacro needs more than {MEMORY // 1_000_000} MB; {_END}".encode())
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
