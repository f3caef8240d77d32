"""Names and texts of descriptions in C: identifiers, comments, strings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rne_dynamics.errors import ArgumentError

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def part_of_identifier(name: str) -> str:
    """Letters, digits and single underscores of a name, accents removed; may be empty or begin with a digit."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")


def prefix_of(name: str) -> str:
    """Prefix of all identifiers of a robot, in lower case."""
    part = part_of_identifier(name).lower()
    return part if _IDENTIFIER.fullmatch(part) else f"robot_{part}".rstrip("_")


def checked_prefix(prefix: str) -> str:
    """A prefix that somebody chose; `ArgumentError` where C or C++ allow no identifier that begins with it."""
    if not _IDENTIFIER.fullmatch(prefix):
        raise ArgumentError(
            f"prefix is {prefix!r}; it must be a letter, then letters, digits and single underscores, the last no "
            "underscore"
        )
    return prefix


def distinct(names: Iterable[str]) -> dict[str, str]:
    """Parts of identifiers by name, all different: numbers are appended to those that would be equal."""
    found: dict[str, str] = {}
    for name in names:
        part, count = part_of_identifier(name) or "link", 1
        while part in found.values():
            count += 1
            part = f"{part_of_identifier(name) or 'link'}_{count}"
        found[name] = part
    return found


def comment(text: str) -> str:
    """A text that neither ends a comment nor begins something in it: one line of printable ASCII."""
    plain = "".join(x if x.isprintable() else " " for x in text).encode("ascii", "backslashreplace").decode()
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("\\", "/")


def string(text: str) -> str:
    """A string literal of the text in UTF-8."""
    plain = (chr(x) if (chr(x).isalnum() and x < 128) or chr(x) in " _-./+" else f"\\{x:03o}" for x in text.encode())
    return f'"{"".join(plain)}"'
