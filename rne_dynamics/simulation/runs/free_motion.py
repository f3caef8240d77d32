"""Motion of an arm without a controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.simulation.plant.base_trajectory import check_base_trajectory
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.runs.log import Log, Recorder, count, whole
from rne_dynamics.simulation.stepping.adaptive import states_at
from rne_dynamics.simulation.stepping.stepping import StepMethod, step


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
    state = plant.start(q, qd, delta=delta, deltad=deltad)
    period = dt if record_dt is None else record_dt
    substeps = whole(period, dt)
    rows = count(seconds, period, substeps, plant.robot.nq + 2 * plant.robot.n)
    if plant.base_motion is not None:
        check_base_trajectory(plant.base_motion, 0.0, rows * period)
    push = np.zeros(plant.robot.n) if effort is None else np.asarray(effort, dtype=np.float64)
    log = Recorder(plant)
    if method == "adaptive":
        for k, there in enumerate(states_at(plant, state, push, period * np.arange(rows + 1))):
            log.add(k * period, there, plant.limited(push), None, {})
        return log.done()
    for k in range(rows + 1):
        t = k * (substeps * dt)
        log.add(t, state, plant.limited(push), None, {})
        for _ in range(substeps if k < rows else 0):
            state = step(plant, state, push, dt, method=method)
        if progress is not None:
            progress(t)
    return log.done()
