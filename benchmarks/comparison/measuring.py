"""Run of all cases: compare answers, then measure times."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Sequence

from comparison import machine
from comparison.contenders import Case, differences
from comparison.plan import LeftOut, Plan, missing_peers
from comparison.results import Results
from comparison.sections import SECTIONS
from comparison.timing import interleave, statement

#: Least time of a contender in one round, ns.
SLICE, QUICK_SLICE = 2e6, 1e5
#: Pause before a contender with several threads, s: those of another pool may still spin, waiting for work.
PAUSE = 0.05

#: Called with the current case and the fraction of sections that are finished.
Progress = Callable[[str, float], None]


def measure(plan: Plan, sections: Sequence[str], repeats: int, progress: Progress = lambda what, done: None) -> Results:
    """Run all cases of a plan.

    Parameters
    ----------
    plan
        What is compared.
    sections
        Keys of `SECTIONS`.
    repeats
        Rounds of every case.
    progress
        Called before every case.
    """
    began = time.monotonic()
    results = Results(
        machine.description(),
        {"sections": list(sections), "repeats": repeats, "quick": plan.quick, "robots": [r.name for r in plan.robots]},
        left_out=[str(line) for line in missing_peers(plan.peers)],
    )
    order = random.Random(0)
    for done, name in enumerate(sections):
        for case in SECTIONS[name].cases(plan):
            if isinstance(case, LeftOut):
                results.left_out.append(str(case))
                continue
            progress(case.label, done / len(sections))
            if results.note_differences(differences(case)):
                _take_times(results, case, repeats, QUICK_SLICE if plan.quick else SLICE, order)
    results.seconds = time.monotonic() - began
    return results


def _take_times(results: Results, case: Case, repeats: int, enough: float, order: random.Random) -> None:
    payloads = {c.name: statement(c.call, c.names) for c in case.contenders}
    alone = all(contender.threads == 1 for contender in case.contenders)
    with machine.one_core() if alone else contextlib.nullcontext():
        wall, used = time.monotonic(), time.process_time()
        times = interleave(payloads, case.rounds(repeats), enough, order, 0.0 if alone else PAUSE)
    if alone:
        results.note_share(time.process_time() - used, time.monotonic() - wall)
    results.note_times(case, times)
