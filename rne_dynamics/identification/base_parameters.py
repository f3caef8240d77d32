"""Base parameters: the largest set of combinations of parameters that efforts depend on, by QR with pivoting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from rne_dynamics.dynamics.derivatives.regressor import regressor
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel

#: Part of the largest pivot below which a column depends on others.
TOLERANCE = 1e-5
#: Random states that the structure of a robot is found from.
_STATES = 200


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations of parameters: base = `combinations` · parameters, and columns[:, kept] · base = columns ·
    parameters."""

    #: Of the parameters that stand for them.
    kept: NDArray[np.int64]
    #: Shape (base, parameters).
    combinations: Array
    #: Of the kept columns scaled to equal length.
    condition: float

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.kept)


def base_parameters(columns: Array, tolerance: float = TOLERANCE) -> BaseParameters:
    """The base parameters of columns, shape (rows, parameters); of their triangle just as well.

    Columns are scaled to equal length first. Those whose pivot is below `tolerance` of the largest depend on others.
    """
    length = np.linalg.norm(columns, axis=0)
    scale = np.where(length > 1e-9 * length.max(initial=0.0), length, np.inf)
    R, order = qr(columns / scale, mode="r", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int((pivots > tolerance * pivots[0]).sum()) if len(pivots) and pivots[0] > 0.0 else 0
    kept, others = order[:rank], order[rank:]
    combinations = np.zeros((rank, columns.shape[1]))
    combinations[np.arange(rank), kept] = 1.0
    if rank and len(others):
        known = np.where(np.isfinite(scale[others]), scale[others], 0.0)
        combinations[:, others] = solve_triangular(R[:rank, :rank], R[:rank, rank:]) * known / scale[kept][:, None]
    condition = float(np.linalg.cond(R[:rank, :rank])) if rank else np.inf
    return BaseParameters(kept, combinations, condition)


def structure(robot: RobotModel, *, rotors: bool = False) -> BaseParameters:
    """The base parameters of a robot's links, and of its rotors after them, found from random states."""
    rng = np.random.default_rng(0)
    q, qd, qdd = (rng.uniform(-2.0, 2.0, (_STATES, robot.n)) for _ in range(3))
    columns = regressor(robot, q, qd, qdd)
    if rotors:
        columns = np.concatenate((columns, qdd[:, :, None] * np.eye(robot.n)), axis=2)
    return base_parameters(columns.reshape(_STATES * robot.n, -1))
