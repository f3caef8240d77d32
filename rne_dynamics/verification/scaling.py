"""Operations and times over the number of joints, on generated mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rne_dynamics.model.generated import chain, tree
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.counting import Driven, count_operations
from rne_dynamics.verification.engines import ENGINES
from rne_dynamics.verification.states import bare_states
from rne_dynamics.verification.timing import seconds_per_state

SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 140, 200)
MECHANISMS: tuple[tuple[str, Callable[[int], RobotModel]], ...] = (("chain", chain), ("tree", tree))
#: Plain Python counts about a million operations a second; what would take much longer is worked out instead.
COUNT_LIMIT = 15_000_000


@dataclass(frozen=True)
class Sample:
    """One engine on one mechanism.

    Parameters
    ----------
    engine, quantity, mechanism, n
        Names, and the number of joints.
    operations
        Of all kinds, for one state.
    counted
        Whether they were counted; otherwise they follow from smaller chains (`polynomial`).
    seconds
        For one state.
    """

    engine: str
    quantity: Driven
    mechanism: str
    n: int
    operations: int
    counted: bool
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
    # no engine grows faster than the cube
    if len(before) < 4 or before[last] * (n / last) ** 3 < COUNT_LIMIT:
        operations = count_operations(engine, quantity, robot)
        assert operations is not None  # it has been timed, so it computes this
        return operations.total, True
    return polynomial(dict(sorted(before.items())[-4:]), n), False


def polynomial(counts: dict[int, int], n: int) -> int:
    """The cubic through four counts, at `n`.

    On chains of one kind of joint every loop runs over links, pairs or triples of them, so the number of operations is
    a cubic in n exactly; on trees so is that of the mass matrix by columns, the only one there that grows so large.
    """
    total = Fraction(0)
    for k, value in counts.items():
        term = Fraction(value)
        for other in counts:
            if other != k:
                term *= Fraction(n - other, k - other)
        total += term
    return round(total)
