"""Which form of the closed loop runs: compiled, or plain Python where compiling would take longer than the run.

The compiled loop takes half a minute to compile and 1 to 10 µs a step. Where the arm has machine code of its own, plain
Python takes about 0.2 ms a step around it. Both compute the same but for round-off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rne_dynamics.compiling.addresses import in_python
from rne_dynamics.compiling.ready import is_ready
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import OwnCode
from rne_dynamics.simulation.rollouts.closed_loop import PD_GRAVITY, LawRows, PlantRows, closed_loops
from rne_dynamics.simulation.rollouts.packed_loop import PackedLoop
from rne_dynamics.simulation.rollouts.smooth_cycles import Clock, Course

#: Steps of one arm in plain Python after which the loop is compiled.
MOST_STEPS = 30_000
_STEPS, _COMPILED = "steps in plain Python", "the compiled loop runs"


def chosen_loop(
    packed: PackedLoop, laws: LawRows, plants: PlantRows, code: OwnCode, clock: Clock, references: Array, course: Course
) -> Callable[..., None]:
    """`closed_loops` for a run of these arguments, in the form that is quicker."""
    kept = packed.robot.own_code
    if _COMPILED in kept:
        return closed_loops
    steps = kept.get(_STEPS, 0) + len(course.q) * clock.cycles * clock.substeps
    has_code = code.forward and code.response and code.inverse_diagonal and (code.terms or laws.kind == PD_GRAVITY)
    arguments = plants, laws, code, clock, references, course, 0, 0, 0, 0
    if not has_code or steps > MOST_STEPS or is_ready(closed_loops, *arguments):
        kept[_COMPILED] = True
        return closed_loops
    kept[_STEPS] = steps
    return _in_python()


@cache
def _in_python() -> Callable[..., None]:
    plain = in_python(closed_loops)

    def loops(*arguments: Any) -> None:
        with np.errstate(all="ignore"):  # as in compiled code
            plain(*arguments)

    return loops
