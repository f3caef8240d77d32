"""Closed-loop simulation of controller and plant, once and for many samples, compared with steps of MuJoCo alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from comparison.contenders import Case, Comparison, Contender
from comparison.peers.mujoco import MujocoModel, library
from comparison.plan import LeftOut, Plan
from comparison.robots import BenchRobot

from rne_dynamics.control.gains import Gains
from rne_dynamics.control.laws.computed_torque import ComputedTorque
from rne_dynamics.control.trajectory import Quintic
from rne_dynamics.dispatch import forward_dynamics
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.rollout import Rollout

SECTION = "rollout"


class Variant(NamedTuple):
    """A move: its steps, in a quick run too, and whether the arm is bare; otherwise MuJoCo uses the URDF's friction.

    `samples` of it are run on one thread, from starts that differ.
    """

    steps: int
    quick_steps: int
    bare: bool
    samples: int = 1


#: That of 0.2 s is not physical: drives are at their limits in most cycles, and some joints in their stops.
QUANTITIES = {
    "2 s move, friction and limits": Variant(2000, 200, bare=False),
    "2 s move, bare": Variant(2000, 200, bare=True),
    "0.2 s move, friction and limits": Variant(200, 50, bare=False),
    "2 s move, friction and limits, 64 samples": Variant(2000, 200, bare=False, samples=64),
}
STEP = 1e-3
#: The robots of the goals, and the goals: of one rollout, and of many.
JUDGED = {0: ("panda", "baxter", "talos"), 3: ("ur5", "panda")}
GOALS = {0: ("rollout", "rollout-rk4"), 3: ("rollout-many", "rollout-many-rk4")}
#: MuJoCo's integrators, its default first.
INTEGRATORS = ("Euler", "RK4")


def cases(plan: Plan) -> Iterator[Case | LeftOut]:
    """One move per robot, with and without friction and limits."""
    for robot in plan.robots:
        for number, (quantity, (whole, quick, bare, samples)) in enumerate(QUANTITIES.items()):
            steps = quick if plan.quick else whole
            ours = _ours(robot, steps, samples, bare=bare)
            make = partial(_theirs, robot, steps, bare=bare)
            theirs = (yield from plan.peer("mujoco", f"{robot.name} in {SECTION}", make)) or []
            goals = GOALS[number] if robot.name in JUDGED.get(number, ()) else (None, None)
            pairs = zip(theirs, goals, strict=False)
            compared = tuple(Comparison(ours.name, (contender.name,), goal) for contender, goal in pairs)
            yield Case(SECTION, robot.name, quantity, (ours, *theirs), compared, tolerance=1e-6)


def _ours(robot: BenchRobot, steps: int, samples: int, *, bare: bool) -> Contender:
    """RK4 with computed torque; of one sample all cycles are recorded, of many the figures of `ManyRollouts`."""
    model = robot.model
    start, end = move(robot)
    law = ComputedTorque(model, Gains.critically_damped(model.n, bandwidth=20.0), None)
    plant = ArmPlant(model, friction=not bare, stops=not bare, limit_effort=not bare)
    rollout = Rollout(plant, law, Quintic(start, end, duration=steps * STEP), dt=STEP, method="rk4")

    def answer() -> Array:
        rows = robot.states(4)
        return forward_dynamics(model, rows.q, rows.qd, rows.tau)

    if samples == 1:
        return Contender("rne: control and RK4", "rollout.run()", {"rollout": rollout}, answer, model.n, steps)
    spread = 1e-3 * np.random.default_rng(0).uniform(-1.0, 1.0, (samples, model.n))
    names = {"rollout": rollout, "samples": rollout.samples(samples).with_start(start + spread)}
    call = "rollout.run_many(samples, threads=1)"
    return Contender("rne: control and RK4, many", call, names, answer, model.n, samples * steps)


def _theirs(robot: BenchRobot, steps: int, *, bare: bool) -> list[Contender]:
    """One contender for each of MuJoCo's integrators."""
    return [_stepped(robot, integrator, steps, bare=bare) for integrator in INTEGRATORS]


def _stepped(robot: BenchRobot, integrator: str, steps: int, *, bare: bool) -> Contender:
    """The same start, without control."""
    peer = MujocoModel(robot.model, robot.text, integrator, STEP, bare=bare)
    alike = peer if bare else MujocoModel(robot.model, robot.text, integrator, STEP, bare=True)
    names = {
        "mujoco": library(), "model": peer.model, "data": peer.data, "start": peer.vector(move(robot)[0]),
    }  # fmt: skip
    call = f"mujoco.mj_resetData(model, data); data.qpos[:] = start; mujoco.mj_step(model, data, nstep={steps})"

    def answer() -> Array:  # friction models differ
        rows = robot.states(4)
        return np.array([alike.acceleration(*state) for state in zip(rows.q, rows.qd, rows.tau, strict=True)])

    return Contender(f"mj_step, {integrator}", call, names, answer, robot.model.n, steps)


def move(robot: BenchRobot) -> tuple[Array, Array]:
    """Start, as near zero as the limits allow with a margin, and end of the move; shapes (n,)."""
    lower, upper = np.maximum(robot.model.lower, -np.pi), np.minimum(robot.model.upper, np.pi)
    span = np.maximum(upper - lower, 0.0)
    start = np.clip(0.0, lower + 0.3 * span, upper - 0.3 * span)
    return start, start + 0.1 * span
