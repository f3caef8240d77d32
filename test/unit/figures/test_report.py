"""Reports: escaping, contents, and nothing from outside the file."""

from __future__ import annotations

import base64
import re
from html import unescape
from pathlib import Path
from typing import NamedTuple

import pytest

from rne_dynamics.cli.main import main
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.report import Report

#: Addresses that a page loads, and the cells of its tables.
ADDRESS = re.compile(r"""\b(?:src|href|action|data|srcset)\s*=\s*["']?([^"'>\s]*)""")
CELL = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.S)


class Page(NamedTuple):
    """Text, addresses and tables of a page."""

    text: str
    addresses: list[str]
    rows: list[list[str]]


def words(html: str) -> str:
    return unescape(re.sub("<[^>]*>", "", html))


def read(path: Path) -> Page:
    """The page, which is checked to load nothing from elsewhere."""
    style, _, body = path.read_text(encoding="utf-8").partition("</style>")
    rows = [[words(cell) for cell in CELL.findall(row)] for row in re.findall(r"<tr.*?</tr>", body, re.S)]
    page = Page(words(re.sub("<style.*", "", style, flags=re.S) + body), ADDRESS.findall(body), rows)
    assert all(a.startswith(("data:", "#")) for a in page.addresses)
    assert not re.search(r"<(script|link|iframe|object)\b", style + body)
    assert not any(word in style for word in ("url(", "@import"))
    return page


HOSTILE = '<script>alert("1 & 2")</script> & \'quoted\''


def test_text_is_escaped_in_every_part(tmp_path):
    page = Report(HOSTILE)
    page.verdict(False, HOSTILE)
    for part in (page.heading, page.text, page.circumstances):
        part(HOSTILE)
    page.table([HOSTILE], [[HOSTILE]])
    page.facts([(HOSTILE, HOSTILE)])
    page.figure(lambda path: path.write_text("<svg/>"), HOSTILE)
    page.save(tmp_path / "page.html")
    found = read(tmp_path / "page.html")
    assert found.text.count(HOSTILE) == 11  # title and heading, the parts with two texts, the caption
    assert found.rows == [[HOSTILE], [HOSTILE]]


def test_a_large_drawing_is_embedded_as_pixels(tmp_path):
    page = Report("large")
    page.figure(lambda path: path.write_bytes(b"x" * (2_000_000 if path.suffix == ".svg" else 10)), "a picture")
    assert "data:image/png;base64," in page.html()
    with pytest.raises(ArgumentError, match=r"its ending must be \.html or \.htm"):
        page.save(tmp_path / "page.txt")


def test_a_report_is_html(tmp_path):
    with pytest.raises(ArgumentError, match=r"its ending must be \.html or \.htm"):
        Report("x").save(tmp_path / "page.txt")


def test_report_of_a_simulation_has_numbers_units_picture_and_command(tmp_path):
    report = tmp_path / "scara.html"
    assert main(["simulate", "scara", "--seconds", "0.3", "--report", str(report)]) == 0
    page = read(report)
    header, *rows = page.rows
    assert header[:3] == ["joint", "RMS error", "largest error"]
    assert [row[0] for row in rows] == ["joint1", "joint2", "joint3", "joint4"]
    assert (rows[0][1][-4:], rows[2][1][-2:], rows[2][4][-2:]) == (" rad", " m", " N")
    parts = ("Passed:", f"rne simulate scara --seconds 0.3 --report {report}", "Python", "numpy", "scara")
    assert all(part in page.text for part in parts)
    (picture,) = page.addresses
    svg = base64.b64decode(picture.removeprefix("data:image/svg+xml;base64,")).decode()
    assert svg.rstrip().endswith("</svg>")
