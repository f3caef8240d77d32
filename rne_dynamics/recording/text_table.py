"""Tables of numbers as any program writes them: separators, titles, comments, text columns, a last line cut off."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rne_dynamics.errors import RecordingError
from rne_dynamics.input_file import MOST_ARRAYS, check_regular, limited_lines
from rne_dynamics.model.inertia import Array
from rne_dynamics.recording.tables import MOST_COLUMNS

#: Separators that are tried; None is any blanks.
_SEPARATORS = (",", ";", "\t", None)
#: Lines from which the separator is found.
_FIRST = 200
_COMMENT = re.compile(r"^\s*(#|%|//)+\s*")
_NOTHING = ("", "null", "none", "na", "n/a", "-")


class TextTable(NamedTuple):
    """The numbers of a file; NaN for an empty cell and in columns of text."""

    #: Of the columns; without a header their numbers from 1.
    names: tuple[str, ...]
    #: Shape (rows, columns).
    numbers: Array
    #: What was left out, a sentence each.
    notes: tuple[str, ...]


def read_text_table(path: Path) -> TextTable:
    """Read a text file with a row of numbers a line.

    Lines without numbers before the first row are titles; the last one with as many words as columns is the header.
    A last line that is cut off is left out. `RecordingError`: no numbers, or a line that does not fit the others.
    """
    try:
        check_regular(path)
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            lines = (line for line in limited_lines(file) if line.strip())
            first = list(islice(lines, _FIRST))
            separator = max(_SEPARATORS, key=lambda s: sum(map(_count, (_cells(line, s) for line in first))))
            head = next((k for k, line in enumerate(first) if _count(_cells(line, separator))), len(first))
            return _table(path, first[:head], chain(first[head:], lines), separator)
    except (OSError, csv.Error) as error:
        raise RecordingError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _table(path: Path, head: Sequence[str], lines: chain[str], separator: str | None) -> TextTable:
    numbers, texts, notes, width, rows = array("d"), dict[int, tuple[int, str]](), list[str](), 0, 0
    broken, line = "", ""
    for line in lines:
        cells = _cells(line, separator)
        if broken or len(cells) != (width or len(cells)):
            if broken or not rows:
                break
            broken = f"row {rows + 1} has {len(cells)} cells; the rows before have {width}"
            continue
        width = width or len(cells)
        for k, cell in enumerate(cells):
            value = _number(cell)
            if value is None:
                texts.setdefault(k, (rows, cell))
            numbers.append(np.nan if value is None else value)
        rows += 1
        if 8 * len(numbers) > MOST_ARRAYS or width > MOST_COLUMNS:
            raise RecordingError(f"{path} holds more than {MOST_ARRAYS // 8_000_000} million numbers or {MOST_COLUMNS} "
                                 "columns; record a shorter time")  # fmt: skip
    else:
        if broken:
            notes.append(f"the last line is cut off and left out: {broken}")
        elif rows > 1 and not line.endswith("\n"):
            notes.append("the last line has no end, so that it may be cut off; it is left out")
            rows -= 1
        broken = ""
    if broken:
        raise RecordingError(f"{path}: {broken}; delete the line, or write as many cells in each")
    if any(row == rows - 1 > 0 for row, _ in texts.values()):
        notes.append("the last line ends with text and is left out")
        rows -= 1
    if not rows:
        raise RecordingError(f"{path} has no rows of numbers; a log has a row for each time, cells separated alike")
    table = np.array(numbers).reshape(-1, width)[:rows]
    for k, (row, cell) in texts.items():
        if row < rows and (row or np.isfinite(table[:, k]).any()):
            raise RecordingError(f"{path}: row {row + 1}, column {k + 1} is {cell[:40]!r} among numbers; give a number")
    return TextTable(_names(head, separator, width), table, tuple(notes))


def _names(head: Sequence[str], separator: str | None, width: int) -> tuple[str, ...]:
    """Of the header, whose separator may be another one than that of the numbers."""
    for line in reversed(head):
        plain = _COMMENT.sub("", line)
        for used in (separator, *_SEPARATORS):
            names = _cells(plain, used)
            names += [""] * (len(names) == width - 1)  # rows that end with a separator
            if len(names) == width and any(names):
                return tuple(name or str(k) for k, name in enumerate(names, 1))
    return tuple(map(str, range(1, width + 1)))


def _cells(line: str, separator: str | None) -> list[str]:
    whole = line.rstrip("\r\n")
    found = whole.split() if separator is None else next(csv.reader([whole], delimiter=separator), [])
    cells = [cell.strip(" \t\"'") for cell in found]
    return [cell.replace(",", ".") for cell in cells] if separator in (";", "\t") else cells


def _number(cell: str) -> float | None:
    """Its value, NaN for an empty one, None for text."""
    try:
        return float(cell)
    except ValueError:
        return np.nan if cell.lower() in _NOTHING else None


def _count(cells: Sequence[str]) -> int:
    """Number of numbers in a line of data, 0 in another line."""
    count = sum(_number(cell) is not None and cell != "" for cell in cells)
    return count if count > 1 and 2 * count >= sum(map(bool, cells)) else 0
