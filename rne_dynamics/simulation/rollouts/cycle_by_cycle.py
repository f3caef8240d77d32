"""A closed loop stepped from Python: for laws, trajectories and robots of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rne_dynamics.control.control_law import ControlLaw, next_integral, restart_law, terms_of
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.runs.free_motion import recorded
from rne_dynamics.simulation.runs.log import Log
from rne_dynamics.simulation.stepping.stepping import StepMethod


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
    integral = np.zeros(plant.robot.n)
    restart_law(controller)

    def command(t: float, state: State) -> tuple[Array, Reference, Mapping[str, Array]]:
        nonlocal integral
        reference = trajectory.sample(t)
        base = plant.base_motion.motion(t) if base_known and plant.base_motion is not None else None
        terms = terms_of(controller, state.q, state.qd, reference, integral, state.posture, base)
        cut = plant.limited(terms.total) != terms.total
        integral = next_integral(controller, integral, state.q, reference, substeps * dt, cut)
        return terms.total, reference, terms._asdict()

    return recorded(plant, state, command, dt, substeps, cycles, method, progress)
