"""Where every body and link is: forward kinematics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.compiling.sealed import ODD_ARGUMENTS, Sealed
from rne_dynamics.compiling.views import shaped
from rne_dynamics.dynamics.declared.arguments import check_open_arm, quick, state_arrays
from rne_dynamics.dynamics.declared.bound_forms import Bound, BoundParts, filled
from rne_dynamics.dynamics.declared.declared import Declared
from rne_dynamics.dynamics.declared.specialised import RowsForm
from rne_dynamics.dynamics.kinematics.joint_motion import placement_at_turn, put_joint_turns
from rne_dynamics.errors import ArgumentError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import PARENT
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.packed_arm import (
    FRAME_POSITION,
    FRAME_ROTATION,
    LINKS,
    OK,
    OVERLAPPING,
    WRONG_SHAPE,
    head_of,
    link_bodies_of,
    link_frames_of,
    parameters_of,
    refusal_of_position,
    shared,
    topology_of,
    work_part,
)
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.columns import columns
from rne_dynamics.spatial.rows import matrix_at, put, put_matrix, vector_at
from rne_dynamics.spatial.vector import add, compose, rotate

# columns of a pose: R_WB row after row, then p_WB
ROTATION, POSITION, POSE_COLUMNS = columns(9, 3)
_poses_of = work_part(POSE_COLUMNS)


@kernel
def body_poses_kernel(topology: NDArray[np.int64], parameters: Array, q: Array, poses: Array) -> None:
    """Fill the pose of every body in the world for one state; `poses` has shape (bodies, POSE_COLUMNS)."""
    put_joint_turns(topology, parameters, q, poses, POSITION)  # where the positions will be
    for i in range(topology.shape[0]):
        parent = topology[i, PARENT]
        R, p = placement_at_turn(topology, parameters, i, q, (poses[i, POSITION], poses[i, POSITION + 1]))
        if parent >= 0:
            R_parent = matrix_at(poses, parent, ROTATION)
            p = add(vector_at(poses, parent, POSITION), rotate(R_parent, p))
            R = compose(R_parent, R)
        put_matrix(poses, i, ROTATION, R)
        put(poses, i, POSITION, p)


@kernel
def body_poses_batch(topology: NDArray[np.int64], parameters: Array, q: Array, poses: Array) -> None:
    """`body_poses_kernel` over rows: q (B, nq), poses (B, bodies, POSE_COLUMNS)."""
    for b in range(q.shape[0]):
        body_poses_kernel(topology, parameters, q[b], poses[b])


@kernel
def forward_kinematics_packed(arm: Array, q: Array, rotation: Array, position: Array) -> int:
    """Fill rotation (links, 3, 3) and position (links, 3) of all links; otherwise as `compiled_forms`."""
    code = refusal_of_position(arm, q)
    if code != OK:
        return code
    links = head_of(arm, LINKS)
    if rotation.shape != (links, 3, 3) or position.shape != (links, 3):
        return WRONG_SHAPE
    if shared(rotation, arm, q, position, q) or shared(position, arm, q, q, q):
        return OVERLAPPING
    poses = _poses_of(arm)
    body_poses_kernel(topology_of(arm), parameters_of(arm), q, poses)
    _put_link_poses(link_bodies_of(arm), link_frames_of(arm), poses, shaped(rotation, (links, 9)), position)
    return OK


@helper
def _put_link_poses(
    bodies: NDArray[np.int64], frames: Array, poses: Array, turns: Array, position: Array
) -> None:
    """Fill turns (links, 9) and position (links, 3) of all links from the poses of the bodies."""
    for k in range(bodies.shape[0]):
        R, p = matrix_at(frames, k, FRAME_ROTATION), vector_at(frames, k, FRAME_POSITION)
        body = bodies[k]
        if body >= 0:
            R_body = matrix_at(poses, body, ROTATION)
            p = add(vector_at(poses, body, POSITION), rotate(R_body, p))
            R = compose(R_body, R)
        put_matrix(turns, k, 0, R)
        put(position, k, 0, p)


def _link_rows(
    topology: NDArray[np.int64], parameters: Array, bodies: NDArray[np.int64], frames: Array, q: Array, out: Array
) -> None:
    """Turns and then positions of all links for rows of states: q (B, nq), out (B, 12 links)."""
    links = bodies.shape[0]
    for b in range(q.shape[0]):
        poses = np.empty((topology.shape[0], POSE_COLUMNS))
        body_poses_kernel(topology, parameters, q[b], poses)
        turns, position = out[b, : 9 * links].reshape((links, 9)), out[b, 9 * links :].reshape((links, 3))
        _put_link_poses(bodies, frames, poses, turns, position)


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
        self.robot.link(link)
        k = self.robot.link_names.index(link)
        pose = np.zeros((*self.position.shape[:-2], 4, 4))
        pose[..., :3, :3] = self.rotation[..., k, :, :]
        pose[..., :3, 3] = self.position[..., k, :]
        pose[..., 3, 3] = 1.0
        return pose


def forward_kinematics(robot: RobotModel, q: ArrayLike) -> LinkPoses:
    """Poses of all links in the world (for a fixed base: in the root link's frame).

    Parameters
    ----------
    robot
        The model.
    q
        Positions, shape (…, nq).

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    """
    try:
        call = robot.own_code["forward_kinematics"]
    except KeyError:
        call = FORWARD_KINEMATICS.first_call(robot)
    except AttributeError:
        check_open_arm(robot)
        raise
    return cast("LinkPoses", call(q))


def _checked(robot: RobotModel, q: ArrayLike) -> LinkPoses:
    """`forward_kinematics` of states of any leading shape."""
    count = len(robot.links)
    rotation, position = np.empty((count, 3, 3)), np.empty((count, 3))
    if not FORWARD_KINEMATICS.has_code(robot) and quick(FORWARD_KINEMATICS.sealed, robot.packed, q, rotation, position):
        return LinkPoses(robot, rotation, position)
    lead, (positions,) = state_arrays(robot, q=q)
    own = FORWARD_KINEMATICS.own_rows(robot, (positions,))
    if own is not None:
        return _poses_of_links(robot, own.reshape((*lead, 12 * count)))
    batch = positions.shape[0]
    poses = np.empty((batch, robot.bodies, POSE_COLUMNS))
    body_poses_batch(robot.topology, robot.parameters, positions, poses)
    # a body −1 at the end stands for the world, which python's indexing finds by itself
    turns = poses[:, :, :9].reshape(batch, robot.bodies, 3, 3)
    R = np.concatenate([turns, np.broadcast_to(np.eye(3), (batch, 1, 3, 3))], axis=1)
    p = np.concatenate([poses[:, :, 9:], np.zeros((batch, 1, 3))], axis=1)
    frames = robot.links.values()
    body = [frame.body for frame in frames]
    turn = np.array([frame.rotation for frame in frames])
    shift = np.array([frame.position for frame in frames])
    rotation = R[:, body] @ turn
    position = p[:, body] + np.einsum("blij,lj->bli", R[:, body], shift)
    links = len(body)
    return LinkPoses(robot, rotation.reshape(*lead, links, 3, 3), position.reshape(*lead, links, 3))


def _check_poses(out: object) -> None:
    if not isinstance(out, LinkPoses):
        raise ArgumentError(f"out is a {type(out).__name__}; it must be a LinkPoses that this function has made")


def _bound(made_of: BoundParts) -> Bound:
    call, arm, robot, links = made_of.call, made_of.arm, made_of.robot, len(made_of.robot.links)

    def bound(q: Array, out: LinkPoses | None = None) -> LinkPoses:
        into = LinkPoses(robot, np.empty((links, 3, 3)), np.empty((links, 3))) if out is None else out
        _check_poses(into)
        try:
            done = call(arm, q, into.rotation, into.position) == OK
        except ODD_ARGUMENTS:  # the checked function takes them, or says what is wrong
            done = False
        if done:
            return into
        answer = forward_kinematics(robot, q)
        if out is None:
            return answer
        filled(answer.rotation, out.rotation, (q,))
        filled(answer.position, out.position, (q, out.rotation))
        return out

    return bound


def _poses_of_links(robot: RobotModel, flat: Array) -> LinkPoses:
    """The poses in rows as `_link_rows` fills them, shape (…, 12 links)."""
    links, lead = len(robot.links), flat.shape[:-1]
    return LinkPoses(
        robot, flat[..., : 9 * links].reshape((*lead, links, 3, 3)), flat[..., 9 * links :].reshape((*lead, links, 3))
    )


class _Poses(Declared):
    """Two outputs, in machine code one after the other in a row."""

    def rows_form(self, robot: RobotModel, link: str = "") -> RowsForm:
        frames = robot.links.values()
        bodies = np.array([frame.body for frame in frames], dtype=np.int64)
        places = np.array([[*frame.rotation.ravel(), *frame.position] for frame in frames])
        return RowsForm(_link_rows, (robot.topology, robot.parameters, bodies, places))

    def shape(self, robot: RigidRobot) -> tuple[int, ...]:
        return (12 * len(robot.links),)

    def first_call(self, robot: RobotModel) -> Callable[[ArrayLike], LinkPoses]:
        """The function of q for a robot, which is kept with it."""
        long_way = partial(_checked, robot)
        flat = self.own_call(robot, long_way)
        call = long_way if flat is None else self.finished(flat, robot)
        robot.own_code[self.name] = call
        return call

    def finished(self, fill: Bound, robot: RobotModel) -> Bound:
        shape = self.shape(robot)

        def bound(q: Any, out: LinkPoses | None = None) -> LinkPoses:
            if out is not None:
                _check_poses(out)
                row = out.rotation.base  # of poses that this function has made
                if row is not None and row is out.position.base and row.shape == shape and fill(q, out=row) is row:
                    return out
            found = fill(q)
            poses = found if isinstance(found, LinkPoses) else _poses_of_links(robot, found)
            if out is None:
                return poses
            filled(poses.rotation, out.rotation, (q,))
            filled(poses.position, out.position, (q, out.rotation))
            return out

        return bound


FORWARD_KINEMATICS = _Poses(
    "forward_kinematics", ("q",), (), forward_kinematics_packed, forward_kinematics,
    sealed=Sealed(forward_kinematics_packed, 1, 1, 3, 2), bound=_bound,
)  # fmt: skip
