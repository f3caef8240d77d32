"""Vectors as people and YAML files give them."""

from __future__ import annotations

import math
from typing import Any

from rne_dynamics.errors import ArgumentError


def three_numbers(what: str, given: Any) -> tuple[float, ...]:
    """Three finite numbers; `ArgumentError` names `what` has others."""
    try:
        row = tuple(float(x) for x in given)
        if len(row) == 3 and all(map(math.isfinite, row)):
            return row
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"{what} {given!r}; it must be three finite numbers")
