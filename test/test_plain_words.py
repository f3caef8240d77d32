"""Words of test/plain_words.txt: nothing that a person reads has them.

As a script it lists them in the files and folders given, else in all::

    python test/test_plain_words.py rne_dynamics/control docs
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path

WORDS = Path(__file__).resolve().with_name("plain_words.txt")
QUOTING = (WORDS, Path(__file__).resolve())
ROOT = Path(__file__).resolve().parents[1]
TEXTS = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.rst", "Makefile", "package.xml", "setup.py", "pyproject.toml", ".ci",
    "config", "launch", "examples", "benchmarks", "docs", "rne_dynamics", "test", "urdf",
)  # fmt: skip
#: Of comments and strings, at the begin and end of a line.
MARKS = re.compile(r'^[\s#:*]*(?:[rf]?"+)?|"*\s*$')
SUFFIXES = {"", ".cfg", ".md", ".py", ".rst", ".rviz", ".toml", ".txt", ".urdf", ".xacro", ".xml", ".yaml"}


@cache
def dictionary() -> list[tuple[str, re.Pattern[str], bool, str]]:
    """For each line: letters it always has, what to search for, whether capitals matter, what to write instead."""
    lines = WORDS.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("->") for line in lines if line and not line.startswith("#")]
    return [
        (literal(wrong), re.compile(wrong + "(?![A-Za-z])"), wrong != wrong.lower(), right) for wrong, right in pairs
    ]


def literal(pattern: str) -> str:
    """The longest part of a pattern that is in each match, in small letters."""
    plain = re.sub(r"\\.|\[.*?\]", "\n", pattern)
    while plain != (plain := re.sub(r"\([^()]*\)", "\n", plain)):
        pass
    return "" if "|" in plain else max(re.findall(r"[a-z ]*(?![?*])", plain.lower()), key=len)


def files(place: Path) -> Iterator[Path]:
    """Text files in a folder, or the file itself."""
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.is_file() and path.suffix in SUFFIXES and path not in QUOTING and "__pycache__" not in path.parts:
            yield path


def found_in(path: Path) -> Iterator[str]:
    """`file:line: words -> what to write` for each place; a phrase may go on in the next line, comment or string."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".rst":  # the change log names what is renamed
        content = re.sub("``.*?``", "", content)
    lines = [MARKS.sub("", line) for line in content.splitlines()]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    text = " ".join(lines)
    small = text.lower()
    for always, wrong, capitals, right in dictionary():
        if always not in small:
            continue  # much faster than the search
        for match in wrong.finditer(text if capitals else small):
            if not text[match.start() - 1 : match.start()].isalpha():
                yield f"{path}:{bisect_right(starts, match.start())}: {match.group()} -> {right}"


def test_texts_use_the_words_of_the_field() -> None:
    found = [line for name in TEXTS for path in files(ROOT / name) for line in found_in(path)]
    assert not found, "\n".join(found)


if __name__ == "__main__":
    for place in map(Path, sys.argv[1:] or [str(ROOT / name) for name in TEXTS]):
        for path in files(place):
            for line in found_in(path):
                print(line)
