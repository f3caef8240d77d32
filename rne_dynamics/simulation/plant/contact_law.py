"""Forces of springy bodies on points of links.

Normal force: K. H. Hunt and F. R. E. Crossley, "Coefficient of restitution interpreted as damping in vibroimpact",
1975, with a linear spring: N = k x (1 + c ẋ) at the depth x, and never below 0, so that nothing is pulled. Friction:
Coulomb's μ N against the sliding, below the slip speed regularised, so that nothing sticks entirely.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.kinematics.jacobian import motions_in_world, placed_jacobian
from rne_dynamics.model.friction import smooth_sign
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import columns
from rne_dynamics.spatial.pairs import add_pair, motion_at
from rne_dynamics.spatial.rows import matrix_at, matrix_times, product, put, vector_at
from rne_dynamics.spatial.vector import Vector, add, column, cross, dot, rotate, rotate_back, scale, subtract

# columns of a springy body: kind, its point, its turn R_WB, its size; k, c, μ, and the slip speed
KIND, POINT, TURN, SIZE, STIFFNESS, DAMPING, FRICTION, SLIP, BODY_COLUMNS = columns(1, 3, 9, 3, 1, 1, 1, 1)
PLANE, SPHERE, BOX = range(3)
#: Results of `touch_loads`: nothing touches, something does, or begins or ends to.
APART, TOUCHING, CHANGING = range(3)


class Touch(NamedTuple):
    """Springy bodies and points of links, as the stepping kernels take them."""

    #: Shape (springy bodies, BODY_COLUMNS), in the world; of a base that moves, in the root link.
    bodies: Array
    #: The robot's body of each point; shape (points,).
    where: NDArray[np.int64]
    #: Centre of a sphere in that body, and its radius; shape (points, 4).
    points: Array
    #: Other loads at the robot's bodies, held over a step; shape (robot's bodies, 6).
    loads: Array


@helper
def _length(v: Vector) -> float:
    return float(np.sqrt(dot(v, v)))


@helper
def distance_of(bodies: Array, b: int, p: Vector) -> tuple[float, Vector]:
    """Distance of a point from body b, negative inside, and the direction in which it grows."""
    R, away = matrix_at(bodies, b, TURN), subtract(p, vector_at(bodies, b, POINT))
    x, y, z = rotate_back(R, away)
    a, w, h = vector_at(bodies, b, SIZE)
    if bodies[b, KIND] == SPHERE:
        r = _length(away)
        return r - a, scale(1.0 / r, away) if r > 0.0 else column(R, 2)
    if bodies[b, KIND] == PLANE:
        return z, column(R, 2)
    dx, dy, dz = abs(x) - a, abs(y) - w, abs(z) - h
    beyond = (max(dx, 0.0), max(dy, 0.0), max(dz, 0.0))
    r = _length(beyond)
    if r > 0.0:
        return r, rotate(R, (np.copysign(beyond[0] / r, x), np.copysign(beyond[1] / r, y),
                             np.copysign(beyond[2] / r, z)))  # fmt: skip
    within = max(dx, dy, dz)  # the nearest side
    side = 0 if dx == within else (1 if dy == within else 2)
    across = x if side == 0 else (y if side == 1 else z)
    return within, scale(np.copysign(1.0, across), column(R, side))


@kernel
def touch_loads(
    topology: NDArray[np.int64], parameters: Array, touch: Touch, q: Array, qd: Array, dt: float, wrenches: Array,
    forces: Array, felt: Array,
) -> int:  # fmt: skip
    """Loads by all that is touched; returns APART, TOUCHING or CHANGING for a time `dt` from the state on.

    Fills all loads at the robot's bodies, (bodies, 6), the force on each point in the world, (points, 3), and the
    stiffness, N/m, and damping, N s/m, that each may feel within `dt`, (points, 2).
    """
    wrenches[:, :] = touch.loads
    X, V, _ = motions_in_world(topology, parameters, q, qd, None)
    how = APART
    for a in range(touch.where.shape[0]):
        i = touch.where[a]
        R, p = X[i]
        arm, total, stiff, damp = rotate(R, vector_at(touch.points, a, 0)), (0.0, 0.0, 0.0), 0.0, 0.0
        for b in range(touch.bodies.shape[0]):
            distance, normal = distance_of(touch.bodies, b, add(p, arm))
            lever, depth = subtract(arm, scale(touch.points[a, 3], normal)), touch.points[a, 3] - distance
            speed = motion_at(V[i], lever)[0]
            closing = -dot(normal, speed)
            ahead = depth + closing * dt
            if depth > 0.0:
                force = _force(touch.bodies, b, depth, normal, speed)
                total = add(total, force)
                add_pair(wrenches, i, 0, (rotate_back(R, force), rotate_back(R, cross(lever, force))))
            if max(depth, ahead) > 0.0:
                k, c = touch.bodies[b, STIFFNESS], touch.bodies[b, DAMPING]
                hard = k * max(1.0 + c * closing, 0.0)
                stiff += hard
                # the slope of `smooth_sign` at 0 is 1.5
                damp += max(depth, ahead) * (k * c + 1.5 * touch.bodies[b, FRICTION] * hard / touch.bodies[b, SLIP])
                how = CHANGING if how == CHANGING or depth <= 0.0 or ahead <= 0.0 else TOUCHING
        put(forces, a, 0, total)
        felt[a, 0], felt[a, 1] = stiff, damp
    return how


@helper
def _force(bodies: Array, b: int, depth: float, normal: Vector, speed: Vector) -> Vector:
    """Force of body b on a point that is `depth` within it and moves so."""
    out = dot(normal, speed)
    N = bodies[b, STIFFNESS] * depth * max(1.0 - bodies[b, DAMPING] * out, 0.0)
    slide = subtract(speed, scale(out, normal))
    fast = _length(slide)
    rubbing = bodies[b, FRICTION] * N * smooth_sign(fast / bodies[b, SLIP]) / fast if fast > 0.0 else 0.0
    return subtract(scale(N, normal), scale(rubbing, slide))


@kernel
def ease_of_motion(
    topology: NDArray[np.int64], parameters: Array, touch: Touch, q: Array, A: Array, out: Array
) -> None:
    """Fill a bound of 1/mass of each point in any direction, (points,), for A = M⁻¹, (n, n)."""
    model, J, here = Arm(topology, parameters, None, None), np.empty((6, A.shape[0])), np.empty(A.shape[0])
    for a in range(touch.where.shape[0]):
        placed_jacobian(model, touch.where[a], touch.points[a], q, J)
        for k in range(3, 6):
            for j in range(J.shape[1]):
                J[k, j] *= touch.points[a, 3]  # the sphere's surface, at its radius
        out[a] = 0.0
        for i in range(6):
            matrix_times(A, J[i], here)
            total = 0.0
            for k in range(6):
                total += abs(product(J[k], here))
            out[a] = max(out[a], total)  # the largest row of J M⁻¹ Jᵀ bounds its eigenvalues
