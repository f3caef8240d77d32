"""Operations of every engine for one state of a robot, counted on the code that runs.

Compiled recursions are run on counting numbers. Sparse and block solves of the two engines of document 001 are counted
on the structure of their matrices, by functions next to those engines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from operation_counter import OperationCounter, Operations

from rne_dynamics.closed_chain.packed import pack, workspace
from rne_dynamics.closed_chain.rows import ASSEMBLE, INVERSE, TERMS, States, empty_rows, rows_kernel, run
from rne_dynamics.dynamics.block_operators import joint_map, transfer_kernel, velocity_terms_kernel
from rne_dynamics.dynamics.composite.mass_matrix import (
    mass_matrix_columns_kernel,
    mass_matrix_kernel,
    mass_matrix_solve,
)
from rne_dynamics.dynamics.declared.arguments import Arm, state_arrays
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.free_bodies.system import (
    MOTION_COLUMNS,
    MaximalSystem,
    factorised,
    free_body_kernel,
    joint_motion_kernel,
)
from rne_dynamics.dynamics.lagrange import LagrangeTerms, lagrange_batch
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.model.layout import PARENT
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.spatial.cholesky import cholesky_solve
from rne_dynamics.verification.engines import Rows, bare_states

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
        return state.operations + reaction_operations(state.robot)
    return state.operations + sparse_solve_operations(state.robot, state.rows.q[0], refined=True)


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
    return state.operations + matrix_operations(robot, quantity)


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


def solve_operations(robot: RobotModel, columns: int) -> Operations:
    """Operations of one `outward` or `inward` solve: each off-diagonal block of Γ once, as a dense 6×6 block.

    A block times a column is 36 multiplications and 30 additions, and 6 more to add it; the zeros in a block (its lower
    left quarter) and in the columns of H are multiplied too, because the arrays as run hold them.
    """
    blocks = int((robot.topology[:, PARENT] >= 0).sum())
    return Operations(36 * blocks * columns, 36 * blocks * columns)


def matrix_operations(robot: RobotModel, problem: Driven) -> Operations:
    """Multiplications and additions of one state outside the kernels: solves, block and matrix products.

    To be added for the whole: one run of `transfer_kernel` and of `velocity_terms_kernel`, and for ``"forward"``
    one of `cholesky_solve`. H is counted by its entries, 𝓜 by dense blocks.
    """
    bodies, n = robot.bodies, robot.n
    entries = int(np.count_nonzero(joint_map(robot)))
    roots = bodies - int((robot.topology[:, PARENT] >= 0).sum())
    # V, A and F by one solve each, with H q̇ and H q̈, the base's share twice, 𝓜 A + (β − W), Hᵀ F + I_rotor q̈
    solves = solve_operations(robot, 3)
    multiplications = solves.multiplications + 3 * entries + 72 * roots + 36 * bodies + n
    additions = solves.additions + entries + 72 * roots + 6 * bodies + 36 * bodies + n
    if problem == "forward":
        columns = solve_operations(robot, 2 * n)  # Γ⁻¹ H and Γ⁻ᵀ, then the entries of Hᵀ
        multiplications += columns.multiplications + 36 * bodies * n + entries * n
        additions += columns.additions + 30 * bodies * n + entries * n + n + n
    return Operations(multiplications, additions)


def sparse_solve_operations(robot: RobotModel, q: ArrayLike, *, refined: bool = False) -> Operations:
    """Operations to factorise the system of `newton_euler_dae_forward` at `q` and solve it for one right side.

    With l_k entries of L below the diagonal in column k and u_k entries of U right of it in row k, elimination of
    unknown k takes one division (SuperLU multiplies by the pivot's reciprocal), l_k + l_k·u_k multiplications and
    l_k·u_k additions; the triangular solves then one multiplication and one addition for every such entry and one
    division for every row. Setting up the matrix is not in these numbers (run `joint_motion_kernel` and
    `free_body_kernel` on counting numbers for that), nor the probe for singular inertia.

    `robot`: the model. `q`: positions, shape (nq,). The count is the same wherever no entry happens to vanish: take a
    random q. `refined`: whether to add the step of iterative refinement: the residual and a second pair of triangular
    solves. Raises ArgumentError: a wrong shape, NaN or infinity. SingularInertiaError: a joint that moves no inertia;
    names it.
    """
    _, (positions,) = state_arrays(robot, q=q)
    if robot.bodies == 0:
        return Operations()
    system = MaximalSystem.of(robot)
    blocks = system.blocks(robot.base_at_rest, positions[0], np.zeros(robot.n), np.empty((0, 6)))
    matrix = system.matrix(blocks.transfer)
    factors = factorised(matrix)
    below = np.diff(factors.L.indptr) - 1
    right = np.diff(factors.U.tocsr().indptr) - 1
    inner, left, triangles, size = int(below @ right), int(below.sum()), int((below + right).sum()), len(below)
    solves = 2 if refined else 1
    stored = int(np.count_nonzero(matrix.data)) if refined else 0
    return Operations(
        multiplications=left + inner + solves * triangles + stored,
        additions=inner + solves * triangles + stored + (size if refined else 0),
        divisions=(1 + solves) * size,
    )


def reaction_operations(robot: RobotModel) -> Operations:
    """Operations of `newton_euler_dae_inverse` outside the kernels: accelerations by K, reactions by Kᵀ.

    K is unit triangular with 27 entries for each child off its diagonal: scaled once in the factors, then used in two
    triangular solves, each with a division for every row. 𝓜 a is counted by dense 6×6 blocks, as it is run.
    """
    system = MaximalSystem.of(robot)
    bodies, axes, n = robot.bodies, len(system.gear), robot.n
    entries = 27 * len(system.children)
    return Operations(
        multiplications=3 * entries + 36 * bodies + 2 * axes + n,
        additions=2 * entries + 30 * bodies + 12 * bodies + axes + n,
        divisions=3 * 6 * bodies,
    )
