"""Single calls from Python: the plain checked functions, their bound forms, and Pinocchio's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rne_dynamics.benchmarking.contenders import Case, Comparison, Contender
from rne_dynamics.benchmarking.peers.pinocchio import PinocchioModel, library
from rne_dynamics.benchmarking.plan import LeftOut, Plan
from rne_dynamics.benchmarking.robots import BenchRobot
from rne_dynamics.dispatch import bias_torque, forward_dynamics, gravity_torque, inverse_dynamics, mass_matrix
from rne_dynamics.dynamics.bound import bind
from rne_dynamics.dynamics.derivatives.forward_derivatives import forward_dynamics_derivatives
from rne_dynamics.dynamics.derivatives.inverse_derivatives import inverse_dynamics_derivatives
from rne_dynamics.dynamics.derivatives.regressor import regressor
from rne_dynamics.dynamics.kinematics.jacobian import jacobian
from rne_dynamics.errors import ModelError
from rne_dynamics.model.inertia import Array

SECTION = "calls"
PLAIN, BOUND, PIN = "plain", "bound", "pin"


@dataclass(frozen=True)
class Function:
    """A quantity and how it is asked for.

    Parameters
    ----------
    plain
        Our function.
    arguments
        What it takes after the robot.
    theirs
        Pinocchio's call.
    ours_from
        Our answer from what Pinocchio's call returns.
    goals
        Keys of the goals for the plain function and for the bound form.
    """

    plain: Callable[..., Any]
    arguments: str
    theirs: str
    ours_from: Callable[[PinocchioModel, Any], Array]
    goals: tuple[str | None, str | None] = (None, None)

    @property
    def name(self) -> str:
        """Name of the quantity."""
        return str(self.plain.__name__)


DRIVEN = ("plain", "bound")
DERIVED = ("derivatives", "derivatives")
FUNCTIONS = (
    Function(
        inverse_dynamics, "q, qd, qdd", "rnea(model, data, q, qd, qdd)", lambda p, tau: p.effort(tau), DRIVEN
    ),
    Function(
        forward_dynamics, "q, qd, tau", "aba(model, data, q, qd, tau)", lambda p, qdd: p.effort(qdd), DRIVEN
    ),
    Function(mass_matrix, "q", "crba(model, data, q)", lambda p, M: p.matrix(M, upper=True), DRIVEN),
    Function(
        gravity_torque, "q", "computeGeneralizedGravity(model, data, q)", lambda p, tau: p.effort(tau), DRIVEN
    ),
    Function(bias_torque, "q, qd", "nonLinearEffects(model, data, q, qd)", lambda p, tau: p.effort(tau)),
    Function(
        jacobian, "q, link", "computeFrameJacobian(model, data, q, frame, axes)", lambda p, J: np.asarray(J @ p.G)
    ),
    Function(
        regressor, "q, qd, qdd", "computeJointTorqueRegressor(model, data, q, qd, qdd)", lambda p, Y: p.regressor(Y),
        DERIVED,
    ),
    Function(
        inverse_dynamics_derivatives, "q, qd, qdd", "computeRNEADerivatives(model, data, q, qd, qdd)",
        lambda p, _: np.stack([p.matrix(p.data.dtau_dq), p.matrix(p.data.dtau_dv)]), DERIVED,
    ),
    Function(
        forward_dynamics_derivatives, "q, qd, tau", "computeABADerivatives(model, data, q, qd, tau)",
        lambda p, _: np.stack([p.matrix(p.data.ddq_dq), p.matrix(p.data.ddq_dv)]), DERIVED,
    ),
)  # fmt: skip


def count(plan: Plan) -> int:
    """How many cases there are."""
    return len(plan.robots) * len(FUNCTIONS)


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """Every function of every robot."""
    for robot in plan.robots:
        peer: PinocchioModel | None = None
        if "pinocchio" in plan.peers:
            try:
                peer = robot.pinocchio
            except ModelError as error:
                yield LeftOut(f"pin on {robot.name} in {SECTION}", str(error))
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
    rows, n = robot.states(1), robot.model.n
    names: dict[str, Any] = {
        "robot": robot.model, "link": robot.tip, function.name: function.plain,
        "q": rows.q[0], "qd": rows.qd[0], "qdd": rows.qdd[0], "tau": rows.tau[0],
    }  # fmt: skip
    call = f"{function.name}(robot, {function.arguments})"
    yield Contender(PLAIN, call, names, lambda: plainly(eval(call, dict(names))), n)

    inputs = function.arguments.removesuffix(", link")
    f = bind(robot.model, function.name, link=None if inputs == function.arguments else robot.tip)
    given = [names[name] for name in inputs.split(", ")]
    out = np.array(f(*given))
    bound = f"f({inputs}, out=out)"
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
