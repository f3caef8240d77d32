"""Checks that every public function on flexible arms makes once, before the kernels."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import as_rows, vectors
from rne_dynamics.errors import ModelError
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array

#: Arguments that hold one number a mode; all others hold one a joint.
_MODAL = ("delta", "deltad", "deltadd")


def check_flexible(arm: FlexibleArm) -> None:
    """`ModelError` for a rigid robot or a mechanism, which callers without type checkers may hand over."""
    if not getattr(arm, "flexible_links", ()):
        name = getattr(arm, "name", type(arm).__name__)
        raise ModelError(
            f"robot {name!r} has no flexible links, and this function is for arms that have some; take the "
            "functions of rne_dynamics itself, or describe how its links bend in a model file (flexible: ...)"
        )


def coordinates(arm: FlexibleArm, **arguments: ArrayLike) -> tuple[tuple[int, ...], list[Array]]:
    """Vectors broadcast to one leading shape: that, and new arrays (batch, modes) or (batch, n).

    ``delta``, ``deltad``, ``deltadd`` hold one number a mode, everything else one a joint. `ModelError` for a robot
    without flexible links, `ArgumentError` for what are no finite numbers of such shapes.
    """
    check_flexible(arm)
    arrays = {}
    for name, value in arguments.items():
        kind, names = ("mode", arm.mode_names) if name in _MODAL else ("joint", arm.joint_names)
        wanted = f"arm {arm.name!r} wants (..., {len(names)}), in the order of arm.{kind}_names"
        arrays[name] = vectors(name, value, len(names), wanted, partial(_at_name, names))
    lead, rows = as_rows(arrays)
    return lead, [np.array(row) for row in rows]


def _at_name(names: tuple[str, ...], place: str, number: float, k: int) -> str:
    return f"{place} ({names[k]}) is {number}"
