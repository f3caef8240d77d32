from __future__ import annotations

import pytest

from rne_dynamics.description.lint.findings import Finding, collect
from rne_dynamics.description.markup import Element, parse_number, read_numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("-1.5", -1.5), ("+.5", 0.5), ("2.", 2.0), ("1e3", 1000.0), (" 1E-3\n", 1e-3), ("1e-400", 0.0)],
)
def test_numbers_that_every_parser_reads_alike(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "nan", "inf", "-Infinity", "1,5", "1_000", "0x10", "1e", "1.5m", "1 2", "١", "1e400", "1d3", "--1"],
)
def test_everything_else_is_no_number(text: str) -> None:
    assert parse_number(text) is None


def read(text: str, count: int) -> tuple[tuple[float, ...] | None, list[Finding]]:
    found: list[Finding] = []
    element = Element("origin", {"xyz": text}, 7)
    return collect(read_numbers(element, "xyz", count, "joint 'a' <origin>"), found), found


def test_good_numbers_have_no_finding() -> None:
    assert read("1 -2\t3e0", 3) == ((1.0, -2.0, 3.0), [])


@pytest.mark.parametrize(
    ("text", "count", "says", "fix"),
    [
        ("1,5 0 0", 3, "'1,5 0 0'", "with a decimal point"),
        ("1,5", 1, "'1,5'", "with a decimal point"),
        ("0.1, 0, 0", 3, "'0.1, 0, 0'", "without commas"),
        ("0,1, 0,2, 0", 3, "'0,1, 0,2, 0'", "without commas"),
        ("0.1; 0; 0", 3, "'0.1; 0; 0'", "as a number"),
        ("0.1,0,0", 3, "'0.1,0,0'", "without commas"),
        ("2 .5", 1, "not 2", "give 1"),
        ("1,2,3", 3, "'1,2,3'", "without commas"),
        ("1, 2, 3", 3, "'1, 2, 3'", "without commas"),
        ("nan 0 0", 3, "'nan 0 0'", "write the value"),
        ("inf", 1, "'inf'", "write the value"),
        ("0 0", 3, "not 2", "give 3"),
        ("0 0 0 0", 3, "not 4", "give 3"),
        ("", 1, "not 0", "give the value"),
        ("${x} 0 0", 3, "'${x} 0 0'", "as a number"),
        ("1e15", 1, "at most 1e+12", "SI units"),
        ("x" * 500, 1, "x" * 50, "as a number"),
    ],
)
def test_bad_numbers_are_shown_with_the_fix(text: str, count: int, says: str, fix: str) -> None:
    values, (finding,) = read(text, count)
    assert (values, finding.line, finding.element) == (None, 7, "joint 'a' <origin>")
    assert says in finding.message
    assert fix in finding.fix
    assert len(str(finding)) < 300
