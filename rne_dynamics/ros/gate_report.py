"""Status of the effort gate for /diagnostics."""

from __future__ import annotations

from typing import NamedTuple

from rne_dynamics.control.gate.effort_gate import EffortGate
from rne_dynamics.control.gate.settings import FAULT, PASSING, RELEASED, STOPPING, WAITING, CommandProblem
from rne_dynamics.ros.diagnostics import ERROR, OK, WARN


class Neighbours(NamedTuple):
    """Nodes at the gate's topics.

    Parameters
    ----------
    commanders
        Publishers of the commands that the gate receives.
    bypasses
        Other publishers of the efforts that the gate sends.
    listeners
        Subscribers of these.
    """

    commanders: int
    bypasses: int
    listeners: int


class GateReport:
    """Status messages, each with what is new since the one before.

    Refused and limited efforts that another message is more important than are said in a later one.

    Parameters
    ----------
    gate
        The gate.
    """

    def __init__(self, gate: EffortGate) -> None:
        self._gate = gate
        self._counters = gate.counters
        self._said = {"refused": 0, "limited": 0, "states": 0}

    def next(self, now: float, neighbours: Neighbours) -> tuple[bytes, str, dict[str, object]]:
        """Level, message and values of the next status."""
        gate, c = self._gate, self._gate.counters
        totals = {"refused": c.refused.total(), "limited": c.limited + c.stepped, "states": gate.states.refused}
        if c is not self._counters:  # activated anew
            self._counters, self._said = c, dict.fromkeys(totals, 0)
        refused, limited, states = (max(total - self._said[what], 0) for what, total in totals.items())
        self._said["states"] = totals["states"]
        clamp = gate.limited_text()
        level, message = OK, f"{gate.mode.value}: {gate.cause}" if gate.cause else gate.mode.value
        if gate.mode is FAULT or (gate.mode is STOPPING and not gate.requested):
            level = ERROR
        elif gate.mode in (STOPPING, RELEASED):
            level = WARN
        elif neighbours.bypasses:
            level, message = WARN, (
                f"{neighbours.bypasses} other publishers send efforts past the gate; remap them to its commands topic"
            )
        elif neighbours.commanders > 1:
            level, message = WARN, f"{neighbours.commanders} publishers send efforts to the gate; stop all but one"
        elif gate.mode in (WAITING, PASSING) and gate.states.stale(now):
            level, message = WARN, "no usable joint states: a take-over could not measure the arm" + (
                f" (the last one was refused: {gate.states.refusal})" if states else ""
            )
        elif gate.mode is PASSING and not neighbours.listeners:
            level, message = WARN, "no node subscribes to the efforts of the gate"
        elif refused:
            level, message = WARN, f"{refused} efforts refused: {c.refusal}"
            self._said["refused"] = totals["refused"]
        elif limited and clamp:
            level, message = WARN, f"{limited} efforts limited: {clamp}"
            self._said["limited"] = totals["limited"]
        values: dict[str, object] = {
            "state": gate.mode.value, "cause": gate.cause, "commands": c.commands, "passed efforts": c.passed,
            **{f"refused: {problem.value}": c.refused[problem] for problem in CommandProblem},
            "last refusal": c.refusal, "efforts beyond limits": c.limited, "efforts beyond rate limits": c.stepped,
            "last limit": clamp, "own efforts": c.own, "blind efforts": c.dead_reckoned, "take-overs": c.takeovers,
            "joint states": gate.states.received, "refused joint states": gate.states.refused,
            "last refused joint state": gate.states.refusal, "last failure": c.failure,
            "publishers of commands": neighbours.commanders, "other publishers of efforts": neighbours.bypasses,
            "subscribers of efforts": neighbours.listeners,
        }
        return level, message, values
