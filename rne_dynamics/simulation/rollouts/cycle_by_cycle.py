"""A closed loop stepped from Python: for laws, trajectories and robots of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.reference import Reference
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.dynamics.declared.base_motion import BaseMotion
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.runs.log import Log, Recorder
from rne_dynamics.simulation.stepping.stepping import StepMethod, step


class Controller(Protocol):
    """A tracking law (`ComputedTorque` and `PdGravity` of rne_dynamics.control are such)."""

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *,
        posture: Array | None = None, base_motion: BaseMotion | None = None,
    ) -> TorqueTerms:
        """The torque for one cycle.

        `posture` (`State.posture`) is passed where the plant is a mechanism, `base_motion` where its base moves and
        the law may know it.
        """

    def next_integral(
        self, integral: Array, q: Array, reference: Reference, dt: float, saturated: NDArray[np.bool_] | None
    ) -> Array:
        """∫e dt one cycle later."""


def cycle_by_cycle(
    plant: ArmPlant,
    controller: Controller,
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
        known: dict[str, Any] = {} if state.posture is None else {"posture": state.posture}
        if base_known and plant.base_motion is not None:
            known["base_motion"] = plant.base_motion.motion(k * period)
        terms = controller.law(state.q, state.qd, reference, integral, **known)
        asked = terms.total
        given = plant.limited(asked)
        log.add(k * period, state, given, reference, terms._asdict())
        integral = controller.next_integral(integral, state.q, reference, period, given != asked)
        if k < cycles:
            for _ in range(substeps):
                state = step(plant, state, asked, dt, method=method)
        if progress is not None:
            progress(k * period)
    return log.done()
