"""Table of the formulations: quantities that each computes, and by which function; their times, at random states."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR, mobility
from rne_dynamics.closed_chain.rows import INVERSE, MOVE, run
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.block_operators import (
    OperatorForm,
    operator_forward,
    operator_inverse,
    operator_reactions,
)
from rne_dynamics.dynamics.composite.mass_matrix import WALKER_ORIN, WALKER_ORIN_COLUMNS, mass_matrix
from rne_dynamics.dynamics.declared.arguments import BaseMotion, bodies_wrenches, packed_base
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.free_bodies.reduced_equations import (
    newton_euler_dae_forward,
    newton_euler_dae_inverse,
    newton_euler_dae_reactions,
    reduced_equations,
)
from rne_dynamics.dynamics.lagrange_terms import lagrange_forward, lagrange_inverse, lagrange_terms
from rne_dynamics.dynamics.newton_euler.joint_reactions import joint_reactions_bodies
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.errors import ArgumentError, ModelError, SingularInertiaError
from rne_dynamics.model.dice import random_configuration
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.model.protocol import Robot
from rne_dynamics.model.robot import RobotModel

#: Largest number of links with external loads.
_LOADED_LINKS = 5
#: Part of the joints' range below which the search for closed postures ends.
_SMALLEST_PART = 1e-3


@dataclass(frozen=True, eq=False)
class Rows:
    """B states."""

    #: Base motion as rows (1 or B, 12), `BaseMotion.packed`.
    base: Array
    #: (B, nq) and (B, n); `tau` are the efforts of `qdd` by recursive Newton–Euler.
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    #: (1 or B, bodies or 0, 6) at the body frames' origins, body axes.
    wrenches: Array

    @property
    def first(self) -> Rows:
        """The first state only."""
        return Rows(*(value[:1] for value in vars(self).values()))


def bare_states(robot: RigidRobot, count: int, seed: int) -> Rows:
    """Random positions inside the limits, normally distributed velocities and accelerations; no loads but gravity.

    Of a mechanism where its loops close, away from singular postures; `ArgumentError` if there are no such positions.
    """
    rng = np.random.default_rng(seed)
    tree = robot.open_tree
    mechanism = mechanism_of(robot)
    q = random_configuration(tree, rng, count) if mechanism is None else _closing(mechanism, rng, count)
    qd, qdd = rng.normal(size=(2, count, robot.n))
    return _with_efforts(robot, Rows(packed_base(tree, None, ()), q, qd, qdd, qdd, bodies_wrenches(tree, None, ())))


def loaded_states(robot: RigidRobot, count: int, seed: int) -> Rows:
    """The same states with `random_loads` and, for a fixed base, `random_base_motion`."""
    bare, tree, rng = bare_states(robot, count, seed), robot.open_tree, np.random.default_rng(seed + 1)
    loads = random_loads(tree, rng, count)
    base = packed_base(tree, random_base_motion(rng, count), (count,)) if tree.base == "fixed" else bare.base
    return _with_efforts(robot, replace(bare, base=base, wrenches=bodies_wrenches(tree, loads, (count,))))


def random_loads(robot: Robot, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Wrenches on some links, about 10 % of the robot's weight, moments with a lever of 0.1 m; (count, 6) each."""
    scale = 0.1 * robot.mass * max(float(np.linalg.norm(robot.gravity)), 1.0) * np.repeat([1.0, 0.1], 3)
    links = rng.choice(robot.link_names, size=min(_LOADED_LINKS, len(robot.link_names)), replace=False)
    return {str(link): scale * rng.normal(size=(count, 6)) for link in links}


def random_base_motion(rng: np.random.Generator, *count: int) -> BaseMotion:
    """Normally distributed velocities and accelerations, (*count, 3) each, and one random attitude."""
    v, w, a, dw = rng.normal(size=(4, *count, 3))
    attitude = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return BaseMotion(a, w, dw, v, attitude * np.sign(np.linalg.det(attitude)))


def _with_efforts(robot: RigidRobot, rows: Rows) -> Rows:
    if (mechanism := mechanism_of(robot)) is not None:
        found = run(mechanism, INVERSE, rows.q, rows.qd, rows.qdd, base=rows.base, wrenches=rows.wrenches)
        return replace(rows, tau=found.tau[:, robot.actuated])
    tau = INVERSE_DYNAMICS.compute(robot.open_tree, rows.base, rows.q, rows.qd, rows.qdd, rows.wrenches)
    return replace(rows, tau=tau)


def _closing(mechanism: Mechanism, rng: np.random.Generator, count: int) -> Array:
    """Positions of the actuated joints where loops close, from a range about the posture that is halved as needed."""
    freedoms = mobility(mechanism)
    if freedoms.missing_actuators or freedoms.surplus_actuators:
        raise ArgumentError(
            f"mechanism {mechanism.name!r} has {freedoms.freedoms} degrees of freedom and {freedoms.actuated} actuated "
            "joints; its formulations are compared where both are the same number: correct `actuated`"
        )
    lower = np.maximum(mechanism.lower, mechanism.neutral - np.pi)
    upper = np.minimum(mechanism.upper, mechanism.neutral + np.pi)
    part, found, last = 1.0, [], ""
    while part > _SMALLEST_PART:
        for _ in range(2 * count):
            q = mechanism.neutral + part * (rng.uniform(lower, upper) - mechanism.neutral)
            try:
                if run(mechanism, MOVE, q.reshape(1, -1)).smallest[0] > NEAR_SINGULAR:
                    found.append(q)
            except ModelError as error:
                last = str(error)
            if len(found) == count:
                return np.array(found)
        part *= 0.5
    raise ArgumentError(
        f"mechanism {mechanism.name!r}: found {len(found)} of {count} random states in which its loops close away from "
        f"singular postures{': ' * bool(last)}{last}; `{rne('check')}` reports whether its actuated joints and "
        "posture fit"
    )


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
    return OperatorForm(robot, robot.base_at_rest.reshape(1, 12), q, at_rest, np.empty((1, 0, 6))).mass_matrix


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
        return smallest_time(lambda: engine.compute(quantity, robot, rows)) / len(rows.q)
    except SingularInertiaError:
        return None


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
