"""The classical Runge–Kutta method of fourth order, for every kind of plant."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import PlantArrays
from rne_dynamics.simulation.plant.base_course import BASE, base_at
from rne_dynamics.simulation.plant.configuration_rate import normalize_quaternions
from rne_dynamics.simulation.stepping.motion import Piece, accelerations, position_rate

#: Of each stage: its time, the way from the start to the next stage, and its weight, as parts of the step (the weights
#: as sixths).
TIMES, AHEAD, WEIGHTS = (0.0, 0.5, 0.5, 1.0), (0.5, 0.5, 1.0, 0.0), (1.0, 2.0, 2.0, 1.0)


@helper
def add_stage(stage: int, h: float, start: Array, rate: Array, there: Array, total: Array) -> None:
    """Move `there` to the next stage of a step of length `h` from `start`; add the weighted rate to `total`."""
    ahead, weight = AHEAD[stage] * h, WEIGHTS[stage]
    for k in range(start.shape[0]):
        total[k] += weight * rate[k]
        there[k] = start[k] + ahead * rate[k]


@helper
def end_of_step(h: float, start: Array, total: Array, end: Array) -> None:
    """Fill `end` from the weighted rates of all stages."""
    for k in range(start.shape[0]):
        end[k] = start[k] + h / 6.0 * total[k]


@helper
def first_stage(start: Array, there: Array, total: Array) -> None:
    """Put the first stage at `start` and `total` to zero."""
    for k in range(start.shape[0]):
        there[k], total[k] = start[k], 0.0


@kernel
def runge_kutta(plant: PlantArrays, piece: Piece, elapsed: float, h: float, q_new: Array, qd_new: Array) -> bool:
    """A step of length `h` that begins `elapsed` seconds after the one `plant.base` is for; False: not determined."""
    q, q_sum, rate = np.empty(q_new.shape[0]), np.empty(q_new.shape[0]), np.empty(q_new.shape[0])
    qd, qd_sum, qdd = np.empty(qd_new.shape[0]), np.empty(qd_new.shape[0]), np.empty(qd_new.shape[0])
    base = np.empty(BASE)
    first_stage(piece.q, q, q_sum)
    first_stage(piece.qd, qd, qd_sum)
    for stage in range(4):
        base_at(plant.base, elapsed + TIMES[stage] * h, base)
        if not accelerations(plant, base, q, qd, piece.drive, piece.locked, qdd):
            return False
        position_rate(plant, q, qd, rate)
        add_stage(stage, h, piece.q, rate, q, q_sum)
        add_stage(stage, h, piece.qd, qdd, qd, qd_sum)
    end_of_step(h, piece.q, q_sum, q_new)
    end_of_step(h, piece.qd, qd_sum, qd_new)
    if plant.loops is None and plant.flex is None:
        normalize_quaternions(plant.topology, q_new)
    return True
