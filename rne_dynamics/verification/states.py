"""Random states in which formulations are compared, as the checked rows that engines take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rne_dynamics.dynamics.arguments import bodies_wrenches
from rne_dynamics.dynamics.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.configuration import random_configuration
from rne_dynamics.dynamics.newton_euler import inverse_dynamics_batch
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: External loads act on so many links at most.
_LOADED_LINKS = 5


@dataclass(frozen=True, eq=False)
class Rows:
    """B states.

    Parameters
    ----------
    base
        Packed base motion (1 or B, 12), `BaseMotion.packed`.
    q, qd, qdd, tau
        (B, nq) and (B, n); `tau` are the efforts that recursive Newton–Euler finds for `qdd`.
    wrenches
        (1 or B, bodies or 0, 6) at the body frames' origins, body axes.
    """

    base: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    wrenches: Array

    @property
    def first(self) -> Rows:
        """The first state alone."""
        return Rows(*(value[:1] for value in vars(self).values()))


def bare_states(robot: RobotModel, count: int, seed: int) -> Rows:
    """Random positions inside the limits, normal velocities and accelerations; gravity, nothing else."""
    rng = np.random.default_rng(seed)
    q = random_configuration(robot, rng, count)
    qd, qdd = rng.normal(size=(2, count, robot.n))
    return _with_efforts(robot, Rows(packed_base(robot, None, ()), q, qd, qdd, qdd, bodies_wrenches(robot, None, ())))


def loaded_states(robot: RobotModel, count: int, seed: int) -> Rows:
    """The same states with loads on some links and, where the base is fixed, a base that moves.

    Loads are of the size of a tenth of the robot's weight, at an arm of 0.1 m; the base's velocities and accelerations
    are normal, and it stands in a random attitude.
    """
    bare = bare_states(robot, count, seed)
    rng = np.random.default_rng(seed + 1)
    size = 0.1 * robot.mass * max(float(np.linalg.norm(robot.gravity)), 1.0)
    links = rng.choice(robot.link_names, size=min(_LOADED_LINKS, len(robot.link_names)), replace=False)
    scale = size * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
    loads = {str(link): scale * rng.normal(size=(count, 6)) for link in links}
    base = bare.base
    if robot.base == "fixed":
        v, w, a, dw = rng.normal(size=(4, count, 3))
        attitude = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        attitude *= np.sign(np.linalg.det(attitude))
        base = packed_base(robot, BaseMotion(a, w, dw, v, attitude), (count,))
    return _with_efforts(robot, replace(bare, base=base, wrenches=bodies_wrenches(robot, loads, (count,))))


def _with_efforts(robot: RobotModel, rows: Rows) -> Rows:
    tau = np.empty_like(rows.qdd)
    inverse_dynamics_batch(
        robot.topology, robot.parameters, rows.base, rows.q, rows.qd, rows.qdd, rows.wrenches, tau
    )
    return replace(rows, tau=tau)
