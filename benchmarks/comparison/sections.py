"""Sections of a run by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from comparison import (
    batches,
    calls,
    compiled_loops,
    exported_c,
    loading,
    other_robots,
    rollouts,
    scaling,
)
from comparison.contenders import Case
from comparison.plan import LeftOut, Plan


@dataclass(frozen=True)
class Section:
    """One section.

    Parameters
    ----------
    title
        Its title in reports.
    cases
        Generates its cases, and what it leaves out.
    count
        Number of its cases.
    """

    title: str
    cases: Callable[[Plan], Iterator[Case | LeftOut]]
    count: Callable[[Plan], int]


SECTIONS = {
    calls.SECTION: Section("single calls from Python", calls.cases, calls.count),
    compiled_loops.SECTION: Section("inside compiled code", compiled_loops.cases, compiled_loops.count),
    batches.SECTION: Section("batches, time for one state and core", batches.cases, batches.count),
    other_robots.SECTION: Section("mechanisms and flexible arms", other_robots.cases, other_robots.count),
    exported_c.SECTION: Section("C of `rne export`", exported_c.cases, exported_c.count),
    rollouts.SECTION: Section("closed-loop simulation at 1 ms", rollouts.cases, rollouts.count),
    loading.SECTION: Section("from a URDF file to a model", loading.cases, loading.count),
    scaling.SECTION: Section("time over the number of joints", scaling.cases, scaling.count),
}
