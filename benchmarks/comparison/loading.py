"""Loading of a URDF file, compared with Pinocchio."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from comparison.calls import PIN
from comparison.contenders import Case, Comparison, Contender
from comparison.peers.pinocchio import PinocchioModel, library
from comparison.plan import LeftOut, Plan
from comparison.robots import BenchRobot, load

from rne_dynamics.description.urdf import load_urdf
from rne_dynamics.dispatch import inverse_dynamics
from rne_dynamics.model.inertia import Array

SECTION = "loading"
OURS = "load_urdf"
#: Random states at which the loaded models must give the same inverse dynamics.
STATES = 4


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """One case per robot."""
    for number, robot in enumerate(plan.robots):
        path = plan.folder / f"loading_{number}.urdf"
        path.write_text(robot.text, encoding="utf-8")
        where = f"{robot.name} in {SECTION}"
        theirs = yield from plan.peer("pinocchio", where, partial(_theirs, robot, path))
        contenders = (_ours(robot, path), theirs) if theirs else (_ours(robot, path),)
        compared = (Comparison(OURS, (PIN,), "loading"),) if theirs else ()
        yield Case(SECTION, robot.name, "checked and loaded", contenders, compared, tolerance=1e-8)


def _ours(robot: BenchRobot, path: Path) -> Contender:
    """Loading with all checks of `rne check`, whose warnings are logged."""

    def answer() -> Array:
        rows = robot.states(STATES)
        return inverse_dynamics(load(str(path)).model, rows.q, rows.qd, rows.qdd)

    return Contender(OURS, "load_urdf(path)", {"load_urdf": load_urdf, "path": path}, answer, robot.model.n)


def _theirs(robot: BenchRobot, path: Path) -> Contender:
    pin = library()
    peer = PinocchioModel(robot.model, pin.buildModelFromUrdf(str(path)))

    def answer() -> Array:
        rows = robot.states(STATES)
        states = zip(peer.q(rows.q), peer.velocity(rows.qd), peer.velocity(rows.qdd), strict=True)
        return peer.effort(np.array([pin.rnea(peer.model, peer.data, *state) for state in states]))

    names = {"buildModelFromUrdf": pin.buildModelFromUrdf, "path": str(path)}
    return Contender(PIN, "buildModelFromUrdf(path)", names, answer, robot.model.n)
