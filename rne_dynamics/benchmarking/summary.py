"""Which goals a run meets, and figures as people read them."""

from __future__ import annotations

from dataclasses import dataclass

from rne_dynamics.benchmarking.goals import GOALS, Goal
from rne_dynamics.benchmarking.results import Ratio, Results

#: Where the rounds had less of their core than this, the figures are marked.
QUIET = 0.95


@dataclass(frozen=True)
class Judged:
    """All ratios that one goal judges."""

    goal: Goal
    ratios: tuple[Ratio, ...]

    @property
    def met(self) -> bool:
        """Whether every one meets it."""
        return all(ratio.met for ratio in self.ratios)

    @property
    def range(self) -> str:
        """From the smallest to the largest."""
        low, high = (pick(ratio.ratio for ratio in self.ratios) for pick in (min, max))
        return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"

    @property
    def verdict(self) -> str:
        """How many meet it, and which do not."""
        missed = [f"{r.robot} {r.quantity} {r.ratio:.2f}" for r in self.ratios if not r.met]
        met = f"{len(self.ratios) - len(missed)} of {len(self.ratios)}"
        return "all" if not missed else f"{met}; not: {', '.join(missed)}"


def summary(results: Results) -> list[Judged]:
    """The goals that something was measured for, in their order."""
    by_goal = {key: tuple(r for r in results.ratios if r.goal == key) for key in GOALS}
    return [Judged(GOALS[key], ratios) for key, ratios in by_goal.items() if ratios]


def footing(results: Results) -> list[str]:
    """On what machine, how long, and how well the answers agree."""
    machine = results.machine
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']} at the start; Python {machine['python']}, "
        f"{packages}; {results.options['repeats']} rounds, {results.seconds:.0f} s"
    ]
    if results.share < QUIET:
        lines.append(
            f"THE MACHINE WAS BUSY: these rounds had {100.0 * results.share:.0f} % of their core. Whatever runs for "
            "long looks slower then than what is done between two interruptions; repeat on a quiet machine."
        )
    if results.agrees:
        lines.append(
            f"All answers agree, within {results.largest_difference:.1e}. Times are the smallest of all rounds, for "
            "one state and core; a / b divides the times of a and b."
        )
    return lines


def time_text(ns: float) -> str:
    """A time with its unit, three digits."""
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if abs(ns) < 999.5 * size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"
