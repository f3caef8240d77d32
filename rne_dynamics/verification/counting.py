"""Operations of every engine for one state of a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from rne_dynamics.dynamics.mass_matrix import WORK_COLUMNS as MASS_COLUMNS
from rne_dynamics.dynamics.mass_matrix import mass_matrix_kernel
from rne_dynamics.dynamics.nasser import WORK_COLUMNS as NASSER_COLUMNS
from rne_dynamics.dynamics.nasser import nasser_kernel
from rne_dynamics.dynamics.newton_euler import WORK_COLUMNS as FORCE_COLUMNS
from rne_dynamics.dynamics.newton_euler import inverse_dynamics_kernel
from rne_dynamics.dynamics.walker_orin import cholesky_solve
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.engines import Quantity
from rne_dynamics.verification.operations import OperationCounter, Operations
from rne_dynamics.verification.states import Rows, bare_states

_Count = Callable[[RobotModel, Rows], Operations]


def published(n: int) -> Operations:
    """What document 000, section 3.3, gives for its forward dynamics with `n` links."""
    return Operations(multiplications=258 * n - 119, additions=191 * n - 83)


def count_operations(engine: str, quantity: Quantity, robot: RobotModel) -> Operations | None:
    """Operations of an engine for one state without external loads; `None` where it does not compute the quantity.

    Parameters
    ----------
    engine
        Its name in `ENGINES`.
    quantity
        ``"inverse"`` or ``"forward"``.
    robot
        The model. The count depends on its tree and kinds of joints, hardly on its numbers.
    """
    count = _COUNTS.get((engine, quantity))
    return None if count is None else count(robot, bare_states(robot, 1, 0))


def _inverse(robot: RobotModel, rows: Rows) -> Operations:
    counter = OperationCounter()
    _count_inverse(counter, robot, rows, rows.qdd[0])
    return counter.operations


def _count_inverse(counter: OperationCounter, robot: RobotModel, rows: Rows, qdd: np.ndarray) -> None:
    counter.run(
        inverse_dynamics_kernel, robot.topology, counter.array(robot.parameters), counter.array(rows.base[0]),
        counter.array(rows.q[0]), counter.array(rows.qd[0]), counter.array(qdd), counter.zeros(0, 6),
        counter.zeros(robot.bodies, FORCE_COLUMNS), counter.zeros(robot.n),
    )  # fmt: skip


def _nasser(robot: RobotModel, rows: Rows) -> Operations:
    counter = OperationCounter()
    counter.run(
        nasser_kernel, robot.topology, counter.array(robot.parameters), counter.array(rows.base[0]),
        counter.array(rows.q[0]), counter.array(rows.qd[0]), counter.array(rows.tau[0]), counter.zeros(0, 6),
        counter.zeros(robot.bodies, NASSER_COLUMNS), counter.zeros(robot.n),
    )  # fmt: skip
    return counter.operations


def _walker_orin(robot: RobotModel, rows: Rows) -> Operations:
    counter = OperationCounter()
    _count_inverse(counter, robot, rows, np.zeros(robot.n))
    M = counter.zeros(robot.n, robot.n)
    counter.run(
        mass_matrix_kernel, robot.topology, counter.array(robot.parameters), counter.array(rows.q[0]),
        counter.zeros(robot.bodies, MASS_COLUMNS), M,
    )  # fmt: skip
    counter.run(cholesky_solve, M, counter.array(rows.tau[0]), counter.zeros(robot.n))
    counter.operations.additions += robot.n  # τ − bias
    return counter.operations


_COUNTS: Mapping[tuple[str, Quantity], _Count] = MappingProxyType(
    {
        ("newton_euler", "inverse"): _inverse,
        ("nasser", "forward"): _nasser,
        ("walker_orin", "forward"): _walker_orin,
    }
)
