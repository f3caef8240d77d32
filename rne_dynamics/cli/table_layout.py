"""Layout of tables on a narrow terminal: no cell is shortened, and no number is broken.

The first of these that fits is printed:

1. the table as it is
2. with its headers, and its sentences, wrapped at blanks
3. where sentences would become narrow columns: one record for each row, with the header before each sentence
4. several tables, each with the first columns
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

#: Width from which on a left-justified cell with blanks counts as a sentence, and the narrowest column for sentences.
_SENTENCE = 26
#: Largest number of columns of numbers in a table that becomes records.
_FEW_NUMBERS = 2


@dataclass(frozen=True)
class _Column:
    """Texts and widths of one column of a table."""

    header: str
    cells: tuple[Text, ...]
    number: bool

    @property
    def widest_cell(self) -> int:
        return max((line.cell_len for cell in self.cells for line in cell.split("\n")), default=0)

    @property
    def natural(self) -> int:
        """Width of the widest text."""
        return max(self.widest_cell, Text(self.header).cell_len)

    @property
    def sentence(self) -> bool:
        """Whether cells may be wrapped at blanks."""
        return not self.number and self.widest_cell > _SENTENCE and any(" " in cell.plain for cell in self.cells)

    @property
    def least(self) -> int:
        """Smallest width: headers, and sentences, are wrapped at blanks."""
        words = [Text(word).cell_len for word in self.header.split()]
        if not self.sentence:
            return max([self.widest_cell, *words])
        words += [Text(word).cell_len for cell in self.cells for word in cell.plain.split()]
        return max([_SENTENCE, *words])


def print_table(out: Console, table: Table, *, keys: int = 1) -> None:
    """Print a table within the width of the console.

    Parameters
    ----------
    out
        Where to print.
    table
        The table. Right-justified columns are numbers, others words or sentences.
    keys
        Number of first columns that name a row; they are repeated where the table is split.
    """
    columns = [_column(table, k) for k in range(len(table.columns))]
    if not columns:
        return
    chosen = list(range(len(columns)))
    if _fits(out, [c.natural for c in columns]):
        _print(out, table, chosen, [c.natural for c in columns], title=True)
    elif _fits(out, [c.least for c in columns]):
        _print(out, table, chosen, _widths(out, columns), title=True)
    elif _as_records(out, columns, keys):
        _print_records(out, table, columns)
    else:
        for k, part in enumerate(_parts(out, columns, keys)):
            _print(out, table, part, _widths(out, [columns[i] for i in part]), title=k == 0)


def _column(table: Table, k: int) -> _Column:
    column = table.columns[k]
    cells = tuple(cell if isinstance(cell, Text) else Text(str(cell)) for cell in column.cells)
    return _Column(str(column.header), cells, column.justify == "right")


def _room(out: Console, columns: int) -> int:
    """Characters for the cells of that many columns: each has two blanks and a border, and there is a border more."""
    return out.width - 3 * columns - 1


def _fits(out: Console, widths: Sequence[int]) -> bool:
    return sum(widths) <= _room(out, len(widths))


def _widths(out: Console, columns: Sequence[_Column]) -> list[int]:
    """Width of each column: the least, and what is left goes to those with the most to gain."""
    widths = [c.least for c in columns]
    left = _room(out, len(columns)) - sum(widths)
    while left > 0 and any(w < c.natural for w, c in zip(widths, columns, strict=True)):
        k = max(range(len(columns)), key=lambda i: columns[i].natural - widths[i])
        widths[k] += 1
        left -= 1
    return widths


def _as_records(out: Console, columns: Sequence[_Column], keys: int) -> bool:
    """Whether to print records: sentences with few numbers, or keys that leave no room for some other column."""
    names = sum(c.least for c in columns[:keys])
    crowded = any(names + c.least > _room(out, keys + 1) for c in columns[keys:])
    return crowded or (any(c.sentence for c in columns) and sum(c.number for c in columns) <= _FEW_NUMBERS)


def _parts(out: Console, columns: Sequence[_Column], keys: int) -> Iterator[list[int]]:
    """Indices of the columns of each part."""
    part = list(range(keys))
    for k in range(keys, len(columns)):
        if len(part) > keys and not _fits(out, [columns[i].least for i in [*part, k]]):
            yield part
            part = list(range(keys))
        part.append(k)
    yield part


def _print(out: Console, table: Table, chosen: Sequence[int], widths: Sequence[int], *, title: bool) -> None:
    """Print some columns of a table at given widths."""
    part = Table(title=table.title if title else None, title_justify=table.title_justify, header_style="bold")
    for k, width in zip(chosen, widths, strict=True):
        column = table.columns[k]
        part.add_column(column.header, justify=column.justify, width=width, overflow="fold")
    cells = [list(table.columns[k].cells) for k in chosen]
    for i, row in enumerate(table.rows):
        part.add_row(*(column[i] for column in cells), end_section=row.end_section)
    out.print(part, soft_wrap=False)


def _print_records(out: Console, table: Table, columns: Sequence[_Column]) -> None:
    """Print each row as a line of its short cells, and its sentences below."""
    if table.title:
        out.print(Text(str(table.title), "italic"))
    for i in range(len(table.rows)):
        short = [c for c in columns if not c.sentence and c.cells[i].plain]
        named = [_named(c, c.cells[i]) if c.number and k else c.cells[i] for k, c in enumerate(short)]
        out.print(Text("  ").join(named))
        for c in columns:
            if c.sentence and c.cells[i].plain:
                out.print(Padding(_named(c, c.cells[i]), (0, 0, 0, 2)), soft_wrap=False)


def _named(column: _Column, cell: Text) -> Text:
    return Text.assemble((f"{column.header}: ", "bold"), cell)
