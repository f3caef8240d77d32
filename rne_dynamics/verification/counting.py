"""Operations of every engine for one state of a robot, counted on the code that runs.

Compiled recursions are run on counting numbers. Sparse and block solves of the two engines of document 001 are counted
on the structure of their matrices, by functions next to those engines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import ASSEMBLE, INVERSE, TERMS, States, empty_rows, rows_kernel, run
from rne_dynamics.dynamics.block_operators.blocks import matrix_operations, transfer_kernel, velocity_terms_kernel
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix_columns_kernel, mass_matrix_kernel
from rne_dynamics.dynamics.composite.walker_orin import mass_matrix_solve
from rne_dynamics.dynamics.declared.arm import Arm
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.free_bodies.blocks import MOTION_COLUMNS, free_body_kernel, joint_motion_kernel
from rne_dynamics.dynamics.free_bodies.newton_euler_dae import reaction_operations, sparse_solve_operations
from rne_dynamics.dynamics.lagrange.lagrange import LagrangeTerms, lagrange_batch
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import cholesky_solve
from rne_dynamics.verification.operations import OperationCounter, Operations
from rne_dynamics.verification.states import Rows, bare_states

Driven = Literal["inverse", "forward"]


def published(n: int) -> Operations:
    """Operations that document 000, section 3.3, gives for its forward dynamics with `n` links."""
    return Operations(multiplications=258 * n - 119, additions=191 * n - 83)


def count_operations(engine: str, quantity: Driven, robot: RobotModel) -> Operations | None:
    """Operations of an engine of `ENGINES` for one state without loads; `None` if it does not compute the quantity."""
    count = _COUNTS.get((engine, quantity))
    return None if count is None else count(_State(robot))


class _State:
    """One state of a robot as counting numbers, with their counter."""

    def __init__(self, robot: RobotModel) -> None:
        self.robot = robot
        self.counter = OperationCounter()
        self.rows: Rows = bare_states(robot, 1, 0)
        array = self.counter.array
        self.model = (robot.topology, array(robot.parameters))
        self.base, self.q, self.qd = array(self.rows.base), array(self.rows.q), array(self.rows.qd)
        self.qdd, self.tau = array(self.rows.qdd), array(self.rows.tau)
        self.unloaded = self.counter.zeros(1, 0, 6)
        self.arm = Arm(*self.model, self.base, self.unloaded)

    @property
    def operations(self) -> Operations:
        return self.counter.operations

    def zeros(self, *shape: int) -> Any:
        return self.counter.zeros(*shape)


def _recursion(state: _State, quantity: Quantity, driven: Any) -> Operations:
    out = state.zeros(1, state.robot.n)
    state.counter.run(quantity.batch, state.arm, (), state.q, state.qd, driven, out)
    return state.operations


def _walker_orin(state: _State, by_columns: bool) -> Operations:
    n, q = state.robot.n, state.q[0]
    M, arm = state.zeros(n, n), Arm(*state.model, state.base[0], state.unloaded[0])
    state.counter.run(mass_matrix_columns_kernel if by_columns else mass_matrix_kernel, arm, q, M)
    state.counter.run(mass_matrix_solve, arm, M, q, state.qd[0], state.tau[0], state.zeros(n))
    return state.operations


def _lagrange(state: _State, quantity: Driven) -> Operations:
    n = state.robot.n
    W, V, W_dot, dT_dq, Y, s_dot = (state.zeros(1, *shape) for shape in ((n, n), (n,), (n, n), (n,), (n,), (n,)))
    field = state.counter.array(state.robot.gravity.reshape(1, 3))
    terms = LagrangeTerms(W, V, W_dot, dT_dq, Y, s_dot)
    state.counter.run(lagrange_batch, *state.model, field, state.q, state.qd, state.unloaded, terms)
    if quantity == "inverse":  # W q̈ − V
        return state.operations + Operations(multiplications=n * n, additions=n * n)
    state.counter.run(cholesky_solve, W[0], state.tau[0] + V[0], state.zeros(n))
    return state.operations


def _dae(state: _State, quantity: Driven) -> Operations:
    bodies = state.robot.bodies
    motion = state.zeros(bodies, MOTION_COLUMNS)
    state.counter.run(joint_motion_kernel, *state.model, state.base[0], state.q[0], state.qd[0], motion)
    state.counter.run(
        free_body_kernel, *state.model, state.base[0], motion, state.unloaded[0], state.zeros(bodies, 18),
        state.zeros(bodies, 6), state.zeros(bodies, 6),
    )  # fmt: skip
    if quantity == "inverse":
        return state.operations + Operations(*reaction_operations(state.robot))
    return state.operations + Operations(*sparse_solve_operations(state.robot, state.rows.q[0], refined=True))


def _operator(state: _State, quantity: Driven) -> Operations:
    robot, counter = state.robot, state.counter
    transfer, arm = state.zeros(robot.bodies, 6, 6), state.zeros(robot.bodies, 3)
    counter.run(transfer_kernel, *state.model, state.q[0], transfer, arm)
    counter.run(
        velocity_terms_kernel, *state.model, state.base[0], state.qd[0], transfer, arm, state.zeros(robot.bodies, 6),
        state.zeros(robot.bodies, 6), state.zeros(robot.bodies, 6),
    )  # fmt: skip
    if quantity == "forward":
        M = counter.array(np.eye(robot.n) + 1e-3)
        counter.run(cholesky_solve, M, state.tau[0], state.zeros(robot.n))
    return state.operations + Operations(*matrix_operations(robot, quantity))


_COUNTS: Mapping[tuple[str, Driven], Callable[[_State], Operations]] = MappingProxyType(
    {
        ("newton_euler", "inverse"): lambda state: _recursion(state, INVERSE_DYNAMICS, state.qdd),
        ("nasser", "forward"): lambda state: _recursion(state, FORWARD_DYNAMICS, state.tau),
        ("walker_orin", "forward"): lambda state: _walker_orin(state, False),
        ("walker_orin_columns", "forward"): lambda state: _walker_orin(state, True),
        ("lagrange", "inverse"): lambda state: _lagrange(state, "inverse"),
        ("lagrange", "forward"): lambda state: _lagrange(state, "forward"),
        ("newton_euler_dae", "inverse"): lambda state: _dae(state, "inverse"),
        ("newton_euler_dae", "forward"): lambda state: _dae(state, "forward"),
        ("newton_euler_operator", "inverse"): lambda state: _operator(state, "inverse"),
        ("newton_euler_operator", "forward"): lambda state: _operator(state, "forward"),
    }
)


def count_closed(engine: str, quantity: Driven, mechanism: Mechanism) -> Operations | None:
    """Operations of a closed engine from a closed posture, without loads; `None` if it has none or uses NumPy."""
    n = mechanism.n
    if (engine, quantity) == ("cut_loops", "inverse"):
        return _counted(mechanism, INVERSE, OperationCounter())
    if engine != "actuated_coordinates":
        return None
    counter = OperationCounter()
    if quantity == "inverse":  # M q̈ + bias
        return _counted(mechanism, TERMS, counter) + Operations(multiplications=n * n, additions=n * n)
    counter.run(cholesky_solve, counter.array(np.eye(n) + 1e-3), counter.zeros(n), counter.zeros(n))
    return _counted(mechanism, TERMS, counter) + Operations(additions=n)


def _counted(mechanism: Mechanism, task: int, counter: OperationCounter) -> Operations:
    states, packed = bare_states(mechanism, 1, 0), pack(mechanism)
    found = empty_rows(mechanism, 1)
    for array in found:
        array[...] = 0.0
    start = run(mechanism, ASSEMBLE, states.q).postures
    moved = States(start, states.base, states.q, states.qd, states.qdd, np.zeros((1, 0, 6)))
    counter.run(
        rows_kernel, counter.arrays(packed), counter.arrays(workspace(packed)), task, False, counter.arrays(moved),
        counter.arrays(found),
    )  # fmt: skip
    return counter.operations
