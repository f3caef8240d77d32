"""Operations and times over the number of joints, on generated mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.counting import count_operations
from rne_dynamics.verification.engines import ENGINES, Quantity
from rne_dynamics.verification.mechanisms import chain, tree
from rne_dynamics.verification.operations import Operations
from rne_dynamics.verification.states import bare_states
from rne_dynamics.verification.timing import seconds_per_state

SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 140, 200)
MECHANISMS: tuple[tuple[str, Callable[[int], RobotModel]], ...] = (("chain", chain), ("tree", tree))
#: Plain Python counts some ten million operations a minute; larger counts are left out.
COUNT_LIMIT = 3_000_000


@dataclass(frozen=True)
class Sample:
    """One engine on one mechanism; `operations` is `None` where counting would take too long."""

    engine: str
    quantity: Quantity
    mechanism: str
    n: int
    operations: Operations | None
    seconds: float


def sweep(sizes: Sequence[int] = SIZES) -> Iterator[Sample]:
    """Count and time every engine's inverse and forward dynamics over the sizes, smallest first."""
    quantities: tuple[Quantity, ...] = ("inverse", "forward")
    largest: dict[tuple[str, str, str], tuple[int, int]] = {}
    for n in sorted(sizes):
        for mechanism, make in MECHANISMS:
            robot = make(n)
            rows = bare_states(robot, 8, 0)
            for engine in ENGINES:
                for quantity in quantities:
                    seconds = seconds_per_state(engine, quantity, robot, rows)
                    if seconds is None:
                        continue
                    key = (engine.name, quantity, mechanism)
                    before, total = largest.get(key, (n, 0))
                    operations = None
                    if total * (n / before) ** 3 < COUNT_LIMIT:
                        operations = count_operations(engine.name, quantity, robot)
                        largest[key] = (n, operations.total if operations else 0)
                    yield Sample(engine.name, quantity, mechanism, n, operations, seconds)
