"""Energy, linear and angular momentum (document 001, sections 4.1 and 4.2), composite inertia of links.

Theorem 4.2 moves angular momentum from one point to another; theorems 4.3 to 4.5 write it with the inertia matrix. What
`momentum` computes is definition 4.3 for all links at once: of every body its share about its own joint, moved to the
point that was asked for, and summed. The centroidal momentum matrix is found the other way about, from the subtree of
each joint as one rigid body, so that the two check each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.plain import per_body
from rne_dynamics.dynamics.declared.arguments import Arm, state_arrays, vectors, with_floating_root
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.jacobian import ANGULAR, BODY_MOTIONS, LINEAR, WORK_COLUMNS, add_column
from rne_dynamics.dynamics.kinematics.joint_motion import (
    axes_of,
    inertia_of,
    joint_placement,
    joint_velocity,
    place_of,
    unit_motion,
)
from rne_dynamics.dynamics.kinematics.kinematics import (
    POSE_COLUMNS,
    POSITION,
    ROTATION,
    forward_kinematics,
    world_poses,
)
from rne_dynamics.errors import ArgumentError, ModelError, check_loaded, refuse
from rne_dynamics.model.inertia import Array, Inertia
from rne_dynamics.model.layout import BASE, KIND, MASS, MOMENT, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import (
    NONE,
    into_child,
    momentum_of,
    motion_at,
    plus,
    plus_rigid,
    rigid_seen_from_parent,
    turned,
)
from rne_dynamics.spatial.rows import slice_vector, vector_at
from rne_dynamics.spatial.vector import ZERO, add, cross, dot, rotate, scale, subtract, times


@kernel
def kinetic_energy_kernel(arm: Arm, q: Array, qd: Array, energy: Array) -> None:
    """Kinetic energy of one state: q (nq,), qd (n,); fills energy (1,)."""
    topology, parameters, _, _ = arm
    twice, V = 0.0, per_body(topology)
    V[BASE] = NONE
    for i in range(topology.shape[0]):
        R, p = joint_placement(topology, parameters, i, q)
        V[i] = plus(into_child(R, p, V[topology[i, PARENT]]), joint_velocity(topology, parameters, i, qd))
        rate = parameters[i, MULTIPLIER] * qd[topology[i, VELOCITY_INDEX]]
        twice += parameters[i, ROTOR] * rate * rate  # 0 of a floating joint
        (m, h, J), (v, w) = inertia_of(parameters, i), V[i]
        twice += m * dot(v, v) + 2.0 * dot(v, cross(w, h)) + dot(w, times(J, w))
    energy[0] = 0.5 * twice


KINETIC_ENERGY = Quantity("kinetic_energy", kinetic_energy_kernel, ("q", "qd"), (1,))


def kinetic_energy(robot: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Kinetic energy of links and rotors of an open arm; as `rne_dynamics.kinetic_energy`."""
    return KINETIC_ENERGY.of(robot)(q, qd)[..., 0]


def moving_base_energies(
    robot: RobotModel, position: Array, rotation: Array, velocity: Array, q: Array, qd: Array
) -> tuple[Array, Array]:
    """Kinetic energy of links and rotors and potential energy of the links on a moving base, in the world, J; (B,).

    The root link, which is part of the base, has none of it; its origin (B, 3), axes (B, 3, 3) and (v, ω) in these axes
    (B, 6) are in the world. Nothing is checked.
    """
    rows, pose = len(q), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])  # any: kinetic energy does not depend on it
    kinetic, free = np.empty((rows, 1)), Arm(*with_floating_root(robot), np.zeros((1, 12)), np.empty((1, 0, 6)))
    KINETIC_ENERGY.batch(free, (), np.hstack([np.tile(pose, (rows, 1)), q]), np.hstack([velocity, qd]), kinetic)
    moment = FIRST_MOMENT.answer(robot, q)
    mass = float(robot.parameters[:, MASS].sum())
    potential: Array = -(np.einsum("bij,bj->bi", rotation, moment) + mass * position) @ robot.gravity
    return kinetic[:, 0], potential


@kernel
def first_moment_kernel(arm: Arm, q: Array, moment: Array) -> None:
    """Σ m c of the moving bodies in world axes, of one state; fills moment (3,)."""
    topology, parameters, _, _ = arm
    X, total = world_poses(topology, parameters, q), ZERO
    for i in range(topology.shape[0]):
        R, p = X[i]
        total = add(total, add(rotate(R, vector_at(parameters, i, MOMENT)), scale(parameters[i, MASS], p)))
    moment[0], moment[1], moment[2] = total


FIRST_MOMENT = Quantity("first_moment", first_moment_kernel, ("q",), (3,), every_mass=True)


def _first_moment(robot: RobotModel, q: ArrayLike) -> Array:
    """Sum of m·c of everything, the fixed base included, in world axes; shape (…, 3)."""
    return FIRST_MOMENT.answer(robot, q) + robot.root_inertia.first_moment


def potential_energy(robot: RobotModel, q: ArrayLike) -> Array:
    """Energy of an open arm in the gravity field; as `rne_dynamics.potential_energy`."""
    return -_first_moment(robot, q) @ robot.gravity


def center_of_mass(robot: RobotModel, q: ArrayLike) -> Array:
    """Mass centre of an open arm, the base included; as `rne_dynamics.center_of_mass`."""
    moment = _first_moment(robot, q)
    if not robot.mass > 0.0:
        raise ModelError(f"robot {robot.name!r} has no mass, so it has no mass centre; give its links inertia")
    return moment / robot.mass


def composite_inertia(robot: RobotModel, q: ArrayLike, link: str, links: Sequence[str] | None = None) -> Inertia:
    """Mass, mass centre and inertia of some links, held rigid at q, in the frame of `link`.

    Parameters
    ----------
    robot
        The model. Rotor inertia belongs to joints and is not part of it.
    q
        Positions, shape (nq,).
    link
        The link in whose frame the answer is given.
    links
        The links that are joined; `link` and all that come after it where not given.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    ModelError
        An unknown link.
    """
    check_loaded(robot)
    if np.ndim(q) != 1:
        raise ArgumentError(f"q has shape {np.shape(q)}; give one configuration, ({robot.nq},)")
    poses = forward_kinematics(robot, q)
    home = poses[link]
    whole = Inertia()
    for name in subtree(robot, link) if links is None else dict.fromkeys(links):
        pose = poses[name]
        own = robot.tree.link(name).inertia
        if own is not None:
            R = home[:3, :3].T @ pose[:3, :3]
            whole = whole + own.moved(R, home[:3, :3].T @ (pose[:3, 3] - home[:3, 3]))
    return whole


def subtree(robot: RobotModel, link: str) -> tuple[str, ...]:
    """The link and all links that come after it; `ModelError` for an unknown one."""
    robot.link(link)
    names = {link: None}
    for joint in robot.tree.depth_first:
        if joint.parent in names:
            names[joint.child] = None
    return tuple(names)


class Momentum(NamedTuple):
    """Linear momentum, kg·m/s, and angular momentum, kg·m²/s, in world axes; each of shape (…, 3)."""

    linear: Array
    angular: Array


class BodySums(NamedTuple):
    """Mass, m·c and inertia about the body's origin of the chosen links, by body; the base is last."""

    mass: Array
    moment: Array
    inertia: Array


def momentum(
    robot: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    point: ArrayLike | Literal["com"] | None = None,
    *,
    links: Iterable[str] | None = None,
    point_velocity: ArrayLike | None = None,
) -> Momentum:
    """Linear and angular momentum of a set of links.

    Parameters
    ----------
    robot
        The model.
    q, qd
        Positions (…, nq) and velocities (…, n). Leading dimensions broadcast.
    point
        About what the angular momentum is taken: a point of the world, shape (…, 3), in world axes, m; ``"com"``, the
        mass centre of the links; the world's origin where not given.
    links
        Names of the links; all of them where not given. Links fixed to one another count each for itself.
    point_velocity
        Velocity of a moving `point`, shape (…, 3), in world axes, m/s. The answer is then the *relative* angular
        momentum: of the velocities seen by an observer who travels with the point and does not turn.

    Returns
    -------
    Momentum
        ``linear`` and ``angular``, each (…, 3), in world axes. The reflected inertia of rotors is none of it: where a
        rotor turns, and about which axis, a model of this kind does not know.

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN or infinity, or a `point_velocity` without a point given in numbers.
    ModelError
        An unknown link, or the mass centre asked of links without mass.

    Notes
    -----
    With r_P from P to a particle dm of velocity v, C the mass centre and h = m v_C:

    - fixed point (definition 4.3), H_P = ∫ r_P × v dm = H_C + r_PC × h (theorem 4.2). It does not matter whether P
      moves, because only velocities relative to the world enter.
    - moving point, relative momentum, H_P^rel = ∫ r_P × (v − v_P) dm = H_P − m r_PC × v_P. For a point P of one rigid
      body this is I_P ω alone: theorem 4.4 reads H_P = I_P ω + m r_PC × v_P. Both are the same where P stands still,
      where P is the mass centre (theorem 4.5), and where v_P points along r_PC.

    Euler's second law reads Ḣ_P = M_P for a fixed point or the mass centre (theorems 4.12, 4.14),
    Ḣ_P = M_P − v_P × h and Ḣ_P^rel = M_P − m r_PC × a_P for a moving one.
    """
    check_point(point, point_velocity)
    lead, (positions, velocities) = state_arrays(robot, q=q, qd=qd)
    given, shape = world_vectors(lead, point=point, point_velocity=point_velocity)
    bodies = chosen_links(robot, links)
    _, p, h, linear, own = of_bodies(robot, bodies, lead, positions, velocities)
    about = given["point"] if "point" in given else reference_point(robot, bodies, point, p, h)
    # about P directly: by way of the world's origin, theorem 4.2, links far from it would lose digits
    angular = (own + np.cross(p - about[..., None, :], linear)).sum(axis=-2)
    if "point_velocity" in given:
        angular = angular - np.cross(_lever(bodies, p, h, about), given["point_velocity"])
    return Momentum(np.broadcast_to(linear.sum(axis=-2), shape).copy(), np.broadcast_to(angular, shape).copy())


def check_point(point: ArrayLike | Literal["com"] | None, point_velocity: ArrayLike | None) -> None:
    """Refuse with `ArgumentError` a word that is not "com", and the velocity of a point that is not given."""
    word = isinstance(point, str)
    refuse(
        ArgumentError,
        (word and point != "com",
         f'point is {point!r}; it must be "com", a point in the world, or None for its origin'),
        (point_velocity is not None and (word or point is None),
         f"point_velocity is given, but point is {point!r}; give the moving point in numbers too"),
    )  # fmt: skip


def reference_point(
    robot: RobotModel, bodies: BodySums, point: ArrayLike | Literal["com"] | None, p: Array, h: Array
) -> Array:
    """The world's origin, or for "com" the mass centre, p and h as from `of_bodies`; `ModelError` without mass."""
    origin, mass = np.zeros(3), float(bodies.mass.sum())
    if point is None:
        return origin
    if not mass > 0.0:
        raise ModelError(
            f"the chosen links of robot {robot.name!r} have no mass, so they have no mass centre; give a point (m)"
        )
    return _lever(bodies, p, h, origin) / mass


def _lever(bodies: BodySums, p: Array, h: Array, about: Array) -> Array:
    """Σ m c from a point, mass times the way to the mass centre; small where that is near."""
    from_point = bodies.mass[:-1, None] * (p - about[..., None, :]) + h
    return np.asarray(from_point.sum(axis=-2) + bodies.moment[-1] - bodies.mass[-1] * about)


def world_vectors(
    lead: tuple[int, ...], **values: ArrayLike | str | None
) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Arguments given in numbers, and the shape (…, 3) of the answer; `ArgumentError` where they do not fit."""
    given = {
        name: vectors(name, value, 3, "it must be finite, shape (..., 3)") for name, value in values.items()
        if value is not None and not isinstance(value, str)
    }  # fmt: skip
    try:
        return given, np.broadcast_shapes((*lead, 3), *(x.shape for x in given.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in given.items())
        raise ArgumentError(f"{shapes} do not broadcast with states of leading shape {lead}") from None


def chosen_links(robot: RobotModel, links: Iterable[str] | None) -> BodySums:
    """The chosen links' inertia body by body."""
    body, mass, moment, inertia = robot.link_inertias
    if isinstance(links, str):
        raise ArgumentError(f"links is the text {links!r}; it must be a list of link names, [{links!r}]")
    chosen = sorted({robot.link_index(name) for name in (robot.link_names if links is None else links)})
    total = BodySums(np.zeros(robot.bodies + 1), np.zeros((robot.bodies + 1, 3)), np.zeros((robot.bodies + 1, 3, 3)))
    for sums, terms in zip(total, (mass, moment, inertia), strict=True):
        np.add.at(sums, body[chosen], terms[chosen])  # body −1, the base, is the last place
    return total


def of_bodies(robot: RobotModel, bodies: BodySums, lead: tuple[int, ...], q: Array, qd: Array) -> tuple[Array, ...]:
    """Of every moving body its axes, its origin, m c from there, linear momentum and angular momentum about its origin.

    Each (…, bodies, 3) in world axes, the axes (…, bodies, 3, 3), for checked rows q and qd of this leading shape.
    """
    work = BODY_MOTIONS.answers(robot, robot.base_at_rest.reshape(1, 12), q, qd, np.empty((1, 0, 6)), loaded=False)
    work = work.reshape((*lead, robot.bodies, WORK_COLUMNS))
    m, moment, inertia = (x[:-1] for x in bodies)  # the base does not move
    R = work[..., ROTATION:POSITION].reshape((*lead, robot.bodies, 3, 3))
    v, w = work[..., LINEAR], work[..., ANGULAR]
    h = (R @ moment[..., None])[..., 0]
    linear = m[:, None] * v + np.cross(w, h)
    # ∫ r × (v + ω × r) dm, in which ∫ r × (ω × r) dm = R I Rᵀ ω
    spin = (R @ (inertia @ (np.swapaxes(R, -1, -2) @ w[..., None])))[..., 0]
    return R, work[..., POSITION:POSE_COLUMNS], h, linear, np.cross(h, v) + spin


def centroidal_momentum_matrix(robot: RobotModel, q: ArrayLike) -> Array:
    """The matrix A with A q̇ = (linear momentum, angular momentum about the mass centre) of the whole robot.

    Column by column: the subtree of a joint is one rigid body (a composite), and its momentum for a unit velocity of
    the joint is the column. For a floating base, A is the first six rows of the mass matrix seen from the mass centre
    in world axes, so its rank is six.

    Parameters
    ----------
    robot
        The model.
    q
        Positions, shape (…, nq).

    Returns
    -------
    ndarray
        Shape (…, 6, n), linear rows first, world axes. Rotors are left out, as in `momentum`.

    Raises
    ------
    ArgumentError
        A wrong shape, NaN or infinity.
    ModelError
        A robot without mass.
    """
    lead, (positions,) = state_arrays(robot, q=q)
    A = np.zeros((len(positions), 6, robot.n))
    center = center_of_mass(robot, positions)
    centroidal_batch(robot.topology, robot.parameters, positions, center, A)
    return A.reshape((*lead, 6, robot.n))


@kernel
def centroidal_batch(topology: NDArray[np.int64], parameters: Array, q: Array, center: Array, A: Array) -> None:
    """Add the centroidal momentum matrices to A (B, 6, n), for q (B, nq) and mass centres (B, 3)."""
    for b in range(q.shape[0]):
        X, composite = world_poses(topology, parameters, q[b]), per_body(topology)
        for i in range(topology.shape[0]):
            R, p = X[i]
            composite[i] = rigid_seen_from_parent(R, subtract(p, slice_vector(center[b], 0)), inertia_of(parameters, i))
        for i in range(topology.shape[0] - 1, -1, -1):
            parent, kind, (R, p) = topology[i, PARENT], topology[i, KIND], X[i]
            for k in range(axes_of(kind)):
                S = motion_at(turned(R, unit_motion(place_of(kind, k))), subtract(slice_vector(center[b], 0), p))
                linear, angular = momentum_of(composite[i], S)
                add_column(A[b], topology[i, VELOCITY_INDEX] + k, parameters[i, MULTIPLIER], linear, angular)
            if parent != BASE:
                composite[parent] = plus_rigid(composite[parent], composite[i])
