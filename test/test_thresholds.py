"""Numbers that several files of control/ and ros/ use are defined once, in control/thresholds.py."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from support.package_source import MODULES, PACKAGE, source

TABLE = Path("control/thresholds.py")


def test_no_number_of_control_and_ros_has_its_name_in_two_files() -> None:
    """One name, one number: what several files use is in the table, what is another number has another name."""
    files = defaultdict(list)
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] in ("control", "ros"):
            for name in source(path).numbers:
                files[name].append(str(relative))
    twice = {name: places for name, places in files.items() if len(places) > 1}
    assert not twice, f"import it from {TABLE}, or give the other number another name: {twice}"


def test_every_threshold_of_the_table_is_used_by_several_files() -> None:
    imported = defaultdict(set)
    for path in MODULES:
        for entry in source(path).imports:
            module, _, name = entry.name.rpartition(".")
            if module == "rne_dynamics.control.thresholds":
                imported[name].add(path)
    alone = {name for name in source(PACKAGE / TABLE).numbers if len(imported[name]) < 2}
    assert not alone, f"used by one file or none: {alone}"
