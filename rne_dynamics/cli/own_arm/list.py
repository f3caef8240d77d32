"""`rne list`: all robots that commands, launch files and `load_urdf` take by name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from rne_dynamics.cli.answer import Answer, Rows
from rne_dynamics.cli.arguments import flag
from rne_dynamics.description.share import HOW_TO_GET, WHEEL, example_robots, share_file, shipped_models, shipped_robots

EXAMPLES = """\
examples:
  rne list
  rne list --json
  rne info ur10               one of them, by its name

In Python: rne_dynamics.load_urdf("ur10"). A robot that ships takes precedence over a file of its name in this folder,
and such a file over a robot of the wheel; write ./name for the file.
"""

#: Kinds of robots that ship.
ARM, MECHANISM, FLEXIBLE = "arm", "mechanism with closed loops", "arm with flexible links"


ARGUMENTS = (flag("--json", "print names, kinds, joints and files as JSON"),)


def run(args: argparse.Namespace) -> Answer:
    """The robots that ship by kind, and the names of the others."""
    rows = list(_robots())
    found = {
        kind: ", ".join(f"{row['name']} ({row['joints']})" for row in rows if row["kind"] == kind)
        for kind in (ARM, MECHANISM, FLEXIBLE, WHEEL)
    }
    more = found.pop(WHEEL)
    return Answer(rows, [
        Rows(("ships", "names, with their moving joints"), list(found.items()), words=(0, 1)),
        f"of {WHEEL}, with their moving joints: {more}" if more
        else f"More robots by name (ur10, baxter, talos_reduced): {HOW_TO_GET}",
    ])  # fmt: skip


def _robots() -> Iterator[dict[str, Any]]:
    """Name, kind, number of driven joints and file of each robot that ships, and of the wheel's other ones."""
    files = {name: (ARM, share_file(f"urdf/{name}.urdf")) for name in shipped_robots()}
    for name in shipped_models():
        file = share_file(f"urdf/{name}.yaml")
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        driven = content.get("actuated") or range(_moving(file.with_name(content["urdf"])))
        yield {"name": name, "kind": MECHANISM if "loops" in content else FLEXIBLE, "joints": len(driven),
               "file": str(file)}  # fmt: skip
        files[name] = (MECHANISM, file)
    others = {name: (WHEEL, file) for name, file in example_robots().items() if name not in files}
    for name, (kind, file) in (files | others).items():
        if kind != MECHANISM:
            yield {"name": name, "kind": kind, "joints": _moving(file), "file": str(file)}


def _moving(urdf: Path) -> int:
    """Number of joints of a URDF that move by themselves."""
    joints = ElementTree.fromstring(urdf.read_bytes()).findall("joint")
    return sum(joint.get("type") != "fixed" and joint.find("mimic") is None for joint in joints)
