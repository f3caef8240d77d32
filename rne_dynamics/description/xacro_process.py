"""The process that expands one xacro file, within limits of time and memory.

A xacro file is a program: ``${9**9**9}`` computes for ever in one instruction, which nothing inside a process can end.
Its standard output is the URDF or the refusal, its exit code which of them, its standard error what xacro says.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rne_dynamics.description.markup import MOST_BYTES
from rne_dynamics.errors import DescriptionError

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
        from rne_dynamics.description.xacro_file import expanded

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
