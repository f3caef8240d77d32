"""Checks of joint vectors for control."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.errors import ControlError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot


def joint_name(index: int, names: Sequence[str] | None) -> str:
    """Name of a joint in messages: its name where names are known, its number otherwise."""
    return f"joint {names[index]!r}" if names is not None else f"joint number {index}"


def frozen_vector(
    value: ArrayLike, n: int, what: str, *, lowest: float = -np.inf, highest: float = np.inf, finite: bool = True,
    names: Sequence[str] | None = None, error: type[ControlError] = ControlError,
) -> Array:
    """A read-only vector (n,) of one number or n of them; `error` names joint, value and what is allowed."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"{what} is {value!r}; it must be numbers, one or {n}") from None
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise error(f"{what} has shape {array.shape}; it must be one number or {n} of them, one a joint")
    # comparisons with NaN are false, so NaN is caught here as well
    good = (array >= lowest) & (array <= highest)
    if finite:
        good &= np.isfinite(array)
    if not good.all():
        j = int(np.argmin(good))
        allowed = [] if not finite else ["finite"]
        allowed += [] if lowest == -np.inf else [f"at least {lowest:g}"]
        allowed += [] if highest == np.inf else [f"at most {highest:g}"]
        raise error(f"{what} of {joint_name(j, names)} is {array[j]}; it must be {', '.join(allowed) or 'a number'}")
    array.flags.writeable = False
    return array


def check_number(
    value: float, what: str, *, zero: bool = False, unit: str = "", error: type[ControlError] = ControlError
) -> None:
    """`error` for a number that is not finite and above 0, or with `zero` not negative; `what` and `unit` name it."""
    if not (np.isfinite(value) and (value > 0.0 or (zero and value == 0.0))):
        raise error(f"{what} is {value}{unit}; it must be finite and {'not negative' if zero else 'above 0'}")


def measured(value: ArrayLike, n: int, what: str) -> Array:
    """A vector (n,) of one control cycle, as kernels need it; only its shape is checked: the limiter refuses NaN."""
    # always a copy: kernels compile anew for read-only or strided arrays, which would stall a running loop
    array = np.array(value, dtype=np.float64)
    if array.shape != (n,):
        raise ControlError(f"{what} has shape {array.shape}; the robot needs ({n},)")
    return array


def every_joint_driven(robot: RigidRobot, law: str) -> None:
    """`ControlError` where the robot has a floating joint, which no motor drives."""
    if robot.nq != robot.n:
        raise ControlError(
            f"{law} drives every joint, but robot {robot.name!r} has a floating joint; load it with base='fixed'"
        )
