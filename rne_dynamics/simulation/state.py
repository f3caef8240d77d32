"""The state of a simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Machine, Mechanism


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
    posture
        Of a mechanism, positions of all joints of its tree at `q`, shape (nq of the tree,), from which assembly goes
        on, so that the loops stay on their branch. None for an open arm; where a mechanism's is None, assembly starts
        from the mechanism's own posture.
    """

    t: float
    q: Array
    qd: Array
    posture: Array | None = None


def checked_state(
    robot: Machine, q: ArrayLike, qd: ArrayLike | None = None, t: float = 0.0, posture: Array | None = None
) -> State:
    """A state to start from, copied; `qd` is zero unless given, a mechanism's loops are assembled from `posture` on.

    Raises
    ------
    SimulationError
        Wrong shapes or numbers that are not finite; names the joint.
    AssemblyError
        A mechanism whose loops do not close there.
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
    closed = assemble(robot, position, start=posture) if isinstance(robot, Mechanism) else None
    return State(float(t), position, velocity, closed)


def no_joint_outside(robot: Machine, state: State, positions: NDArray[np.int64]) -> None:
    """`SimulationError` where a joint starts beyond a position stop; names the joint and the mend."""
    for j, iq in enumerate(positions.tolist()):
        if iq >= 0 and not robot.lower[j] <= state.q[iq] <= robot.upper[j]:
            raise SimulationError(
                f"joint {robot.joint_names[j]!r} starts at {state.q[iq]:g}, outside its limits "
                f"[{robot.lower[j]:g}, {robot.upper[j]:g}]; start inside them, or simulate without stops"
            )
