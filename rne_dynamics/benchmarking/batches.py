"""A hundred thousand states at once: straight-line vector code, general kernels, Pinocchio's pool, scalar C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rne_dynamics.benchmarking.c_reference import C, in_c
from rne_dynamics.benchmarking.contenders import Case, Comparison, Contender
from rne_dynamics.benchmarking.machine import cores
from rne_dynamics.benchmarking.peers.pinocchio import PinocchioModel, library, nothing
from rne_dynamics.benchmarking.plan import LeftOut, Plan
from rne_dynamics.benchmarking.robots import BenchRobot
from rne_dynamics.bound_batch import bind_batch
from rne_dynamics.dispatch import forward_dynamics, inverse_dynamics
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.verification.states import Rows

SECTION = "batch"
STATES: dict[str, int] = {"inverse_dynamics": 100_000, "forward_dynamics": 20_000}
QUICK_STATES = 1_000
STRAIGHT, GENERAL, PLAIN = "straight line", "general", "plain"
POOL, CALL, EMPTY = "pin pool", "pin call − its cost", "pin, no joint"
#: Our functions, Pinocchio's call and its call of a pool, and the last argument.
QUANTITIES: dict[str, tuple[Any, str, str, str]] = {
    "inverse_dynamics": (inverse_dynamics, "rnea", "rneaInParallel", "qdd"),
    "forward_dynamics": (forward_dynamics, "aba", "abaInParallel", "tau"),
}


def count(plan: Plan) -> int:
    """How many cases there are."""
    return len(plan.robots) * len(QUANTITIES) * (2 if len(cores()) > 1 else 1)


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """Every robot on one core, and on all."""
    for robot in plan.robots:
        peer = yield from plan.pinocchio(robot, SECTION)
        for quantity in QUANTITIES:
            rows = robot.states(QUICK_STATES if plan.quick else STATES[quantity])
            yield from _on_one_core(robot, peer, quantity, rows, plan)
            if len(cores()) > 1:
                yield _on_all_cores(robot, peer, quantity, rows)


def _on_one_core(
    robot: BenchRobot, peer: PinocchioModel | None, quantity: str, rows: Rows, plan: Plan
) -> Iterator[Case | LeftOut]:
    contenders = [_bound(robot, quantity, rows, engine, 1) for engine in (STRAIGHT, GENERAL)]
    contenders.append(_plain(robot, quantity, rows))
    inverse = quantity == "inverse_dynamics"
    compared = []
    if peer is not None:
        contenders += [_pool(peer, quantity, rows, 1), *_one_by_one(peer, quantity, rows)]
        compared = [
            Comparison(STRAIGHT, (POOL, CALL), "batch", "pin"),
            Comparison(GENERAL, (POOL, CALL), None, "pin"),
        ]
    try:
        contenders.append(in_c(robot.model, quantity, [*_arguments(quantity, rows).values()], plan.folder))
        compared.append(Comparison(STRAIGHT, (C,), "batch-c" if inverse else None))
    except RneDynamicsError as error:
        yield LeftOut(f"scalar C of {robot.name}, {quantity}, in {SECTION}", str(error))
    name = f"{quantity}, 1 core"
    yield Case(SECTION, robot.name, name, tuple(contenders), tuple(compared), tolerance=1e-8, long=True)


def _on_all_cores(robot: BenchRobot, peer: PinocchioModel | None, quantity: str, rows: Rows) -> Case:
    threads = len(cores())
    contenders, compared = [_bound(robot, quantity, rows, STRAIGHT, threads)], []
    if peer is not None:
        contenders.append(_pool(peer, quantity, rows, threads))
        goal = "batch" if quantity == "inverse_dynamics" else None
        compared.append(Comparison(STRAIGHT, (POOL,), goal, "pin"))
    name = f"{quantity}, {threads} cores"
    return Case(SECTION, robot.name, name, tuple(contenders), tuple(compared), tolerance=1e-8, long=True)


def _arguments(quantity: str, rows: Rows) -> dict[str, Array]:
    last = QUANTITIES[quantity][3]
    return {"q": rows.q, "qd": rows.qd, last: rows.qdd if last == "qdd" else rows.tau}


def _bound(robot: BenchRobot, quantity: str, rows: Rows, engine: str, threads: int) -> Contender:
    given, out = _arguments(quantity, rows), np.empty_like(rows.qdd)
    f = bind_batch(
        robot.model, quantity, threads=threads, engine="straight_line" if engine == STRAIGHT else "general"
    )
    call = f"f({', '.join(given)}, out=out)"
    return Contender(
        engine, call, {"f": f, "out": out, **given}, lambda: f(*given.values(), out=out).copy(), robot.model.n,
        len(rows.q), threads,
    )  # fmt: skip


def _plain(robot: BenchRobot, quantity: str, rows: Rows) -> Contender:
    given, function = _arguments(quantity, rows), QUANTITIES[quantity][0]
    names = {quantity: function, "robot": robot.model, **given}
    call = f"{quantity}(robot, {', '.join(given)})"
    return Contender(
        PLAIN, call, names, lambda: np.array(function(robot.model, *given.values())), robot.model.n, len(rows.q)
    )


def _pool(peer: PinocchioModel, quantity: str, rows: Rows, threads: int) -> Contender:
    """Pinocchio's own batches: a column a state."""
    name, function = QUANTITIES[quantity][2], getattr(library(), QUANTITIES[quantity][2])
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
    name = QUANTITIES[quantity][1]
    function, given = getattr(library(), name), {k: v[0] for k, v in _theirs(peer, quantity, rows.first).items()}
    call = f"{name}(model, data, {', '.join(given)})"
    names = {name: function, "model": peer.model, "data": peer.data, **given}
    empty = {name: function, **nothing(), **dict.fromkeys(given, np.zeros(0))}
    return [
        Contender(CALL, call, names, None, peer.robot.n, less=EMPTY), Contender(EMPTY, call, empty, None, 0)
    ]  # fmt: skip


def _theirs(peer: PinocchioModel, quantity: str, rows: Rows) -> dict[str, Array]:
    return {k: peer.q(v) if k == "q" else peer.velocity(v) for k, v in _arguments(quantity, rows).items()}

