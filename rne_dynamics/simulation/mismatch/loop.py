"""A closed loop with a mismatch, stepped from Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, call_own, next_integral, terms_of
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.errors import SimulationError
from rne_dynamics.simulation.mismatch.different_arm import DifferentArm, phases_of
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.rollouts.closed_loop import Clock
from rne_dynamics.simulation.runs.log import Log, Recorder
from rne_dynamics.simulation.stepping.stepping import StepMethod


def mismatched(
    plant: ArmPlant, controller: ControlLaw, trajectory: Trajectory, state: State, mismatch: Mismatch, clock: Clock, *,
    method: StepMethod | None, base_known: bool, progress: Callable[[float], None] | None,
) -> Log:  # fmt: skip
    """`Rollout.run` with a mismatch, from a checked state; the drives hold the weight until the first effort."""
    n, dt, substeps, period = plant.robot.n, clock.dt, clock.substeps, clock.substeps * clock.dt
    arm = DifferentArm(phases_of(plant, mismatch), mismatch, state, dt, method)
    log, integral = Recorder(plant), np.zeros(n)
    call_own(controller, "restart")
    for k in range(clock.cycles + 1):
        t = k * period
        arm.pass_to(t)
        here, (q, qd) = arm.state, arm.measured()
        reference = trajectory.sample(t)
        base = plant.base_motion.motion(t) if base_known and plant.base_motion is not None else None
        terms = terms_of(controller, q, qd, reference, integral, here.posture, base)
        wanted = terms.total
        if not np.isfinite(wanted).all():
            raise SimulationError(f"at {t:g} s the law commands {wanted.tolist()}; efforts must be finite")
        effort = plant.limited(wanted)
        integral = next_integral(controller, integral, q, reference, period, effort != wanted)
        arm.send(k * substeps, effort)
        log.add(t, here, arm.drive(k * substeps), reference, terms._asdict())
        for step in range(k * substeps, (k + 1) * substeps if k < clock.cycles else 0):
            arm.advance(arm.drive(step))
        if progress is not None:
            progress(t)
    return log.done()
