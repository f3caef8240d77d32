"""Tables of a report, for the terminal and benchmarks/README.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from comparison import scaling
from comparison.results import Measurement, Ratio, Results
from comparison.sections import SECTIONS
from comparison.summary import summary, time_text


@dataclass(frozen=True)
class Cell:
    """A text, and whether it meets its goal if it has one."""

    text: str
    met: bool | None = None


@dataclass(frozen=True)
class Table:
    """Rows under a header; the first `left` columns are words, the others numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left: int


def tables(results: Results) -> Iterator[Table]:
    """The tables of all sections, then the goals."""
    for name in results.options["sections"]:
        rows = [m for m in results.measurements if m.section == name]
        ratios = [r for r in results.ratios if r.section == name]
        if not rows:
            continue
        if name == scaling.SECTION:
            yield from (_size_table(shape, rows) for shape in dict.fromkeys(m.robot for m in rows))
            if ratios:
                yield ratio_table("time for one link, and for one state compared with pin", ratios)
        else:
            yield _contender_table(SECTIONS[name].title, rows, ratios)
    if summary(results):
        yield goal_table(results)


def goal_table(results: Results) -> Table:
    """All measured goals."""
    rows = tuple(
        (Cell(line.goal.what), Cell(line.goal.wanted), Cell(line.range), Cell(line.verdict, line.met))
        for line in summary(results)
    )
    return Table("goals", ("what", "goal", "ratios", "met by"), rows, 4)


def ratio_table(title: str, ratios: Sequence[Ratio]) -> Table:
    """One row per robot and pair, one column per quantity."""
    quantities = tuple(dict.fromkeys(r.quantity for r in ratios))
    rows = []
    for robot, heading in dict.fromkeys((r.robot, _heading(r)) for r in ratios):
        here = {r.quantity: r for r in ratios if (r.robot, _heading(r)) == (robot, heading)}
        rows.append((Cell(robot), Cell(heading), *(_ratio_cell(here.get(q)) for q in quantities)))
    return Table(title, ("robot", "times", *(q.replace("_", " ") for q in quantities)), tuple(rows), 2)


def _contender_table(title: str, rows: Sequence[Measurement], ratios: Sequence[Ratio]) -> Table:
    """One row per robot and quantity: times of all contenders, then their ratios."""
    contenders = tuple(dict.fromkeys(m.contender for m in rows if m.n))  # without empty calls
    headings = tuple(dict.fromkeys(map(_heading, ratios)))
    lines = []
    for robot, quantity in dict.fromkeys((m.robot, m.quantity) for m in rows):
        place = [m for m in rows if (m.robot, m.quantity) == (robot, quantity)]
        times = {m.contender: time_text(m.minimum) for m in place}
        found = {_heading(r): r for r in ratios if (r.robot, r.quantity) == (robot, quantity)}
        lines.append(
            (
                Cell(f"{robot} ({max(m.n for m in place)})"), Cell(quantity.replace("_", " ")),
                *(Cell(times.get(name, "")) for name in contenders), *(_ratio_cell(found.get(h)) for h in headings),
            )
        )  # fmt: skip
    return Table(title, ("robot (joints)", "quantity", *contenders, *headings), tuple(lines), 2)


def _size_table(shape: str, rows: Sequence[Measurement]) -> Table:
    """One row per size, with our and their time per link for every quantity."""
    here = [m for m in rows if m.robot == shape and m.n]
    quantities = tuple(dict.fromkeys(m.quantity for m in here))
    times = {(m.quantity, m.n, m.contender.startswith("pin")): time_text(m.minimum / m.n) for m in here}
    columns = [(q, theirs) for q in quantities for theirs in (False, True) if any(k[::2] == (q, theirs) for k in times)]
    lines = [
        (Cell(str(n)), *(Cell(times.get((q, n, theirs), "")) for q, theirs in columns))
        for n in sorted({m.n for m in here})
    ]
    header = ("n", *(f"{q.replace('_', ' ')}, {'pin' if theirs else 'rne'}" for q, theirs in columns))
    return Table(f"{shape}: time for one state, by the number of joints n", header, tuple(lines), 0)


def _heading(ratio: Ratio) -> str:
    return f"{ratio.ours} / {ratio.against}" if ratio.slower else f"{ratio.against} / {ratio.ours}"


def _ratio_cell(ratio: Ratio | None) -> Cell:
    return Cell("") if ratio is None else Cell(f"{ratio.ratio:.2f}", ratio.met)
