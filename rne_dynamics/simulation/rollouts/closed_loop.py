"""A control law and an open arm in one compiled loop, for one sample or many.

The same kernels as in `rne_dynamics.control` and in `stepping.unchecked_step`, without Python in between. Arrays that
may differ between samples have a leading dimension, of length 1 where all samples share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import helper, threaded_kernel
from rne_dynamics.control.control_law import Reference
from rne_dynamics.control.laws import computed_torque as law
from rne_dynamics.control.model_terms import rigid_terms_kernel
from rne_dynamics.control.tracking_law import after_cycle, feedback_kernel
from rne_dynamics.dynamics.declared.arguments import Arm, all_finite
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import EFFORT, NO_WRENCH, OwnCode, PlantArrays, PlantRows
from rne_dynamics.simulation.stepping import lanes as at
from rne_dynamics.simulation.stepping.contact import semi_implicit_step
from rne_dynamics.simulation.stepping.events import step_with_events
from rne_dynamics.simulation.stepping.lanes import (
    ACTIVE,
    LEFT,
    OVER,
    Block,
    evaluate,
    implicit,
    lane_of,
    row_of,
    step_lanes,
)
from rne_dynamics.simulation.stepping.motion import damped

COMPUTED_TORQUE, PD_GRAVITY = range(2)
# status of a sample
DONE, INVALID, BAD_EFFORT, NOT_DETERMINED, NOT_FINITE = range(5)
# rows of `Course.sums`
SQUARED, LARGEST, FINAL, EFFORTS, CUT, SUMS = range(6)
#: Row of `Columns.laws` after those of `ComputedTorque.table`.
BOUND = law.TABLE_ROWS
# rows of `Block.rows`: what machine code of the law takes, and feedback that is a torque
SPEED, AIM_QDD, CORRECTION, DIRECT, ROWS = range(at.FREE, at.FREE + 5)
#: Samples that are stepped together where the arm has machine code for that.
WIDTH = 8


class Law(NamedTuple):
    """A control law of all samples; only the gains in `Columns.laws` differ."""

    #: COMPUTED_TORQUE or PD_GRAVITY.
    kind: int
    #: The model, on a base at rest.
    arm: Arm


class Columns(NamedTuple):
    """Numbers of all samples as the loop reads them; of S samples, or of WIDTH equal ones."""

    #: `ArmPlant.joints`, stops infinite where there are none; shape (JOINT_COLUMNS, S n).
    joints: Array
    #: `ComputedTorque.table` and the integral's bound; shape (TABLE_ROWS + 1, S n).
    laws: Array
    #: What machine code of the arm takes besides the state; shape (S, numbers).
    arm: Array


class Clock(NamedTuple):
    """Timing: `cycles` periods of `substeps` steps of `dt`, s; a row is kept every `every` cycles."""

    period: float
    dt: float
    substeps: int
    cycles: int
    every: int
    semi_implicit: bool


class Course(NamedTuple):
    """States, results and status of the samples; all written to."""

    #: State, ∫e dt and the torque last commanded; shape (S, n).
    q: Array
    qd: Array
    integral: Array
    asked: Array
    #: Σ e², largest |e|, last e, largest |effort|, cycles with a limited effort; shape (S, SUMS, n).
    sums: Array
    #: Status of each, and the cycle and step at which it failed; shapes (S,), (S, 2).
    status: NDArray[np.int64]
    at: NDArray[np.int64]
    #: q, q̇ and effort of the rows that are kept; shape (3, S or 0, rows, n).
    states: Array
    #: The law's five terms there; shape (5, S or 0, rows, n).
    terms: Array


@threaded_kernel
def closed_loops(
    plants: PlantRows, model: Law, code: OwnCode, columns: Columns, clock: Clock, references: Array, course: Course,
    samples: tuple[int, int], cycles: tuple[int, int],
) -> None:  # fmt: skip
    """Cycles, the last not stepped, of samples that have not failed; `references` (cycles + 1, 3, n): q, q̇, q̈."""
    n, most = references.shape[2], WIDTH if code.rows else 1
    rows, terms, refused = np.zeros((ROWS, most * n)), np.zeros((most, 5, n)), np.zeros(most, dtype=np.uint8)
    lanes, rate = np.zeros(most, dtype=np.int64), np.zeros(most)
    for first in range(samples[0], samples[1], most):
        width = min(most, samples[1] - first)
        last, size, a = first + width, width * n, _begin(columns.joints.shape[1], first * n, n)
        g = _begin(columns.arm.shape[0], first, 1)
        block = Block(
            plants, code, first, width, n,
            course.q[first:last].reshape((size,)), course.qd[first:last].reshape((size,)),
            columns.joints[:, a : a + size], columns.arm[g : g + width], rows, refused, lanes, rate,
        )  # fmt: skip
        for lane in range(width):
            lanes[lane] = ACTIVE if course.status[first + lane] == DONE else OVER
            rate[lane] = -1.0 if clock.semi_implicit else np.inf
            if not (clock.semi_implicit or damped(plants.joints[row_of(plants.joints, first + lane)])):
                rate[lane] = 0.0
        for cycle in range(cycles[0], cycles[1]):
            aim = references[cycle]
            _put_terms(model, columns, Reference(aim[0], aim[1], aim[2]), course.integral, block, terms)
            for lane in range(width):
                if lanes[lane] == ACTIVE:
                    _command(clock, columns, course, block, lane, cycle, aim[0], terms[lane])
            for done in range(clock.substeps if cycle < clock.cycles else 0):
                apart(step_lanes, (block, clock.dt))
                for lane in range(width):
                    if lanes[lane] == LEFT:
                        lanes[lane], s = ACTIVE, first + lane
                        status = _step(block, lane, clock)
                        if status != DONE:
                            lanes[lane] = OVER
                            course.status[s], course.at[s, 0], course.at[s, 1] = status, cycle, done


@helper
def _begin(count: int, place: int, size: int) -> int:
    """Where the numbers of a block begin, of a sample of `size`: all blocks share those of no more than WIDTH."""
    return place if count > WIDTH * size else 0


@helper
def _put_terms(
    model: Law, columns: Columns, reference: Reference, integral: Array, block: Block, terms: Array
) -> None:
    """Terms of the law, (width, 5, n); of PD plus gravity its model's are those of an arm at rest."""
    rows, n, arm, torque = block.rows, block.n, model.arm, model.kind == COMPUTED_TORQUE
    for lane in range(block.width):
        table, answer = _table(columns, block, lane), lane_of(rows[CORRECTION if torque else DIRECT], lane, n)
        q, qd = lane_of(block.q, lane, n), lane_of(block.qd, lane, n)
        feedback_kernel(
            table[law.GAIN_P], table[law.GAIN_I], table[law.GAIN_D], q, qd, reference.q, reference.qd,
            integral[block.first + lane], answer,
        )
        if torque:
            a, b = lane * n, lane * n + n
            rows[SPEED, a:b], rows[AIM_QDD, a:b] = qd, reference.qdd
    inputs = block.q, rows[SPEED], rows[AIM_QDD], rows[CORRECTION]
    evaluate(block.code.terms, block, (*inputs, terms))
    for lane in range(block.width):
        if block.refused[lane] != 0 and block.lanes[lane] == ACTIVE:
            state = tuple([lane_of(row, lane, n) for row in inputs])
            apart(rigid_terms_kernel, (arm.topology, arm.parameters, arm.base, *state, terms[lane]))
        if not torque:
            for j in range(n):
                terms[lane, 3, j] += rows[DIRECT, lane * n + j]
        law.put_friction(_table(columns, block, lane), lane_of(block.q, lane, n), reference, terms[lane])


@helper
def _table(columns: Columns, block: Block, lane: int) -> Array:
    """`ComputedTorque.table` of a lane, and the integral's bound."""
    a = _begin(columns.laws.shape[1], block.first * block.n, block.n) + lane * block.n
    return columns.laws[:, a : a + block.n]


@helper
def _command(
    clock: Clock, columns: Columns, course: Course, block: Block, lane: int, cycle: int, aim: Array, terms: Array
) -> None:
    """Efforts from the terms, within the limits; figures and rows of the log; the integral."""
    n, s, table = block.n, block.first + lane, _table(columns, block, lane)
    for j in range(n):
        course.asked[s, j] = terms[0, j] + terms[1, j] + terms[2, j] + terms[3, j] + terms[4, j]
    if not all_finite(course.asked[s]):
        course.status[s], course.at[s, 0], course.at[s, 1] = BAD_EFFORT, cycle, 0
        block.lanes[lane] = OVER
        return
    row, keeps = cycle // clock.every, cycle % clock.every == 0
    for j in range(n):
        k, sums = lane * n + j, course.sums[s]
        error, limit = aim[j] - block.q[k], block.joints[EFFORT, k]
        effort = min(max(course.asked[s, j], -limit), limit)
        block.rows[at.EFFORT, k], cut = effort, effort != course.asked[s, j]
        sums[SQUARED, j] += error * error
        sums[LARGEST, j] = max(sums[LARGEST, j], abs(error))
        sums[FINAL, j] = error
        sums[EFFORTS, j] = max(sums[EFFORTS, j], abs(effort))
        sums[CUT, j] += 1.0 if cut else 0.0
        if keeps and course.states.shape[1] > 0:
            course.states[0, s, row, j], course.states[1, s, row, j] = block.q[k], block.qd[k]
            course.states[2, s, row, j] = effort
        if keeps and course.terms.shape[1] > 0:
            course.terms[:, s, row, j] = terms[:, j]
        course.integral[s, j] = after_cycle(
            table[law.GAIN_I, j], table[BOUND, j], course.integral[s, j], error, clock.period, cut
        )


@helper
def _step(block: Block, lane: int, clock: Clock) -> int:
    """One step of a lane as by `unchecked_step`, events and all; where it fails q and q̇ are unchanged."""
    plants, s, left, done = block.plants, block.first + lane, clock.dt, True
    q, qd, effort = [lane_of(row, lane, block.n) for row in (block.q, block.qd, block.rows[at.EFFORT])]
    plant = PlantArrays(
        plants.topology, plants.parameters[row_of(plants.parameters, s)], plants.mimic,
        plants.base[row_of(plants.base, s)], plants.joints[row_of(plants.joints, s)], plants.positions, NO_WRENCH, None,
        None, block.code.one, None,
    )  # fmt: skip
    q_new, qd_new = q.copy(), qd.copy()
    if not implicit(block, lane, clock.dt):
        left = apart(step_with_events, (plant, q, qd, effort, clock.dt, block.rate[lane] >= 0.0, q_new, qd_new))
    if left > 0.0:
        done = apart(semi_implicit_step, (plant, q_new.copy(), qd_new.copy(), effort, left, q_new, qd_new))
    if left < 0.0 or not done:
        return NOT_DETERMINED
    if not (all_finite(q_new) and all_finite(qd_new)):
        return NOT_FINITE
    q[:], qd[:] = q_new, qd_new
    return DONE
