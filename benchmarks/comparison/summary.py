"""Goals that a run meets, and figures as text."""

from __future__ import annotations

from dataclasses import dataclass

from comparison.goals import GOALS, Goal
from comparison.results import Ratio, Results

#: Least CPU share of the rounds; reports with less have a warning.
QUIET = 0.95


@dataclass(frozen=True)
class Judged:
    """All ratios of one goal."""

    goal: Goal
    ratios: tuple[Ratio, ...]

    @property
    def met(self) -> bool:
        """Whether all meet the goal."""
        return all(ratio.met for ratio in self.ratios)

    @property
    def range(self) -> str:
        """Smallest and largest ratio."""
        low, high = (pick(ratio.ratio for ratio in self.ratios) for pick in (min, max))
        return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"

    @property
    def verdict(self) -> str:
        """Number of ratios that meet the goal, and those that do not."""
        missed = [f"{r.robot} {r.quantity} {r.ratio:.2f}" for r in self.ratios if not r.met]
        met = f"{len(self.ratios) - len(missed)} of {len(self.ratios)}"
        return "all" if not missed else f"{met}; not: {', '.join(missed)}"


def summary(results: Results) -> list[Judged]:
    """The goals with measured ratios, in their order."""
    by_goal = {key: tuple(r for r in results.ratios if r.goal == key) for key in GOALS}
    return [Judged(GOALS[key], ratios) for key, ratios in by_goal.items() if ratios]


def footing(results: Results) -> list[str]:
    """Lines about the computer, the duration, and the agreement of the answers."""
    machine = results.machine
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']} at the start; Python {machine['python']}, "
        f"{packages}; {results.options['repeats']} rounds, {results.seconds:.0f} s"
    ]
    if results.share < QUIET:
        lines.append(
            f"THE COMPUTER WAS BUSY: these rounds received {100.0 * results.share:.0f} % of their core, which slows "
            "down long calls more than short ones; repeat on an idle computer."
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
