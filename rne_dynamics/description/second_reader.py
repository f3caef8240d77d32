"""Check whether urdf_parser_py, the URDF reader of Python programs in ROS, accepts a description.

It refuses robots for elements that dynamics do not need: a texture without a file, a transmission without a type.
So `load_urdf` has a reader of its own, and `rne check` uses this module.
"""

from __future__ import annotations

import contextlib
import io
import re

from rne_dynamics.description.findings import Finding, note
from rne_dynamics.description.markup import Element
from rne_dynamics.description.sources import Source

_PLACE = re.compile(r"/robot\[@name='[^']*'\]/(\w+)\[@name='([^']*)'\]")


def refusal_of_urdf_parser_py(source: Source, root: Element) -> Finding | None:
    """A note why urdf_parser_py refuses a description that `load_urdf` accepts; `None` if it accepts it.

    Parameters
    ----------
    source
        The description.
    root
        Its <robot> element, for lines.
    """
    from urdf_parser_py.urdf import URDF  # imported late: it takes longer than reading a robot

    chatter = io.StringIO()  # unknown tags are printed
    try:
        with contextlib.redirect_stderr(chatter), contextlib.redirect_stdout(chatter):
            URDF.from_xml_string(source.data)
    except Exception as refusal:  # noqa: BLE001 - its conversions raise anything
        said = [line.strip() for line in str(refusal).splitlines() if line.strip()] or [type(refusal).__name__]
        place = _PLACE.search(said[0])
        line, element = root.line, "<robot>"
        if place is not None:
            tag, name = place.groups()
            line = next((x.line for x in root.all(tag) if x.attributes.get("name") == name), root.line)
            element = f"{tag} {name!r}"
        what = f"urdf_parser_py refuses the file here ({said[-1]}); this package reads it, ROS programs on it cannot"
        return note(line, element, what, "correct the element if another program reads the file")
    return None
