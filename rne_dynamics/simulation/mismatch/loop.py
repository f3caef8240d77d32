"""A closed loop with a mismatch, stepped from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, next_integral, restart_law, terms_of
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.dispatch import gravity_torque
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.mismatch.elastic import ElasticJoints
from rne_dynamics.simulation.mismatch.hardware import Encoders, Messages, driven
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.arrays import NO_WRENCH
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.rollouts.closed_loop import Clock
from rne_dynamics.simulation.runs.log import Log, Recorder
from rne_dynamics.simulation.stepping.stepping import StepMethod, chosen_method, unchecked_step


class Body(Protocol):
    """The mechanics of an arm with a mismatch."""

    #: Of the links.
    state: State

    @property
    def motor(self) -> tuple[Array, Array]:
        """Positions and velocities of the motors; shape (n,)."""

    def use(self, plant: ArmPlant) -> None:
        """Go on as another arm, in the same state."""

    def step(self, effort: Array, dt: float) -> None:
        """One step under efforts of the motors, (n,)."""


class RigidJoints:
    """Motors fixed to their links."""

    def __init__(self, plant: ArmPlant, state: State, method: StepMethod | None) -> None:
        self.plant, self.state, self._method = plant, state, chosen_method(plant, method)

    @property
    def motor(self) -> tuple[Array, Array]:
        """The state of the joints."""
        return self.state.q, self.state.qd

    def use(self, plant: ArmPlant) -> None:
        """Go on as another arm."""
        self.plant = plant

    def step(self, effort: Array, dt: float) -> None:
        """One step."""
        self.state = unchecked_step(self.plant, self.state, effort, dt, self._method, NO_WRENCH)


def mismatched(
    plant: ArmPlant, controller: ControlLaw, trajectory: Trajectory, state: State, mismatch: Mismatch, clock: Clock, *,
    method: StepMethod | None, base_known: bool, progress: Callable[[float], None] | None,
) -> Log:  # fmt: skip
    """`Rollout.run` with a mismatch, from a checked state; the drives hold the weight until the first effort."""
    n, dt, substeps, period = plant.robot.n, clock.dt, clock.substeps, clock.substeps * clock.dt
    (_, now), coming = mismatch.phases[0], list(mismatch.phases[1:])
    arm = arm_of(plant, now)
    body: Body = ElasticJoints(arm, state, mismatch) if mismatch.elastic else RigidJoints(arm, state, method)
    messages = Messages(mismatch, gravity_torque(arm.robot.rigid, state.q), dt)
    log, encoders, integral = Recorder(plant), Encoders(mismatch, n, period), np.zeros(n)
    restart_law(controller)
    for k in range(clock.cycles + 1):
        t = k * period
        while coming and coming[0][0] <= t + 1e-9 * period:
            former, (_, now) = now, coming.pop(0)
            if now.robot_fields != former.robot_fields:
                body.use(arm_of(plant, now))
        here = body.state
        q, qd = encoders.measure(now, *(body.motor if now.encoder == "motor" else (here.q, here.qd)))
        reference = trajectory.sample(t)
        base = plant.base_motion.motion(t) if base_known and plant.base_motion is not None else None
        terms = terms_of(controller, q, qd, reference, integral, here.posture, base)
        wanted = terms.total
        if not np.isfinite(wanted).all():
            raise SimulationError(f"at {t:g} s the law commands {wanted.tolist()}; efforts must be finite")
        effort = plant.limited(wanted)
        integral = next_integral(controller, integral, q, reference, period, effort != wanted)
        messages.send(now, k * substeps, effort)
        log.add(t, here, driven(now, messages.at(k * substeps), body.motor[0]), reference, terms._asdict())
        for step in range(k * substeps, (k + 1) * substeps if k < clock.cycles else 0):
            body.step(driven(now, messages.at(step), body.motor[0]), dt)
        if progress is not None:
            progress(t)
    return log.done()


def arm_of(plant: ArmPlant, mismatch: Mismatch) -> ArmPlant:
    """The plant with the robot of a mismatch."""
    return ArmPlant(mismatch.robot(plant.robot), plant.friction, plant.stops, plant.limit_effort, plant.base_motion)
