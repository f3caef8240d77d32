"""The state of a robot in maximal coordinates: pose and twist of every body, and what the joints demand of them.

From joint coordinates such a state comes out consistent. Poses and twists that were measured, guessed or integrated
violate the joints: `constraint_errors` gives by how much, `consistent` corrects them. The base is at rest.

Poses and twists are moved the least, weighed by mass, until they fit: Gauss–Newton steps on the joints' position
errors, then the twists by the impulses that the joints would give, which never adds kinetic energy. Both take the
matrix of the equations of motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.declared.arguments import arm_of, state_arrays
from rne_dynamics.dynamics.free_bodies.system import (
    ANGULAR,
    MOTION_COLUMNS,
    POSITION,
    RELATIVE,
    RELATIVE_ANGULAR,
    RELATIVE_LINEAR,
    ROTATION,
    MaximalSystem,
)
from rne_dynamics.dynamics.kinematics import jacobian as world
from rne_dynamics.dynamics.kinematics.kinematics import (
    POSE_COLUMNS,
    quaternion_matrices,
    quaternion_product,
    rotation_quaternions,
    vector_quaternions,
    wrapped,
)
from rne_dynamics.errors import ArgumentError, SimulationError
from rne_dynamics.model import layout
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PARENT
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import into_child, minus, pair_at, put_pair
from rne_dynamics.spatial.rows import put, put_matrix, vector_at
from rne_dynamics.spatial.vector import compose, from_quaternion, rotate_back, rotation_vector, subtract, transpose


@dataclass(frozen=True, eq=False)
class BodyStates:
    """Pose and twist of every body, in the order of `robot.body_names`."""

    #: Origins of the body frames in world axes, m; shape (bodies, 3).
    position: Array
    #: Orientations in the world, x y z w; shape (bodies, 4).
    quaternion: Array
    #: Velocity of the origin and angular velocity in the body's own axes; shape (bodies, 6).
    twist: Array
    #: Joint positions once read off; full turns are added to angles so that they come nearest to these; shape (nq,).
    near: Array


def body_states(robot: RobotModel, q: ArrayLike, qd: ArrayLike) -> BodyStates:
    """Consistent poses and twists from joint positions (nq,) and velocities (n,); `ArgumentError`."""
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    if lead:
        raise ArgumentError(f"q has leading shape {lead}; one state at a time: q ({robot.nq},), qd ({robot.n},)")
    motions = np.empty((robot.bodies, world.WORK_COLUMNS))
    world.body_motions_kernel(arm_of(robot), positions[0], velocities[0], motions)
    R = motions[:, :9].reshape(-1, 3, 3)
    twist = np.concatenate([(motions[:, None, of] @ R)[:, 0] for of in (world.LINEAR, world.ANGULAR)], axis=1)
    return BodyStates(motions[:, 9:POSE_COLUMNS].copy(), rotation_quaternions(R), twist, positions[0].copy())


@kernel
def relative_motion_kernel(
    topology: NDArray[np.int64], position: Array, quaternion: Array, twist: Array, motion: Array
) -> None:
    """Fill `motion`, shape (bodies, MOTION_COLUMNS), as `free_body_kernel` takes it, from poses and twists."""
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R = from_quaternion(quaternion[i, 0], quaternion[i, 1], quaternion[i, 2], quaternion[i, 3])
        p, V = vector_at(position, i, 0), pair_at(twist, i, 0)
        put(motion, i, ANGULAR, V[1])
        if parent >= 0:
            world = from_quaternion(
                quaternion[parent, 0], quaternion[parent, 1], quaternion[parent, 2], quaternion[parent, 3]
            )
            p = rotate_back(world, subtract(p, vector_at(position, parent, 0)))
            R = compose(transpose(world), R)
            V = minus(V, into_child(R, p, pair_at(twist, parent, 0)))
        put_matrix(motion, i, ROTATION, R)
        put(motion, i, POSITION, p)
        put_pair(motion, i, RELATIVE, V)


def check_states(robot: RobotModel, states: BodyStates) -> None:
    """`ArgumentError` where an array is not of the robot's size or not finite; names the body."""
    bodies = robot.bodies
    shapes = {"position": (bodies, 3), "quaternion": (bodies, 4), "twist": (bodies, 6), "near": (robot.nq,)}
    for name, shape in shapes.items():
        array = getattr(states, name)
        if array.shape != shape:
            raise ArgumentError(f"{name} of the bodies has shape {array.shape}; robot {robot.name!r} needs {shape}")
        if not np.isfinite(array).all():
            where = np.argwhere(~np.isfinite(array))[0]
            body = "" if name == "near" else f" of body {robot.body_names[where[0]]!r}"
            raise ArgumentError(f"{name}{body} is {array[tuple(where)]}; every number must be finite")
    if bodies and not np.linalg.norm(states.quaternion, axis=1).min() > 0.0:
        body = robot.body_names[int(np.linalg.norm(states.quaternion, axis=1).argmin())]
        raise ArgumentError(f"quaternion of body {body!r} is zero; it must have length 1")


def joint_motion(robot: RobotModel, states: BodyStates) -> Array:
    """Placement and velocity of every body in its parent, as `free_body_kernel` takes them."""
    motion = np.empty((robot.bodies, MOTION_COLUMNS))
    relative_motion_kernel(robot.topology, states.position, states.quaternion, states.twist, motion)
    return motion


def joint_coordinates(robot: RobotModel, states: BodyStates) -> tuple[Array, Array]:
    """Joint positions (nq,) and velocities (n,) read off poses and twists; of mimic joints the leader counts."""
    return _coordinates(robot, joint_motion(robot, states), states.near)


def _coordinates(robot: RobotModel, motion: Array, near: Array) -> tuple[Array, Array]:
    turned, shifted = _in_joint_frames(robot, motion)
    angles = _angles(turned)
    q, qd = np.empty(robot.nq), np.empty(robot.n)
    for i, (_, kind, iq, iv) in enumerate(robot.topology.tolist()):
        if kind == layout.FLOATING:
            quaternion = rotation_quaternions(turned[i : i + 1])[0]
            sign = -1.0 if quaternion @ near[iq + 3 : iq + 7] < 0.0 else 1.0
            q[iq : iq + 3], q[iq + 3 : iq + 7] = shifted[i], sign * quaternion
            qd[iv : iv + 6] = motion[i, RELATIVE_LINEAR : RELATIVE_LINEAR + 6]
        elif robot.body_names[i] != robot.joint_names[iv]:
            continue
        elif kind == layout.PRISMATIC:
            q[iq], qd[iv] = shifted[i, 2], motion[i, RELATIVE_LINEAR + 2]
        else:
            q[iq] = near[iq] + wrapped(angles[i] - near[iq])
            qd[iv] = motion[i, RELATIVE_ANGULAR + 2]
    return q, qd


def constraint_errors(robot: RobotModel, states: BodyStates) -> tuple[Array, Array]:
    """Constraint violation of the bodies at their joints.

    Returns errors of position (m, rad) and of velocity, each (bodies, 6): (linear, angular) in the body's axes, zero
    along what a joint leaves free. A mimic joint's axis shows its lag behind the gear ratio.
    """
    return motion_errors(MaximalSystem.of(robot), joint_motion(robot, states), states.near)


def motion_errors(system: MaximalSystem, motion: Array, near: Array) -> tuple[Array, Array]:
    """`constraint_errors` where the joints' placements and velocities are at hand."""
    robot = system.robot
    q, qd = _coordinates(robot, motion, near)
    turned, shifted = _in_joint_frames(robot, motion)
    kind, iq = robot.topology[:, layout.KIND], robot.topology[:, layout.POSITION_INDEX]
    target = robot.parameters[:, layout.MULTIPLIER] * q[iq] + robot.parameters[:, layout.OFFSET]
    back = (turned.transpose(0, 2, 1) @ shifted[:, :, None])[:, :, 0]
    position = np.concatenate([back, _tilts(turned)], axis=1)
    position[kind == layout.FLOATING] = 0.0
    for i in np.flatnonzero(kind == layout.PRISMATIC):
        position[i, 2], position[i, 3:] = shifted[i, 2] - target[i], rotation_vector(tuple(turned[i].ravel()))
    names = [robot.joint_names[iv] for iv in robot.topology[:, layout.VELOCITY_INDEX]]
    lags = (kind == layout.REVOLUTE) & (np.array(robot.body_names) != np.array(names))  # q is the leader's own angle
    position[lags, 5] = wrapped(_angles(turned) - target)[lags]
    velocity = motion[:, RELATIVE_LINEAR : RELATIVE_LINEAR + 6] - system.along_axes(qd)
    return position, velocity


def _in_joint_frames(robot: RobotModel, motion: Array) -> tuple[Array, Array]:
    """Rotation (bodies, 3, 3) and shift (bodies, 3) of every body from its joint's frame at q = 0."""
    back = robot.parameters[:, layout.ROTATION : layout.ROTATION + 9].reshape(-1, 3, 3).transpose(0, 2, 1)
    shift = motion[:, POSITION : POSITION + 3] - robot.parameters[:, layout.PLACEMENT : layout.PLACEMENT + 3]
    turned: Array = back @ motion[:, ROTATION : ROTATION + 9].reshape(-1, 3, 3)
    return turned, (back @ shift[:, :, None])[:, :, 0]


def _angles(turned: Array) -> Array:
    """Turn about z that a rotation is nearest to; shape (bodies,)."""
    return np.asarray(np.arctan2(turned[:, 1, 0] - turned[:, 0, 1], turned[:, 0, 0] + turned[:, 1, 1]))


def _tilts(turned: Array) -> Array:
    """Rotation vector in body axes, z zero, by which z leans from the joint's, (bodies, 3); about x if turned over."""
    x, y = turned[:, 2, 1], -turned[:, 2, 0]
    sine = np.hypot(x, y)
    angle = np.arctan2(sine, turned[:, 2, 2])
    along_x, along_y = (v / np.where(sine > 0.0, sine, 1.0) for v in (x, y))
    return np.stack([angle * np.where(sine > 0.0, along_x, 1.0), angle * along_y, np.zeros_like(x)], axis=1)


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
        right = system.right_side(np.zeros_like(error), error, np.zeros(robot.n))
        step = system.solve(_matrix(system, states), right, states.near)[system.motion]
        trials = (displaced(states, part * step) for part in (1.0, 0.5, 0.25, 0.125))
        nearer = next((trial for trial in trials if np.abs(_gaps(system, trial)).max() < before), None)
        if nearer is None and before < 1e-12 * (10.0 + np.abs(states.position).max()):
            break  # round-off
        states = displaced(states, step) if nearer is None else nearer
        error = _gaps(system, states)
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
    return replace(states, twist=system.solve(_matrix(system, states), right, states.near)[system.motion])


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
