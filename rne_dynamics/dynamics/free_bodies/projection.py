"""Consistent initial conditions and drift undone: bodies put back where their joints allow.

Poses and twists are moved the least, weighed by mass, until they fit: Gauss–Newton steps on the joints' position
errors, then the twists by the impulses that the joints would give, which never adds kinetic energy. Both take the
matrix of the equations of motion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rne_dynamics.dynamics.free_bodies.state import (
    BodyStates,
    check_states,
    joint_coordinates,
    joint_motion,
    motion_errors,
)
from rne_dynamics.dynamics.free_bodies.system import MaximalSystem
from rne_dynamics.dynamics.kinematics.rotations import quaternion_matrices, quaternion_product, vector_quaternions
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

_STEPS = 60  # Gauss–Newton converges in a handful; more is a mechanism that cannot be closed


def consistent(robot: RobotModel, states: BodyStates) -> BodyStates:
    """The nearest poses and twists, weighed by mass, that violate no joint; `ArgumentError`, `SimulationError`."""
    check_states(robot, states)
    if robot.bodies == 0:
        return states
    system = MaximalSystem.of(robot)
    return _fitting_twists(system, _fitting_poses(system, states))


def _fitting_poses(system: MaximalSystem, states: BodyStates) -> BodyStates:
    robot = system.robot
    error = _gaps(system, states)
    enough = 2e-15 * (10.0 + np.abs(states.position).max())
    for _ in range(_STEPS):
        before = np.abs(error).max()
        if before <= enough:
            break
        matrix = _matrix(system, states)
        right = system.right_side(np.zeros_like(error), error, np.zeros(robot.n))
        step = system.solution(system.solve(matrix, right, states.near)).acceleration
        for part in (1.0, 0.5, 0.25, 0.125):
            moved = displaced(states, part * step)
            error_moved = _gaps(system, moved)
            if np.abs(error_moved).max() < before:
                break
        else:
            if before < 1e-12 * (10.0 + np.abs(states.position).max()):
                break  # round-off
            moved = displaced(states, step)
            error_moved = _gaps(system, moved)
        states, error = moved, error_moved
    else:
        i, k = divmod(int(np.abs(error).argmax()), 6)
        raise SimulationError(
            f"the bodies of robot {robot.name!r} do not fit together: joint {robot.body_names[i]!r} stays open by "
            f"{np.abs(error[i, k]):.3g} {'m' if k < 3 else 'rad'} after {_STEPS} steps; start nearer to a closed pose"
        )
    return replace(states, near=joint_coordinates(robot, states)[0])


def _gaps(system: MaximalSystem, states: BodyStates) -> Array:
    return motion_errors(system, joint_motion(system.robot, states), states.near)[0]


def _fitting_twists(system: MaximalSystem, states: BodyStates) -> BodyStates:
    momentum = np.einsum("bij,bj->bi", system.inertia, states.twist)
    _, qd = joint_coordinates(system.robot, states)
    right = system.right_side(momentum, np.zeros_like(momentum), system.rotor * qd)
    x = system.solve(_matrix(system, states), right, states.near)
    return replace(states, twist=system.solution(x).acceleration)


def displaced(states: BodyStates, step: Array) -> BodyStates:
    """Poses after a small displacement (linear, angular) of every body in its own axes; shape (bodies, 6)."""
    moved = (quaternion_matrices(states.quaternion) @ step[:, :3, None])[:, :, 0]
    quaternion = quaternion_product(states.quaternion, vector_quaternions(step[:, 3:]))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    return replace(states, position=states.position + moved, quaternion=quaternion)


def _matrix(system: MaximalSystem, states: BodyStates) -> Any:
    robot = system.robot
    motion = joint_motion(robot, states)
    return system.matrix(system.blocks_of_motion(robot.base_at_rest, motion, np.empty((0, 6))).transfer)
