"""Inverse kinematics: a posture within the limits that brings a link to a pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.dynamics.declared.arguments import arm_of, as_floats, check_open_arm
from rne_dynamics.dynamics.kinematics.kinematics import quaternion_matrices
from rne_dynamics.dynamics.kinematics.pose_steps import FRAME_COLUMNS, PLACE, TURN, Task, search_kernel
from rne_dynamics.errors import ArgumentError, ModelError, RneDynamicsError
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, PARENT, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind

#: Most steps from one start, and metres that count as much as a radian.
STEPS, RADIAN = 60, 0.3
#: Largest deviation of a rotation's rows from unit vectors at right angles.
NOT_ROTATED = 1e-6


class UnreachablePoseError(RneDynamicsError):
    """A pose that no posture was found for.

    Attributes: `q`: the nearest posture found, (n,), rad or m; `position_error`, m, and `rotation_error`, rad, there;
    `limits`: joints whose limits bind there, each with ``"lower"`` or ``"upper"``.
    """

    def __init__(
        self, message: str, q: Array, position_error: float, rotation_error: float, limits: dict[str, str]
    ) -> None:
        super().__init__(message, q, position_error, rotation_error, limits)  # all, so that it can be pickled
        self.q, self.position_error, self.rotation_error, self.limits = q, position_error, rotation_error, limits

    def __str__(self) -> str:
        return str(self.args[0])


def inverse_kinematics(
    robot: RobotModel,
    link: str,
    pose: ArrayLike | tuple[ArrayLike, ArrayLike],
    start: ArrayLike | None = None,
    *,
    posture: ArrayLike | None = None,
    tool: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    tolerance: float = 1e-8,
    restarts: int = 100,
    seed: int = 0,
) -> Array:
    """A posture within the joint limits in which a link has a pose.

    Damped least squares from `start`, then from random postures of the joints that move the link (see `pose_steps`).
    The same arguments give the same posture. Self-collisions are not considered.

    Parameters
    ----------
    robot
        An open arm or tree with a fixed base.
    link
        Name of the link.
    pose
        Of the link's frame in the root link's: a matrix (4, 4), a pair of position (3,), m, and rotation, a matrix
        (3, 3) or a quaternion x y z w, or a position (3,) alone where the rotation does not matter.
    start
        Where the search begins, rad or m, shape (n,); by default the neutral posture. Positions outside the limits
        are moved to them.
    posture
        What the joints are to be close to as far as the pose leaves them free, shape (n,); by default they stay where
        the search ends.
    tool
        Pose of the frame that is to have `pose` in the link's frame, written like it; by default the link's frame.
    tolerance
        Largest error, m and rad.
    restarts
        Number of random postures tried.
    seed
        Of these.

    Returns
    -------
    ndarray
        Positions, rad or m, shape (n,). Joints without limits are less than a turn from `start`.

    Raises
    ------
    UnreachablePoseError
        No posture was found; it says how near the search came.
    ArgumentError
        A wrong shape, NaN or infinity, no rotation.
    ModelError
        An unknown link, one that no joint moves, a floating base, another kind of robot.

    Notes
    -----
    Sugihara, T. (2011): "Solvability-unconcerned inverse kinematics by the Levenberg–Marquardt method". IEEE
    Transactions on Robotics 27(5).
    """
    for name, value in (("restarts", restarts), ("seed", seed)):
        if not isinstance(value, (int, np.integer)) or value < 0:
            raise ArgumentError(f"{name} is {value!r}; it must be an integer, 0 or more")
    task = pose_task(robot, link, pose, tool=tool, posture=posture, tolerance=tolerance)
    first = robot.neutral if start is None else _joints(robot, "start", start)
    return found_posture(robot, link, task, first, slide=posture is not None, restarts=restarts, seed=seed)


def found_posture(
    robot: RobotModel, link: str, task: Task, start: Array, *, slide: bool = False, restarts: int = 100, seed: int = 0
) -> Array:
    """As `inverse_kinematics`, of a `task`, within its bounds; `slide`: whether to go on to its posture."""
    first = np.clip(start, *task.bounds)
    starts, held, report = first.reshape(1, -1).copy(), np.zeros(robot.n), np.zeros(3)
    found = search_kernel(task, slide, starts, held, report)
    if found < 0 and restarts > 0:
        others = np.where(_movers(robot, task.body), random_configuration(robot, seed, restarts + 1), first)
        others = np.clip(others, *task.bounds)
        others[0] = starts[0]  # at its end, which may be the nearest
        found, starts = search_kernel(task, slide, others, held, report), others
    if found < 0:
        raise _unreachable(robot, link, starts[int(report[2])], held, report, restarts)
    return _nearest_turns(robot, starts[found].copy(), first)


def pose_task(
    robot: RobotModel, link: str, pose: Any, *, tool: Any = None, posture: ArrayLike | None = None,
    tolerance: float = 1e-8,
) -> Task:
    """The arguments of `inverse_kinematics`, checked, for kernels; raises as it does."""
    check_open_arm(robot)
    if robot.nq != robot.n:
        raise ModelError(f"robot {robot.name!r} has a floating joint, and a pose does not determine it; load it with "
                         "base='fixed'")
    if not 0.0 < tolerance < np.inf:
        raise ArgumentError(f"tolerance is {tolerance}; it must be above 0, m and rad")
    frame, target = robot.link(link), frame_of(pose, "pose")
    if frame.body == BASE:
        raise ModelError(f"no joint moves link {link!r} of robot {robot.name!r}; name a link behind a joint")
    R, p = (np.eye(3), np.zeros(3)) if tool is None else frame_of(tool, "tool")
    turn = np.eye(3) if R is None else R
    tip = frame_row(frame.rotation @ turn, frame.position + frame.rotation @ p)
    return Task(
        arm_of(robot), frame.body, tip, frame_row(np.eye(3) if target[0] is None else target[0], target[1]),
        np.stack([robot.lower, robot.upper]), np.zeros(robot.n) if posture is None else
        np.clip(_joints(robot, "posture", posture), robot.lower, robot.upper),
        0.0 if target[0] is None else RADIAN, float(tolerance), STEPS,
    )


def frame_of(pose: Any, what: str) -> tuple[Array | None, Array]:
    """Rotation (3, 3), None where it is free, and position (3,) of a pose; `ArgumentError` names it by `what`."""
    if isinstance(pose, Sequence) and len(pose) == 2:
        position, turn = _finite(f"the position of {what}", pose[0]), _finite(f"the rotation of {what}", pose[1])
        if turn.shape == (4,):
            if not 0.5 < np.linalg.norm(turn) < 2.0:
                raise ArgumentError(f"the quaternion of {what} has length {np.linalg.norm(turn):g}; it must be 1")
            turn = quaternion_matrices(turn[None])[0]
    else:
        matrix = _finite(what, pose)
        if matrix.shape == (3,):
            return None, matrix
        if matrix.shape != (4, 4):
            raise ArgumentError(
                f"{what} has shape {matrix.shape}; it must be a matrix (4, 4), (position, rotation), or a position (3,)"
            )
        if np.abs(matrix[3] - [0.0, 0.0, 0.0, 1.0]).max() > NOT_ROTATED:
            raise ArgumentError(f"the last row of {what} is {matrix[3]}; it must be 0 0 0 1")
        position, turn = matrix[:3, 3], matrix[:3, :3]
    if position.shape != (3,) or turn.shape != (3, 3):
        raise ArgumentError(
            f"{what} has a position of shape {position.shape} and a rotation of shape {turn.shape}; they must be (3,), "
            "m, and a matrix (3, 3) or a quaternion x y z w"
        )
    off = np.abs(turn @ turn.T - np.eye(3)).max()
    if off > NOT_ROTATED or np.linalg.det(turn) < 0.0:
        raise ArgumentError(
            f"the rotation of {what} is no rotation matrix: its rows are {off:.2g} off unit vectors at right angles, "
            f"its determinant is {np.linalg.det(turn):.3g}"
        )
    return turn, position


def _finite(name: str, value: Any) -> Array:
    numbers = as_floats(name, value)
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} has a number that is not finite: {numbers.tolist()}")
    return numbers


def frame_row(R: Array, p: Array) -> Array:
    """A pose as kernels have it, (1, FRAME_COLUMNS)."""
    row = np.empty((1, FRAME_COLUMNS))
    row[0, TURN:PLACE], row[0, PLACE:] = R.ravel(), p
    return row


def _joints(robot: RobotModel, name: str, value: ArrayLike) -> Array:
    q = _finite(name, value)
    if q.shape != (robot.n,):
        raise ArgumentError(f"{name} has shape {q.shape}; robot {robot.name!r} needs ({robot.n},)")
    return q


def _movers(robot: RobotModel, body: int) -> NDArray[np.bool_]:
    """Which joints move a body; shape (n,)."""
    moves = np.zeros(robot.n, dtype=np.bool_)
    while body != BASE:
        moves[robot.topology[body, VELOCITY_INDEX]] = True
        body = int(robot.topology[body, PARENT])
    return moves


def _nearest_turns(robot: RobotModel, q: Array, near: Array) -> Array:
    """The same posture with joints that turn without end, and that no other joint follows, less than a turn away."""
    leaders = {joint.mimic.joint for joint in robot.tree.joints if joint.mimic is not None}
    for joint in robot.tree.joints:
        if joint.kind is JointKind.CONTINUOUS and joint.name in robot.joint_names and joint.name not in leaders:
            j = robot.joint_index(joint.name)
            q[j] -= 2.0 * np.pi * np.rint((q[j] - near[j]) / (2.0 * np.pi))
    return q


def limits_that_bind(robot: RobotModel, held: Array) -> dict[str, str]:
    """Joints held at a limit, each with which, from `damped_step`'s `held` (n,)."""
    return {
        name: "upper" if side > 0.0 else "lower" for name, side in zip(robot.joint_names, held, strict=True) if side
    }


def binding_text(robot: RobotModel, limits: dict[str, str]) -> str:
    """The limits that bind and their values, for messages; empty for none."""
    values = {"lower": robot.lower, "upper": robot.upper}
    bound = [f"{name} ({side} limit {values[side][robot.joint_index(name)]:.4g})" for name, side in limits.items()]
    return f"limits that bind: {', '.join(bound)}" if bound else ""


def _unreachable(
    robot: RobotModel, link: str, q: Array, held: Array, report: Array, restarts: int
) -> UnreachablePoseError:
    limits, off, angle = limits_that_bind(robot, held), float(report[0]), float(report[1])
    return UnreachablePoseError(
        f"link {link!r} of robot {robot.name!r} does not reach the pose: the nearest posture found from {restarts + 1} "
        f"starts is {round(off, 9):.3g} m and {round(angle, 9):.3g} rad away; "
        f"{binding_text(robot, limits) or 'no limit binds'}. Ask for a pose within reach, or for a position alone",
        q.copy(), off, angle, limits,
    )
