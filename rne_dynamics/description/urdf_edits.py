"""A URDF's own text with other inertias: everything else, visuals and comments too, stays as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from rne_dynamics.description.lint.findings import Finding, collect
from rne_dynamics.description.markup import Element, read_markup
from rne_dynamics.description.outline import POSITION
from rne_dynamics.description.repairs import repaired
from rne_dynamics.description.sources import Source
from rne_dynamics.description.urdf_writer import UNBOUNDED, inertial_xml, number
from rne_dynamics.model.inertia import Inertia

_TAG = re.compile(rb"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
#: Significant digits of inertias.
_DIGITS = 10
_ENCODING = re.compile(r"^(<\?xml[^>]*?encoding\s*=\s*[\"'])([\w.-]+)")


class _Edit(NamedTuple):
    """Text in place of a part of the document."""

    start: int
    stop: int
    text: str


def with_inertias(source: Source, inertias: Mapping[str, Inertia]) -> str:
    """The text of a URDF in which some links, by name, have other inertias, in UTF-8; a lenient source is repaired."""
    data, found = _text(source).encode(), list[Finding]()
    root = read_markup(data, source.name, "utf-8")
    before = {id(x): (x, dict(x.attributes)) for x in _all(root)}
    unbounded = collect(repaired(root), found) if source.lenient else {}
    edits = [_inertial(link, data, inertias[link.attributes["name"]]) for link in root.all("link")
             if link.attributes.get("name") in inertias]  # fmt: skip
    for joint in root.all("joint"):
        limit, absent = joint.first("limit"), unbounded.get(joint.attributes.get("name", ""), frozenset())
        if limit is not None and absent:
            bounds = [key for name in absent for key in (("lower", "upper") if name == POSITION else (name,))]
            limit.attributes.update({key: number(-UNBOUNDED if key == "lower" else UNBOUNDED) for key in bounds})
    kept = {id(x) for x in _all(root)}
    for key, (element, attributes) in before.items():
        if key not in kept:
            edits.append(_Edit(element.start, _end(element, data), ""))
        elif attributes != element.attributes:
            tag = _tag(element, data)
            close = "/>" if tag.endswith(b"/>") else ">"
            words = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
            edits.append(_Edit(element.start, element.start + len(tag), f"<{element.tag}{words}{close}"))
    return _edited(data, edits).decode()


def _text(source: Source) -> str:
    """The document as text that declares no other encoding than UTF-8."""
    data = source.data
    declared = re.match(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)", data)
    encoding = source.encoding or (declared[1].decode() if declared else "utf-8")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    text = data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    return _ENCODING.sub(r"\1utf-8", text.lstrip())


def _all(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _all(child)


def _tag(element: Element, data: bytes) -> bytes:
    """An element's start tag."""
    found = _TAG.match(data, element.start)
    assert found is not None, "it has been parsed"
    return found[0]


def _end(element: Element, data: bytes) -> int:
    """Place behind an element."""
    tag = _tag(element, data)
    return element.start + len(tag) if tag.endswith(b"/>") else data.index(b">", element.stop) + 1


def _inertial(link: Element, data: bytes, inertia: Inertia) -> _Edit:
    """A link's new <inertial>, indented as the link is."""
    before = data[data.rfind(b"\n", 0, link.start) + 1 : link.start].decode()
    outer = before if not before.strip() else ""
    xml = inertial_xml(inertia, digits=_DIGITS, indent=f"{outer}  ")
    old, tag = link.first("inertial"), _tag(link, data)
    if old is not None:
        return _Edit(old.start, _end(old, data), xml.lstrip())
    opened = link.start + len(tag)
    if not tag.endswith(b"/>"):
        return _Edit(opened, opened, f"\n{xml}")
    return _Edit(link.start, opened, f"{tag[:-2].decode().rstrip()}>\n{xml}\n{outer}</{link.tag}>")


def _edited(data: bytes, edits: list[_Edit]) -> bytes:
    """Data with edits applied; those inside a part that another edit replaces are left out."""
    parts, place = list[bytes](), 0
    for edit in sorted(edits, key=lambda e: (e.start, -e.stop)):
        if edit.start >= place:
            parts += [data[place : edit.start], edit.text.encode()]
            place = edit.stop
    return b"".join([*parts, data[place:]])
