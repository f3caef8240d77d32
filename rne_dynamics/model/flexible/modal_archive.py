"""Arrays by name from a JSON object or a NumPy archive, with errors that name file and key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from rne_dynamics import input_file
from rne_dynamics.errors import DescriptionError, unknown_name
from rne_dynamics.model.inertia import Array

#: A table of shapes is a few megabytes of text; as lists of Python it takes ten times that.
_MOST_TEXT = 50_000_000


class ArrayFile:
    """The keys of one file, and errors that name it."""

    def __init__(self, path: Path, data: Mapping[str, Any]) -> None:
        self.path, self.data = path, data

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def check_keys(self, known: Sequence[str], needed: Sequence[str], what: str) -> None:
        """`DescriptionError` for unknown and for missing keys of a file with `what`."""
        for key in self.data:
            if key not in known:
                raise DescriptionError(str(unknown_name("key", key, known, f"{self.path}: a file with {what}")))
        missing = [key for key in needed if key not in self]
        if missing:
            raise DescriptionError(f"{self.path}: has no {', no '.join(missing)}; it must have {', '.join(needed)}")

    def fail(self, key: str, what: str) -> NoReturn:
        """Raise `DescriptionError` about a key."""
        raise DescriptionError(f"{self.path}: {key} {what}")

    def array(self, key: str, *shapes: tuple[int, ...]) -> Array:
        """The numbers of a key, in one of some shapes."""
        try:
            found = np.asarray(self.data[key], dtype=np.float64)
        except (TypeError, ValueError):
            self.fail(key, f"is not an array of numbers; it must have the shape {_either(shapes)}")
        if found.shape not in shapes:
            self.fail(key, f"has the shape {found.shape}; it must be {_either(shapes)}")
        if not np.isfinite(found).all():
            self.fail(key, "has numbers that are not finite; every one must be")
        return found

    def array_or_zeros(self, key: str, shape: tuple[int, ...]) -> Array:
        """As `array`; zeros where the key is not given."""
        return self.array(key, shape) if key in self else np.zeros(shape)

    def number(self, key: str) -> float:
        """The one number of a key."""
        return float(self.array(key, ()))


def kind_of(path: Path) -> str:
    """``.json`` or ``.npz``, by the file's name; `DescriptionError` for another."""
    if path.suffix.lower() not in (".json", ".npz"):
        raise DescriptionError(f"{path}: ends in {path.suffix!r}; a file with modal integrals ends in .json or .npz")
    return path.suffix.lower()


def read_arrays(path: Path) -> ArrayFile:
    """Read all keys of a file, without believing any; `DescriptionError` where it cannot be read."""
    kind = kind_of(path)
    try:
        if kind == ".npz":
            return ArrayFile(path, input_file.read_arrays(path))
        text = input_file.read_limited(path, _MOST_TEXT).decode("utf-8")
        data = json.loads(text, object_pairs_hook=lambda pairs: _once(path, pairs))
    except OSError as error:
        raise DescriptionError(f"{path}: {error.strerror or error}; give a file with modal integrals") from None
    except (ValueError, RecursionError) as error:
        what = "a NumPy archive of plain arrays" if kind == ".npz" else "JSON"
        raise DescriptionError(f"{path}: is not {what}: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        found = type(data).__name__
        raise DescriptionError(f"{path}: holds a {found}; it must be an object with the keys of the format")
    return ArrayFile(path, data)


def _once(path: Path, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        twice = next(key for k, (key, _) in enumerate(pairs) if key in dict(pairs[:k]))
        raise DescriptionError(f"{path}: {twice} is given twice; give it once")
    return data


def _either(shapes: tuple[tuple[int, ...], ...]) -> str:
    return " or ".join(str(shape) if shape else "() (one number)" for shape in shapes)
