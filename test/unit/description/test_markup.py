from __future__ import annotations

import time

import pytest

from rne_dynamics.description.lint.findings import FaultyDescriptionError
from rne_dynamics.description.markup import DEEPEST, LONGEST, MOST_ELEMENTS, read_markup

LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE lolz [\n<!ENTITY a "lol">\n'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">\n' for i in range(9))
    + ']>\n<robot name="&j;"/>'
)


def fault(data: bytes | str) -> str:
    with pytest.raises(FaultyDescriptionError) as caught:
        read_markup(data.encode() if isinstance(data, str) else data, "arm.urdf")
    return str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_declared_encodings_are_read(encoding: str) -> None:
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    data = f'<?xml version="1.0" encoding="{declared}"?><robot name="Käfer"/>'.encode(encoding)
    assert read_markup(data, "f").attributes["name"] == "Käfer"


def test_an_override_wins_over_the_declared_encoding() -> None:
    data = '<?xml version="1.0" encoding="latin-1"?><robot name="Käfer"/>'.encode()
    assert read_markup(data, "f", "utf-8").attributes["name"] == "Käfer"


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
def test_empty_files(data: bytes) -> None:
    assert fault(data).startswith("arm.urdf:1: file: ")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('hello\n<?xml version="1.0"?><robot/>', 1, "text 'hello' before the XML declaration"),
        ('\n\n# note\n<?xml version="1.0"?>\n<robot/>', 3, "text '# note' before the XML declaration"),
        ('\n<?xml version="1.0"?>\n<robot/>', 1, "blanks before the XML declaration"),
        ("[INFO] loading\n<robot/>", 1, "text '[INFO] loading' where the first element must begin"),
        ("solid arm\nfacet normal 0 0 0", 1, "this is not XML"),
    ],
)
def test_text_before_the_first_element_is_shown(text: str, line: int, says: str) -> None:
    message = fault(text)
    assert message.startswith(f"arm.urdf:{line}: file: ")
    assert says in message


@pytest.mark.parametrize(
    ("data", "line", "says", "fix"),
    [
        (b"<robot>\n<link>\n</robot>", 3, "mismatched tag", "close every element"),
        (b"<robot>\n<link", 2, "unclosed token", "ends too early"),
        (b"<robot>\n", 2, "no element found", "ends too early"),
        (b"<robot/>\n<robot/>", 2, "junk after document element", "after </robot>|follows </robot>"),
        (b"<robot>\n<link name=a/></robot>", 2, "not well-formed", "quotes around values"),
        (b"<robot>\n\n<link name='a' name='b'/></robot>", 3, "duplicate attribute", "keep one"),
        (b"<robot>\n&deg;</robot>", 2, "undefined entity", "&amp;"),
        (b"<robot>\n<link name='\xff'/></robot>", 2, "not well-formed", "UTF-8"),
        (b"<robot>\n\x00</robot>", 2, "not well-formed", "correct the XML"),
        (b"<?xml version='1.0' encoding='klingon'?>\n<robot/>", 1, "encoding", "save the file as UTF-8"),
        (b"<?xml version='1.0' encoding='shift_jis'?>\n<robot/>", 1, "encoding", "save the file as UTF-8"),
        (b"<?xml version='1.0' encoding='utf-16'?>\n<robot/>", 1, "encoding", "save the file as UTF-8"),
    ],
)
def test_xml_faults_name_line_fault_and_fix(data: bytes, line: int, says: str, fix: str) -> None:
    message = fault(data)
    assert message.startswith(f"arm.urdf:{line}: XML")
    assert says in message
    assert any(m in message for m in fix.split("|"))


@pytest.mark.parametrize(
    "document",
    [
        LAUGHS,
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        '<!DOCTYPE robot [<!ENTITY % x SYSTEM "http://example.org/x.dtd"> %x;]><robot/>',
        '<!DOCTYPE robot SYSTEM "http://example.org/robot.dtd"><robot/>',
        '<!DOCTYPE robot PUBLIC "-//a//b" "robot.dtd"><robot/>',
        '<!DOCTYPE robot [<!ATTLIST link name CDATA "x">]><robot/>',
    ],
)
def test_entities_and_external_document_types_are_refused_at_once(document: str) -> None:
    start = time.process_time()
    message = fault(document)
    assert time.process_time() - start < 1.0
    assert "<!DOCTYPE" in message
    assert "delete the DOCTYPE" in message


def test_a_bare_doctype_is_harmless() -> None:
    assert read_markup(b"<!DOCTYPE robot><robot/>", "f").tag == "robot"


def test_deep_nesting_and_many_elements_are_refused_and_long_text_is_read() -> None:
    start = time.process_time()
    assert f"nested deeper than {DEEPEST}" in fault(b"<robot><visual>" + b"<a>" * (DEEPEST + 10))
    assert f"more than {MOST_ELEMENTS} elements" in fault(b"<robot>" + b"<a/>" * (MOST_ELEMENTS + 10))
    assert "an attribute of more than" in fault(b"<robot name='" + b"x" * (LONGEST + 10) + b"'/>")
    root = read_markup(b"<robot name='" + b"x" * LONGEST + b"'>" + b"y\n" * 500_000 + b"</robot>", "f")
    assert len(root.text) <= 2000
    assert time.process_time() - start < 20.0
