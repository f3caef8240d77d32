"""Vectors as people and YAML files give them."""

from __future__ import annotations

import math
from typing import Any

from rne_dynamics.errors import ArgumentError


def three_numbers(what: str, given: Any) -> tuple[float, ...]:
    """Three finite numbers; `ArgumentError` otherwise, whose message begins with `what`."""
    try:
        row = tuple(float(x) for x in given)
    except (TypeError, ValueError):
        row = ()
    if len(row) != 3 or not all(map(math.isfinite, row)):
        raise ArgumentError(f"{what} {given!r}; it must be three finite numbers")
    return row
