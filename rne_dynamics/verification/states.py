"""Random states for comparisons of formulations, as checked rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rne_dynamics.advice import rne
from rne_dynamics.closed_chain.coordinates import NEAR_SINGULAR
from rne_dynamics.closed_chain.mobility import mobility
from rne_dynamics.closed_chain.rows import INVERSE, MOVE, run
from rne_dynamics.dispatch import mechanism_of
from rne_dynamics.dynamics.declared.arguments import bodies_wrenches
from rne_dynamics.dynamics.declared.base_motion import BaseMotion, packed_base
from rne_dynamics.dynamics.kinematics.random_configuration import random_configuration
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.errors import ArgumentError, ModelError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism, RigidRobot
from rne_dynamics.model.protocol import Robot

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
