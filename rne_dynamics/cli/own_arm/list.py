"""`rne list`: all robots that commands, launch files and `load_urdf` take by name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
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
_COMMENT = re.compile(r"<!--\s*(.*?)-->|^#\s*([^\n]*)", re.S | re.M)
_SENTENCE = re.compile(r"(.*?)(?:[.:](?:\s|$)|$)", re.S)


ARGUMENTS = (flag("--json", "print names, kinds, joints and files as JSON"),)


def run(args: argparse.Namespace) -> Answer:
    """The robots that ship by kind, and the names of the others."""
    ship, examples = list(_shipped()), list(_examples())
    parts: list[str | Rows] = [
        Rows(
            ("name", "joints", "what it is"),
            [[row["name"], str(row["joints"]), row["about"]] for row in ship if row["kind"] == kind],
            title=f"ships: {kind}", words=(0, 2),
        )
        for kind in (ARM, MECHANISM, FLEXIBLE)
    ]  # fmt: skip
    names = ", ".join(f"{row['name']} ({row['joints']})" for row in examples)
    parts.append(
        f"of {WHEEL}, with their moving joints: {names}" if examples
        else f"More robots by name (ur10, baxter, talos_reduced): {HOW_TO_GET}"
    )  # fmt: skip
    return Answer([*ship, *examples], parts)


def _shipped() -> Iterator[dict[str, Any]]:
    """Name, kind, number of driven joints, title and file of each robot that ships."""
    for name in shipped_robots():
        file = share_file(f"urdf/{name}.urdf")
        text = file.read_text(encoding="utf-8")
        yield {"name": name, "kind": ARM, "joints": _moving(text), "about": _title(text), "file": str(file)}
    for name in shipped_models():
        file = share_file(f"urdf/{name}.yaml")
        text = file.read_text(encoding="utf-8")
        content = yaml.safe_load(text)
        loops, urdf = "loops" in content, file.with_name(content["urdf"])
        driven = content.get("actuated")
        yield {
            "name": name, "kind": MECHANISM if loops else FLEXIBLE,
            "joints": _moving(urdf.read_text(encoding="utf-8")) if driven is None else len(driven),
            "about": _title(text), "file": str(file),
        }  # fmt: skip


def _examples() -> Iterator[dict[str, Any]]:
    """The robots of the wheel, without those whose name a robot that ships has."""
    ship = {*shipped_robots(), *shipped_models()}
    for name, file in example_robots().items():
        if name not in ship:
            text = file.read_text(encoding="utf-8")
            yield {"name": name, "kind": WHEEL, "joints": _moving(text), "about": "", "file": str(file)}


def _moving(urdf: str) -> int:
    """Number of joints of a URDF that move by themselves."""
    joints = ElementTree.fromstring(urdf.encode()).findall("joint")
    return sum(joint.get("type") != "fixed" and joint.find("mimic") is None for joint in joints)


def _title(text: str) -> str:
    """First sentence of the first comment of a file, up to its first full stop or colon."""
    comment = _COMMENT.search(text)
    if comment is None:
        return ""
    first = _SENTENCE.match((comment[1] or comment[2]).strip())
    return " ".join(first[1].split()) if first else ""
