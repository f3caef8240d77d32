"""The coordinates of any robot, and checked states to start from."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot
from rne_dynamics.simulation.plant.closed_coordinates import ActuatedJoints
from rne_dynamics.simulation.plant.coordinates import Coordinates, finite_vector
from rne_dynamics.simulation.plant.flexible_coordinates import JointsAndModes
from rne_dynamics.simulation.plant.state import State


def coordinates_of(robot: Robot, friction: bool = True) -> Coordinates:
    """The coordinates in which a robot is simulated, with friction of passive joints or without."""
    if robot.kind == "flexible":
        return JointsAndModes(robot)
    if robot.kind == "mechanism":
        return ActuatedJoints(robot, friction)
    return Coordinates(robot)


def checked_state(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    t: float = 0.0,
    posture: Array | None = None,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
) -> State:
    """A state to start from, copied; `qd` is zero unless given, a mechanism's loops are assembled from `posture` on.

    Flexible links start bent as gravity bends them at rest, unless `delta` and `deltad` are given. `SimulationError`
    names joint or mode; `AssemblyError`, `ArgumentError`, `ModelError` as loops and equilibrium raise them.
    """
    owner, joints = f"robot {robot.name!r}", [f"joint {name!r}" for name in robot.joint_names]
    places = joints if robot.nq == robot.n else [f"number {k}" for k in range(robot.nq)]
    position = finite_vector("q", q, places, owner)
    velocity = finite_vector("qd", 0.0 if qd is None else qd, joints, owner, broadcast=True)
    return coordinates_of(robot).initial(float(t), position, velocity, posture, delta, deltad)
