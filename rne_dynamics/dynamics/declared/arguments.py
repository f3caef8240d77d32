"""Arguments of dynamics functions and their kernels: checks made once, the base's motion, model and loads as a tuple.

Prescribed motion of the base is document 000's, section 2.1.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.errors import ArgumentError, check_loaded, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import (
    COLUMNS,
    FLOATING,
    KIND,
    MULTIPLIER,
    PARENT,
    POSITION_INDEX,
    ROTATION,
    VELOCITY_INDEX,
)
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
    check_loaded(robot)
    arrays = {}
    for name, value in arguments.items():
        width = robot.nq if name == "q" else robot.n
        wanted = f"robot {robot.name!r} wants (..., {width}), in the order of robot.joint_names"
        arrays[name] = vectors(name, value, width, wanted, partial(_at_joint, robot, name))
    return as_rows(arrays)


@kernel
def all_finite(values: Array) -> bool:
    """Whether no number of a vector is NaN or infinite."""
    finite = True
    for k in range(values.shape[0]):
        finite &= np.isfinite(values[k])
    return finite


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


def load_arrays(wrenches: Wrenches | None, lead: tuple[int, ...]) -> dict[str, Array]:
    """External loads (…, 6) by link, which broadcast to a leading shape; `ArgumentError`."""
    if wrenches is None:
        return {}
    if not isinstance(wrenches, Mapping):
        raise ArgumentError(
            f"wrenches is a {type(wrenches).__name__}; it must map names of links to loads (..., 6): force, moment"
        )
    arrays = {}
    for link, value in wrenches.items():
        name = f"wrenches[{link!r}]"
        array = arrays[link] = vectors(name, value, 6, "it must be (..., 6): force, moment")
        try:
            np.broadcast_to(array, (*lead, 6))
        except ValueError:
            raise ArgumentError(f"{name} has shape {array.shape}, which does not broadcast to {(*lead, 6)}") from None
    return arrays


def bodies_wrenches(robot: RobotModel, wrenches: Wrenches | None, lead: tuple[int, ...]) -> Array:
    """External loads (force, moment) at the body frames in body axes; (batch or 1, bodies, 6), (1, 0, 6) for none.

    Loads on links fixed to the base reach no joint and are dropped. `ArgumentError`; `ModelError`: an unknown link.
    """
    arrays = load_arrays(wrenches, lead)
    if not arrays:
        return np.empty((1, 0, 6))
    batched = any(a.ndim > 1 for a in arrays.values())
    count = math.prod(lead) if batched else 1
    out = np.zeros((count, robot.bodies, 6))
    for link, array in arrays.items():
        frame = robot.link(link)
        if frame.body >= 0:
            rows = np.broadcast_to(array, (*lead, 6)).reshape(count, 6) if batched else array.reshape(1, 6)
            out[:, frame.body] += moved_wrench(frame.rotation, frame.position, rows)
    return out


def moved_wrench(R: Array, p: Array, wrench: Array) -> Array:
    """A wrench (…, 6) at the origin of a frame, moved to the frame in which that one is placed at (R, p)."""
    force = wrench[..., :3] @ R.T
    return np.concatenate([force, wrench[..., 3:] @ R.T + np.cross(p, force)], axis=-1)


def _at_joint(robot: RigidRobot, name: str, place: str, number: float, k: int) -> str:
    joint = "" if name == "q" and robot.nq != robot.n else f" (joint {robot.joint_names[k]!r})"
    return f"{place} is {number}{joint}"


#: How far R Rᵀ may be from 1.
_ORTHONORMAL = 1e-9 + 1e-5 * np.eye(3)


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """Prescribed motion of the root link; all vectors in the root link's axes, shape (…, 3).

    Parameters
    ----------
    linear_acceleration
        Acceleration of the root frame's origin relative to the world, m/s² (gravity not included).
    angular_velocity, angular_acceleration
        rad/s, rad/s².
    linear_velocity
        m/s. By Galileo's principle it changes no effort.
    rotation
        ``R_WB``, the root link's axes in the world; turns gravity. Shape (…, 3, 3).
    """

    linear_acceleration: ArrayLike = (0.0, 0.0, 0.0)
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0)
    angular_acceleration: ArrayLike = (0.0, 0.0, 0.0)
    linear_velocity: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def packed(self, gravity: Array) -> Array:
        """(v, ω, v̇ − g, ω̇) in base axes, shape (…, 12), as the kernels take it.

        Raises
        ------
        ArgumentError
            Wrong shapes, NaN or infinity, or a `rotation` that is not a rotation.
        """
        parts = {
            name: vectors(f"base_motion.{name}", getattr(self, name), 3, "it must be finite, shape (..., 3)")
            for name in ("linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration")
        }
        lead, (v, w, dv, dw, g) = as_rows(parts | {"gravity turned by rotation": gravity @ self._checked_rotation()})
        return np.concatenate([v, w, dv - g, dw], axis=-1).reshape((*lead, 12))

    def _checked_rotation(self) -> Array:
        R = as_floats("base_motion.rotation", self.rotation)
        good = R.ndim >= 2 and R.shape[-2:] == (3, 3)
        good = good and bool((np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)) <= _ORTHONORMAL).all())
        if not (good and bool((np.linalg.det(R) > 0.0).all())):
            raise ArgumentError(
                f"base_motion.rotation is {R.tolist()}; it must be a rotation matrix, shape (..., 3, 3)"
            )
        return R


def packed_base(robot: RobotModel, motion: BaseMotion | None, lead: tuple[int, ...]) -> Array:
    """The base's motion as the kernels take it, (1 or batch, 12); `ArgumentError` if floating, or of another shape."""
    if motion is None:
        return robot.base_at_rest.reshape(1, 12)
    refuse(
        ArgumentError,
        (not isinstance(motion, BaseMotion),
         f"base_motion is a {type(motion).__name__}; it must be a BaseMotion"),
        (robot.base == "floating",
         f"base_motion is given, but robot {robot.name!r} has a floating base, whose motion is part of q, qd, qdd"),
    )  # fmt: skip
    packed = motion.packed(robot.gravity)
    if packed.ndim == 1:
        return packed.reshape(1, 12)
    try:
        rows = np.broadcast_to(packed, (*lead, 12))
    except ValueError:
        raise ArgumentError(
            f"base_motion has leading shape {packed.shape[:-1]}, which does not broadcast to {lead}"
        ) from None
    return np.ascontiguousarray(rows.reshape(-1, 12))


class Arm(NamedTuple):
    """The arguments that are the same in every call of a loop. In compiled code such a tuple costs nothing."""

    #: The model (`rne_dynamics.model.layout`).
    topology: NDArray[np.int64]
    parameters: Array
    #: Base motion, shape (12,): v, ω, v̇ − g, ω̇ in base axes; (1 or B, 12) for a batch.
    base: Any
    #: External (force, moment) at every body frame's origin in body axes, shape (bodies, 6), or (0, 6) for none; (1 or
    #: B, bodies or 0, 6) for a batch. None, like `base`, for a kernel that does not read it.
    wrenches: Any


def arm_of(robot: RobotModel, base: Array | None = None) -> Arm:
    """A robot without loads, its base at rest or moving as `base` (12,) says."""
    motion = robot.base_at_rest if base is None else base
    return Arm(robot.topology, robot.parameters, motion, np.empty((0, 6)))


def with_floating_root(robot: RobotModel) -> tuple[NDArray[np.int64], Array]:
    """Topology and parameters with a floating body of no mass below all others: 7 positions and 6 velocities first."""
    root = np.zeros((1, robot.topology.shape[1]), dtype=np.int64)
    root[0, PARENT], root[0, KIND] = -1, FLOATING
    above = robot.topology.copy()
    above[:, PARENT] += 1
    above[:, POSITION_INDEX] += 7
    above[:, VELOCITY_INDEX] += 6
    row = np.zeros((1, COLUMNS))
    row[0, [ROTATION, ROTATION + 4, ROTATION + 8]] = 1.0
    row[0, MULTIPLIER] = 1.0
    return np.concatenate([root, above]), np.concatenate([row, robot.parameters])

