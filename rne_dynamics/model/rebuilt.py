"""Making and pickling of frozen objects whose arrays stay read-only."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Rebuilt:
    """A dataclass that is pickled as the arguments it was made of.

    NumPy forgets in a pickle which arrays are read-only. Construction checks and
    freezes the object again, so that kernels, which are compiled for read-only arrays, are not compiled anew.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, f.name) for f in fields(self) if f.init)  # type: ignore[arg-type]


def set_fields(frozen: object, **values: object) -> None:
    """Set fields of a frozen dataclass while it is made: what was given, checked, and what follows from it."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)
