"""Reports: escaping, contents, and nothing from outside the file."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rne_dynamics.cli.main import main
from rne_dynamics.errors import ArgumentError
from rne_dynamics.figures.report import Report

VOID = {"meta", "img", "link", "br", "hr", "input"}


class Page(HTMLParser):
    """Text, addresses, tables and pictures of a page; fails if tags do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.addresses, self.rows, self.open = "", [], [], []
        self.tags: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data", "srcset")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
            if self.open and self.open[-1] in ("td", "th"):
                self.rows[-1][-1] += data


def read(path: Path) -> Page:
    """The page, which is checked to load nothing from elsewhere."""
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    assert all(a.startswith(("data:", "#")) for a in page.addresses)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert not any(word in style for word in ("url(", "@import"))
    return page


HOSTILE = '<script>alert("1 & 2")</script> & \'quoted\''


def test_text_is_escaped_in_every_part(tmp_path):
    page = Report(HOSTILE)
    page.verdict(False, HOSTILE)
    page.heading(HOSTILE)
    page.text(HOSTILE)
    page.table([HOSTILE], [[HOSTILE]])
    page.facts([(HOSTILE, HOSTILE)])
    page.circumstances(HOSTILE)
    page.figure(lambda path: path.write_text("<svg/>"), HOSTILE)
    page.save(tmp_path / "page.html")
    found = read(tmp_path / "page.html")
    assert found.text.count(HOSTILE) == 11  # title and heading, the parts with two texts, the caption
    assert found.rows == [[HOSTILE], [HOSTILE]]


def test_a_large_drawing_is_embedded_as_pixels(tmp_path):
    written = []

    def write(path: Path) -> None:
        written.append(path.suffix)
        path.write_bytes(b"x" * (2_000_000 if path.suffix == ".svg" else 10))

    page = Report("large")
    page.figure(write, "a picture")
    assert (written, "data:image/png;base64," in page.html()) == ([".svg", ".png"], True)
    with pytest.raises(ArgumentError, match=r"its ending must be \.html or \.htm"):
        page.save(tmp_path / "page.txt")


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


def test_report_of_faults_has_failures_first(tmp_path):
    pytest.importorskip("rclpy", reason="ROS 2's client library is not installed: pip install '.[ros]'")
    from faults.campaign import FAULTS, Result
    from faults.command import write_report

    results = (Result(FAULTS[0], "", 10, 1.0), Result(FAULTS[1], "the arm <fell>", 5, 2.0))
    write_report(tmp_path / "faults.html", "python test/faults", results, 3.0)
    page = read(tmp_path / "faults.html")
    assert "Not passed: 1 of 2 faults caused the documented reaction" in page.text
    assert (page.rows[1][3], page.rows[2][1]) == ("the arm <fell>", FAULTS[0].name)
