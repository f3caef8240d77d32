"""The force and moment that every joint carries, fixed joints included (document 001, sections 4.5.2 and 4.7.1).

The recursion of figure 4.32, motion outward and then forces from the tips inward, is the one inverse dynamics runs
(`newton_euler`): at its end every body's row holds the whole reaction at its joint, of which an effort is only the
component along the axis. So there is no second kernel here. What is added is the walk over links: a fixed joint is no
joint of the model, for its links are one body, but a force sensor sits exactly there. Its reaction is what the links
behind it need, each by its own inertia and the motion of the body they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.declared.arguments import (
    Arm,
    BaseMotion,
    Wrenches,
    as_floats,
    bodies_wrenches,
    moved_wrench,
    packed_base,
    state_arrays,
)
from rne_dynamics.dynamics.declared.quantity import BODIES, Quantity
from rne_dynamics.dynamics.newton_euler.newton_euler import body_wrenches
from rne_dynamics.errors import index_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import columns
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.model.tree import JointKind, TreeJoint
from rne_dynamics.spatial.pairs import put_pair
from rne_dynamics.spatial.rows import put, put_matrix

# columns: the placement (R, p) in the parent, the motion (ω, v̇ − g, ω̇) and the reaction (f, n)
_R, _P, _W, _A, _F, COLUMNS = columns(9, 3, 3, 6, 6)
PLACEMENT, MOTION, REACTION = slice(_R, _W), slice(_W, _F), slice(_F, COLUMNS)


@kernel
def _put_reactions(arm: Arm, q: Array, qd: Array, qdd: Array, out: Array) -> None:
    """Quantities of inverse dynamics for every body; out (bodies, COLUMNS)."""
    X, w, a, F = body_wrenches(arm, q, qd, qdd)
    for i in range(arm.topology.shape[0]):
        put_matrix(out, i, _R, X[i][0])
        put(out, i, _P, X[i][1])
        put(out, i, _W, w[i])
        put_pair(out, i, _A, a[i])
        put_pair(out, i, _F, F[i])


BODY_REACTIONS = Quantity(
    "body_reactions", _put_reactions, ("q", "qd", "qdd"), (BODIES, COLUMNS), base_motion=True, every_mass=True
)


def bodies_work(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Placement, motion and reaction of every body over checked rows, in body axes; (B, bodies, COLUMNS)."""
    return BODY_REACTIONS.answers(robot, base, q, qd, qdd, wrenches, loaded=True)


def joint_reactions_bodies(robot: RobotModel, base: Array, q: Array, qd: Array, qdd: Array, wrenches: Array) -> Array:
    """Wrench of the parent on every body through its joint (engine): REACTION of `bodies_work`; (B, bodies, 6)."""
    return bodies_work(robot, base, q, qd, qdd, wrenches)[:, :, REACTION]


@dataclass(frozen=True, eq=False)
class JointReactions:
    """Reaction of every joint: the force and moment that the parent link exerts on the child link through it.

    Theorem 4.17 of document 001: a joint with d degrees of freedom carries 6 − d constraint components, which do no
    work on its motion, and d actuated ones. `constraint` and `actuated` are these two parts; their sum is the wrench.

    Parameters
    ----------
    robot
        The model; gives the names.
    wrench
        (force, moment) at the child link frame's origin in child link axes, shape (…, joints, 6), in the order of
        `joint_names`; N, N·m.
    base
        What the world exerts on the root link, at its frame's origin in its axes, shape (…, 6). For a floating base
        this is what its six coordinates are driven with: zero where the motion is a free one.
    """

    robot: RobotModel
    wrench: Array
    base: Array

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints of the description, fixed ones included, in its order."""
        return tuple(joint.name for joint in self.robot.tree.joints)

    def _index(self, joint: str) -> int:
        return index_of(joint, self.joint_names, "joint", f"robot {self.robot.name!r}")

    def __getitem__(self, joint: str) -> Array:
        """The wrench of one joint, shape (…, 6); `ModelError` for an unknown one."""
        return np.asarray(self.wrench[..., self._index(joint), :])

    def constraint(self, joint: str) -> Array:
        """The part of a joint's wrench that does no work on its motion: 6 − d independent components; shape (…, 6).

        All of it for a fixed joint; force and the moment across the axis for a revolute one; moment and the force
        across the axis for a prismatic one; the force along the normal and the moment across it for a planar one;
        nothing for a floating one. `ModelError` for an unknown joint.
        """
        wrench = self[joint]
        return wrench @ _constraint_projection(self.robot.tree.joints[self._index(joint)])

    def actuated(self, joint: str) -> Array:
        """The rest, d independent components along the joint's motion; shape (…, 6).

        Its component along the axis is the effort of `inverse_dynamics` less what the rotor takes, τ − I_rotor q̈.
        `ModelError` for an unknown joint.
        """
        return self[joint] - self.constraint(joint)


def _constraint_projection(joint: TreeJoint) -> Array:
    """The symmetric matrix (6, 6) that keeps the constraint part of a wrench at a joint, in child link axes."""
    along = np.outer(joint.axis, joint.axis)
    across = np.eye(3) - along
    force, moment = {
        JointKind.FIXED: (np.eye(3), np.eye(3)),
        JointKind.REVOLUTE: (np.eye(3), across),
        JointKind.CONTINUOUS: (np.eye(3), across),
        JointKind.PRISMATIC: (across, np.eye(3)),
        JointKind.PLANAR: (along, across),
        JointKind.FLOATING: (np.zeros((3, 3)), np.zeros((3, 3))),
    }[joint.kind]
    projection = np.zeros((6, 6))
    projection[:3, :3], projection[3:, 3:] = force, moment
    return projection


def joint_reactions(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrenches: Wrenches | None = None,
    base_motion: BaseMotion | None = None,
) -> JointReactions:
    """Force and moment carried by every joint of the description, fixed joints included.

    What the parent link exerts on the child link through the joint, constraint components and actuated ones
    together, in the child link's frame: its origin lies on the joint. A fixed joint shows what an ideal force sensor
    in its place would read.

    The component along a joint's axis is ``τ − I_rotor q̈`` of `inverse_dynamics`: the rotor's inertia is overcome
    by the motor and never passes through the joint. A mimic joint has a reaction of its own; the effort of its
    leader's coordinate is the sum of multiplier · (component along the axis + I_rotor · multiplier · q̈) over the
    joints that share it.

    Parameters
    ----------
    robot
        The model.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n). Leading dimensions broadcast.
    wrenches, base_motion
        As for `inverse_dynamics`. A load on a link fixed to the base counts here: it reaches fixed joints and the base.

    Returns
    -------
    JointReactions
        ``["joint"]`` gives (…, 6); `wrench` all of them, `base` what holds the root link.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a base motion for a floating base.
    ModelError
        An unknown link in `wrenches`.
    """
    lead, (positions, velocities, accelerations) = state_arrays(robot, q=q, qd=qd, qdd=qdd)
    base = packed_base(robot, base_motion, lead)
    loads = bodies_wrenches(robot, wrenches, lead)
    work = bodies_work(robot, base, positions, velocities, accelerations, loads)
    need = _links_need(robot, base, work, wrenches or {}, lead)
    _gather(robot, work, need)
    wrench = np.empty((len(positions), len(robot.tree.joints), 6))
    for k, joint in enumerate(robot.tree.joints):
        frame = robot.links[joint.child]
        # the bodies' own recursion for moving joints; a fixed one is found only by gathering
        held = need[joint.child] if joint.kind is JointKind.FIXED else work[:, frame.body, REACTION]
        f = held[:, :3]  # from the body's origin and axes to the link's
        n = held[:, 3:] - np.cross(frame.position, f)
        wrench[:, k] = np.concatenate([f @ frame.rotation, n @ frame.rotation], axis=1)
    held = need[robot.tree.root]
    return JointReactions(robot, wrench.reshape((*lead, len(robot.tree.joints), 6)), held.reshape((*lead, 6)))


def _links_need(
    robot: RobotModel, base: Array, work: Array, wrenches: Wrenches, lead: tuple[int, ...]
) -> dict[str, Array]:
    """The wrench each link needs for its own motion, external load taken off, at its body's origin in body axes."""
    rows = len(work)
    body, m, h, J = robot.link_inertias
    # ω, v̇ − g, ω̇ of every body; the base's own is the last, to which body −1 points
    of_base = np.broadcast_to(base[:, None, 3:], (rows, 1, 9))
    motion = np.concatenate([work[:, :, MOTION], of_base], axis=1)[:, body]
    w, dv, dw = motion[..., :3], motion[..., 3:6], motion[..., 6:]
    every = np.concatenate(inertial_wrenches(m, h, J, w, dv, dw), axis=2)
    need = {name: every[:, k] for k, name in enumerate(robot.link_names)}
    for name, value in wrenches.items():
        frame = robot.links[name]
        load = np.broadcast_to(as_floats(name, value), (*lead, 6)).reshape(rows, 6)
        need[name] -= moved_wrench(frame.rotation, frame.position, load)
    return need


def _gather(robot: RobotModel, work: Array, need: dict[str, Array]) -> None:
    """From the tips inward, add to every link the reactions of the joints attached to it."""
    R = work[:, :, PLACEMENT][..., :9].reshape(*work.shape[:2], 3, 3)
    f = times(R, work[:, :, REACTION][..., :3])
    n = times(R, work[:, :, REACTION][..., 3:]) + np.cross(work[:, :, PLACEMENT][..., 9:], f)
    handed_on = np.concatenate([f, n], axis=2)
    for joint in reversed(robot.tree.depth_first):
        if joint.kind is JointKind.FIXED:  # both links share a body, and with it the frame
            need[joint.parent] += need[joint.child]
        else:
            bodies = 3 if joint.kind is JointKind.PLANAR else 1  # the first of them is attached to the parent
            need[joint.parent] += handed_on[:, robot.links[joint.child].body - (bodies - 1)]


def times(matrices: Array, vectors: Array) -> Array:
    """The matrices (…, 3, 3) times the vectors (…, 3)."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def inertial_wrenches(m: Array, h: Array, J: Array, w: Array, dv: Array, dw: Array) -> tuple[Array, Array]:
    """Euler's laws about a point of each body, (2.1.1), (2.1.5) of document 000: force and moment, (…, bodies, 3)."""
    f = m[:, None] * dv + np.cross(dw, h) + np.cross(w, np.cross(w, h))
    return f, times(J, dw) + np.cross(w, times(J, w)) + np.cross(h, dv)
