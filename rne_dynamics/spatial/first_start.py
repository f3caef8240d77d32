"""What compiling at a first start will take, and the messages about it.

Which kernels a program calls is known only when it calls them. So the totals are figures measured once with an empty
folder for kernels (`benchmarks/first_start.py` prints this table); a folder that holds some of them makes them less.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rne_dynamics.advice import rne
from rne_dynamics.spatial.compiling import Compiling


class Expected(NamedTuple):
    """Kernels that a program compiles at most, and their CPU time on a processor of 2023, s."""

    kernels: int
    seconds: float


#: By the name of a node or command, and the kind of robot.
EXPECTED: dict[tuple[str, str], Expected] = {
}


def kind_of(kernel: str) -> str:
    """The kind of robot that a kernel of this name serves."""
    room = kernel.partition(".")[0]
    flexible = room == "flexible" or kernel.startswith("model.flexible")
    return "flexible" if flexible else "mechanism" if room == "closed_chain" else "arm"


class FirstStart:
    """Two lines of log about compiling: one when it begins, with an estimate, and one when it has ended.

    Parameters
    ----------
    log
        Takes a line.
    program, kind
        As in `EXPECTED`.
    """

    def __init__(self, log: Callable[[str], None], program: str, kind: str) -> None:
        self._log, self._expected = log, EXPECTED.get((program, kind))
        self._began, self._done = 0.0, dict[str, int]()

    def note(self, now: Compiling, source: str = "") -> None:
        """Take what `watch_compiling` reports; each process that compiles is another `source`."""
        if not self._began:
            self._began = time.monotonic()
            total = "the dynamics kernels"
            if self._expected is not None:
                kernels, seconds = self._expected
                total = f"up to {kernels} functions, up to about {seconds:.0f} s"
            self._log(f"compiling {total}, only at the first start (`{rne('warmup')}` does it beforehand)")
        self._done[source] = now.done

    def end(self) -> None:
        """Nothing more will be compiled."""
        if self._began:
            seconds = time.monotonic() - self._began
            self._log(f"compiled {sum(self._done.values())} functions in {seconds:.0f} s; they are kept")
            self._began = 0.0


class StatusLine:
    """One line of text for a terminal that is rewritten while a command compiles.

    Parameters
    ----------
    program
        The command.
    """

    def __init__(self, program: str) -> None:
        self._program, self._kinds = program, set[str]()

    def text(self, now: Compiling) -> str:
        """What to show; empty once everything that was begun is compiled."""
        if not now.kernel:
            return ""
        self._kinds.add(kind_of(now.kernel))
        kind = next(kind for kind in ("flexible", "mechanism", "arm") if kind in self._kinds)
        expected = EXPECTED.get((self._program, kind))
        done = f"{now.done} done, {now.seconds:.0f} s"
        if expected is not None and now.done < expected.kernels:
            total, estimate = expected
            done = f"{now.done} of up to {total}, {now.seconds:.0f} s of up to about {estimate:.0f} s"
        return f"compiling, only at the first start (see `{rne('warmup')}`): {done}, {now.kernel}"
