"""Every page of a source document lists the document's items, and every item names a test that exists.

A test that is renamed or removed is found here.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "test" / "documents"
PAGES = {
    "000": "000_recursive_newton_euler.md",
    "001": "001_textbook.md",
    "002": "002_pantograph.md",
    "003": "003_flexible.md",
    "004": "004_lagrange.md",
}
HEADING = "## The document, item by item"
HEADER = "| in the document | shown by |"
REFERENCE = re.compile(r"`(test/[\w/]+\.py)::(test_\w+)`")

pages = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


def section(page: str) -> list[str]:
    """The lines of the section, without its heading."""
    lines = (PLACE / page).read_text(encoding="utf-8").splitlines()
    assert lines.count(HEADING) == 1, f"{page} has {lines.count(HEADING)} sections {HEADING!r}; it must have one"
    begin = lines.index(HEADING) + 1
    rest = [k for k, line in enumerate(lines[begin:], begin) if line.startswith("## ")]
    return lines[begin : rest[0] if rest else None]


def rows(page: str) -> list[tuple[str, str]]:
    """The rows of the section's table: what is in the document, what shows it."""
    first, dashes, *table = [line.strip() for line in section(page) if line.strip().startswith("|")]
    assert first == HEADER, f"{page}: the table begins with {first!r}; it must begin with {HEADER!r}"
    assert re.fullmatch(r"\|[ :-]+\|[ :-]+\|", dashes), f"{page}: no line of dashes below the table's header"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert all(len(row) == 2 for row in cells), f"{page}: a row of the table has not two cells"
    return [(item, shown_by) for item, shown_by in cells]


@cache
def functions(file: str) -> frozenset[str]:
    """Names of the functions that a test file defines, in classes too."""
    return frozenset(re.findall(r"^ *(?:async )?def (\w+)", (ROOT / file).read_text(encoding="utf-8"), re.M))


@pages
def test_every_item_names_tests_that_exist(page: str) -> None:
    items = [item for item, _ in rows(page)]
    assert len(set(items)) == len(items), f"{page}: {[x for x in items if items.count(x) > 1]}"
    for item, shown_by in rows(page):
        references = REFERENCE.findall(shown_by)
        assert references, f"{page}: {item!r} names no test"
        assert shown_by.count("::") == len(references), f"{page}: {item!r}: another form than `file::test`"
        for file, name in references:
            assert (ROOT / file).is_file(), f"{page}: {item!r} names {file}, which is not there"
            assert name in functions(file), f"{page}: {item!r} names {file}::{name}, which is not there"


def test_all_problems_of_the_textbook_are_listed() -> None:
    """Document 001 states problems 4.1 to 4.45, a row each."""
    listed = [m[1] for item, _ in rows("001_textbook.md") if (m := re.match(r"Problem (4\.\d+)\b", item))]
    assert listed == [f"4.{k}" for k in range(1, 46)]
