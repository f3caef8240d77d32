"""A step of given length in smooth pieces, which end exactly where a joint comes to rest or meets a stop."""

from __future__ import annotations

import numpy as np

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import BASE, LOWER, UPPER, PlantArrays, base_at
from rne_dynamics.simulation.stepping.collocation import gauss_legendre
from rne_dynamics.simulation.stepping.contact import (
    held,
    impact,
    kept_within_stops,
    response,
    rubs,
    states_of_joints,
)
from rne_dynamics.simulation.stepping.motion import Piece, may_be_stiff, runge_kutta, too_stiff

# an event is found when its time is known to this part of the step, or the joint is past it by no more than this
_TIME_TOLERANCE = 1e-10
_PAST = 1e-12
# a joint that leaves a stop but would be back within this part of the step has not left it
_GRAZE = 1e-3


@kernel
def step_with_events(
    plant: PlantArrays, q: Array, qd: Array, effort: Array, dt: float, slow: bool, q_new: Array, qd_new: Array
) -> float:
    """One step of fourth order in `dt` through impacts and joints coming to rest, located within it.

    Which joints are locked is decided at the start of the step and after every event. A joint that breaks loose from
    sticking or from its stop because the others move does so up to one step late. `slow`: whether friction and modes
    are known not to be too stiff.

    Returns what is left of the step for another method, s: 0 as a rule, `dt` where friction or a mode is too stiff,
    something between where events follow each other without end; −1 where the motion is not determined (no inertia, or
    loops that do not close). `q_new`, `qd_new` hold the state at that time.
    """
    n, left, base = effort.shape[0], dt, np.empty(BASE)
    piece = Piece(q.copy(), qd.copy(), np.zeros(n, dtype=np.bool_), np.zeros(n), np.empty(n))
    bias, M, A = np.empty(n), np.empty((n, n)), np.empty((n, n))
    q_new[:], qd_new[:] = q, qd
    for number in range(4 * n + 8):
        rests = held(plant, piece.q, piece.qd)
        asked = number == 0 and not slow and may_be_stiff(plant)
        if rests or asked:
            base_at(plant.base, dt - left, base)
            if not apart(response, (plant, base, piece.q, piece.qd, 0.0, M, bias, A)):
                return -1.0
        if asked and too_stiff(plant, A, dt):
            return dt
        if rests and apart(impact, (plant, bias, A, piece.q, piece.qd, effort, _GRAZE * dt)):
            q_new[:], qd_new[:] = piece.q, piece.qd
            continue  # the bias torque has changed with the velocities
        if left <= 0.0:  # the last piece ended in an event
            return 0.0
        apart(states_of_joints, (plant, bias, A, effort, piece))
        taken = _until_event(plant, piece, left, dt, q_new, qd_new)
        if taken < 0.0 or taken == np.inf:
            return -1.0 if taken < 0.0 else 0.0
        for j in range(n):  # at an event: a velocity that has just reversed is zero
            if rubs(plant, j) and not piece.locked[j] and piece.direction[j] * qd_new[j] < 0.0:
                qd_new[j] = 0.0
        kept_within_stops(plant, piece.q, q_new)
        piece.q[:], piece.qd[:] = q_new, qd_new
        left -= taken
    return left


@helper
def margin(plant: PlantArrays, piece: Piece, q: Array, qd: Array) -> float:
    """Distance from the nearest event of any joint: positive before it, negative past it, infinite where none can come.

    The distance is a velocity from zero where friction acts, and a position from a stop.
    """
    joints, nearest = plant.joints, np.inf
    for j in range(qd.shape[0]):
        if piece.locked[j]:
            continue
        if rubs(plant, j):
            nearest = min(nearest, piece.direction[j] * qd[j])
        iq = plant.positions[j]
        if iq >= 0:
            # a joint that starts beyond a stop is let back in
            if piece.q[iq] <= joints[j, UPPER]:
                nearest = min(nearest, joints[j, UPPER] - q[iq])
            if piece.q[iq] >= joints[j, LOWER]:
                nearest = min(nearest, q[iq] - joints[j, LOWER])
    return nearest


@helper
def _until_event(
    plant: PlantArrays, piece: Piece, left: float, dt: float, q_new: Array, qd_new: Array
) -> float:
    """Integrate the `left` rest of a step, or until just past its first event; the state there into q_new, qd_new.

    Returns the time taken, s; infinity where no event came, −1 where the motion is not determined. The time of an event
    is found by regula falsi, as modified by Anderson and Björck (1973).
    """
    early, late, h = 0.0, left, left
    f_early = margin(plant, piece, piece.q, piece.qd)
    f_late, kept = 0.0, 0
    for trial in range(80):
        if plant.flex is not None and plant.flex.collocation:
            moved = apart(gauss_legendre, (plant, plant.flex, piece, dt - left, h, q_new, qd_new))
        else:
            moved = apart(runge_kutta, (plant, piece, dt - left, h, q_new, qd_new))
        if not moved:
            return -1.0
        f = margin(plant, piece, q_new, qd_new)
        if trial == 0 and not f < 0.0:
            return np.inf
        if f < 0.0:
            if kept == 1:
                f_early *= _part_kept(f, f_late)
            late, f_late, kept = h, f, 1
            if f > -_PAST or late - early <= _TIME_TOLERANCE * dt:
                break  # just past the event
        else:
            if kept == -1:
                f_late *= _part_kept(f, f_early)
            early, f_early, kept = h, f, -1
        if late - early <= _TIME_TOLERANCE * dt:
            h = late
            continue
        h = 0.5 * (early + late)
        if 0.0 < f_early < np.inf:
            h = (early * f_late - late * f_early) / (f_late - f_early)
            # a nudge inwards lets the bracket close from both sides
            h = min(max(h, early + 0.3 * _TIME_TOLERANCE * dt), late - 0.3 * _TIME_TOLERANCE * dt)
    return late


@helper
def _part_kept(f: float, before: float) -> float:
    """Factor of the margin at the end of the bracket that stays, from those at the end that moved twice."""
    part = 1.0 - f / before
    return part if part > 0.0 else 0.5
