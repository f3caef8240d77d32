"""Plants stepped under a constant effort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.stepping import step


def stepped(plant: ArmPlant, state: State, effort: ArrayLike, steps: int, dt: float = 1e-3, **options: Any) -> State:
    """The state after a number of steps of equal length."""
    for _ in range(steps):
        state = step(plant, state, effort, dt, **options)
    return state


def moved(
    plant: ArmPlant, q: ArrayLike, qd: ArrayLike, effort: ArrayLike, seconds: float, dt: float, method: str = "rk4"
) -> State:
    """The state some time after q, qd."""
    start = State(0.0, np.array(q, float), np.array(qd, float))
    return stepped(plant, start, effort, round(seconds / dt), dt, method=method)
