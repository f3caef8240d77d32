"""Checks that every public dynamics function makes once, before the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.errors import ArgumentError, check_loaded
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.on_tree import OnTree
from rne_dynamics.model.robot import RobotModel

#: Link name to (force, moment), shape (…, 6), at the link frame's origin in link axes.
Wrenches = Mapping[str, ArrayLike]


def check_open_arm(robot: object) -> None:
    """Refuse what is not a `RobotModel`: another kind of robot with `ModelError`, the rest with `ArgumentError`."""
    if isinstance(robot, RobotModel):
        return
    check_loaded(robot)
    if isinstance(robot, OnTree):
        raise robot.refusal()
    raise ArgumentError(f"robot is a {type(robot).__name__}; this quantity takes an open rigid arm (RobotModel)")


def state_arrays(robot: RigidRobot, **arguments: ArrayLike) -> tuple[tuple[int, ...], list[Array]]:
    """Joint vectors, ``q`` (…, nq), others (…, n), broadcast: their leading shape and float64 arrays (batch, …).

    `ArgumentError`: not finite numbers, wrong last dimension, leading dimensions that do not broadcast.
    """
    rows = []
    try:
        for name, value in arguments.items():
            row = _plain_row(value, robot.nq if name == "q" else robot.n)
            if row is None:
                return _broadcast_state(robot, arguments)
            rows.append(row)
    except AttributeError:
        check_loaded(robot)
        raise
    return (), rows


def _plain_row(value: ArrayLike, width: int) -> Array | None:
    """`value` as one row where it needs no conversion at all, which is the case in a control loop."""
    if type(value) is not np.ndarray or value.dtype != np.float64 or value.shape != (width,):
        return None
    return value.reshape(1, width) if value.flags.carray and all_finite(value) else None


@kernel
def all_finite(values: Array) -> bool:
    """Whether no number of a vector is NaN or infinite."""
    finite = True
    for k in range(values.shape[0]):
        finite &= np.isfinite(values[k])
    return finite


def _broadcast_state(robot: RigidRobot, arguments: Mapping[str, ArrayLike]) -> tuple[tuple[int, ...], list[Array]]:
    arrays = {}
    for name, value in arguments.items():
        width = robot.nq if name == "q" else robot.n
        wanted = f"robot {robot.name!r} wants (..., {width}), in the order of robot.joint_names"
        arrays[name] = vectors(name, value, width, wanted, partial(_at_joint, robot, name))
    return as_rows(arrays)


def vectors(
    name: str, value: ArrayLike, width: int, wanted: str,
    said: Callable[[str, float, int], str] = lambda place, number, _: f"{place} is {number}",
) -> Array:  # fmt: skip
    """Finite vectors (…, width) of float64; `ArgumentError` says what is `wanted`, or ``said(place, number, k)``."""
    array = as_floats(name, value)
    if array.ndim == 0 or array.shape[-1] != width:
        raise ArgumentError(f"{name} has shape {array.shape}; {wanted}")
    if not np.isfinite(array).all():
        where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        text = said(f"{name}{list(where)}", float(array[where]), where[-1])
        raise ArgumentError(f"{text}; every number must be finite")
    return array


def as_rows(arrays: Mapping[str, Array]) -> tuple[tuple[int, ...], list[Array]]:
    """One leading shape of vectors (…, width), and C-contiguous arrays (batch, width); `ArgumentError` without one."""
    lead, *others = (array.shape[:-1] for array in arrays.values())
    found = list(arrays.values())
    if any(other != lead for other in others):
        try:
            lead = np.broadcast_shapes(lead, *others)
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise ArgumentError(f"leading dimensions do not broadcast: {shapes}") from None
        found = [np.broadcast_to(array, (*lead, array.shape[-1])) for array in found]
    count = math.prod(lead)
    return lead, [np.require(array.reshape(count, array.shape[-1]), np.float64, ["C", "A"]) for array in found]


def as_floats(name: str, value: ArrayLike) -> Array:
    """`value` as a float64 array; `ArgumentError` where it is not made of real numbers."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"its type is {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} is not an array of real numbers: {error}") from None


def bodies_wrenches(robot: RobotModel, wrenches: Wrenches | None, lead: tuple[int, ...]) -> Array:
    """External loads (force, moment) at the body frames in body axes; (batch or 1, bodies, 6), (1, 0, 6) for none.

    Loads on links fixed to the base reach no joint and are dropped. `ArgumentError`; `ModelError`: an unknown link.
    """
    if not wrenches:
        return np.empty((1, 0, 6))
    arrays = {}
    for link, value in wrenches.items():
        array = as_floats(f"wrenches[{link!r}]", value)
        if array.ndim == 0 or array.shape[-1] != 6:
            raise ArgumentError(f"wrenches[{link!r}] has shape {array.shape}; it must be (..., 6): force, moment")
        if not np.isfinite(array).all():
            raise ArgumentError(f"wrenches[{link!r}] holds NaN or infinity; every number must be finite")
        try:
            np.broadcast_to(array, (*lead, 6))
        except ValueError:
            raise ArgumentError(
                f"wrenches[{link!r}] has shape {array.shape}, which does not broadcast to {(*lead, 6)}"
            ) from None
        arrays[link] = array
    batched = any(a.ndim > 1 for a in arrays.values())
    count = math.prod(lead) if batched else 1
    out = np.zeros((count, robot.bodies, 6))
    for link, array in arrays.items():
        frame = robot.link(link)
        if frame.body < 0:
            continue
        rows = np.broadcast_to(array, (*lead, 6)).reshape(count, 6) if batched else array.reshape(1, 6)
        force = rows[:, :3] @ frame.rotation.T
        out[:, frame.body, :3] += force
        out[:, frame.body, 3:] += rows[:, 3:] @ frame.rotation.T + np.cross(frame.position, force)
    return out


def _at_joint(robot: RigidRobot, name: str, place: str, number: float, k: int) -> str:
    joint = "" if name == "q" and robot.nq != robot.n else f" (joint {robot.joint_names[k]!r})"
    return f"{place} is {number}{joint}"
