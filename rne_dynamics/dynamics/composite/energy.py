"""Kinetic and potential energy, and the mass centre."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.tables import per_body
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.joint_motion import inertia_of, joint_placement, plus_along
from rne_dynamics.dynamics.kinematics.kinematics import world_poses
from rne_dynamics.dynamics.newton_euler.moving_root import with_floating_root
from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MASS, MOMENT, MULTIPLIER, PARENT, ROTOR, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import NONE, into_child, plus, slice_pair
from rne_dynamics.spatial.rows import vector_at
from rne_dynamics.spatial.vector import ZERO, add, cross, dot, rotate, scale, times


@kernel
def kinetic_energy_kernel(arm: Arm, q: Array, qd: Array, energy: Array) -> None:
    """Kinetic energy of one state: q (nq,), qd (n,); fills energy (1,)."""
    topology, parameters, _, _ = arm
    twice, V = 0.0, per_body(topology)
    V[BASE] = NONE
    for i in range(topology.shape[0]):
        kind, iv = topology[i, KIND], topology[i, VELOCITY_INDEX]
        R, p = joint_placement(topology, parameters, i, q)
        before = into_child(R, p, V[topology[i, PARENT]])
        if kind == FLOATING:
            V[i] = plus(before, slice_pair(qd, iv))
        else:
            rate = parameters[i, MULTIPLIER] * qd[iv]
            twice += parameters[i, ROTOR] * rate * rate
            V[i] = plus_along(kind, before, rate)
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
    for k in range(3):
        moment[k] = total[k]


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
