"""How frozen objects go to another process and come back frozen."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Rebuilt:
    """A dataclass that is pickled as the arguments it was made of.

    NumPy forgets in a pickle which arrays are read-only. Made anew the object is checked and frozen again, and kernels,
    which are compiled for one or the other kind of array, meet the kind that they know.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, f.name) for f in fields(self) if f.init)  # type: ignore[arg-type]
