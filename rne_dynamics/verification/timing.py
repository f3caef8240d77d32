"""How long an engine takes for one state."""

from __future__ import annotations

import time
from typing import Any

from rne_dynamics.errors import SingularInertiaError
from rne_dynamics.model.mechanism import Machine
from rne_dynamics.verification.engines import Engine, Quantity
from rne_dynamics.verification.states import Rows

#: Repeats go on for so long at least; s.
_ENOUGH = 0.05


def seconds_per_state(engine: Engine[Any], quantity: Quantity, robot: Machine, rows: Rows) -> float | None:
    """Smallest time of several repeats, by the rows; s. `None` where the engine does not compute the quantity.

    The rows go through in one call, as in a batch: what Python costs at each call is shared between them.
    """
    if not engine.offers(quantity):
        return None
    try:
        engine.compute(quantity, robot, rows.first)  # compiled, allocated, warm
    except SingularInertiaError:
        return None
    best, spent = float("inf"), 0.0
    while spent < _ENOUGH:
        start = time.perf_counter()
        engine.compute(quantity, robot, rows)
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best / len(rows.q)
