"""Free-body diagrams of links and the rate of momentum: the two sides of Euler's laws (document 001, 4.3 and 4.5).

What acts on a link comes from `joint_reactions`, the inward pass of the recursion. The rate of its momentum comes from
the outward pass alone, the motion, so that the two sides check each other: theorems 4.11 to 4.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.composite.momentum import (
    check_point,
    chosen_links,
    of_bodies,
    reference_point,
    world_vectors,
)
from rne_dynamics.dynamics.declared.arguments import Wrenches, as_floats, bodies_wrenches, packed_base, state_arrays
from rne_dynamics.dynamics.kinematics.kinematics import forward_kinematics
from rne_dynamics.dynamics.newton_euler.joint_reactions import (
    MOTION,
    bodies_work,
    inertial_wrenches,
    joint_reactions,
    times,
)
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.robot import RobotModel

_NOTHING = Inertia()


class MomentumRate(NamedTuple):
    """Rates of linear momentum, N, and of angular momentum, N·m, in world axes; each of shape (…, 3)."""

    linear: Array
    angular: Array


def momentum_rate(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    point: ArrayLike | Literal["com"] | None = None,
    *,
    links: Iterable[str] | None = None,
    point_velocity: ArrayLike | None = None,
) -> MomentumRate:
    """Time derivative of the linear and angular momentum of a set of links: of `momentum` with the same `point`.

    Parameters
    ----------
    robot
        The model. A fixed base is at rest.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n). Leading dimensions broadcast.
    point, links
        As for `momentum`: a point of the world (…, 3), ``"com"``, or the world's origin where not given.
    point_velocity
        Velocity of a `point` that moves, shape (…, 3), in world axes, m/s; zero where not given. The angular momentum
        whose rate is returned is the absolute one, of the velocities relative to the world, unlike that of `momentum`
        with the same argument.

    Returns
    -------
    MomentumRate
        ``linear`` and ``angular``, each (…, 3), in world axes. Rotors are none of it, as in `momentum`.

    Raises
    ------
    ArgumentError, ModelError
        As for `momentum`.

    Notes
    -----
    With r_P from P to a particle dm of acceleration a, and p the linear momentum: Ḣ_P = ∫ r_P × a dm − v_P × p. The
    second term vanishes for a fixed point and for the mass centre. By Euler's laws (theorems 4.11 to 4.14) the rates
    are the force and, for these two kinds of point, the moment of all that acts on the links from outside.
    """
    check_point(point, point_velocity)
    lead, (positions, velocities, accelerations) = state_arrays(robot, q=q, qd=qd, qdd=qdd)
    given, shape = world_vectors(lead, point=point, point_velocity=point_velocity)
    sums = chosen_links(robot, links)
    base, unloaded = packed_base(robot, None, lead), bodies_wrenches(robot, None, lead)
    R, p, moments, linear, _ = of_bodies(robot, sums, lead, positions, velocities)
    work = bodies_work(robot, base, positions, velocities, accelerations, unloaded)
    motion = work[:, :, MOTION].reshape(*lead, robot.bodies, 9)
    w, dv, dw = motion[..., :3], motion[..., 3:6] + robot.gravity @ R, motion[..., 6:]  # the recursion has v̇ − g
    m, h, J = (x[:-1] for x in sums)  # the base, at the end, is at rest
    f, n = inertial_wrenches(m, h, J, w, dv, dw)
    force = times(R, f)
    about = given["point"] if "point" in given else reference_point(robot, sums, point, p, moments)
    angular = (times(R, n) + np.cross(p - about[..., None, :], force)).sum(axis=-2)
    if "point_velocity" in given:
        angular = angular - np.cross(given["point_velocity"], linear.sum(axis=-2))
    return MomentumRate(np.broadcast_to(force.sum(axis=-2), shape).copy(), np.broadcast_to(angular, shape).copy())


@dataclass(frozen=True, eq=False)
class FreeBody:
    """One link cut free: all that acts on it, and the rate of its momentum.

    Every wrench is (force, moment about `point`) in world axes, shape (…, 6); N, N·m.

    Parameters
    ----------
    link
        The link's name.
    point
        About what moments are taken and where in the world it is, shape (…, 3); m.
    gravity
        The weight.
    joints
        By joint name, what the link on the other side exerts on this one: through its own joint and through those of
        its children.
    base
        What the world exerts on a root link; zero for every other.
    load
        The external wrench on the link, of `wrenches`.
    rate
        Rates of linear momentum and of angular momentum about the place where `point` is, taken as at rest.
    """

    link: str
    point: Array
    gravity: Array
    joints: Mapping[str, Array]
    base: Array
    load: Array
    rate: MomentumRate

    @property
    def total(self) -> Array:
        """Sum of all that acts; by Euler's laws (rate.linear, rate.angular); shape (…, 6)."""
        return np.asarray(self.gravity + self.base + self.load + sum(self.joints.values()))


def free_body(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    link: str,
    point: ArrayLike | Literal["com"] | None = "com",
    *,
    wrenches: Wrenches | None = None,
) -> FreeBody:
    """Free-body diagram of a link: forces and moments on it, each by where it comes from, and the rate of its momentum.

    Parameters
    ----------
    robot
        The model. A fixed base is at rest.
    q, qd, qdd
        Positions (…, nq), velocities and accelerations (…, n). Leading dimensions broadcast.
    link
        The link that is cut free. Links fixed to one another are cut apart too.
    point
        About what moments are taken: the link's mass centre by default, a point of the world (…, 3) in world axes, m,
        or `None` for the world's origin.
    wrenches
        External loads as for `inverse_dynamics`.

    Returns
    -------
    FreeBody
        Its `total` equals its `rate` (theorems 4.11 and 4.12 of document 001) for every point, since the rate is taken
        about a point at rest. For a point that moves, `momentum_rate` with its velocity.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity.
    ModelError
        An unknown link, or the mass centre of a link without mass.
    """
    rate = momentum_rate(robot, q, qd, qdd, point, links=[link])
    reactions = joint_reactions(robot, q, qd, qdd, wrenches=wrenches)
    poses = forward_kinematics(robot, q)
    body = robot.tree.link(link).inertia or _NOTHING
    k = robot.link_index(link)
    centre = times(poses.rotation[..., k, :, :], body.com) + poses.position[..., k, :]
    about = centre if isinstance(point, str) else np.zeros(3) if point is None else as_floats("point", point)
    shape = rate.linear.shape

    def seen(of: str, wrench: ArrayLike) -> Array:
        """A wrench at a link frame's origin in link axes, about the point in world axes."""
        at = robot.link_index(of)
        R, value = poses.rotation[..., at, :, :], np.asarray(wrench, dtype=np.float64)
        f = times(R, value[..., :3])
        moment = times(R, value[..., 3:]) + np.cross(poses.position[..., at, :] - about, f)
        return _joined(f, moment, shape)

    joints = {
        joint.name: (1.0 if joint.child == link else -1.0) * seen(joint.child, reactions[joint.name])
        for joint in robot.tree.joints
        if link in (joint.child, joint.parent)
    }
    weight = body.mass * robot.gravity
    return FreeBody(
        link, np.broadcast_to(about, shape).copy(), _joined(weight, np.cross(centre - about, weight), shape), joints,
        seen(link, reactions.base if link == robot.tree.root else np.zeros(6)),
        seen(link, (wrenches or {}).get(link, np.zeros(6))), rate,
    )


def _joined(force: Array, moment: Array, shape: tuple[int, ...]) -> Array:
    return np.concatenate([np.broadcast_to(force, shape), np.broadcast_to(moment, shape)], axis=-1)
