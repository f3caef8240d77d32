"""A step of given length made of smooth pieces, cut exactly where a joint comes to rest or meets a stop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import in_place_helper, kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.base_course import BASE, base_at
from rne_dynamics.simulation.plant.bending import Flex, too_stiff
from rne_dynamics.simulation.plant.loops import Loops
from rne_dynamics.simulation.plant.plant import BACKWARD, FORWARD, LOWER, UPPER, VISCOUS
from rne_dynamics.simulation.stepping.collocation import gauss_legendre
from rne_dynamics.simulation.stepping.contact import damped, directions, held, impact, response, states_of_joints
from rne_dynamics.simulation.stepping.implicit import kept_within_stops
from rne_dynamics.simulation.stepping.motion import runge_kutta
from rne_dynamics.simulation.stepping.open_arm import memory_of, open_arm_runge_kutta, viscous_rate
from rne_dynamics.spatial.arrays import copy_into

# an event is found when its time is known to this part of the step, or the joint is past it by no more than this
_TIME_TOLERANCE = 1e-10
_PAST = 1e-12
# a joint that leaves a stop but would be back within this part of the step has not left it
_GRAZE = 1e-3
#: Decay rate of viscous friction, or frequency of a mode, times step above which an implicit step takes over (the
#: limit of RK4 is 2.8).
STIFF = 2.0


@in_place_helper
def margin(
    joints: Array,
    positions: NDArray[np.int64],
    locked: NDArray[np.bool_],
    direction: Array,
    q_start: Array,
    q: Array,
    qd: Array,
    j: int,
) -> float:
    """How far joint j is from an event: positive before it, negative past it, infinite where none can come."""
    if locked[j]:
        return np.inf
    nearest = np.inf
    if joints[j, FORWARD] > 0.0 or joints[j, BACKWARD] > 0.0:
        nearest = direction[j] * qd[j]
    iq = positions[j]
    if iq >= 0:
        # a joint that starts beyond a stop is let back in
        if q_start[iq] <= joints[j, UPPER]:
            nearest = min(nearest, joints[j, UPPER] - q[iq])
        if q_start[iq] >= joints[j, LOWER]:
            nearest = min(nearest, q[iq] - joints[j, LOWER])
    return nearest


@in_place_helper
def _nearest(
    joints: Array,
    positions: NDArray[np.int64],
    locked: NDArray[np.bool_],
    direction: Array,
    q_start: Array,
    q: Array,
    qd: Array,
) -> float:
    nearest = np.inf
    for j in range(qd.shape[0]):
        nearest = min(nearest, margin(joints, positions, locked, direction, q_start, q, qd, j))
    return nearest


@in_place_helper
def _stiffness_unknown(loops: Loops | None, flex: Flex | None, rubbed: bool, piece: int) -> bool:
    """Whether it takes M⁻¹ to tell whether the motion is too stiff; collocation steps any."""
    if piece > 0:
        return False
    if loops is not None:
        return rubbed or loops.damped
    return flex is not None and not flex.collocation


@kernel
def step_with_events(
    topology: NDArray[np.int64],
    parameters: Array,
    loops: Loops | None,
    flex: Flex | None,
    base: Array,
    mimic: bool,
    joints: Array,
    positions: NDArray[np.int64],
    wrenches: Array,
    q: Array,
    qd: Array,
    effort: Array,
    dt: float,
    q_new: Array,
    qd_new: Array,
) -> float:
    """One step of fourth order in `dt` through impacts and joints coming to rest, located within it.

    By Runge and Kutta's method in between, or with flexible links by the one they ask for. `base` is one of
    `base_course`.

    Which joints are locked is decided at the start of the step and after every event, so a joint that breaks loose
    from sticking or from its stop because the others move does so up to one step late.

    Returns
    -------
    float
        What is left of the step for another method, s: 0 as a rule, `dt` where friction or a mode is too stiff,
        something between where events follow each other without end; −1 where the motion is not determined (no
        inertia, or loops that do not close). `q_new`, `qd_new` hold the state at that time.
    """
    n = qd.shape[0]
    copy_into(q_new, q)
    copy_into(qd_new, qd)
    q_at, qd_at, drive = q.copy(), qd.copy(), np.empty(n)
    locked, direction = np.zeros(n, dtype=np.bool_), np.zeros(n)
    M, bias, A = np.empty((n, n)), np.empty(n), np.empty((n, n))
    if loops is None and flex is None:
        memory = memory_of(topology.shape[0], q.shape[0], n)
    rubbed = damped(joints)
    here = np.empty(BASE) if base.shape[0] > BASE else base
    left = dt
    for piece in range(4 * n + 8):
        rests = held(joints, positions, q_at, qd_at)
        if loops is None and flex is None and piece == 0 and rubbed:
            rate = viscous_rate(topology, parameters, joints, q_at, memory)
            if rate < 0.0:
                return -1.0
            if rate * dt > STIFF:
                return dt
        if rests or _stiffness_unknown(loops, flex, rubbed, piece):
            if base.shape[0] > BASE:
                base_at(base, dt - left, here)
            if not response(topology, parameters, loops, flex, here, joints, wrenches, q_at, qd_at, 0.0, M, bias, A):
                return -1.0
            if piece == 0:
                rate = 0.0  # as `viscous_rate`
                for j in range(n):
                    rate += joints[j, VISCOUS] * A[j, j]
                    if loops is not None:
                        for k in range(n):
                            rate += loops.damping[j, k] * A[k, j]
                if flex is not None:
                    if not flex.collocation and too_stiff(flex, A, rate, dt, STIFF):
                        return dt
                elif rate * dt > STIFF:
                    return dt
        if rests and impact(joints, positions, A, bias, q_at, qd_at, effort, _GRAZE * dt):
            copy_into(q_new, q_at)
            copy_into(qd_new, qd_at)
            continue  # the bias torque has changed with the velocities
        if left <= 0.0:  # the last piece ended in an event
            return 0.0
        if rests:
            states_of_joints(joints, positions, A, bias, q_at, qd_at, effort, locked, direction)
        else:
            directions(qd_at, locked, direction)
        for j in range(n):
            drive[j] = effort[j]
            if not locked[j] and direction[j] > 0.0:
                drive[j] -= joints[j, FORWARD]
            elif not locked[j] and direction[j] < 0.0:
                drive[j] += joints[j, BACKWARD]
        # the whole rest first; if an event lies in it, the time of the first one by regula falsi (Illinois)
        early, late, h = 0.0, left, left
        f_early = _nearest(joints, positions, locked, direction, q_at, q_at, qd_at)
        f_late, kept = 0.0, 0
        for trial in range(80):
            # chosen here and not in a helper: numba optimizes all that a function calls once more at every level
            if loops is None and flex is None:
                moved = open_arm_runge_kutta(
                    topology, parameters, base, mimic, joints, wrenches, q_at, qd_at, drive, locked, dt - left,
                    h, memory, q_new, qd_new,
                )  # fmt: skip
            elif flex is not None and flex.collocation:
                moved = gauss_legendre(
                    flex, base, joints, wrenches, q_at, qd_at, drive, locked, dt - left, h, q_new, qd_new
                )
            else:
                moved = runge_kutta(
                    topology, parameters, loops, flex, base, mimic, joints, wrenches, q_at, qd_at, drive, locked,
                    dt - left, h, q_new, qd_new,
                )  # fmt: skip
            if not moved:
                return -1.0
            f = _nearest(joints, positions, locked, direction, q_at, q_new, qd_new)
            if trial == 0 and not f < 0.0:
                return 0.0
            if f < 0.0:
                late, f_late = h, f
                if kept == 1:
                    f_early *= 0.5
                kept = 1
                if f > -_PAST or late - early <= _TIME_TOLERANCE * dt:
                    break  # just past the event
            else:
                early, f_early = h, f
                if kept == -1:
                    f_late *= 0.5
                kept = -1
            if late - early <= _TIME_TOLERANCE * dt:
                h = late
                continue
            h = 0.5 * (early + late)
            if 0.0 < f_early < np.inf:
                h = (early * f_late - late * f_early) / (f_late - f_early)
                # a nudge inwards lets the bracket close from both sides
                h = min(max(h, early + 0.3 * _TIME_TOLERANCE * dt), late - 0.3 * _TIME_TOLERANCE * dt)
        for j in range(n):
            rubs = joints[j, FORWARD] > 0.0 or joints[j, BACKWARD] > 0.0
            if rubs and not locked[j] and direction[j] * qd_new[j] < 0.0:
                qd_new[j] = 0.0
        kept_within_stops(joints, positions, q_at, q_new)
        copy_into(q_at, q_new)
        copy_into(qd_at, qd_new)
        left -= late
    return left
