"""Status of the effort gate for /diagnostics."""

from __future__ import annotations

from rne_dynamics.control.gate.effort_gate import EffortGate
from rne_dynamics.control.gate.settings import FAULT, PASSING, RELEASED, STOPPING, WAITING, CommandProblem
from rne_dynamics.ros.node.diagnostics import ERROR, OK, WARN, first_finding


class GateReport:
    """Status messages, each with what is new since the one before.

    Refused and limited efforts that another message is more important than are said in a later one.
    """

    def __init__(self, gate: EffortGate) -> None:
        self._gate = gate
        self._counters = gate.counters
        self._said = {"refused": 0, "limited": 0, "states": 0}

    def next(
        self, now: float, *, commanders: int, bypasses: int, listeners: int
    ) -> tuple[bytes, str, dict[str, object]]:
        """Level, message and values of the next status.

        `now`: present time, s. `commanders`, `bypasses`, `listeners`: publishers of the commands that the gate
        receives; other publishers of the efforts that it sends; and subscribers of these.
        """
        gate, c = self._gate, self._gate.counters
        totals = {"refused": c.refused.total(), "limited": c.limited + c.stepped, "states": gate.states.refused}
        if c is not self._counters:  # activated anew
            self._counters, self._said = c, dict.fromkeys(totals, 0)
        refused, limited, states = (max(total - self._said[what], 0) for what, total in totals.items())
        self._said["states"] = totals["states"]
        clamp, said = gate.limited_text(), f"{gate.mode.value}: {gate.cause}" if gate.cause else gate.mode.value
        last = f" (the last one was refused: {gate.states.refusal})" if states else ""
        news = {
            "refused": f"{refused} efforts refused: {c.refusal}" if refused else "",
            "limited": f"{limited} efforts limited: {clamp}" if limited and clamp else "",
        }
        level, message = first_finding(
            (gate.mode is FAULT or (gate.mode is STOPPING and not gate.requested), ERROR, said),
            (gate.mode in (STOPPING, RELEASED), WARN, said),
            (bypasses, WARN,
             f"{bypasses} other publishers send efforts past the gate; remap them to its commands topic"),
            (commanders > 1, WARN, f"{commanders} publishers send efforts to the gate; stop all but one"),
            (gate.mode in (WAITING, PASSING) and gate.states.stale(now), WARN,
             f"no usable joint states: a take-over could not measure the arm{last}"),
            (gate.mode is PASSING and not listeners, WARN, "no node subscribes to the efforts of the gate"),
            *((text, WARN, text) for text in news.values()),
            (True, OK, said),
        )
        self._said |= {what: totals[what] for what, text in news.items() if text == message}
        values: dict[str, object] = {
            "state": gate.mode.value, "cause": gate.cause, "commands": c.commands, "passed efforts": c.passed,
            **{f"refused: {problem.value}": c.refused[problem] for problem in CommandProblem},
            "last refusal": c.refusal, "efforts beyond limits": c.limited, "efforts beyond rate limits": c.stepped,
            "last limit": clamp, "own efforts": c.own, "blind efforts": c.dead_reckoned, "take-overs": c.takeovers,
            "joint states": gate.states.received, "refused joint states": gate.states.refused,
            "last refused joint state": gate.states.refusal, "last failure": c.failure,
            "publishers of commands": commanders, "other publishers of efforts": bypasses,
            "subscribers of efforts": listeners,
        }
        return level, message, values
