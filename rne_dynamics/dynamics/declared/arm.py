"""Arguments of kernels besides the state: model, base motion and loads, in one tuple."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


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
