"""--mismatch and --scene: fields by name, and YAML files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from rne_dynamics.cli.arguments import argument, several
from rne_dynamics.description.yaml_nodes import plain
from rne_dynamics.errors import ArgumentError
from rne_dynamics.recording.yaml_files import number, read_scene, read_values
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.surroundings.scene import Scene

ARGUMENT = several(
    "--mismatch", "NAME=VALUE|FILE", "a difference between arm and model (mass=0.05, delay=0.004, stiffness=2e4; "
    "docs/mismatch.md), or a .yaml file of such, also with a script; may be given several times",
)  # fmt: skip
SCENE = argument("--scene", metavar="FILE", help="a .yaml file with what the arm touches and a script of what happens "
                 "(docs/mismatch.md)")  # fmt: skip


def scene_of(path: str | None) -> Scene:
    """The scene of --scene, or none; `ArgumentError` if invalid."""
    if path is None:
        return Scene()
    try:
        return read_scene(path)
    except ArgumentError as error:
        raise ArgumentError(f"--scene: {error}") from None


def mismatch_of(texts: Sequence[str], scene: str | None = None) -> Mismatch | None:
    """The mismatch of --mismatch, later texts before earlier ones, and of the script of --scene; None without any."""
    values: dict[str, Any] = {}
    for text in texts:
        name, assigned, value = text.partition("=")
        if not assigned:
            values |= _of_file(text)
            continue
        try:
            values[name] = _payload(value) if name == "payload" else number(plain(value))
        except yaml.YAMLError:
            raise ArgumentError(f"--mismatch is {text!r}; write NAME=NUMBER, as delay=0.004") from None
    return scene_of(scene).mismatch(Mismatch.of(values) if texts else None)


def _of_file(text: str) -> dict[str, Any]:
    """The fields in a YAML file."""
    if Path(text).suffix not in (".yaml", ".yml"):
        raise ArgumentError(f"--mismatch is {text!r}; write NAME=VALUE, or the path of a .yaml file")
    try:
        return read_values(text)
    except ArgumentError as error:
        raise ArgumentError(f"--mismatch: {error}") from None


def _payload(value: str) -> tuple[str, Any]:
    """LINK:KG."""
    link, _, mass = value.rpartition(":")
    return link, number(mass)
