"""Operations and times of the formulations: of one robot, or over the number of joints of chains and trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from comparison.generated import chain, tree
from operation_counts import Driven, count_closed, count_operations, published
from script import options, print_table

from rne_dynamics.description.model_file import load_model
from rne_dynamics.figures.style import INK, canvas, color_of, legend_below
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.agreement import engines_of
from rne_dynamics.verification.engines import ENGINES, bare_states, seconds_per_state

#: Numbers of joints at the axis of the figure.
_TICKS = (2, 5, 10, 20, 50, 100, 200)
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


def plot_scaling(path: Path, samples: Sequence[Sample]) -> None:
    """Write a figure of operations and times over the number of joints; raises as `canvas`."""
    with canvas(path, 12.0, 9.0) as figure:
        grid = figure.subplots(2, 2, sharex=True, sharey="row")
        for column, (mechanism, _) in enumerate(MECHANISMS):
            counts, times = grid[0][column], grid[1][column]
            for k, engine in enumerate(ENGINES):
                for quantity, style in (("inverse", "--"), ("forward", "-")):
                    chosen = [
                        s for s in samples
                        if (s.engine, s.quantity, s.mechanism) == (engine.name, quantity, mechanism)
                    ]  # fmt: skip
                    if not chosen:
                        continue
                    label = f"{engine.name}, {quantity}"
                    line = {"color": color_of(k), "linestyle": style, "marker": ".", "label": label}
                    n = [s.n for s in chosen]
                    counts.loglog(n, [s.operations for s in chosen], **line)
                    times.loglog(n, [1e6 * s.seconds for s in chosen], **line)
            if mechanism == "chain":
                n = sorted({s.n for s in samples})
                quoted = [published(k).total for k in n]
                counts.loglog(n, quoted, ":", color=INK, label="nasser in document 000: 449 n - 202")
            counts.set_title(f"{mechanism} of revolute joints")
            times.set_xlabel("joints n")
            times.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
            times.minorticks_off()
        grid[0][0].set_ylabel("operations for one state")
        grid[1][0].set_ylabel("time for one state (µs)")
        legend_below(figure, grid[0][0], 4)


def print_operations(robot: RigidRobot) -> None:
    """Print the operations of every formulation of a robot for one state without loads."""
    count = count_closed if robot.loops else count_operations
    rows = []
    for engine in engines_of(robot):
        counts = [count(engine.name, quantity, robot) for quantity in ("inverse", "forward")]
        rows.append([engine.name, *(str(x) for c in counts for x in (["", "", ""] if c is None else [
            c.multiplications, c.additions, c.divisions + c.functions]))])  # fmt: skip
    headings = [f"{quantity}: {kind}" for quantity in ("inverse", "forward") for kind in ("mul", "add", "other")]
    print_table(f"{robot.name}: operations for one state", ["formulation", *headings], rows)
    if not robot.loops:
        paper, n = published(robot.bodies), robot.bodies
        by_paper = f"258 n - 119 = {paper.multiplications} mul, 191 n - 83 = {paper.additions} add"
        print(f"document 000 for nasser, n = {n}: {by_paper}")


def main() -> None:
    """Count and print, or count, time and plot."""
    parser = options(__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--robot", help="print the operations of a robot or mechanism, by name or path")
    which.add_argument("--plot", type=Path, metavar="FILE", help="the figure; takes minutes")
    args = parser.parse_args()
    if args.robot:
        print_operations(load_model(args.robot).rigid)
    else:
        plot_scaling(args.plot, list(sweep()))


if __name__ == "__main__":
    main()
