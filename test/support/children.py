"""Child processes of a test that end with all of their own children."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class Process:
    """A child with its output in a file, in a process group of its own."""

    def __init__(self, command: Sequence[str], output: Path, environment: Mapping[str, str]) -> None:
        self.output = output
        with output.open("w") as file:
            self._process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **environment},
                start_new_session=True,
            )

    def said(self, text: str, count: int = 1) -> bool:
        return self.output.read_text(errors="replace").count(text) >= count

    @property
    def group(self) -> int:
        """The number of its process group."""
        return self._process.pid

    def signal(self, number: int) -> int:
        """Send it to the process alone, not to its children; the exit code."""
        self._process.send_signal(number)
        return self._process.wait(30.0)

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


@contextmanager
def children(folder: Path) -> Iterator[Callable[[Sequence[str], Mapping[str, str]], Process]]:
    """Start children, their output in `folder`; all are ended after the context."""
    made: list[Process] = []

    def start(command: Sequence[str], environment: Mapping[str, str]) -> Process:
        made.append(Process(command, folder / f"{len(made)}.txt", environment))
        return made[-1]

    try:
        yield start
    finally:
        for process in made:
            process.close()


def members(group: int) -> list[int]:
    """Processes of a group, zombies aside."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(number) == group and state != "Z":
            found.append(int(path.parent.name))
    return found
