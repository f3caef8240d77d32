"""Expected compilation at a first start, and messages about it.

A program's kernels are known only when it calls them. So the totals were measured once with an empty kernel folder
(`benchmarks/first_start.py` prints them); they are upper limits where some kernels are on disk. Programs that are not
in the table get no estimate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rne_dynamics.advice import rne
from rne_dynamics.compiling.progress import Compiling


class Expected(NamedTuple):
    """Largest number of kernels that a program compiles, in however many forms each, and their CPU time, s."""

    kernels: int
    seconds: float


#: By the name of a node or command, and the kind of robot.
EXPECTED: Mapping[tuple[str, str], Expected] = {
    ("computed_torque_controller", "arm"): Expected(17, 8.0),
    ("gravity_compensation", "arm"): Expected(13, 6.0),
    ("effort_gate", "arm"): Expected(3, 3.0),
    ("simulator", "arm"): Expected(20, 12.0),
    ("simulate", "arm"): Expected(3, 1.0),
    ("verify", "arm"): Expected(21, 9.0),
    ("computed_torque_controller", "mechanism"): Expected(28, 16.0),
    ("gravity_compensation", "mechanism"): Expected(25, 15.0),
    ("effort_gate", "mechanism"): Expected(13, 11.0),
    ("simulator", "mechanism"): Expected(28, 24.0),
    ("info", "mechanism"): Expected(4, 7.0),
    ("simulate", "mechanism"): Expected(24, 16.0),
    ("computed_torque_controller", "flexible"): Expected(33, 15.0),
    ("gravity_compensation", "flexible"): Expected(26, 11.0),
    ("effort_gate", "flexible"): Expected(7, 4.0),
    ("simulator", "flexible"): Expected(20, 18.0),
    ("simulate", "flexible"): Expected(15, 17.0),
    ("verify", "flexible"): Expected(12, 12.0),
}


def kind_of(kernel: str) -> str:
    """The kind of robot that a kernel of this name serves."""
    package = kernel.partition(".")[0]
    flexible = package == "flexible" or kernel.startswith("model.flexible")
    return "flexible" if flexible else "mechanism" if package == "closed_chain" else "arm"


class FirstStart:
    """Two lines of log about compiling: one at its beginning, with an estimate, and one at its end.

    Parameters
    ----------
    log
        Called with each line.
    expected
        Largest amount of compiling; None where that was not measured.
    """

    def __init__(self, log: Callable[[str], None], expected: Expected | None) -> None:
        self._log, self._expected = log, expected
        self._began, self._kernels = 0.0, set[str]()

    def note(self, now: Compiling) -> None:
        """Process a report of `watch_compiling`, of any number of processes."""
        if not self._began:
            self._began = time.monotonic()
            total = "the dynamics kernels"
            if self._expected is not None:
                kernels, seconds = self._expected
                total = f"up to {kernels} functions, up to about {seconds:.0f} s"
            self._log(f"compiling {total}, only at the first start (`{rne('warmup')}` does it beforehand)")
        self._kernels |= {now.kernel} - {""}

    def end(self) -> None:
        """Log the second line: compiling has ended."""
        if self._began:
            seconds = time.monotonic() - self._began
            self._log(f"compiled {len(self._kernels)} functions in {seconds:.0f} s; they are kept")
            self._began = 0.0


class StatusLine:
    """Progress of compiling in one line of a terminal, which is rewritten.

    Parameters
    ----------
    program
        The command.
    table
        As `EXPECTED`.
    """

    def __init__(self, program: str, table: Mapping[tuple[str, str], Expected] = EXPECTED) -> None:
        self._program, self._table = program, table
        self._begun, self._kind = set[str](), "arm"

    def text(self, now: Compiling) -> str:
        """The line; empty while nothing is being compiled."""
        if not now.kernel:
            return ""
        done = len(self._begun - {now.kernel})
        self._begun.add(now.kernel)
        if self._kind == "arm":
            self._kind = kind_of(now.kernel)
        expected = self._table.get((self._program, self._kind))
        text = f"{done} done, {now.seconds:.0f} s"
        if expected is not None and done < expected.kernels:
            total, estimate = expected
            text = f"{done} of up to {total}, {now.seconds:.0f} s of up to about {estimate:.0f} s"
        return f"compiling, only at the first start (see `{rne('warmup')}`): {text}, {now.kernel}"
