"""Inverse dynamics state by state in compiled code, compared with straight-line C and Pinocchio from Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from comparison.c_reference import C, in_c
from comparison.calls import PIN
from comparison.contenders import Case, Comparison, Contender
from comparison.peers.pinocchio import PinocchioModel, library
from comparison.plan import LeftOut, Plan
from comparison.robots import BenchRobot

from rne_dynamics.c_functions import c_function
from rne_dynamics.compiling.jit import kernel
from rne_dynamics.compiling.plain import call
from rne_dynamics.errors import RneDynamicsError
from rne_dynamics.model.inertia import Array
from rne_dynamics.verification.engines import Rows

SECTION = "compiled"
OURS = "compiled loop"
STATES = 256


@kernel
def loop(function: int, q: Array, qd: Array, qdd: Array, tau: Array) -> None:
    """What a user's own compiled loop does: a function of C at an address, one state after the other, arrays (B, n)."""
    for b in range(q.shape[0]):
        call(function, (q[b], qd[b], qdd[b], tau[b]))


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """Every robot."""
    for robot in plan.robots:
        rows = robot.states(STATES)
        try:
            contenders, compared = [_ours(robot, rows)], []
        except RneDynamicsError as error:
            yield LeftOut(f"{robot.name} in {SECTION}", str(error))
            continue
        try:
            contenders.append(in_c(robot.model, "inverse_dynamics", (rows.q, rows.qd, rows.qdd), plan.folder))
            compared.append(Comparison(OURS, (C,), "compiled-c"))
        except RneDynamicsError as error:
            yield LeftOut(f"scalar C of {robot.name} in {SECTION}", str(error))
        if peer := (yield from plan.pinocchio(robot, SECTION)):
            contenders.append(_theirs(peer, rows))
            compared.append(Comparison(OURS, (PIN,), "compiled"))
        yield Case(SECTION, robot.name, "inverse_dynamics", tuple(contenders), tuple(compared), tolerance=1e-8)


def _ours(robot: BenchRobot, rows: Rows) -> Contender:
    function = c_function(robot.model, "inverse_dynamics")
    tau: Array = np.empty(rows.qdd.shape)
    names = {"loop": loop, "function": function.address, "q": rows.q, "qd": rows.qd, "qdd": rows.qdd, "tau": tau}

    def answer() -> Array:
        loop(function.address, rows.q, rows.qd, rows.qdd, tau)
        return np.array(tau)

    return Contender(OURS, "loop(function, q, qd, qdd, tau)", names, answer, robot.model.n, STATES)


def _theirs(peer: PinocchioModel, rows: Rows) -> Contender:
    """Timed at the first state."""
    rnea = library().rnea
    states = list(zip(peer.q(rows.q), peer.velocity(rows.qd), peer.velocity(rows.qdd), strict=True))
    names = {"rnea": rnea, "model": peer.model, "data": peer.data}
    names |= dict(zip(("q", "qd", "qdd"), states[0], strict=True))

    def answer() -> Array:
        return peer.effort(np.array([rnea(peer.model, peer.data, *state) for state in states]))

    return Contender(PIN, "rnea(model, data, q, qd, qdd)", names, answer, peer.robot.n)
