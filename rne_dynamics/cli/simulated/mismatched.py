"""--mismatch of `rne simulate` and `rne compare`: fields by name, and YAML files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from rne_dynamics.cli.arguments import several
from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import ArgumentError
from rne_dynamics.input_file import read_limited
from rne_dynamics.simulation.mismatch.mismatch import Mismatch

ARGUMENT = several(
    "--mismatch", "NAME=VALUE|FILE", "a difference between arm and model (mass=0.05, delay=0.004, stiffness=2e4; "
    "docs/mismatch.md), or a .yaml file of such, also with a script; may be given several times",
)  # fmt: skip


def mismatch_of(texts: Sequence[str]) -> Mismatch | None:
    """The mismatch of --mismatch, later texts before earlier ones; None without any; `ArgumentError` if invalid."""
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
    return Mismatch.of(values) if texts else None


def number(value: Any) -> Any:
    """A number that YAML 1.1 takes for text (1e-3), as a number; lists and mappings likewise, item by item."""
    if isinstance(value, dict):
        return {key: number(part) for key, part in value.items()}
    if isinstance(value, list):
        return [number(part) for part in value]
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _of_file(text: str) -> dict[str, Any]:
    """The fields in a YAML file."""
    if Path(text).suffix not in (".yaml", ".yml"):
        raise ArgumentError(f"--mismatch is {text!r}; write NAME=VALUE, or the path of a .yaml file")
    try:
        values = plain(read_limited(text, MOST_BYTES))
    except (OSError, yaml.YAMLError, UnicodeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"--mismatch: {text} cannot be read: {' '.join(str(error).split())}") from None
    if not (isinstance(values, dict) and all(isinstance(key, str) for key in values)):
        raise ArgumentError(f"--mismatch: {text} holds no mapping; write lines such as `delay: 0.004`")
    found: dict[str, Any] = number(values)
    return found


def _payload(value: str) -> tuple[str, Any]:
    """LINK:KG."""
    link, _, mass = value.rpartition(":")
    return link, number(mass)
