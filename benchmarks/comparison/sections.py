"""Sections of a run by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

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


class Section(NamedTuple):
    """Title of a section in reports, and the generator of its cases and of what it leaves out."""

    title: str
    cases: Callable[[Plan], Iterator[Case | LeftOut]]


SECTIONS = {
    calls.SECTION: Section("single calls from Python", calls.cases),
    compiled_loops.SECTION: Section("inside compiled code", compiled_loops.cases),
    batches.SECTION: Section("batches, time for one state and core", batches.cases),
    other_robots.SECTION: Section("mechanisms and flexible arms", other_robots.cases),
    exported_c.SECTION: Section("C of `rne export`", exported_c.cases),
    rollouts.SECTION: Section("closed-loop simulation at 1 ms", rollouts.cases),
    loading.SECTION: Section("from a URDF file to a model", loading.cases),
    scaling.SECTION: Section("time over the number of joints", scaling.cases),
}
