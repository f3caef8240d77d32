"""Efforts that the controller commands: checked, counted, and whether they still come."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rne_dynamics.control.gate.settings import CommandProblem, GateCounters
from rne_dynamics.control.thresholds import LARGEST
from rne_dynamics.model.inertia import Array


class CommandStream:
    """The commands for these joints since an activation or recovery; `counters` counts them."""

    def __init__(self, joints: Sequence[str], counters: GateCounters) -> None:
        self._joints, self._counters = joints, counters
        #: Good ones in a row, and when the last one came, monotonic s.
        self.good, self.arrival = 0, -math.inf

    def take(self, now: float, effort: Array, timeout: float) -> bool:
        """Whether an effort that came `now`, s, is as many finite numbers as there are joints; refused otherwise."""
        if effort.shape != (len(self._joints),):
            self.refuse(CommandProblem.WRONG_LENGTH, f"{effort.size} efforts; the gate has {len(self._joints)} joints")
            return False
        if not np.abs(effort).max(initial=0.0) <= LARGEST:  # also where one is NaN
            j = int(np.argmin(np.abs(effort) <= LARGEST))
            text = f"effort of joint {self._joints[j]!r} is {effort[j]}; it must be finite"
            self.refuse(CommandProblem.NOT_FINITE, text)
            return False
        self._counters.commands += 1
        self.good, self.arrival = self.good + 1 if self.alive(now, timeout) else 1, now
        return True

    def refuse(self, problem: CommandProblem, text: str) -> None:
        """Count a message that is no effort command, or one that must not be passed; `text` says why."""
        self._counters.commands += 1
        self._counters.refused[problem] += 1
        self._counters.refusal = text
        self.good = 0

    def alive(self, now: float, timeout: float) -> bool:
        """Whether the last good one is younger than `timeout`, s."""
        return now - self.arrival < timeout
