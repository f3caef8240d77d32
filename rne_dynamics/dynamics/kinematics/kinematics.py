"""Forward kinematics: poses of every body and link; rotations in bulk as arrays.

Rotations are matrices (count, 3, 3), quaternions x y z w (count, 4) or rotation vectors (count, 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.declared.quantity import Bound, Quantity, filled
from rne_dynamics.dynamics.kinematics.joint_motion import joint_turns, placement_at_turn
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, PARENT, columns
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import IDENTITY, ZERO, Placement, from_quaternion, placed, quaternion_times

# columns of a pose: R_WB row after row, then p_WB
ROTATION, POSITION, POSE_COLUMNS = columns(9, 3)


@helper
def world_poses(topology: NDArray[np.int64], parameters: Array, q: Array) -> Any:
    """By body: its placement in the world, and the base's."""
    X, turns = per_body(topology), joint_turns(topology, parameters, q)
    X[BASE] = IDENTITY, ZERO
    for i in range(topology.shape[0]):
        X[i] = placed(X[topology[i, PARENT]], placement_at_turn(topology, parameters, i, q, turns[i]))
    return X


@helper
def put_pose(poses: Array, i: int, X: Placement) -> None:
    """Store a pose in the columns of row i."""
    put_matrix(poses, i, ROTATION, X[0])
    put(poses, i, POSITION, X[1])


@kernel
def body_poses_kernel(topology: NDArray[np.int64], parameters: Array, q: Array, poses: Array) -> None:
    """Fill the pose of every body in the world for one state; `poses` has shape (bodies, POSE_COLUMNS)."""
    X = world_poses(topology, parameters, q)
    for i in range(topology.shape[0]):
        put_pose(poses, i, X[i])


@kernel
def link_poses_kernel(arm: Arm, bodies: NDArray[np.int64], frames: Array, q: Array, out: Array) -> None:
    """Turns and then positions of all links, of one state; fills out (12 links,)."""
    X, links = world_poses(arm.topology, arm.parameters, q), bodies.shape[0]
    turns, position = out[: 9 * links].reshape((links, 9)), out[9 * links :].reshape((links, 3))
    for k in range(links):
        frame = matrix_at(frames, k, ROTATION), vector_at(frames, k, POSITION)
        R, p = placed(X[bodies[k]], frame)
        put_matrix(turns, k, 0, R)
        put(position, k, 0, p)


@dataclass(frozen=True, eq=False)
class LinkPoses:
    """Poses of all links in the world.

    Parameters
    ----------
    robot
        The model; gives the names.
    rotation, position
        ``R_WL`` (…, links, 3, 3) and ``p_WL`` (…, links, 3), in the order of `robot.link_names`; m.
    """

    robot: RobotModel
    rotation: Array
    position: Array

    def __getitem__(self, link: str) -> Array:
        """Homogeneous transformation of a link, shape (…, 4, 4); `ModelError` for an unknown one."""
        k = self.robot.link_index(link)
        pose = np.zeros((*self.position.shape[:-2], 4, 4))
        pose[..., :3, :3] = self.rotation[..., k, :, :]
        pose[..., :3, 3] = self.position[..., k, :]
        pose[..., 3, 3] = 1.0
        return pose


def forward_kinematics(robot: RobotModel, q: ArrayLike) -> LinkPoses:
    """Poses of all links in the world (for a fixed base: in the root link's frame).

    `robot`: the model; `q`: positions, shape (…, nq). Raises ArgumentError: a wrong shape, NaN or infinity.
    """
    try:
        call: Callable[..., LinkPoses] = robot.own_code["forward_kinematics"]
    except (AttributeError, KeyError):
        call = FORWARD_KINEMATICS.first_call(robot)
    return call(q)


def _frames(robot: RobotModel, link: str) -> tuple[NDArray[np.int64], Array]:
    """The body of every link, −1 for the base, and its frame in that body's, (links, POSE_COLUMNS)."""
    frames = robot.links.values()
    bodies = np.array([frame.body for frame in frames], dtype=np.int64)
    return bodies, np.array([[*frame.rotation.ravel(), *frame.position] for frame in frames])


class _Poses(Quantity):
    """Two outputs, in machine code one after the other in a row."""

    def shape(self, robot: RigidRobot) -> tuple[int, ...]:
        return (12 * len(robot.links),)

    def finished(self, fill: Bound, robot: RobotModel) -> Bound:
        links = len(robot.links)
        turns, positions, place = (links, 3, 3), (links, 3), 72 * links  # in bytes
        view, double = np.ndarray, np.dtype(np.float64)

        def bound(q: Any, out: LinkPoses | None = None) -> LinkPoses:
            if out is None:
                row = fill(q)
                if isinstance(row, LinkPoses):
                    return row
                if row.ndim > 1:
                    lead = row.shape[:-1]
                    return LinkPoses(
                        robot, row[..., : 9 * links].reshape((*lead, *turns)),
                        row[..., 9 * links :].reshape((*lead, *positions)),
                    )
                return LinkPoses(robot, view(turns, double, row), view(positions, double, row, place))
            if not isinstance(out, LinkPoses):
                kind = type(out).__name__
                raise ArgumentError(f"out is a {kind}; it must be a LinkPoses that this function has made")
            row = out.rotation.base
            if row is None or row is not out.position.base or fill(q, row) is not row:
                poses = bound(q)
                filled(poses.rotation, out.rotation, (q,))
                filled(poses.position, out.position, (q, out.rotation))
            return out

        return bound


FORWARD_KINEMATICS = _Poses("forward_kinematics", link_poses_kernel, ("q",), (), every_mass=True, extra=_frames)
FORWARD_KINEMATICS.public(forward_kinematics)


def wrapped(angle: Array) -> Array:
    """The same angles in [−π, π)."""
    return np.asarray(np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi)


def quaternion_matrices(quaternion: Array) -> Array:
    """Rotation matrices of quaternions of any length but zero."""
    return np.stack(from_quaternion(*quaternion.T), axis=1).reshape(-1, 3, 3)


def rotation_quaternions(rotation: Array) -> Array:
    """Unit quaternions of rotation matrices, the largest component positive.

    All four columns of 4·(the quaternion times itself) are at hand; the longest loses no digits.
    """
    R = rotation
    trace = R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2]
    square = np.empty((len(R), 4, 4))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        square[:, k, k] = 1.0 + 2.0 * R[:, k, k] - trace
        square[:, i, j] = square[:, j, i] = R[:, i, j] + R[:, j, i]
        square[:, k, 3] = square[:, 3, k] = R[:, j, i] - R[:, i, j]
    square[:, 3, 3] = 1.0 + trace
    largest = np.argmax(square[:, range(4), range(4)], axis=1)
    longest = square[np.arange(len(R)), largest]
    return np.asarray(longest / np.linalg.norm(longest, axis=1, keepdims=True))


def vector_quaternions(vector: Array) -> Array:
    """Unit quaternions of rotation vectors."""
    half = 0.5 * np.linalg.norm(vector, axis=1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * vector, np.cos(half)], axis=1)


def quaternion_product(a: Array, b: Array) -> Array:
    """The rotations b first, then a: R(a) R(b)."""
    return np.stack(quaternion_times(tuple(a.T), tuple(b.T)), axis=1)
