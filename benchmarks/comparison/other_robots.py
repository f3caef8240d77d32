"""Mechanisms and flexible arms: machine code of the robot alone, compared with the general kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from comparison.contenders import Case, Comparison, Contender
from comparison.plan import LeftOut, Plan

from rne_dynamics import dispatch, flexible
from rne_dynamics.bound import bind
from rne_dynamics.description.model_file import load_model
from rne_dynamics.description.share import shipped_models
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.protocol import Robot

SECTION = "models"
OURS, BOUND, GENERAL = "plain", "bound", "general kernels"
_MECHANISMS = {"inverse_dynamics": 3, "forward_dynamics": 3, "gravity_torque": 1, "mass_matrix": 1}
_FLEXIBLE = {"equations_of_motion": 4, "flexible_inverse_dynamics": 5, "flexible_forward_dynamics": 5}
#: Distance of the state from the robot's posture, rad or m.
_AWAY = 0.1


def _names(plan: Plan) -> tuple[str, ...]:
    return ("pantograph", "flexible_arm") if plan.quick else tuple(shipped_models())


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """The shipped models, quantity by quantity."""
    for name in _names(plan):
        robot = load_model(name)
        for quantity in _quantities(robot):
            yield _case(robot, quantity)


def _quantities(robot: Robot) -> dict[str, int]:
    return _FLEXIBLE if robot.modes else _MECHANISMS


def _case(robot: Robot, quantity: str) -> Case:
    rng, general = np.random.default_rng(0), robot.with_own_code(False)
    q = robot.neutral + _AWAY
    qd, last = rng.normal(size=(2, robot.n))
    delta, deltad = 0.01 * rng.normal(size=(2, robot.modes))
    state = (q, delta, qd, deltad, last) if robot.modes else (q, qd, last)
    vectors = state[: _quantities(robot)[quantity]]
    function = getattr(flexible if robot.modes else dispatch, quantity)
    contenders = [_contender(OURS, function, robot, vectors), _contender(GENERAL, function, general, vectors)]
    goal = "flexible" if robot.modes else "mechanism"
    mechanism = mechanism_of(robot)
    if mechanism is not None:
        contenders.append(_contender(BOUND, bind(mechanism, quantity), None, vectors))
    compared = tuple(Comparison(x.name, (GENERAL,), goal) for x in contenders if x.name != GENERAL)
    return Case(SECTION, robot.name, quantity, tuple(contenders), compared)


def _contender(name: str, function: Callable[..., Any], robot: Any, vectors: tuple[Array, ...]) -> Contender:
    given = {f"a{k}": vector for k, vector in enumerate(vectors)}
    names = {"f": function, **given} if robot is None else {"f": function, "robot": robot, **given}

    def answer() -> Array:
        found = function(*vectors) if robot is None else function(robot, *vectors)
        return np.concatenate([part.ravel() for part in found]) if isinstance(found, tuple) else found

    arguments = ", ".join(x for x in names if x != "f")
    return Contender(name, f"f({arguments})", names, answer, len(vectors[0]))
