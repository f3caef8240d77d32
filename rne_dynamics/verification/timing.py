"""Time of a formulation for one state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rne_dynamics.errors import SingularInertiaError
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.verification.engines import Engine, Quantity
from rne_dynamics.verification.states import Rows

#: Least total time of the repeats, s.
_ENOUGH = 0.05


def seconds_per_state(engine: Engine[Any], quantity: Quantity, robot: RigidRobot, rows: Rows) -> float | None:
    """Smallest time of several repeats of all rows in one call, over their number, s; `None` without the quantity."""
    if not engine.offers(quantity):
        return None
    try:
        engine.compute(quantity, robot, rows.first)
    except SingularInertiaError:
        return None
    return smallest_time(lambda: engine.compute(quantity, robot, rows)) / len(rows.q)


def smallest_time(call: Callable[[], object]) -> float:
    """Smallest time of several calls after a first one, s."""
    call()  # compiles and allocates
    best, spent = float("inf"), 0.0
    while spent < _ENOUGH:
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best
