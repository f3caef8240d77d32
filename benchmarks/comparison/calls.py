"""Single calls from Python: the plain checked functions, their bound forms, and Pinocchio's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from comparison.contenders import Case, Comparison, Contender
from comparison.peers.pinocchio import PinocchioModel, library
from comparison.plan import LeftOut, Plan
from comparison.robots import BenchRobot

from rne_dynamics.bound import bind
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.quantities import QUANTITIES
from rne_dynamics.model.inertia import Array

SECTION = "calls"
PLAIN, BOUND, PIN = "plain", "bound", "pin"


@dataclass(frozen=True)
class Function:
    """A quantity and how it is asked for.

    Parameters
    ----------
    name
        Of our function.
    theirs
        Pinocchio's call.
    ours_from
        Our answer from what Pinocchio's call returns.
    goals
        Keys of the goals for the plain function and for the bound form.
    """

    name: str
    theirs: str
    ours_from: Callable[[PinocchioModel, Any], Array]
    goals: tuple[str | None, str | None] = (None, None)

    @property
    def quantity(self) -> Quantity:
        """Our function and what it takes."""
        return QUANTITIES[self.name]


FUNCTIONS = (
    Function(
        "inverse_dynamics", "rnea(model, data, q, qd, qdd)", lambda p, tau: p.effort(tau), ("plain", "bound")
    ),
    Function(
        "forward_dynamics", "aba(model, data, q, qd, tau)", lambda p, qdd: p.effort(qdd), ("plain", "bound")
    ),
    Function("mass_matrix", "crba(model, data, q)", lambda p, M: p.matrix(M, upper=True), ("plain", "bound-mass")),
    Function(
        "gravity_torque", "computeGeneralizedGravity(model, data, q)", lambda p, tau: p.effort(tau),
        ("plain", "bound-gravity"),
    ),
    Function("bias_torque", "nonLinearEffects(model, data, q, qd)", lambda p, tau: p.effort(tau)),
    Function(
        "jacobian", "computeFrameJacobian(model, data, q, frame, axes)", lambda p, J: np.asarray(J @ p.G),
        (None, "jacobian"),
    ),
    Function(
        "regressor", "computeJointTorqueRegressor(model, data, q, qd, qdd)", lambda p, Y: p.regressor(Y),
        (None, "derivatives"),
    ),
    Function(
        "inverse_dynamics_derivatives", "computeRNEADerivatives(model, data, q, qd, qdd)",
        lambda p, _: np.stack([p.matrix(p.data.dtau_dq), p.matrix(p.data.dtau_dv)]), (None, "derivatives"),
    ),
    Function(
        "forward_dynamics_derivatives", "computeABADerivatives(model, data, q, qd, tau)",
        lambda p, _: np.stack([p.matrix(p.data.ddq_dq), p.matrix(p.data.ddq_dv)]), (None, "forward-derivatives"),
    ),
)  # fmt: skip


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """Every function of every robot."""
    for robot in plan.robots:
        peer = yield from plan.pinocchio(robot, SECTION)
        for function in FUNCTIONS:
            ours = list(_ours(robot, function))
            theirs = [_theirs(robot, peer, function)] if peer else []
            compared = [
                Comparison(contender.name, (PIN,), goal)
                for contender, goal in zip(ours, function.goals, strict=False)
                if theirs
            ]
            yield Case(SECTION, robot.name, function.name, (*ours, *theirs), tuple(compared), tolerance=1e-8)


def _ours(robot: BenchRobot, function: Function) -> Iterator[Contender]:
    rows, n, quantity = robot.states(1), robot.model.n, function.quantity
    link = "link" in quantity.options
    names: dict[str, Any] = {
        "robot": robot.model, "link": robot.tip, function.name: quantity.plain,
        "q": rows.q[0], "qd": rows.qd[0], "qdd": rows.qdd[0], "tau": rows.tau[0],
    }  # fmt: skip
    vectors = ", ".join(quantity.inputs)
    call = f"{function.name}(robot, {vectors}{', link' if link else ''})"
    yield Contender(PLAIN, call, names, lambda: plainly(eval(call, dict(names))), n)

    f = bind(robot.model, function.name, link=robot.tip if link else None)
    given = [names[name] for name in quantity.inputs]
    out = np.array(f(*given))
    bound = f"f({vectors}, out=out)"
    yield Contender(BOUND, bound, {**names, "f": f, "out": out}, lambda: plainly(f(*given, out=out)), n)


def plainly(answer: Any) -> Array:
    """An array, of derivatives those with respect to q and q̇."""
    return np.stack(answer[:2]) if isinstance(answer, tuple) else np.array(answer)


def _theirs(robot: BenchRobot, peer: PinocchioModel, function: Function) -> Contender:
    pin, rows = library(), robot.states(1)
    name = function.theirs.partition("(")[0]
    names = {
        name: getattr(pin, name), "model": peer.model, "data": peer.data, "frame": peer.frame(robot.tip),
        "axes": pin.LOCAL_WORLD_ALIGNED, "q": peer.q(rows.q[0]),
        "qd": peer.velocity(rows.qd[0]), "qdd": peer.velocity(rows.qdd[0]), "tau": peer.velocity(rows.tau[0]),
    }  # fmt: skip
    return Contender(
        PIN, function.theirs, names, lambda: function.ours_from(peer, eval(function.theirs, dict(names))),
        robot.model.n,
    )  # fmt: skip
