"""XML reader with line numbers, safe against hostile input, and strict reading of numbers in attributes.

Python's ElementTree has no line numbers. This reader uses expat directly, keeps what checks need, and refuses entity
declarations: URDFs do not need them, and they can expand without bound or read other files. Numbers are read
independently of locale and parser.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from xml.parsers import expat

from rne_dynamics.description.lint.findings import (
    FaultyDescriptionError,
    Finding,
    Reading,
    Severity,
    error,
    first_of,
    warning,
)

#: Elements that do not concern dynamics; kept without their content.
SKIPPED = frozenset({"visual", "collision", "gazebo", "material", "sensor"})
#: Largest number of elements; the largest published URDFs have a few thousand.
MOST_ELEMENTS = 100_000
DEEPEST = 100
#: Largest document, bytes, and longest attribute, characters; URDFs have a few hundred kilobytes.
MOST_BYTES, LONGEST = 20_000_000, 100_000
_BOM = b"\xef\xbb\xbf"
_BLANKS = "has blanks before the XML declaration"


@dataclass(eq=False, slots=True)
class Element:
    """One XML element; changed after reading by `repairs` only."""

    #: With its prefix.
    tag: str
    #: Text by name.
    attributes: dict[str, str]
    #: Line on which its start tag begins, counted from 1.
    line: int
    #: In order; empty for `SKIPPED` elements.
    children: list[Element] = field(default_factory=list)
    #: The characters directly inside it, stripped.
    text: str = ""
    #: By attribute, as `read_numbers` found them.
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)
    #: Attributes whose faults a repair has reported: not checked any more.
    repaired: frozenset[str] = frozenset()
    #: Place of its start tag, and of its end tag or where that would be, in the bytes that were parsed.
    start: int = 0
    stop: int = 0

    def all(self, tag: str) -> Iterator[Element]:
        """The children of one tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first child of a tag, `None` where there is none."""
        for child in self.children:  # a generator would take twice as long, and loading 5 % longer
            if child.tag == tag:
                return child
        return None

    def at(self, tag: str) -> Element:
        """The first child of a tag; where there is none, an element without content in the line of this one."""
        return self.first(tag) or Element(tag, {}, self.line)

    def number(self, attribute: str, default: float) -> float:
        """One of the `numbers`; a default where the attribute is not given."""
        return self.numbers.get(attribute, (default,))[0]


def read_markup(
    data: bytes, file: str, encoding: str | None = None, repairs: list[Finding] | None = None
) -> Element:
    """The root element of an XML document of limited size and depth, without entities; `FaultyDescriptionError`.

    `encoding` overrides the declared one, for text that was a Python string. With `repairs`, blanks before the XML
    declaration are skipped and a warning is appended to that list.
    """
    reader = _Reader(file)
    fault_at_start = _fault_at_start(data)
    if fault_at_start is not None:
        if repairs is None or fault_at_start.message != _BLANKS:
            raise FaultyDescriptionError(file, fault_at_start)
        repairs.append(replace(fault_at_start, severity=Severity.WARNING))
        text = data.removeprefix(_BOM).lstrip()
        reader.skipped = data.count(b"\n", 0, len(data) - len(text))
        data = text
    try:
        reader.parse(data, encoding)
    except expat.ExpatError as fault:
        raise _translated(fault, file, reader.skipped) from None
    except (LookupError, ValueError) as fault:  # encodings that Python does not know, or of several bytes
        raise FaultyDescriptionError(file, error(1, "XML declaration", str(fault), "save the file as UTF-8")) from None
    return reader.root


def _fault_at_start(data: bytes) -> Finding | None:
    if not data.removeprefix(_BOM).strip():
        return error(1, "file", "is empty; a URDF has one <robot> element", "give a URDF file")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return None  # UTF-16, which expat reads by itself
    before, start, rest = data.removeprefix(_BOM).partition(b"<")
    declared = rest.startswith(b"?xml")
    if not before.strip():
        return error(1, "file", _BLANKS, "delete everything before it") if before and declared else None
    shown = before.strip()[:40].decode("utf-8", "replace")
    line = 1 + before[: len(before) - len(before.lstrip())].count(b"\n")
    where = " before the XML declaration" if declared else " where the first element must begin"
    fix = "delete everything before it" if start else "give a URDF file; this is not XML"
    return error(line, "file", f"has the text {shown!r}{where}", fix)


class _Reader:
    """Builds elements from expat's events."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self.skipping = 0
        self.skipped = 0  # lines before the parsed text
        self.open: list[Element] = []
        self.root = Element("", {}, 1)

    def parse(self, data: bytes, encoding: str | None) -> None:
        self.parser = expat.ParserCreate(encoding)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.Parse(data, True)

    @property
    def line(self) -> int:
        """Current line of the whole document."""
        return self.parser.CurrentLineNumber + self.skipped

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        opened = self.open
        depth = len(opened) + self.skipping
        if self.count > MOST_ELEMENTS or depth >= DEEPEST:
            much = (
                f"more than {MOST_ELEMENTS} elements" if depth < DEEPEST else f"elements nested deeper than {DEEPEST}"
            )
            raise FaultyDescriptionError(
                self.file, error(self.line, f"<{tag}>", f"{much}", "this is no robot")
            )
        if self.skipping:
            self.skipping += 1
            return
        if max(map(len, attributes.values()), default=0) > LONGEST:
            message = f"has an attribute of more than {LONGEST} characters"
            raise FaultyDescriptionError(self.file, error(self.line, f"<{tag[:60]}>", message, "correct it"))
        element = Element(tag, attributes, self.line, start=self.parser.CurrentByteIndex)
        if not opened:
            self.root = element
            opened.append(element)
            return
        opened[-1].children.append(element)
        if tag in SKIPPED:
            self.skipping = 1
            self.parser.CharacterDataHandler = None
        else:
            opened.append(element)

    def _end(self, _tag: str) -> None:
        if self.skipping:
            self.skipping -= 1
            if not self.skipping:
                self.parser.CharacterDataHandler = self._text
        else:
            element = self.open.pop()
            element.text = element.text.strip()
            element.stop = self.parser.CurrentByteIndex

    def _text(self, text: str) -> None:
        # only leaves have values; long text elsewhere is cut
        if self.open and len(self.open[-1].text) < 1000:
            self.open[-1].text += text[:1000]

    def _doctype(self, name: str, system: str | None, public: str | None, has_declarations: bool | int) -> None:
        if system or public or has_declarations:
            raise FaultyDescriptionError(
                self.file,
                error(
                    self.line, f"<!DOCTYPE {name}>",
                    "declares entities or an external document type, which are refused: they can expand without bound "
                    "and read other files", "delete the DOCTYPE and write the entities out",
                ),
            )


_FIXES = {
    expat.errors.XML_ERROR_TAG_MISMATCH: "close every element with the tag it was opened with",
    expat.errors.XML_ERROR_NO_ELEMENTS: "the file ends too early: write it anew, or close its elements",
    expat.errors.XML_ERROR_UNCLOSED_TOKEN: "the file ends too early: write it anew, or close the tag",
    expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "delete what follows </robot>",
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "keep one of the attributes of the same name",
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "write &amp; for &, and the character itself for any other entity",
    expat.errors.XML_ERROR_UNKNOWN_ENCODING: "save the file as UTF-8",
    expat.errors.XML_ERROR_INCORRECT_ENCODING: "save the file as UTF-8",
}


def _translated(fault: expat.ExpatError, file: str, skipped: int) -> FaultyDescriptionError:
    what = expat.ErrorString(fault.code) or "not well-formed"
    fix = _FIXES.get(
        what, "correct the XML at this place (quotes around values, &lt; for <, &amp; for &; saved as UTF-8)"
    )
    line = fault.lineno + skipped
    return FaultyDescriptionError(file, error(line, "XML", f"{what} (column {fault.offset + 1})", fix))


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Characters of plain numbers and blanks: of such words, `float` accepts the same as `_NUMBER`.
_PLAIN = re.compile(r"[-+.0-9eE \t\r\n]*")
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
    words, shown = text.split(), _short(text)
    wrong = next((word for word in words if parse_number(word) is None), "")
    allowed = "one finite number" if count == 1 else f"{count} finite numbers with blanks between them"
    found = f"{attribute} is {shown}; it must be {allowed}"
    comma = "; with a decimal point, and without commas" if "," in wrong else ""
    yield from first_of(
        element.line, where,
        (wrong.lower().lstrip("+-") in ("nan", "inf", "infinity"), error, found,
         "write the value, or leave the attribute out where it may be missing"),
        (wrong != "", error, found, f"write {_short(wrong)} as a number such as 1.5 or -2e-3{comma}"),
        (len(words) != count, error, f"{found}, not {len(words)}", f"give {count}" if words else "give the value"),
        (True, error, f"{found}, at most {largest:g} in size", "give it in SI units (m, kg, s, rad)"),
    )  # fmt: skip
    return None


def _plain_numbers(element: Element, attribute: str, count: int, largest: float) -> tuple[float, ...] | None:
    """The numbers if all are valid (the fast path), kept in `element`; `None` otherwise."""
    text = element.attributes[attribute]
    if _PLAIN.fullmatch(text) is None:
        return None
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return None
    if len(values) != count or not all(-largest <= x <= largest and math.isfinite(x) for x in values):
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


def lint_numbers(element: Element, where: str, *names: str, largest: float = LARGEST) -> Reading[bool]:
    """Yield what is wrong with single numbers of an element; whether all that are given can be used."""
    given = [name for name in names if name in element.attributes]
    for name in given:
        yield from read_number(element, name, where, largest=largest)
    return all(name in element.numbers for name in given)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
