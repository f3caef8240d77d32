"""Results of a run, and their conversion to JSON and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from comparison.contenders import Case, Contender, Difference
from comparison.goals import GOALS, Goal
from comparison.timing import Times

from rne_dynamics.errors import ArgumentError

#: Version of the JSON format; raised with incompatible changes.
FORMAT = 1


@dataclass(frozen=True)
class Measurement:
    """The time of one contender.

    Parameters
    ----------
    section, robot, quantity, contender, n, call, states, threads
        See `comparison.contenders`.
    loops, rounds
        Executions in a round, and rounds.
    minimum, median
        Over the rounds, ns for one state and core, less the time of `Contender.less`.
    """

    section: str
    robot: str
    quantity: str
    contender: str
    n: int
    call: str
    states: int
    threads: int
    loops: int
    rounds: int
    minimum: float
    median: float


@dataclass(frozen=True)
class Ratio:
    """Ratio of two times.

    Parameters
    ----------
    section, robot, quantity, n
        Place in the report.
    ours, theirs
        Contenders.
    against
        Those of which `theirs` is the fastest.
    ratio, ratio_of_medians
        Of the smallest times, and of the medians: theirs over ours, or ours over theirs if the goal is defined so.
    goal, bound, met
        Key in `comparison.goals`, its bound, and whether `ratio` meets it; `None` without a goal.
    """

    section: str
    robot: str
    quantity: str
    n: int
    ours: str
    theirs: str
    against: str
    ratio: float
    ratio_of_medians: float
    goal: str | None
    bound: float | None
    met: bool | None

    @property
    def slower(self) -> bool:
        """Whether `ratio` is our time over theirs."""
        return self.goal is not None and GOALS[self.goal].slower


@dataclass
class Results:
    """Everything of one run.

    Parameters
    ----------
    machine
        `comparison.machine.description`.
    options
        Options of the run.
    measurements, ratios, disagreements, left_out
        Results, and lines about what was not compared.
    largest_difference
        Largest relative difference of two answers that agree.
    seconds
        Duration of the run.
    computing, waiting
        CPU time and wall-clock time of the cases on one core, s: they differ if the computer was busy.
    """

    machine: dict[str, Any]
    options: dict[str, Any]
    measurements: list[Measurement] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    disagreements: list[Difference] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    largest_difference: float = 0.0
    seconds: float = 0.0
    computing: float = 0.0
    waiting: float = 0.0

    @property
    def agrees(self) -> bool:
        """Whether all contenders that were compared compute the same."""
        return not self.disagreements

    @property
    def missed(self) -> list[Ratio]:
        """Ratios that miss their goals."""
        return [ratio for ratio in self.ratios if ratio.met is False]

    @property
    def share(self) -> float:
        """CPU share received."""
        return self.computing / self.waiting if self.waiting > 0.0 else 1.0

    def note_share(self, computing: float, waiting: float) -> None:
        """Add CPU time and wall-clock time of a case on one core, s."""
        self.computing += computing
        self.waiting += waiting

    def note_differences(self, found: Sequence[Difference]) -> bool:
        """Add the differences of a case's answers; return whether all agree."""
        apart = [difference for difference in found if not difference.agrees]
        self.disagreements += apart
        agreeing = (difference.relative for difference in found if difference.agrees)
        self.largest_difference = max(self.largest_difference, *agreeing, 0.0)
        return not apart

    def note_times(self, case: Case, times: Mapping[str, Times]) -> None:
        """Add the times of a case, and its ratios."""
        here = {c.name: _measurement(case, c, times) for c in case.contenders}
        self.measurements += here.values()
        for comparison in case.comparisons:
            ours = here[comparison.ours]
            theirs = min((here[name] for name in comparison.theirs), key=lambda m: m.minimum)
            goal = GOALS[comparison.goal] if comparison.goal else None
            per = ours.n / theirs.n if case.each_link else 1.0
            ratio, of_medians = (
                (goal or _FASTER).ratio(getattr(ours, kind) / per, getattr(theirs, kind))
                for kind in ("minimum", "median")
            )
            bound, met = (goal.bound_at(case.n), goal.met(ratio, case.n)) if goal else (None, None)
            self.ratios.append(
                Ratio(
                    case.section, case.robot, case.quantity, case.n, ours.contender, theirs.contender,
                    comparison.called or " or ".join(comparison.theirs), ratio, of_medians, comparison.goal, bound, met,
                )
            )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Plain values for JSON; infinity as a string."""
        plain: dict[str, Any] = _plain({"format": FORMAT, **asdict(self)})
        return plain

    @classmethod
    def from_json(cls, data: Any) -> Results:
        """Results from the output of `as_json`; `ArgumentError` for anything else."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ArgumentError(f"this is no report of `make bench` in format {FORMAT}; write one with --out")
        rest = {key: value for key, value in data.items() if key != "format"}
        try:
            for key, kind in (("measurements", Measurement), ("ratios", Ratio), ("disagreements", Difference)):
                rest[key] = [kind(**_numbers(row)) for row in rest[key]]
            return cls(**rest)
        except (TypeError, KeyError, AttributeError) as error:
            raise ArgumentError(f"this is no complete report of `make bench`: {error}") from None


#: Definition of ratios without a goal.
_FASTER = Goal("", "", 0.0)


def _measurement(case: Case, contender: Contender, times: Mapping[str, Times]) -> Measurement:
    found = times[contender.name]
    share = contender.threads / contender.states
    minimum, median = found.minimum, found.median
    if contender.less is not None:
        off = times[contender.less]
        minimum, median = minimum - off.minimum, median - off.median
    return Measurement(
        case.section, case.robot, case.quantity, contender.name, contender.n, contender.call, contender.states,
        contender.threads, found.loops, len(found.rounds), minimum * share, median * share,
    )  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    return {key: float(value) if value in ("inf", "-inf", "nan") else value for key, value in row.items()}
