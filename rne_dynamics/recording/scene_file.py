"""YAML files of scenes and mismatches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml

from rne_dynamics.description.yaml_nodes import MOST_BYTES, plain
from rne_dynamics.errors import ArgumentError
from rne_dynamics.input_file import read_limited
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.surroundings import Scene

Made = TypeVar("Made")


def read_scene(path: str | Path) -> Scene:
    """Surroundings and script of a YAML file.

    Parameters
    ----------
    path
        With the keys ``bodies``, ``touching`` and ``script``, each of which may be left out.

    Raises
    ------
    ArgumentError
        A file that cannot be read, or values that are not allowed; names both.
    """
    return _named(path, lambda: Scene.of(read_values(path)))


def read_mismatch(path: str | Path) -> Mismatch:
    """The mismatch of a YAML file; raises as `read_scene`."""
    return _named(path, lambda: Mismatch.of(read_values(path)))


def read_values(path: str | Path) -> dict[str, Any]:
    """The mapping in a YAML file; `ArgumentError` names the file."""
    try:
        values = plain(read_limited(path, MOST_BYTES))
    except (OSError, yaml.YAMLError, UnicodeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if not (isinstance(values, dict) and all(isinstance(key, str) for key in values)):
        raise ArgumentError(f"{path} holds no mapping; write lines such as `delay: 0.004`")
    return dict(number(values))


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


def _named(path: str | Path, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except ArgumentError as error:
        text = str(error)
        raise ArgumentError(text if text.startswith(str(path)) else f"{path}: {text}") from None
