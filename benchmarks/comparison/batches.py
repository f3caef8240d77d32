"""Many states at once: straight-line vector code, general kernels, Pinocchio's pool, scalar C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from comparison.c_reference import C, in_c
from comparison.contenders import Case, Comparison, Contender
from comparison.machine import cores
from comparison.peers.pinocchio import PinocchioModel, library, nothing
from comparison.plan import LeftOut, Plan
from comparison.robots import BenchRobot

from rne_dynamics.bound_batch import bind_batch
from rne_dynamics.dispatch import forward_dynamics, inverse_dynamics
from rne_dynamics.dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.verification.engines import Rows

SECTION = "batch"
QUICK_STATES = 1_000
STRAIGHT, GENERAL, PLAIN = "straight line", "general", "plain"
POOL, CALL, EMPTY = "pin pool", "pin call − its cost", "pin, no joint"


@dataclass(frozen=True)
class Batch:
    """A quantity, and what computes it.

    Parameters
    ----------
    ours
        Our plain function.
    last
        Its last argument.
    call, pool
        Names of Pinocchio's call and of its call of a pool, if it has one.
    states
        Number of states.
    goal, goal_all
        Keys of the goals on one core and on all; without a pool, one core alone is measured.
    most
        Number of joints up to which robots are compared.
    """

    ours: Callable[..., Any]
    last: str
    call: str
    pool: str | None
    states: int
    goal: str
    goal_all: str | None = None
    most: int = sys.maxsize

    def arguments(self, rows: Rows) -> dict[str, Array]:
        """Its arguments by name."""
        return {"q": rows.q, "qd": rows.qd, self.last: getattr(rows, self.last)}


QUANTITIES: dict[str, Batch] = {
    "inverse_dynamics": Batch(
        inverse_dynamics, "qdd", "rnea", "rneaInParallel", 100_000, "batch", "batch"
    ),
    "forward_dynamics": Batch(forward_dynamics, "tau", "aba", "abaInParallel", 20_000, "batch"),
    "inverse_dynamics_derivatives": Batch(
        inverse_dynamics_derivatives, "qdd", "computeRNEADerivatives", None, 1_000, "batch-derivatives", most=9
    ),
}  # fmt: skip


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """Every robot on one core, and on all."""
    for robot in plan.robots:
        peer = yield from plan.pinocchio(robot, SECTION)
        for quantity, batch in _of(robot).items():
            rows = robot.states(QUICK_STATES if plan.quick else batch.states)
            yield from _on_one_core(robot, peer, quantity, rows, plan)
            if _pooled(batch):
                yield _on_all_cores(robot, peer, quantity, rows)


def _of(robot: BenchRobot) -> dict[str, Batch]:
    return {quantity: batch for quantity, batch in QUANTITIES.items() if robot.model.n <= batch.most}


def _pooled(batch: Batch) -> bool:
    return batch.pool is not None and len(cores()) > 1


def _on_one_core(
    robot: BenchRobot, peer: PinocchioModel | None, quantity: str, rows: Rows, plan: Plan
) -> Iterator[Case | LeftOut]:
    contenders = [_bound(robot, quantity, rows, engine, 1) for engine in (STRAIGHT, GENERAL)]
    contenders.append(_plain(robot, quantity, rows))
    batch, compared = QUANTITIES[quantity], []
    if peer is not None:
        pool = [] if batch.pool is None else [_pool(peer, quantity, rows, 1)]
        theirs = (*(contender.name for contender in pool), CALL)
        contenders += [*pool, *_one_by_one(peer, quantity, rows)]
        compared = [Comparison(STRAIGHT, theirs, batch.goal, "pin"), Comparison(GENERAL, theirs, None, "pin")]
    try:
        contenders.append(in_c(robot.model, quantity, [*batch.arguments(rows).values()], plan.folder))
        compared.append(Comparison(STRAIGHT, (C,), "batch-c" if quantity == "inverse_dynamics" else None))
    except RneDynamicsError as error:
        yield LeftOut(f"scalar C of {robot.name}, {quantity}, in {SECTION}", str(error))
    name = f"{quantity}, 1 core"
    yield Case(SECTION, robot.name, name, tuple(contenders), tuple(compared), tolerance=1e-8, long=True)


def _on_all_cores(robot: BenchRobot, peer: PinocchioModel | None, quantity: str, rows: Rows) -> Case:
    threads = len(cores())
    contenders, compared = [_bound(robot, quantity, rows, STRAIGHT, threads)], []
    if peer is not None:
        contenders.append(_pool(peer, quantity, rows, threads))
        compared.append(Comparison(STRAIGHT, (POOL,), QUANTITIES[quantity].goal_all, "pin"))
    name = f"{quantity}, {threads} cores"
    return Case(SECTION, robot.name, name, tuple(contenders), tuple(compared), tolerance=1e-8, long=True)


def _bound(robot: BenchRobot, quantity: str, rows: Rows, engine: str, threads: int) -> Contender:
    given = QUANTITIES[quantity].arguments(rows)
    f = bind_batch(
        robot.model, quantity, threads=threads, engine="straight_line" if engine == STRAIGHT else "general"
    )
    out = np.empty((len(rows.q), *f.shape))
    call = f"f({', '.join(given)}, out=out)"
    return Contender(
        engine, call, {"f": f, "out": out, **given}, lambda: _by_states(f(*given.values(), out=out)), robot.model.n,
        len(rows.q), threads,
    )  # fmt: skip


def _plain(robot: BenchRobot, quantity: str, rows: Rows) -> Contender:
    given, function = QUANTITIES[quantity].arguments(rows), QUANTITIES[quantity].ours
    names = {quantity: function, "robot": robot.model, **given}
    call = f"{quantity}(robot, {', '.join(given)})"
    return Contender(
        PLAIN, call, names, lambda: _by_states(function(robot.model, *given.values())), robot.model.n, len(rows.q)
    )


def _by_states(answer: Any) -> Array:
    """An array whose first axis counts the states, of an answer in parts too."""
    return np.stack(answer, axis=1) if isinstance(answer, tuple) else np.array(answer)


def _pool(peer: PinocchioModel, quantity: str, rows: Rows, threads: int) -> Contender:
    """Pinocchio's own batches: a column a state."""
    name = cast("str", QUANTITIES[quantity].pool)
    function = getattr(library(), name)
    given = {k: np.asfortranarray(v.T) for k, v in _theirs(peer, quantity, rows).items()}
    pool, out = library().ModelPool(peer.model, threads), np.empty((peer.model.nv, len(rows.q)), order="F")
    names = {name: function, "pool": pool, "out": out, **given}

    def answer() -> Array:
        function(threads, pool, *given.values(), out)
        return peer.effort(out.T)

    call = f"{name}({threads}, pool, {', '.join(given)}, out)"
    return Contender(POOL, call, names, answer, peer.robot.n, len(rows.q), threads)


def _one_by_one(peer: PinocchioModel, quantity: str, rows: Rows) -> list[Contender]:
    """Single calls, at the first state, and the same of a model without joints, which is what calling costs."""
    name = QUANTITIES[quantity].call
    function, given = getattr(library(), name), {k: v[0] for k, v in _theirs(peer, quantity, rows.first).items()}
    call = f"{name}(model, data, {', '.join(given)})"
    names = {name: function, "model": peer.model, "data": peer.data, **given}
    empty = {name: function, **nothing(), **dict.fromkeys(given, np.zeros(0))}
    return [
        Contender(CALL, call, names, None, peer.robot.n, less=EMPTY), Contender(EMPTY, call, empty, None, 0)
    ]  # fmt: skip


def _theirs(peer: PinocchioModel, quantity: str, rows: Rows) -> dict[str, Array]:
    return {k: peer.q(v) if k == "q" else peer.velocity(v) for k, v in QUANTITIES[quantity].arguments(rows).items()}

