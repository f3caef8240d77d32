"""Result of `rne verify` for all kinds of robots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rich.console import Console

from rne_dynamics.verification.operations import Operations


class Verified(NamedTuple):
    """Whether all formulations agree, the figures as plain values, and a function that prints them as tables."""

    agrees: bool
    report: dict[str, Any]
    show: Callable[[Console], None]


def operation_cells(counted: Mapping[str, int] | None) -> list[str]:
    """Table cells: multiplications, additions, and all other operations."""
    if counted is None:
        return ["", "", ""]
    operations = Operations(**counted)
    others = operations.divisions + operations.functions
    return [str(operations.multiplications), str(operations.additions), str(others)]
