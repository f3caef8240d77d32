"""What compiling at a first start will take, and the messages about it.

Which kernels a program calls is known only when it calls them. So the totals are figures measured once with an empty
folder for kernels (`benchmarks/first_start.py` prints them); a folder that holds some of them makes them less. Programs
that are not in the table promise nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rne_dynamics.advice import rne
from rne_dynamics.compiling.progress import Compiling


class Expected(NamedTuple):
    """Kernels that a program compiles at most, each counted once however many forms it has, and their CPU time, s."""

    kernels: int
    seconds: float


#: By the name of a node or command, and the kind of robot.
EXPECTED: Mapping[tuple[str, str], Expected] = {
    ("computed_torque_controller", "arm"): Expected(26, 20.0),
    ("gravity_compensation", "arm"): Expected(17, 14.0),
    ("effort_gate", "arm"): Expected(7, 6.0),
    ("simulator", "arm"): Expected(14, 15.0),
    ("info", "arm"): Expected(3, 3.0),
    ("simulate", "arm"): Expected(34, 39.0),
    ("verify", "arm"): Expected(21, 13.0),
    ("computed_torque_controller", "mechanism"): Expected(24, 36.0),
    ("gravity_compensation", "mechanism"): Expected(20, 29.0),
    ("effort_gate", "mechanism"): Expected(11, 22.0),
    ("simulator", "mechanism"): Expected(25, 69.0),
    ("info", "mechanism"): Expected(6, 16.0),
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
    expected
        What the program will compile at most; None where that was not measured.
    """

    def __init__(self, log: Callable[[str], None], expected: Expected | None) -> None:
        self._log, self._expected = log, expected
        self._began, self._kernels = 0.0, set[str]()

    def note(self, now: Compiling) -> None:
        """Take what `watch_compiling` reports, of however many processes."""
        if not self._began:
            self._began = time.monotonic()
            total = "the dynamics kernels"
            if self._expected is not None:
                kernels, seconds = self._expected
                total = f"up to {kernels} functions, up to about {seconds:.0f} s"
            self._log(f"compiling {total}, only at the first start (`{rne('warmup')}` does it beforehand)")
        self._kernels |= {now.kernel} - {""}

    def end(self) -> None:
        """Nothing more will be compiled."""
        if self._began:
            seconds = time.monotonic() - self._began
            self._log(f"compiled {len(self._kernels)} functions in {seconds:.0f} s; they are kept")
            self._began = 0.0


class StatusLine:
    """One line of text for a terminal that is rewritten while a command compiles.

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
        """What to show; empty once everything that was begun is compiled."""
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
