"""A closed loop stepped from Python: for laws, trajectories and robots of any kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, next_integral, terms_of
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.runs.log import Log, Recorder
from rne_dynamics.simulation.stepping.stepping import StepMethod, step


def cycle_by_cycle(
    plant: ArmPlant,
    controller: ControlLaw,
    trajectory: Trajectory,
    state: State,
    *,
    dt: float,
    substeps: int,
    cycles: int,
    method: StepMethod | None,
    base_known: bool = True,
    progress: Callable[[float], None] | None,
) -> Log:
    """`Rollout.run` from a checked state, where it is not compiled."""
    period = substeps * dt
    log = Recorder(plant)
    integral = np.zeros(plant.robot.n)
    for k in range(cycles + 1):
        reference = trajectory.sample(k * period)
        base = plant.base_motion.motion(k * period) if base_known and plant.base_motion is not None else None
        terms = terms_of(controller, state.q, state.qd, reference, integral, state.posture, base)
        asked = terms.total
        given = plant.limited(asked)
        log.add(k * period, state, given, reference, terms._asdict())
        integral = next_integral(controller, integral, state.q, reference, period, given != asked)
        if k < cycles:
            for _ in range(substeps):
                state = step(plant, state, asked, dt, method=method)
        if progress is not None:
            progress(k * period)
    return log.done()
