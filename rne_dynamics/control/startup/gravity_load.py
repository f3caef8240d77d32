"""Gravity torque in one posture, and its change with mounting and payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rne_dynamics.control.model_terms import gravity_on_bases, holding_terms
from rne_dynamics.dynamics.derivatives.regressor import PARAMETERS, regressor
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import KIND, MASS, MOMENT, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel


class Flange(NamedTuple):
    """A link that could carry a payload the model does not know."""

    #: Its name.
    link: str
    #: What the model's body weighs there, kg: the most that can be missing.
    mass: float
    #: Effort per kg at the link's origin, and per kg·m of first moment along each of the body's axes; shape (n, 4).
    columns: Array
    #: From the link's axes to the body's; shape (3, 3).
    rotation: Array


@dataclass(frozen=True, eq=False)
class GravityLoad:
    """What gravity asks of the motors in one posture."""

    #: g(q), N·m or N; shape (n,).
    torque: Array
    #: The model's gravity in base axes, m/s²; shape (3,).
    gravity: Array
    #: g(q) = `field` · gravity, shape (n, 3); None for a mechanism with closed loops.
    field: Array | None
    #: Where a payload may hang; empty for a mechanism.
    flanges: tuple[Flange, ...]
    #: The part of each body in `torque`; shape (n, bodies), (n, 0) for a mechanism.
    bodies: Array


def gravity_load(robot: RigidRobot, q: Array, posture: Array | None = None) -> GravityLoad:
    """The gravity load at `q`, shape (n,); `posture` as for `holding_terms`, whose errors this raises."""
    torque = holding_terms(robot, q, np.zeros(robot.n), posture)[0]
    if robot.loops:
        return GravityLoad(torque, robot.gravity, None, (), np.zeros((robot.n, 0)))
    arm, still = robot.open_tree, np.zeros(robot.n)
    columns = regressor(arm, q, still, still)
    weights = columns.reshape(arm.n, arm.bodies, PARAMETERS)[:, :, :4]
    bodies = np.einsum("jbk,bk->jb", weights, arm.parameters[:, MASS : MOMENT + 3])
    return GravityLoad(torque, arm.gravity, _field(arm, q), _flanges(arm, columns), bodies)


def _field(robot: RobotModel, q: Array) -> Array:
    """Effort per unit of gravity along each axis of the base; shape (n, 3)."""
    bases = np.zeros((3, 12))
    bases[:, 6:9] = -np.eye(3)
    return np.ascontiguousarray(gravity_on_bases(robot, q, bases).T)


def _flanges(robot: RobotModel, regressor_rows: Array) -> tuple[Flange, ...]:
    """One for each end of the arm; `regressor_rows` at rest, shape (n, 10·bodies)."""
    found = []
    for body in end_bodies(robot):
        frame = robot.links[outermost_link(robot, body)]
        columns = np.array(regressor_rows[:, PARAMETERS * body : PARAMETERS * body + 4])
        columns[:, 0] += columns[:, 1:] @ frame.position
        found.append(Flange(frame.name, float(robot.parameters[body, MASS]), columns, frame.rotation))
    return tuple(found)


def end_bodies(robot: RobotModel) -> tuple[int, ...]:
    """Bodies at the ends of the arm; a body that carries nothing but fingers (ends itself) stands for them."""
    parents = robot.topology[:, PARENT].tolist()
    children: dict[int, list[int]] = {body: [] for body in range(robot.bodies)}
    for body, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(body)
    ends = {body for body in children if not children[body]}
    hands = {body for body, fingers in children.items() if len(fingers) > 1 and ends.issuperset(fingers)}
    return tuple(sorted(hands | {body for body in ends if parents[body] not in hands}))


def outermost_link(robot: RobotModel, body: int) -> str:
    """The link of a body that is furthest out before fixed links branch: where a tool is bolted on."""
    moved = next(joint for joint in robot.tree.joints if joint.name == robot.body_names[body])
    link = moved.child
    while True:
        fixed = [j.child for j in robot.tree.joints if j.parent == link and robot.links[j.child].body == body]
        if len(fixed) != 1:
            return link
        link = fixed[0]


def effort_units(robot: RigidRobot) -> tuple[str, ...]:
    """``"N m"`` or ``"N"`` for each joint."""
    tree = robot.open_tree
    sliding = {int(row[VELOCITY_INDEX]) for row in tree.topology if row[KIND] == PRISMATIC}
    return tuple("N" if tree.joint_index(name) in sliding else "N m" for name in robot.joint_names)
