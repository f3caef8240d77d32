"""Time of a formulation for one state; operations and times over the number of joints, on generated mechanisms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rne_dynamics.errors import SingularInertiaError
from rne_dynamics.model.generated import chain, tree
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.counting import Driven, count_operations
from rne_dynamics.verification.engines import ENGINES, Engine, Quantity
from rne_dynamics.verification.states import Rows, bare_states

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


SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 140, 200)
MECHANISMS: tuple[tuple[str, Callable[[int], RobotModel]], ...] = (("chain", chain), ("tree", tree))
#: Plain Python counts about a million operations per second; larger counts are extrapolated.
COUNT_LIMIT = 15_000_000


@dataclass(frozen=True)
class Sample:
    """One engine on one generated robot."""

    #: Names, and the number of joints.
    engine: str
    quantity: Driven
    mechanism: str
    n: int
    #: Of all kinds, for one state.
    operations: int
    #: Whether they were counted; otherwise they are extrapolated from smaller chains (`polynomial`).
    counted: bool
    #: For one state.
    seconds: float


def sweep(sizes: Sequence[int] = SIZES) -> Iterator[Sample]:
    """Count and time every engine's inverse and forward dynamics over the sizes, smallest first."""
    quantities: tuple[Driven, ...] = ("inverse", "forward")
    counts: dict[tuple[str, Driven, str], dict[int, int]] = {}
    for n in sorted(sizes):
        for mechanism, make in MECHANISMS:
            robot = make(n)
            rows = bare_states(robot, 8, 0)
            for engine in ENGINES:
                for quantity in quantities:
                    seconds = seconds_per_state(engine, quantity, robot, rows)
                    if seconds is None:
                        continue
                    before = counts.setdefault((engine.name, quantity, mechanism), {})
                    operations, counted = _operations(engine.name, quantity, robot, before)
                    if counted:
                        before[n] = operations
                    yield Sample(engine.name, quantity, mechanism, n, operations, counted, seconds)


def _operations(engine: str, quantity: Driven, robot: RobotModel, before: dict[int, int]) -> tuple[int, bool]:
    """Operations of all kinds, and whether they were counted."""
    n = robot.n
    last = max(before, default=n)
    # no engine grows faster than n³
    if len(before) < 4 or before[last] * (n / last) ** 3 < COUNT_LIMIT:
        operations = count_operations(engine, quantity, robot)
        assert operations is not None  # the engine was timed, so it computes this
        return operations.total, True
    return polynomial(dict(sorted(before.items())[-4:]), n), False


def polynomial(counts: dict[int, int], n: int) -> int:
    """The cubic through four counts, at `n`.

    On chains of one kind of joint every loop is over links, pairs or triples of links, so the count is exactly cubic in
    n. On trees the mass matrix by columns is cubic too, and only its counts are extrapolated.
    """
    from scipy.interpolate import BarycentricInterpolator

    return round(float(BarycentricInterpolator(list(counts), list(counts.values()))(n)))
