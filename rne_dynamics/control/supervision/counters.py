"""Counters of a controller since its activation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rne_dynamics.errors import StateProblem


@dataclass
class Counters:
    """Totals since activation.

    Parameters
    ----------
    states, foreign
        Joint states with our joints, and messages with none of them.
    refused
        Joint states that were not used, by what was wrong with them.
    refusal
        Text of the last refusal.
    time_jumps
        New time bases that were taken.
    efforts, dead_reckoned, clamped
        Efforts sent; of these those without a usable state, and those that a limit changed.
    lost, stops, faults, fault
        Streams lost, stops begun, faults, and the cause of the last fault.
    base_refused, base_refusal
        Messages on the motion of the base that were not used, and the text of the last refusal.
    held_anew
        How often an arm that was held was too far from its place, so that it is held where it then was.
    """

    states: int = 0
    foreign: int = 0
    refused: Counter[StateProblem] = field(default_factory=Counter)
    refusal: str = ""
    time_jumps: int = 0
    efforts: int = 0
    dead_reckoned: int = 0
    clamped: int = 0
    lost: int = 0
    stops: int = 0
    faults: int = 0
    fault: str = ""
    held_anew: int = 0
    base_refused: int = 0
    base_refusal: str = ""

    def refuse(self, problem: StateProblem, text: str) -> None:
        """Count a joint state that is not used."""
        self.refused[problem] += 1
        self.refusal = text
