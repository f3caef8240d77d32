"""The time derivative of the Jacobian of a link."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike

from rne_dynamics.compiling.jit import kernel
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.forms import N
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.kinematics.jacobian import add_column, place_of_link
from rne_dynamics.dynamics.kinematics.world_motion import motions_in_world
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import BASE, FLOATING, KIND, MULTIPLIER, PARENT, PRISMATIC, VELOCITY_INDEX
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.pairs import motion_at
from rne_dynamics.spatial.rows import slice_vector
from rne_dynamics.spatial.vector import ZERO, add, column, cross, rotate, subtract


@kernel
def jacobian_rate_kernel(model: Arm, body: int, point: Array, q: Array, qd: Array, J: Array) -> None:
    """The Jacobian's time derivative for one state; arguments as for `jacobian_kernel`, qd (n,)."""
    topology, parameters, _, _ = model
    J[:, :] = 0.0
    X, V, _ = motions_in_world(topology, parameters, q, qd, None)
    R_body, p_body = X[body]
    r = rotate(R_body, slice_vector(point, 0))
    target = add(p_body, r)
    target_rate, _ = motion_at(V[body], r)
    i = body
    while i != BASE:
        kind, iv = topology[i, KIND], topology[i, VELOCITY_INDEX]
        (R, p), (v, w) = X[i], V[i]
        arm, arm_rate = subtract(target, p), subtract(target_rate, v)
        # an axis fixed in the body turns with it: ė = ω × e
        for k in range(3):
            if kind != FLOATING and k != 2:
                continue
            e = column(R, k)
            turn = cross(w, e)
            s = 1.0 if kind == FLOATING else parameters[i, MULTIPLIER]
            if kind == FLOATING or kind == PRISMATIC:
                add_column(J, iv + k if kind == FLOATING else iv, s, turn, ZERO)
            if kind != PRISMATIC:
                swing = add(cross(turn, arm), cross(e, arm_rate))
                add_column(J, iv + 3 + k if kind == FLOATING else iv, s, swing, turn)
        i = topology[i, PARENT]


JACOBIAN_RATE = Quantity(
    "jacobian_rate", jacobian_rate_kernel, ("q", "qd"), (6, N), every_mass=True, extra=place_of_link, of_link=True
)


@JACOBIAN_RATE.public
def jacobian_rate(robot: RobotModel, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Time derivative of `jacobian`: the link's acceleration is J q̈ + J̇ q̇; shape (…, 6, n).

    Parameters and errors as for `jacobian`, with velocities `qd` of shape (…, n).
    """
    try:
        call: Callable[..., Array] = robot.own_code["jacobian_rate", link]
    except (AttributeError, KeyError):
        call = JACOBIAN_RATE.first_call(robot, link)
    return call(q, qd)
