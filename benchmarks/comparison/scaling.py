"""Time for one state over the number of joints, 2 to 1000, of generated chains, trees and combs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from comparison.contenders import Case, Comparison, Contender
from comparison.generated import chain, comb, tree
from comparison.peers.pinocchio import PinocchioModel, library, nothing
from comparison.plan import LeftOut, Plan

from rne_dynamics.bound import bind
from rne_dynamics.dispatch import forward_dynamics, gravity_torque, inverse_dynamics, mass_matrix
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.engines import Rows, bare_states

SECTION = "scaling"
SIZES = (2, 3, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
QUICK_SIZES = (2, 10)
#: Sizes between which the time per link must not grow.
SMALL, LARGE = 10, 1000
SHAPES: dict[str, Callable[[int], RobotModel]] = {"chain": chain, "tree": tree, "comb": comb}
#: Largest number of joints for Pinocchio, whose work memory has n³ numbers: 0.3 GB at 200 joints, 4 GB at 500.
PIN_LARGEST = 200
#: Least number of results per call, so that the call overhead is negligible.
NUMBERS = 4_000


@dataclass(frozen=True)
class Growing:
    """A quantity over n: our function, its arguments, Pinocchio's call, and whether it is O(n)."""

    ours: Callable[..., Any]
    arguments: str
    theirs: str
    linear: bool = True


QUANTITIES = (
    Growing(inverse_dynamics, "q, qd, qdd", "rnea(model, data, q, qd, qdd)"),
    Growing(forward_dynamics, "q, qd, tau", "aba(model, data, q, qd, tau)"),
    Growing(gravity_torque, "q", "computeGeneralizedGravity(model, data, q)"),
    Growing(mass_matrix, "q", "crba(model, data, q)", linear=False),
)
NOTHING = "pin, no joint"


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """One case per quantity and shape, with all sizes."""
    sizes = QUICK_SIZES if plan.quick else SIZES
    if "pinocchio" in plan.peers and max(sizes) > PIN_LARGEST:
        why = "its work memory grows with the cube of their number, to 4 GB at 500"
        yield LeftOut(f"pin beyond {PIN_LARGEST} joints in {SECTION}", why)
    for shape, make in SHAPES.items():
        models = {n: make(n) for n in sizes}
        theirs = [n for n in sizes if n <= PIN_LARGEST] if "pinocchio" in plan.peers else []
        peers = {n: PinocchioModel.from_tree(models[n]) for n in theirs}
        for quantity in QUANTITIES:
            yield _case(shape, quantity, models, peers)
        del peers  # frees gigabytes before the next shape


def _case(
    shape: str, quantity: Growing, models: dict[int, RobotModel], peers: dict[int, PinocchioModel]
) -> Case:
    contenders = [_ours(model, quantity) for model in models.values()]
    if peers:
        contenders += [_theirs(peer, quantity) for peer in peers.values()]
        contenders.append(_nothing(quantity))
    compared = []
    if quantity.linear and {SMALL, LARGE} <= set(models):
        compared.append(Comparison(f"n = {LARGE}", (f"n = {SMALL}",), "scaling"))
    if peers:
        compared += [Comparison(f"n = {n}", (f"pin, n = {n}",)) for n in peers if n in (SMALL, max(peers))]
    return Case(
        SECTION, shape, quantity.ours.__name__, tuple(contenders), tuple(compared),
        tolerance=1e-6, each_link=True, pairs=tuple((f"n = {n}", f"pin, n = {n}") for n in peers),
    )  # fmt: skip


def _ours(robot: RobotModel, quantity: Growing) -> Contender:
    """A batch that makes the checks of a call negligible; for matrices one state, into allocated memory."""
    name, rows = quantity.ours.__name__, _rows(robot, quantity)
    if not quantity.linear:
        f, q, out = bind(robot, name), rows.q[0].copy(), np.empty((robot.n, robot.n))
        return Contender(f"n = {robot.n}", "f(q, out=out)", {"f": f, "q": q, "out": out}, lambda: f(q).copy(), robot.n)
    call = f"{name}(robot, {quantity.arguments})"
    names = {name: quantity.ours, "robot": robot, **_arrays(rows)}
    return Contender(f"n = {robot.n}", call, names, lambda: np.array(eval(call, dict(names))[0]), robot.n, len(rows.q))


def _rows(robot: RobotModel, quantity: Growing) -> Rows:
    return bare_states(robot, max(1, NUMBERS // robot.n) if quantity.linear else 1, 0)


def _theirs(peer: PinocchioModel, quantity: Growing) -> Contender:
    """One call for the first state of our batch, less an empty call."""
    first = _rows(peer.robot, quantity).first
    names = _names(quantity, peer.model, peer.data)
    names |= {
        name: peer.q(rows[0]) if name == "q" else peer.velocity(rows[0]) for name, rows in _arrays(first).items()
    }
    n, upper = peer.robot.n, not quantity.linear

    def answer() -> Array:
        found = eval(quantity.theirs, dict(names))
        return peer.matrix(found, upper=True) if upper else peer.effort(found)

    return Contender(f"pin, n = {n}", quantity.theirs, names, answer, n, less=NOTHING)


def _nothing(quantity: Growing) -> Contender:
    names = _names(quantity, **nothing())
    names |= dict.fromkeys(("q", "qd", "qdd", "tau"), np.zeros(0))
    return Contender(NOTHING, quantity.theirs, names, None, 0)


def _names(quantity: Growing, model: Any, data: Any) -> dict[str, Any]:
    function = quantity.theirs.partition("(")[0]
    return {function: getattr(library(), function), "model": model, "data": data}


def _arrays(rows: Rows) -> dict[str, Array]:
    return {"q": rows.q, "qd": rows.qd, "qdd": rows.qdd, "tau": rows.tau}
