"""Checks that every public function on flexible arms makes once, before the kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import as_floats
from rne_dynamics.errors import ArgumentError, ModelError
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
    arrays = []
    for name, value in arguments.items():
        names = arm.mode_names if name in _MODAL else arm.joint_names
        array = as_floats(name, value)
        if array.ndim == 0 or array.shape[-1] != len(names):
            order = "arm.mode_names" if name in _MODAL else "arm.joint_names"
            raise ArgumentError(
                f"{name} has shape {array.shape}; arm {arm.name!r} wants (..., {len(names)}), in the order of {order}"
            )
        if not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise ArgumentError(
                f"{name}[{', '.join(map(str, where))}] ({names[where[-1]]}) is {array[where]}; every number must "
                "be finite"
            )
        arrays.append(array)
    try:
        lead = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    except ValueError:
        shapes = ", ".join(f"{n} {a.shape}" for n, a in zip(arguments, arrays, strict=True))
        raise ArgumentError(f"leading dimensions do not broadcast: {shapes}") from None
    count = int(np.prod(lead, dtype=np.int64))
    return lead, [np.array(np.broadcast_to(a, (*lead, a.shape[-1])).reshape(count, a.shape[-1])) for a in arrays]
