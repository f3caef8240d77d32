"""Strict reading of numbers in attributes, independent of locale and parser."""

from __future__ import annotations

import math
import re

from rne_dynamics.description.lint.findings import Reading, error, warning
from rne_dynamics.description.markup import Element

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Characters of plain numbers and blanks: of such words, `float` accepts the same as `_NUMBER`.
_PLAIN = re.compile(r"[-+.0-9eE \t\r\n]*")
#: Blanks inside a number: behind a sign, point or exponent, or before a point.
_SPLIT = re.compile(r"(?<=[-+.eE])\s+(?=[-+0-9.])|(?<=[0-9])\s+(?=\.[0-9]|[eE][-+]?[0-9])")
_SEPARATOR = re.compile(r"[,;]\s|[,;]$")
#: Largest magnitude in SI units; products of larger numbers may overflow.
LARGEST = 1e12


def parse_number(text: str) -> float | None:
    """The number in `text`; `None` if it is invalid or not finite."""
    if not _NUMBER.fullmatch(text.strip(" \t\r\n")):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def read_numbers(
    element: Element, attribute: str, count: int, where: str, *, largest: float = LARGEST
) -> Reading[tuple[float, ...] | None]:
    """Yield what is wrong with the numbers of an existing attribute; return them, `None` if one is invalid.

    There must be `count` of them, of at most the magnitude `largest`; `where` is the element's name in messages.
    """
    text = element.attributes[attribute]
    values = _plain_numbers(element, attribute, count, largest)
    if values is not None:
        return values
    words = text.split()
    corrected = _corrected(text, count)
    allowed = "one finite number" if count == 1 else f"{count} finite numbers with blanks between them"
    found = f"{attribute} is {_short(text)}; it must be {allowed}"
    for word in words:
        if parse_number(word) is not None:
            continue
        if corrected:
            fix = corrected
        elif word.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            fix = "write the value, or leave the attribute out where it may be missing"
        else:
            fix = f"write {_short(word)} as a number such as 1.5 or -2e-3"
        yield error(element.line, where, found, fix)
        return None
    if len(words) != count:
        fix = corrected or (f"give {count}" if words else "give the value")
        yield error(element.line, where, f"{found}, not {len(words)}", fix)
        return None
    yield error(element.line, where, f"{found}, at most {largest:g} in size", "give it in SI units (m, kg, s, rad)")
    return None


def _corrected(text: str, count: int) -> str:
    """The fix that makes `count` numbers of a text with commas, or with blanks in numbers; empty if there is none."""
    separated = re.sub(r"[,;]", " ", text), ", without commas"
    pointed = text.replace(",", "."), ", with a decimal point"
    both = _SEPARATOR.sub(" ", text).replace(",", "."), ", with decimal points and without commas"
    ways = [separated, both] if _SEPARATOR.search(text) else [pointed, separated]
    ways.append((_SPLIT.sub("", text), ", without the blank in the number"))
    for way, what in ways:
        words = way.split()
        if way != text and len(words) == count and all(parse_number(word) is not None for word in words):
            return f"write {' '.join(words)!r}{what}"
    return ""


def _plain_numbers(element: Element, attribute: str, count: int, largest: float) -> tuple[float, ...] | None:
    """The numbers if all are valid (the fast path), kept in `element`; `None` otherwise."""
    text = element.attributes[attribute]
    if _PLAIN.fullmatch(text) is None:
        return None
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return None
    if len(values) != count:
        return None
    for value in values:
        if not -largest <= value <= largest or math.isinf(value):
            return None
    element.numbers[attribute] = values
    return values


def read_number(element: Element, attribute: str, where: str, *, largest: float = LARGEST) -> Reading[float | None]:
    """As `read_numbers`, for one number."""
    values = _plain_numbers(element, attribute, 1, largest)
    if values is None:
        values = yield from read_numbers(element, attribute, 1, where, largest=largest)
    elif element.attributes[attribute][-1].isspace():
        # urdfdom reads the number and refuses what is behind it
        yield warning(
            element.line, where, f"{attribute} is {element.attributes[attribute]!r}, with a blank at its end: urdfdom, "
            "which ROS and Pinocchio use, drops the <inertial> or refuses the robot for it", "delete the blank",
        )
    return None if values is None else values[0]


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
