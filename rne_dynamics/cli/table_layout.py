"""Layout of tables on a narrow terminal: no cell is shortened, and no number is broken.

The first of these that fits is printed:

1. the table as it is
2. with its headers, and its sentences, wrapped at blanks
3. where sentences would become narrow columns: one record for each row, with the header before each sentence
4. several tables, each with the first columns
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

#: Width from which on a left-justified cell with blanks counts as a sentence, and the narrowest column for sentences.
_SENTENCE = 26
#: Largest number of columns of numbers in a table that becomes records.
_FEW_NUMBERS = 2


class _Column(NamedTuple):
    """One column of a table: whether it has numbers or sentences, its natural and its smallest width.

    Headers, and sentences, may be wrapped at blanks.
    """

    place: int
    header: str
    cells: tuple[Text, ...]
    number: bool
    sentence: bool
    natural: int
    least: int


def print_rows(
    out: Console, headings: Sequence[str], rows: Iterable[Sequence[str | Text]], *, title: str = "",
    words: Collection[int] = (0,),
) -> None:
    """Print rows below headings as `print_table`; the columns `words` have words, the others numbers."""
    columns = [Column(text, justify="left" if k in words else "right") for k, text in enumerate(headings)]
    table = Table(*columns, title=title or None, title_justify="left")
    for row in rows:
        table.add_row(*row)
    print_table(out, table)


def print_table(out: Console, table: Table, *, keys: int = 1) -> None:
    """Print a table within the width of the console.

    Right-justified columns are numbers, others words or sentences. The `keys` first columns name a row; they are
    repeated where the table is split.
    """
    columns = [_column(k, column) for k, column in enumerate(table.columns)]
    if not columns:
        return
    if _left(out, [c.natural for c in columns]) >= 0:
        _print(out, table, columns, [c.natural for c in columns], title=True)
    elif _left(out, [c.least for c in columns]) >= 0:
        _print(out, table, columns, _widths(out, columns), title=True)
    elif _as_records(out, columns, keys):
        _print_records(out, table, columns)
    else:
        for k, part in enumerate(_parts(out, columns, keys)):
            _print(out, table, part, _widths(out, part), title=k == 0)


def _column(place: int, column: Column) -> _Column:
    """What a column of a table needs."""
    cells = tuple(cell if isinstance(cell, Text) else Text(str(cell)) for cell in column.cells)
    header, number = str(column.header), column.justify == "right"
    widest = max((line.cell_len for cell in cells for line in cell.split("\n")), default=0)
    sentence = not number and widest > _SENTENCE and any(" " in cell.plain for cell in cells)
    unbroken = [word for cell in cells for word in cell.plain.split()] if sentence else []
    least = max([_SENTENCE if sentence else widest, *map(cell_len, [*header.split(), *unbroken])])
    return _Column(place, header, cells, number, sentence, max(widest, cell_len(header)), least)


def _left(out: Console, widths: Sequence[int]) -> int:
    """Characters that columns leave free: each has two blanks and a border, and there is a border more."""
    return out.width - 3 * len(widths) - 1 - sum(widths)


def _widths(out: Console, columns: Sequence[_Column]) -> list[int]:
    """Width of each column: the least, and what is left goes to those with the most to gain."""
    widths = [c.least for c in columns]
    while _left(out, widths) > 0 and any(w < c.natural for w, c in zip(widths, columns, strict=True)):
        widths[max(range(len(columns)), key=lambda i: columns[i].natural - widths[i])] += 1
    return widths


def _as_records(out: Console, columns: Sequence[_Column], keys: int) -> bool:
    """Whether to print records: sentences with few numbers, or keys that leave no room for some other column."""
    names = [c.least for c in columns[:keys]]
    crowded = any(_left(out, [*names, c.least]) < 0 for c in columns[keys:])
    return crowded or (any(c.sentence for c in columns) and sum(c.number for c in columns) <= _FEW_NUMBERS)


def _parts(out: Console, columns: Sequence[_Column], keys: int) -> Iterator[list[_Column]]:
    """The columns of each part."""
    part = list(columns[:keys])
    for column in columns[keys:]:
        if len(part) > keys and _left(out, [c.least for c in [*part, column]]) < 0:
            yield part
            part = list(columns[:keys])
        part.append(column)
    yield part


def _print(out: Console, table: Table, chosen: Sequence[_Column], widths: Sequence[int], *, title: bool) -> None:
    """Print some columns of a table at given widths."""
    part = Table(title=table.title if title else None, title_justify=table.title_justify, header_style="bold")
    for column, width in zip(chosen, widths, strict=True):
        part.add_column(column.header, justify="right" if column.number else "left", width=width, overflow="fold")
    for i, row in enumerate(table.rows):
        part.add_row(*(column.cells[i] for column in chosen), end_section=row.end_section)
    out.print(part, soft_wrap=False)


def _print_records(out: Console, table: Table, columns: Sequence[_Column]) -> None:
    """Print each row as a line of its short cells, and its sentences below."""
    if table.title:
        out.print(Text(str(table.title), "italic"))
    for i in range(len(table.rows)):
        short = [c for c in columns if not c.sentence and c.cells[i].plain]
        out.print(Text("  ").join(_named(c, i) if c.number and k else c.cells[i] for k, c in enumerate(short)))
        for c in columns:
            if c.sentence and c.cells[i].plain:
                out.print(Padding(_named(c, i), (0, 0, 0, 2)), soft_wrap=False)


def _named(column: _Column, i: int) -> Text:
    """A cell behind its header."""
    return Text.assemble((f"{column.header}: ", "bold"), column.cells[i])
