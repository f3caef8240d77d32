"""Table of the formulations: quantities that each computes, and by which function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, TypeVar

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
from rne_dynamics.dynamics.lagrange.engines import lagrange_forward, lagrange_inverse
from rne_dynamics.dynamics.lagrange.terms import lagrange_terms
from rne_dynamics.dynamics.newton_euler.joint_reactions import joint_reactions_bodies
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import RigidRobot
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.verification.states import Rows

Quantity = Literal["inverse", "forward", "mass matrix", "reactions"]
QUANTITIES: tuple[Quantity, ...] = ("inverse", "forward", "mass matrix", "reactions")

_Robot = TypeVar("_Robot", bound=RigidRobot)
#: (robot, base, q, qd, tau or qdd, wrenches) to rows.
_OverRows = Callable[[_Robot, Array, Array, Array, Array, Array], Array]


@dataclass(frozen=True)
class Engine(Generic[_Robot]):
    """One formulation, of open arms or of mechanisms."""

    #: Its name; also the `method` of `forward_dynamics`, if that has it.
    name: str
    #: Short description.
    title: str
    #: Number of its document (docs/formulations.md).
    document: str
    #: Whether all of its quantities cost O(n).
    linear: bool = False
    #: Whether it takes robots with mimic joints.
    mimic: bool = True
    #: Functions for efforts, accelerations, the mass matrix, and the (force, moment) of every joint on its body at the
    #: body frame's origin in body axes; `None` for quantities that it does not compute.
    inverse: _OverRows[_Robot] | None = None
    forward: _OverRows[_Robot] | None = None
    mass: Callable[[_Robot, Array], Array] | None = None
    reactions: _OverRows[_Robot] | None = None

    def offers(self, quantity: Quantity) -> bool:
        """Whether the engine computes it."""
        return self._function(quantity) is not None

    def compute(self, quantity: Quantity, robot: _Robot, rows: Rows) -> Array:
        """The quantity in every state; shape (B, …). `SingularInertiaError` for motions without inertia."""
        if quantity == "mass matrix":
            assert self.mass is not None
            return self.mass(robot, rows.q)
        function: _OverRows[_Robot] | None = self._function(quantity)
        assert function is not None
        driven = rows.tau if quantity == "forward" else rows.qdd
        return function(robot, rows.base, rows.q, rows.qd, driven, rows.wrenches)

    def _function(self, quantity: Quantity) -> Callable[..., Array] | None:
        found: Callable[..., Array] | None = getattr(self, quantity.removesuffix(" matrix"))
        return found


def _lagrange_mass(robot: RobotModel, q: Array) -> Array:
    return lagrange_terms(robot, q, np.zeros((len(q), robot.n))).W


def _reduced_mass(robot: RobotModel, q: Array) -> Array:
    return reduced_equations(robot, q, np.zeros((len(q), robot.n))).mass_matrix


def _operator_mass(robot: RobotModel, q: Array) -> Array:
    at_rest = np.zeros((len(q), robot.n))
    return operator_form(robot, robot.base_at_rest.reshape(1, 12), q, at_rest, np.empty((1, 0, 6))).mass_matrix


ENGINES: tuple[Engine[RobotModel], ...] = (
    Engine(
        "newton_euler", "recursive Newton-Euler", "000, 001", linear=True, inverse=INVERSE_DYNAMICS.compute,
        reactions=joint_reactions_bodies,
    ),
    Engine("nasser", "articulated links, Nasser", "000", linear=True, mimic=False, forward=FORWARD_DYNAMICS.compute),
    Engine("walker_orin", "composite bodies, Cholesky", "000, 002", forward=WALKER_ORIN.compute, mass=mass_matrix),
    Engine(
        "walker_orin_columns", "columns by inverse dynamics, Cholesky", "000, 002", forward=WALKER_ORIN_COLUMNS.compute,
        mass=partial(mass_matrix, method="columns"),
    ),
    Engine(
        "lagrange", "Lagrange, Vukobratovic-Potkonjak", "004", inverse=lagrange_inverse, forward=lagrange_forward,
        mass=_lagrange_mass,
    ),
    Engine(
        "newton_euler_dae", "free bodies, joint reactions as unknowns", "001", inverse=newton_euler_dae_inverse,
        forward=newton_euler_dae_forward, mass=_reduced_mass, reactions=newton_euler_dae_reactions,
    ),
    Engine(
        "newton_euler_operator", "block operators", "001", inverse=operator_inverse, forward=operator_forward,
        mass=_operator_mass, reactions=operator_reactions,
    ),
)
