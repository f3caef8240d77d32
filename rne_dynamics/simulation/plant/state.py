"""The state of a simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.closed_chain.tree_motion import starting_velocity
from rne_dynamics.errors import SimulationError
from rne_dynamics.flexible.static import balance
from rne_dynamics.model.flexible.arm import AnyMachine, FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism


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
    tree_qd
        Of a mechanism, velocities of all joints of its tree, shape (n of the tree,); None for an open arm.
    in_tree
        Whether a mechanism's next step is taken in the coordinates of its tree: near singular postures, and always
        where its actuated joints are no coordinates; see `stepping.step`.
    delta, deltad
        Of an arm with flexible links the amplitudes of its modes and their rates, in the order of its `mode_names`;
        shape (modes,). None for a rigid one.
    """

    t: float
    q: Array
    qd: Array
    posture: Array | None = None
    delta: Array | None = None
    deltad: Array | None = None
    tree_qd: Array | None = None
    in_tree: bool = False


def checked_state(
    robot: AnyMachine,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    t: float = 0.0,
    posture: Array | None = None,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
) -> State:
    """A state to start from, copied; `qd` is zero unless given, a mechanism's loops are assembled from `posture` on.

    Flexible links start bent as gravity bends them at rest, and not vibrating, unless `delta` and `deltad` are given.

    Raises
    ------
    SimulationError
        Wrong shapes or numbers that are not finite, names the joint or mode; deflections of a rigid robot.
    AssemblyError
        A mechanism whose loops do not close there.
    ArgumentError
        Velocities of a mechanism's joints that its loops do not allow.
    ModelError
        Flexible links that do not settle under gravity.
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
    if isinstance(robot, FlexibleArm):
        still = np.zeros(robot.n)
        bent = balance(robot, position, still, still).delta if delta is None else _of_modes(robot, "delta", delta)
        rate = np.zeros(robot.modes) if deltad is None else _of_modes(robot, "deltad", deltad)
        return State(float(t), position, velocity, None, bent, rate)
    if delta is not None or deltad is not None:
        raise SimulationError(f"robot {robot.name!r} has no flexible links; leave out delta and deltad")
    if closed is None or not isinstance(robot, Mechanism):
        return State(float(t), position, velocity)
    rates, regular = starting_velocity(robot, closed, velocity)
    return State(float(t), position, velocity, closed, tree_qd=rates, in_tree=not regular)


def _of_modes(arm: FlexibleArm, name: str, value: ArrayLike) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(arm.modes, float(array))
    if array.shape != (arm.modes,):
        raise SimulationError(f"{name} has shape {array.shape}; arm {arm.name!r} needs ({arm.modes},), one a mode")
    finite = np.isfinite(array)
    if not finite.all():
        k = int(np.argmin(finite))
        raise SimulationError(f"{name} of mode {arm.mode_names[k]!r} is {array[k]}; every number must be finite")
    return array


def no_joint_outside(robot: AnyMachine, state: State, positions: NDArray[np.int64]) -> None:
    """`SimulationError` where a joint starts beyond a position stop; names the joint and the mend."""
    for j, iq in enumerate(positions[: robot.n].tolist()):
        if iq >= 0 and not robot.lower[j] <= state.q[iq] <= robot.upper[j]:
            raise SimulationError(
                f"joint {robot.joint_names[j]!r} starts at {state.q[iq]:g}, outside its limits "
                f"[{robot.lower[j]:g}, {robot.upper[j]:g}]; start inside them, or simulate without stops"
            )
