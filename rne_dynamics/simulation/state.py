"""The state of a simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel


@dataclass(frozen=True, eq=False)
class State:
    """Time, positions and velocities.

    Parameters
    ----------
    t
        Simulated time, s.
    q
        Positions, rad or m; shape (nq,).
    qd
        Velocities; shape (n,).
    """

    t: float
    q: Array
    qd: Array


def checked_state(robot: RobotModel, q: ArrayLike, qd: ArrayLike | None = None, t: float = 0.0) -> State:
    """A state to start from, copied; `qd` is zero unless given.

    Raises
    ------
    SimulationError
        Wrong shapes or numbers that are not finite; names the joint.
    """
    position = np.array(q, dtype=np.float64)
    velocity = np.zeros(robot.n) if qd is None else np.array(qd, dtype=np.float64)
    if velocity.ndim == 0:
        velocity = np.full(robot.n, float(velocity))
    for name, array, width in (("q", position, robot.nq), ("qd", velocity, robot.n)):
        if array.shape != (width,):
            raise SimulationError(f"{name} has shape {array.shape}; robot {robot.name!r} needs ({width},)")
        finite = np.isfinite(array)
        if not finite.all():
            k = int(np.argmin(finite))
            joint = f"joint {robot.joint_names[k]!r}" if width == robot.n else f"number {k}"
            raise SimulationError(f"{name} of {joint} is {array[k]}; every number must be finite")
    return State(float(t), position, velocity)


def no_joint_outside(robot: RobotModel, state: State, positions: NDArray[np.int64]) -> None:
    """`SimulationError` where a joint starts beyond a position stop; names the joint and the mend."""
    for j, iq in enumerate(positions.tolist()):
        if iq >= 0 and not robot.lower[j] <= state.q[iq] <= robot.upper[j]:
            raise SimulationError(
                f"joint {robot.joint_names[j]!r} starts at {state.q[iq]:g}, outside its limits "
                f"[{robot.lower[j]:g}, {robot.upper[j]:g}]; start inside them, or simulate without stops"
            )
