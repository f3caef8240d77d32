"""Numbers that several files of control/ and ros/ use are defined once, in control/thresholds.py."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from support.package_source import MODULES, PACKAGE

TABLE = Path("control/thresholds.py")


def numbers(path: Path) -> set[str]:
    """Names in capitals that a module gives a number."""
    text = path.read_text(encoding="utf-8")
    lines = re.findall(r"^([A-Z][A-Z_0-9]*(?:, [A-Z][A-Z_0-9]*)*) = (-?[\d.][^#\n]*)", text, re.M)
    return {name for names, value in lines if re.fullmatch(r"[-\d.e_, ]+", value) for name in names.split(", ")}


def test_no_number_of_control_and_ros_has_its_name_in_two_files() -> None:
    """One name, one number: what several files use is in the table, what is another number has another name."""
    files = defaultdict(list)
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] in ("control", "ros"):
            for name in numbers(path):
                files[name].append(str(relative))
    twice = {name: places for name, places in files.items() if len(places) > 1}
    assert not twice, f"import it from {TABLE}, or give the other number another name: {twice}"
