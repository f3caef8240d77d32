"""A report as one HTML file without external resources: text, tables, pictures, a verdict."""

from __future__ import annotations

import base64
import datetime
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rne_dynamics.figures.style import output_file

#: Suffixes of reports.
FORMATS = (".html", ".htm")
#: Pictures larger than this as SVG are embedded as PNG, bytes.
LARGE = 1_500_000
_MEDIA = {".svg": "image/svg+xml", ".png": "image/png", ".gif": "image/gif"}
_BAD, _LEFT = ' class="bad"', ' class="left"'
_PACKAGES = ("numpy", "llvmlite", "rclpy", "matplotlib")

_CSS = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2733; background: #fff; margin: 0 auto; padding: 1.2rem;
  max-width: 62rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .8rem }
h2 { font-size: 1.1rem; margin: 1.8rem 0 .5rem }
.verdict { border-left: .35rem solid; padding: .6rem .9rem; font-weight: 600; margin: 1rem 0 }
.passed { background: #e8f4ef; border-color: #009e73 }
.failed { background: #fbece2; border-color: #d55e00 }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .7rem .3rem 0; border-bottom: 1px solid #d8dee4; text-align: right; vertical-align: top }
th { border-bottom: 2px solid #7b8794; font-weight: 600 }
td { white-space: nowrap }
.left { text-align: left; white-space: normal }
.bad { color: #b34700; font-weight: 600 }
figure { margin: 1rem 0 } figure img { max-width: 100%; height: auto; display: block }
figcaption { font-size: .85rem; color: #52606d }
code { background: #f1f4f7; padding: .1rem .3rem; overflow-wrap: anywhere; white-space: pre-wrap }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .9rem; margin: 0 }
dt { color: #52606d } dd { margin: 0; overflow-wrap: anywhere }
@media screen and (max-width: 40rem) { body { padding: .8rem; font-size: 15px }
  figure { overflow-x: auto } figure img { max-width: none; width: 44rem }
  dl { grid-template-columns: 1fr } dt { margin-top: .4rem } }
@media print { body { max-width: none; padding: 0; font-size: 10pt } h2 { break-after: avoid }
  figure, tr, .verdict { break-inside: avoid } .wide { overflow: visible } .verdict { print-color-adjust: exact } }
"""


class Report:
    """A page that grows part by part; all text is escaped. `title`: heading and name of the page."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []

    def verdict(self, passed: bool, text: str) -> None:
        """Add the result in one sentence."""
        word = "Passed" if passed else "Not passed"
        self._parts.append(f'<p class="verdict {"passed" if passed else "failed"}">{word}: {escape(text)}</p>')

    def heading(self, text: str) -> None:
        """Add a heading."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, bad: Sequence[int] = ()
    ) -> None:
        """Add a table with so many `left` columns of words before those of numbers; `bad` rows are marked."""
        head = "".join(_cell("th", text, k < left) for k, text in enumerate(header))
        body = "".join(
            f"<tr{_BAD if i in bad else ''}>{''.join(_cell('td', text, k < left) for k, text in enumerate(row))}</tr>\n"
            for i, row in enumerate(rows)
        )
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
        self._parts.append(f'<div class="wide">{table}</div>')

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Add names with their values."""
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in pairs)
        self._parts.append(f"<dl>{rows}</dl>")

    def circumstances(self, command: str) -> None:
        """Add the command that made the report, the date, versions and the computer."""
        self.heading("Command")
        self._parts.append(f"<p><code>{escape(command)}</code></p>")
        self.facts(circumstances())

    def figure(self, write: Callable[[Path], object], caption: str) -> None:
        """Add a picture, written by a function of a file's path: as SVG, or as PNG where SVG is too large."""
        with tempfile.TemporaryDirectory(prefix="rne_report_") as folder:
            path = Path(folder) / "figure.svg"
            write(path)
            if path.stat().st_size > LARGE:
                path = path.with_suffix(".png")
                write(path)
            self.picture(path, caption)

    def picture(self, path: Path, caption: str) -> None:
        """Add a picture from a file: .svg, .png or .gif."""
        data = base64.b64encode(path.read_bytes()).decode()
        text = escape(caption)
        self._parts.append(
            f'<figure><img alt="{text}" src="data:{_MEDIA[path.suffix]};base64,{data}">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def html(self) -> str:
        """The page."""
        body = "\n".join(self._parts)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n"
            f"<h1>{escape(self.title)}</h1>\n{body}\n</body>\n</html>\n"
        )

    def save(self, path: Path) -> None:
        """Write the page; raises as `output_file`."""
        output_file(path, FORMATS, "the report")
        path.write_text(self.html(), encoding="utf-8")


def circumstances() -> list[tuple[str, str]]:
    """Date, versions and computer, for `Report.facts`."""
    known = {**{name: package_version(name) for name in _PACKAGES}, "ROS 2": os.environ.get("ROS_DISTRO")}
    return [
        ("date", datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")),
        ("rne_dynamics", package_version("rne_dynamics") or "not installed as a package"),
        ("Python", platform.python_version()),
        *((name, found) for name, found in known.items() if found),
        ("system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
    ]


def package_version(package: str) -> str:
    """Version of an installed package; empty where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cell(tag: str, text: str, left: bool) -> str:
    return f"<{tag}{_LEFT if left else ''}>{escape(text)}</{tag}>"
