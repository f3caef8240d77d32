"""Motion of an arm without a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.reference import Reference
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.base_trajectory import check_base_trajectory
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.start import checked_state, no_joint_outside
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.runs.log import Log, Recorder, count, whole
from rne_dynamics.simulation.stepping.adaptive import states_at
from rne_dynamics.simulation.stepping.stepping import StepMethod, step

#: Effort, reference and terms of the torque for the time and the state.
Command = Callable[[float, State], tuple[Array, Reference | None, Mapping[str, Array]]]


def free_motion(
    plant: ArmPlant,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    seconds: float,
    dt: float = 1e-3,
    record_dt: float | None = None,
    effort: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
    method: StepMethod | Literal["adaptive"] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Log:
    """Simulate the arm from a state, without effort or under a constant one.

    Parameters
    ----------
    plant, q, qd
        The arm and its start.
    seconds, dt, record_dt
        Duration, the step, and the time between rows of the log (a whole multiple of `dt`, `dt` by default), s.
    effort
        Constant effort, N·m or N; shape (n,).
    delta, deltad
        As for `simulate`.
    method
        See `step`; ``"adaptive"`` is `integrate`, for smooth motion only, and ignores `dt`.
    progress
        Called at every row with the simulated time, s.

    Raises
    ------
    SimulationError
        As for `simulate`, and as for `integrate`.
    """
    state = checked_state(plant.robot, q, qd, delta=delta, deltad=deltad)
    if plant.stops:
        no_joint_outside(plant.robot, state, plant.positions)
    period = dt if record_dt is None else record_dt
    substeps = whole(period, dt)
    rows = count(seconds, period, substeps, plant.robot.nq + 2 * plant.robot.n)
    if plant.base_motion is not None:
        check_base_trajectory(plant.base_motion, 0.0, rows * period)
    push = np.zeros(plant.robot.n) if effort is None else np.asarray(effort, dtype=np.float64)
    if method == "adaptive":
        log = Recorder(plant)
        for k, there in enumerate(states_at(plant, state, push, period * np.arange(rows + 1))):
            log.add(k * period, there, plant.limited(push), None, {})
        return log.done()
    return recorded(plant, state, lambda t, state: (push, None, {}), dt, substeps, rows, method, progress)


def recorded(
    plant: ArmPlant, state: State, command: Command, dt: float, substeps: int, periods: int, method: StepMethod | None,
    progress: Callable[[float], None] | None,
) -> Log:  # fmt: skip
    """The log of `periods` of `substeps` steps each, in which the effort of `command` is held."""
    log = Recorder(plant)
    for k in range(periods + 1):
        t = k * (substeps * dt)
        effort, reference, terms = command(t, state)
        log.add(t, state, plant.limited(effort), reference, terms)
        for _ in range(substeps if k < periods else 0):
            state = step(plant, state, effort, dt, method=method)
        if progress is not None:
            progress(t)
    return log.done()
