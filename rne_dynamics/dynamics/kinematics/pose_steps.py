"""Steps of the joints towards a pose: damped least squares within position limits.

A step x minimises |J x − e|² + λ² |x − p|² over the joints that may move: e is the pose's error, p what the joints are
to do where the pose leaves them free. The damping λ² is half of e², and a floor (after Sugihara 2011, "Solvability-
unconcerned inverse kinematics by the Levenberg–Marquardt method"): steps stay short where the pose is out of reach or
the posture singular, and near a solution the convergence is quadratic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel, routine
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.kinematics.jacobian import placed_jacobian
from rne_dynamics.dynamics.kinematics.kinematics import put_pose
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import columns
from rne_dynamics.spatial.cholesky import cholesky_solve
from rne_dynamics.spatial.rows import matrix_at, product, vector_at
from rne_dynamics.spatial.vector import Placement, Vector, compose, compose_back, dot, rotation_vector, subtract

#: Floor of the damping, as a part of the largest square of a column of J, and absolute, m².
FLOOR, LEAST = 1e-10, 1e-15
#: Longest change of a joint in one step of a search, rad or m: until the pose is reached, and along its null space.
LONGEST, SLIDE = 1.0, 0.2
#: Part of the distance to the posture that a step takes in the null space; below it the search is at its end, rad or m.
PULL, SETTLED = 0.5, 1e-7

# rows of frames: rotation, position
TURN, PLACE, FRAME_COLUMNS = columns(9, 3)


class Task(NamedTuple):
    """A pose for a frame of a link, and how it is sought."""

    arm: Arm
    body: int
    #: The frame in the body and its target in the world, (1, FRAME_COLUMNS) each.
    frame: Array
    target: Array
    #: Lower and upper positions, (2, n), and a posture for the null space, (n,); rad or m.
    bounds: Array
    posture: Array
    #: Metres that count as much as a radian; 0 where the rotation is free.
    weight: float
    #: m and rad.
    tolerance: float
    #: Most steps.
    most: int


class Work(NamedTuple):
    """Memory of a step: Jacobian (6, n), normal matrix (n, n), error (6,), p, step and held joints (n,) each."""

    J: Array
    H: Array
    e: Array
    p: Array
    step: Array
    held: Array


def work_for(n: int) -> Work:
    """Memory for n joints."""
    return Work(np.zeros((6, n)), np.zeros((n, n)), np.zeros(6), np.zeros(n), np.zeros(n), np.zeros(n))


@helper
def link_placement(arm: Arm, body: int, frame: Array, q: Array, J: Array) -> Placement:
    """Fill J (6, n) of a frame (1, FRAME_COLUMNS) fixed in a body, at its origin; the frame in the world."""
    R, p = placed_jacobian(arm, body, frame[0, PLACE:], q, J)
    return compose(R, matrix_at(frame, 0, TURN)), p


@kernel
def placement_kernel(task: Task, q: Array, J: Array, pose: Array) -> None:
    """Fill the frame's pose (1, FRAME_COLUMNS) in the world and its Jacobian (6, n)."""
    put_pose(pose, 0, link_placement(task.arm, task.body, task.frame, q, J))


@helper
def pose_error(target: Array, here: Placement) -> tuple[Vector, Vector]:
    """Way and turn from a placement to a target (1, FRAME_COLUMNS), m and rad, in world axes."""
    R, p = matrix_at(target, 0, TURN), vector_at(target, 0, PLACE)
    return subtract(p, here[1]), rotation_vector(compose_back(R, here[0]))


@helper
def damping_of(J: Array, error: float) -> float:
    """λ² for a weighted J (m, n) and the square of the weighted error, m²."""
    largest = 0.0
    for j in range(J.shape[1]):
        largest = max(largest, product(J[:, j], J[:, j]))
    return 0.5 * error + FLOOR * largest + LEAST


@routine
def damped_step(J: Array, damping: float, q: Array, bounds: Array, work: Work) -> None:
    """Fill `work.step`, the x of the module; joints at a limit that it would leave are held, and it is solved again.

    J (m, n) and `work.e` (m,); q, `work.p` (n,); `bounds` (2, n): lower and upper positions. `work.held` (n,) is then
    −1 or 1 for joints held at their lower or upper limit.
    """
    n, rows, (_, H, e, p, step, held) = J.shape[1], J.shape[0], work
    held[:] = 0.0
    for _ in range(n + 1):
        for i in range(n):
            free = held[i] == 0.0
            for j in range(i + 1):
                H[i, j] = product(J[:, i], J[:, j]) if free and held[j] == 0.0 else 0.0
            H[i, i] += damping
            s = 0.0
            if free:
                s = damping * p[i]
                for k in range(rows):
                    s += J[k, i] * e[k]
            step[i] = s
        cholesky_solve(H, step, step)
        more = False
        for j in range(n):
            if held[j] == 0.0:
                if step[j] > 0.0 and q[j] >= bounds[1, j]:
                    held[j], more = 1.0, True
                elif step[j] < 0.0 and q[j] <= bounds[0, j]:
                    held[j], more = -1.0, True
        if not more:
            return


@routine
def _approach(task: Task, q: Array, pull: float, work: Work) -> tuple[float, float]:
    """Move q to the pose, in the null space by `pull` of the distance to the posture; the errors left, m and rad."""
    J, _, e, p, step, _ = work
    rows, weight, n, size = 6 if task.weight > 0.0 else 3, task.weight, q.shape[0], np.inf
    off, angle = np.inf, np.inf
    for k in range(task.most + 1):
        way, turn = pose_error(task.target, link_placement(task.arm, task.body, task.frame, q, J))
        off, angle = math.sqrt(dot(way, way)), math.sqrt(dot(turn, turn)) if weight > 0.0 else 0.0
        if k == task.most or (off <= task.tolerance and angle <= task.tolerance and (pull == 0.0 or size <= SETTLED)):
            break
        for i in range(3):
            e[i], e[3 + i] = way[i], weight * turn[i]
            for j in range(n):
                J[3 + i, j] *= weight
        for j in range(n):
            p[j] = pull * (task.posture[j] - q[j])
        damped_step(J[:rows], damping_of(J[:rows], off**2 + (weight * angle) ** 2), q, task.bounds, work)
        size = 0.0
        for j in range(n):
            size = max(size, abs(step[j]))
        longest = SLIDE if pull > 0.0 else LONGEST
        shorter = longest / size if size > longest else 1.0
        for j in range(n):
            q[j] = min(max(q[j] + shorter * step[j], task.bounds[0, j]), task.bounds[1, j])
    return off, angle


@kernel
def search_kernel(task: Task, slide: bool, starts: Array, held: Array, report: Array) -> int:
    """Search from each start in turn; the row of `starts` (count, n) that now holds a solution, −1 for none.

    `slide`: whether to go on to the posture; `report` (3,): errors left, m and rad, and the row of the nearest posture;
    `held` (n,): as for `damped_step`, there.
    """
    n, best = starts.shape[1], np.inf
    work = Work(np.empty((6, n)), np.empty((n, n)), np.empty(6), np.empty(n), np.empty(n), np.empty(n))
    for a in range(starts.shape[0]):
        q = starts[a]
        off, angle = _approach(task, q, 0.0, work)
        if off <= task.tolerance and angle <= task.tolerance:
            if slide:
                found = q.copy()
                _approach(task, q, PULL, work)
                off, angle = _approach(task, q, 0.0, work)
                if not (off <= task.tolerance and angle <= task.tolerance):
                    q[:] = found
            report[0], report[1], report[2] = off, angle, a
            return a
        error = off**2 + (task.weight * angle) ** 2
        if error < best:
            best = error
            report[0], report[1], report[2] = off, angle, a
            held[:] = work.held
    return -1
