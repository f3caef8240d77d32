"""Table of the formulations: quantities that each computes, and by which function; and their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from rne_dynamics.dynamics.block_operators.operator_form import (
    operator_form,
    operator_forward,
    operator_inverse,
    operator_reactions,
)
from rne_dynamics.dynamics.composite.mass_matrix import mass_matrix
from rne_dynamics.dynamics.composite.walker_orin import WALKER_ORIN, WALKER_ORIN_COLUMNS
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.free_bodies.newton_euler_dae import (
    newton_euler_dae_forward,
    newton_euler_dae_inverse,
    newton_euler_dae_reactions,
)
from rne_dynamics.dynamics.free_bodies.reduced_equations import reduced_equations
from rne_dynamics.dynamics.lagrange.terms import lagrange_forward, lagrange_inverse, lagrange_terms
from rne_dynamics.dynamics.newton_euler.joint_reactions import joint_reactions_bodies
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.errors import SingularInertiaError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.states import Rows

Quantity = Literal["inverse", "forward", "mass matrix", "reactions"]
QUANTITIES: tuple[Quantity, ...] = ("inverse", "forward", "mass matrix", "reactions")

_Robot = TypeVar("_Robot", bound=RigidRobot)


@dataclass(frozen=True)
class Engine(Generic[_Robot]):
    """One formulation, of open arms or of mechanisms."""

    #: Its name; also the `method` of `forward_dynamics`, if that has it.
    name: str
    #: Short description.
    title: str
    #: Number of its document (docs/formulations.md).
    document: str
    #: Functions of (robot, q) for the mass matrix, of (robot, base, q, qd, tau or qdd, wrenches) for the others;
    #: reactions are (force, moment) of every joint on its body at the body frame's origin in body axes.
    functions: Mapping[Quantity, Callable[..., Array]]
    #: Whether all of its quantities cost O(n).
    linear: bool = False
    #: Whether it takes robots with mimic joints.
    mimic: bool = True

    def offers(self, quantity: Quantity) -> bool:
        """Whether the engine computes it."""
        return quantity in self.functions

    def compute(self, quantity: Quantity, robot: _Robot, rows: Rows) -> Array:
        """The quantity in every state; shape (B, …). `SingularInertiaError` for motions without inertia."""
        if quantity == "mass matrix":
            return self.functions[quantity](robot, rows.q)
        driven = rows.tau if quantity == "forward" else rows.qdd
        return self.functions[quantity](robot, rows.base, rows.q, rows.qd, driven, rows.wrenches)


def _operator_mass(robot: RobotModel, q: Array) -> Array:
    at_rest = np.zeros((len(q), robot.n))
    return operator_form(robot, robot.base_at_rest.reshape(1, 12), q, at_rest, np.empty((1, 0, 6))).mass_matrix


ENGINES: tuple[Engine[RobotModel], ...] = (
    Engine("newton_euler", "recursive Newton-Euler", "000, 001", {
        "inverse": INVERSE_DYNAMICS.compute, "reactions": joint_reactions_bodies,
    }, linear=True),
    Engine("nasser", "articulated links, Nasser", "000", {
        "forward": FORWARD_DYNAMICS.compute,
    }, linear=True, mimic=False),
    Engine("walker_orin", "composite bodies, Cholesky", "000, 002", {
        "forward": WALKER_ORIN.compute, "mass matrix": mass_matrix,
    }),
    Engine("walker_orin_columns", "columns by inverse dynamics, Cholesky", "000, 002", {
        "forward": WALKER_ORIN_COLUMNS.compute, "mass matrix": partial(mass_matrix, method="columns"),
    }),
    Engine("lagrange", "Lagrange, Vukobratovic-Potkonjak", "004", {
        "inverse": lagrange_inverse, "forward": lagrange_forward,
        "mass matrix": lambda robot, q: lagrange_terms(robot, q, np.zeros((len(q), robot.n))).W,
    }),
    Engine("newton_euler_dae", "free bodies, joint reactions as unknowns", "001", {
        "inverse": newton_euler_dae_inverse, "forward": newton_euler_dae_forward,
        "mass matrix": lambda robot, q: reduced_equations(robot, q, np.zeros((len(q), robot.n))).mass_matrix,
        "reactions": newton_euler_dae_reactions,
    }),
    Engine("newton_euler_operator", "block operators", "001", {
        "inverse": operator_inverse, "forward": operator_forward, "mass matrix": _operator_mass,
        "reactions": operator_reactions,
    }),
)  # fmt: skip


#: Least total time of the repeats, s.
_ENOUGH = 0.05


def seconds_per_state(engine: Engine[Any], quantity: Quantity, robot: RigidRobot, rows: Rows) -> float | None:
    """Smallest time of several repeats of all rows in one call, over their number, s; `None` without the quantity."""
    if not engine.offers(quantity):
        return None
    try:
        engine.compute(quantity, robot, rows.first)
    except SingularInertiaError:
        return None
    return smallest_time(lambda: engine.compute(quantity, robot, rows)) / len(rows.q)


def smallest_time(call: Callable[[], object]) -> float:
    """Smallest time of several calls after a first one, s."""
    call()  # compiles and allocates
    best, spent = float("inf"), 0.0
    while spent < _ENOUGH:
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best
