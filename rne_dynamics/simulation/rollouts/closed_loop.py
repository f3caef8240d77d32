"""A control law and an open arm in one compiled loop, for one sample or many.

The same kernels as in `rne_dynamics.control` and in `stepping.unchecked_step`, without Python in between. Arrays that
may differ between samples have a leading dimension, of length 1 where all samples share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, in_place_helper, in_place_routine, routine, threaded_kernel
from rne_dynamics.control import computed_torque as rows
from rne_dynamics.control.computed_torque import computed_torque_terms, own_torque_terms
from rne_dynamics.control.feedback import feedback_kernel
from rne_dynamics.control.friction_compensation import compensation_kernel
from rne_dynamics.control.integral import integral_kernel
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.rigid_terms import gravity_only_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import EFFORT, OwnCode, PlantArrays
from rne_dynamics.simulation.stepping.events import smooth_step, step_with_events
from rne_dynamics.simulation.stepping.implicit import semi_implicit_step
from rne_dynamics.simulation.stepping.motion import Memory, Piece, memory_of, piece_of
from rne_dynamics.spatial.arrays import copy_into

# status of a sample
DONE, REFUSED, BAD_EFFORT, NOT_DETERMINED, NOT_FINITE = range(5)
COMPUTED_TORQUE, PD_GRAVITY = range(2)
# rows of `LawRows.gains`, and of `Course.sums`
P, I, D, I_CLAMP = range(4)  # noqa: E741  # the gains' own names
SQUARED, LARGEST, FINAL, EFFORTS, CUT, SUMS = range(6)


class PlantRows(NamedTuple):
    """The simulated arms; S or 1 rows each.

    Parameters
    ----------
    topology, positions, mimic
        Of all of them.
    parameters, base
        As the dynamics take them; shapes (S, bodies, COLUMNS), (S, 12).
    joints
        `ArmPlant.joints`; shape (S, n, JOINT_COLUMNS).
    """

    topology: NDArray[np.int64]
    positions: NDArray[np.int64]
    mimic: bool
    parameters: Array
    base: Array
    joints: Array


class LawRows(NamedTuple):
    """Control laws; S or 1 rows each.

    Parameters
    ----------
    kind
        COMPUTED_TORQUE or PD_GRAVITY, all of them.
    topology, parameters, base
        The model; shapes (bodies, 4), (S, bodies, COLUMNS), (S, 12).
    gains
        Shape (S, 4, n).
    friction
        The model's viscous and Coulomb friction, forward and backward; shape (S, 3, n).
    compensation
        Scale (0: none) and 1 / velocity threshold; shape (S, 2).
    """

    kind: int
    topology: NDArray[np.int64]
    parameters: Array
    base: Array
    gains: Array
    friction: Array
    compensation: Array


class Clock(NamedTuple):
    """Timing: `cycles` periods of `substeps` steps of `dt`, s; a row is kept every `every` cycles."""

    period: float
    dt: float
    substeps: int
    cycles: int
    every: int
    semi_implicit: bool


class Course(NamedTuple):
    """States, results and status of the samples; all written to.

    Parameters
    ----------
    q, qd, integral, asked
        State, ∫e dt and the torque last commanded; shapes (S, nq), (S, n).
    sums
        Σ e², largest |e|, last e, largest |effort|, cycles with a limited effort; shape (S, SUMS, n).
    status, at
        Status of each, and the cycle and step at which it failed; shapes (S,), (S, 2).
    states
        q, q̇ and effort of the rows that are kept; shape (S or 0, rows, nq + 2 n).
    terms
        The law's five terms there; shape (S or 0, rows, 5, n).
    """

    q: Array
    qd: Array
    integral: Array
    asked: Array
    sums: Array
    status: NDArray[np.int64]
    at: NDArray[np.int64]
    states: Array
    terms: Array


class Room(NamedTuple):
    """Memory of a step: no loads, the new state, and what `smooth_step` takes."""

    none: Array
    q_new: Array
    qd_new: Array
    memory: Memory
    piece: Piece


@in_place_helper
def _row(rows: Array, s: int) -> int:
    return s if rows.shape[0] > 1 else 0


@helper
def law_terms(
    laws: LawRows, s: int, table: Array, q: Array, qd: Array, reference: Array, integral: Array, none: Array,
    terms: Array, code: int,
) -> None:  # fmt: skip
    """The five terms of `TorqueTerms` for one cycle of sample s, shape (5, n); row 5 of `terms` is memory."""
    aim = Reference(reference[0], reference[1], reference[2])
    if code != 0 and own_torque_terms(code, table, q, qd, aim, integral, terms, terms[5]):
        return
    parameters, base = laws.parameters[_row(laws.parameters, s)], laws.base[_row(laws.base, s)]
    if laws.kind == COMPUTED_TORQUE:
        computed_torque_terms(laws.topology, parameters, base, table, q, qd, aim, integral, terms)
        return
    scale, steepness = laws.compensation[_row(laws.compensation, s)]
    gains, friction = laws.gains[_row(laws.gains, s)], laws.friction[_row(laws.friction, s)]
    for j in range(q.shape[0]):
        terms[0, j] = 0.0
        terms[1, j] = 0.0
    gravity_only_kernel(laws.topology, parameters, base, q, terms[2])
    feedback_kernel(gains[P], gains[I], gains[D], q, qd, reference[0], reference[1], integral, terms[4])
    compensation_kernel(scale, steepness, friction[0], friction[1], friction[2], qd, reference[1], none, terms[3])


@helper
def _tabulate(laws: LawRows, s: int, table: Array) -> None:
    """Gains and friction of sample s as `ComputedTorque.table` has them."""
    gains, friction = laws.gains[_row(laws.gains, s)], laws.friction[_row(laws.friction, s)]
    for j in range(table.shape[1]):
        table[rows.GAIN_P, j], table[rows.GAIN_D, j], table[rows.GAIN_I, j] = gains[P, j], gains[D, j], gains[I, j]
        for k in range(3):
            table[rows.VISCOUS + k, j] = friction[k, j]
        table[rows.SCALE, j], table[rows.STEEPNESS, j] = laws.compensation[_row(laws.compensation, s)]


@in_place_helper
def _taken_over(q: Array, qd: Array, q_new: Array, qd_new: Array) -> int:
    """Make the new state the present one if it is finite."""
    for k in range(q.shape[0]):
        if not np.isfinite(q_new[k]):
            return NOT_FINITE
    for j in range(qd.shape[0]):
        if not np.isfinite(qd_new[j]):
            return NOT_FINITE
    copy_into(q, q_new)
    copy_into(qd, qd_new)
    return DONE


@in_place_routine
def smooth_plant_step(
    plants: PlantRows, s: int, q: Array, qd: Array, effort: Array, clock: Clock, code: OwnCode, room: Room
) -> int:
    """`plant_step` where there is nothing but smooth motion; −1 where there is more, and nothing has changed."""
    plant = PlantArrays(
        plants.topology, plants.parameters[_row(plants.parameters, s)], plants.mimic, plants.base[_row(plants.base, s)],
        plants.joints[_row(plants.joints, s)], plants.positions, room.none, None, None, code,
    )  # fmt: skip
    q_new, qd_new = room.q_new, room.qd_new
    if clock.semi_implicit or not smooth_step(plant, room.memory, room.piece, q, qd, effort, clock.dt, q_new, qd_new):
        return -1
    return _taken_over(q, qd, q_new, qd_new)


@routine
def plant_step(
    plants: PlantRows, s: int, q: Array, qd: Array, effort: Array, clock: Clock, code: OwnCode, room: Room
) -> int:
    """One step of sample s as by `unchecked_step`, in place; where it fails q and q̇ are unchanged."""
    # not by a function of both: one that counts no references must not return arrays to one that does
    plant = PlantArrays(
        plants.topology, plants.parameters[_row(plants.parameters, s)], plants.mimic, plants.base[_row(plants.base, s)],
        plants.joints[_row(plants.joints, s)], plants.positions, room.none, None, None, code,
    )  # fmt: skip
    left, q_new, qd_new = clock.dt, room.q_new, room.qd_new
    if clock.semi_implicit:
        copy_into(q_new, q)
        copy_into(qd_new, qd)
    else:
        left = step_with_events(plant, q, qd, effort, clock.dt, q_new, qd_new)
        if left < 0.0:
            return NOT_DETERMINED
    if left > 0.0 and not semi_implicit_step(plant, q_new.copy(), qd_new.copy(), effort, left, q_new, qd_new):
        return NOT_DETERMINED
    return _taken_over(q, qd, q_new, qd_new)


@threaded_kernel
def closed_loops(
    plants: PlantRows, laws: LawRows, code: OwnCode, clock: Clock, references: Array, course: Course,
    samples_from: int, samples_to: int, cycles_from: int, cycles_to: int,
) -> None:  # fmt: skip
    """Some cycles of some samples; failed samples are skipped.

    `code` is of all arms and of all laws, where they are equal but for starts, stops and gains.
    `references` holds q, q̇, q̈ of every cycle, shape (cycles + 1, 3, n). The last cycle is evaluated, not stepped.
    """
    n = references.shape[2]
    passive = np.zeros(n)
    terms, table, error, effort = np.empty((6, n)), np.empty((rows.TABLE_ROWS, n)), np.empty(n), np.empty(n)
    cut = np.empty(n, dtype=np.bool_)
    nq = course.q.shape[1]
    memory, piece = memory_of(plants.topology.shape[0], nq, n), piece_of(nq, n)
    room = Room(np.zeros((0, 6)), np.empty(nq), np.empty(n), memory, piece)
    for s in range(samples_from, samples_to):
        q, qd, integral = course.q[s], course.qd[s], course.integral[s]
        asked, sums = course.asked[s], course.sums[s]
        limits = plants.joints[_row(plants.joints, s)]
        gains = laws.gains[_row(laws.gains, s)]
        _tabulate(laws, s, table)
        for cycle in range(cycles_from, cycles_to):
            if course.status[s] != DONE:
                break
            reference = references[cycle]
            law_terms(laws, s, table, q, qd, reference, integral, passive, terms, code.terms)
            for j in range(n):
                asked[j] = terms[0, j] + terms[1, j] + terms[2, j] + terms[3, j] + terms[4, j]
                limit = limits[j, EFFORT]
                effort[j] = limit if asked[j] > limit else (-limit if asked[j] < -limit else asked[j])
                cut[j] = effort[j] != asked[j]
                error[j] = reference[0, j] - q[j]
                if not np.isfinite(asked[j]):
                    course.status[s] = BAD_EFFORT
            if course.status[s] != DONE:
                course.at[s, 0], course.at[s, 1] = cycle, 0
                break
            for j in range(n):
                sums[SQUARED, j] += error[j] * error[j]
                sums[LARGEST, j] = max(sums[LARGEST, j], abs(error[j]))
                sums[FINAL, j] = error[j]
                sums[EFFORTS, j] = max(sums[EFFORTS, j], abs(effort[j]))
                sums[CUT, j] += 1.0 if cut[j] else 0.0
            if cycle % clock.every == 0:
                _keep(course, s, cycle // clock.every, effort, terms)
            integral_kernel(gains[I], gains[I_CLAMP], integral, error, clock.period, cut, integral)
            if cycle == clock.cycles:
                break
            for step in range(clock.substeps):
                status = smooth_plant_step(plants, s, q, qd, effort, clock, code, room)
                if status < 0:
                    status = plant_step(plants, s, q, qd, effort, clock, code, room)
                if status != DONE:
                    course.status[s], course.at[s, 0], course.at[s, 1] = status, cycle, step
                    break


@helper
def _keep(course: Course, s: int, row: int, effort: Array, terms: Array) -> None:
    nq, n = course.q.shape[1], effort.shape[0]
    if course.states.shape[0] > 0:
        kept = course.states[s, row]
        for k in range(nq):
            kept[k] = course.q[s, k]
        for j in range(n):
            kept[nq + j] = course.qd[s, j]
            kept[nq + n + j] = effort[j]
    if course.terms.shape[0] > 0:
        for i in range(5):
            for j in range(n):
                course.terms[s, row, i, j] = terms[i, j]
