"""Control cycles of a block of samples, in memory that is given, as long as machine code of the arm serves them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.addresses import call, call_rows
from rne_dynamics.compiling.jit import helper, routine
from rne_dynamics.control import computed_torque as law
from rne_dynamics.control.friction_compensation import joint_compensation
from rne_dynamics.control.tracking_law import after_cycle
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import EFFORT, OwnCode
from rne_dynamics.simulation.rollouts import block as at
from rne_dynamics.simulation.rollouts.block import ACTIVE, LEFT, OVER, Block, leave
from rne_dynamics.simulation.rollouts.smooth_rows import smooth_rows_step
from rne_dynamics.straight_line.status import REFUSED

# status of a sample
DONE, INVALID, BAD_EFFORT, NOT_DETERMINED, NOT_FINITE = range(5)
# rows of `Course.sums`
SQUARED, LARGEST, FINAL, EFFORTS, CUT, SUMS = range(6)
# entries of the place in a run: cycle, steps done in it, and what comes next: the law, what follows it, or a step
CYCLE, STEPS, NEXT, PLACE = range(4)
LAW, COMMAND, STEP = range(3)
#: Why `smooth_cycles` returns: the cycles are done, or lanes that are LEFT need the law's terms, or their last step.
FINISHED, NEEDS_TERMS, NEEDS_STEP = range(3)
#: Row of `Block.laws` after those of `ComputedTorque.table`.
BOUND = law.TABLE_ROWS


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
        q, q̇ and effort of the rows that are kept; shape (3, S or 0, rows, n).
    terms
        The law's five terms there; shape (5, S or 0, rows, n).
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


class Kind(NamedTuple):
    """What a block has: the samples' number, joints, and whether viscous friction, its compensation, an own law."""

    width: int
    n: int
    damped: bool
    compensated: bool
    own_law: bool


@routine
def smooth_cycles(
    kind: Kind, code: OwnCode, clock: Clock, references: Array, course: Course, block: Block, first: int,
    place: NDArray[np.int64], cycles_to: int,
) -> int:  # fmt: skip
    """Go on from `place`, for the samples from `first` on, until done or until lanes are LEFT to the caller."""
    _load(kind, course, block, first)
    reason = _go_on(kind, code, clock, references, course, block, first, place, cycles_to)
    for lane in range(kind.width):
        for j in range(kind.n):
            k, s = lane * kind.n + j, first + lane
            course.q[s, j], course.qd[s, j] = block.rows[at.Q, k], block.rows[at.QD, k]
            course.integral[s, j], course.asked[s, j] = block.rows[at.INTEGRAL, k], block.rows[at.ASKED, k]
    return reason


@helper
def _load(kind: Kind, course: Course, block: Block, first: int) -> None:
    for lane in range(kind.width):
        s = first + lane
        block.lanes[lane] = ACTIVE if course.status[s] == DONE else OVER
        for j in range(kind.n):
            k = lane * kind.n + j
            block.rows[at.Q, k], block.rows[at.QD, k] = course.q[s, j], course.qd[s, j]
            block.rows[at.INTEGRAL, k], block.rows[at.ASKED, k] = course.integral[s, j], course.asked[s, j]


@helper
def _any(kind: Kind, block: Block, state: int) -> bool:
    found = False
    for lane in range(kind.width):
        found = found or block.lanes[lane] == state
    return found


@helper
def _go_on(
    kind: Kind, code: OwnCode, clock: Clock, references: Array, course: Course, block: Block, first: int,
    place: NDArray[np.int64], cycles_to: int,
) -> int:  # fmt: skip
    while _any(kind, block, ACTIVE):
        if place[NEXT] == LAW:
            if place[CYCLE] >= cycles_to:
                return FINISHED
            _put_terms(kind, code, references, block, place[CYCLE])
            place[NEXT] = COMMAND
            if _any(kind, block, LEFT):
                return NEEDS_TERMS
        if place[NEXT] == COMMAND:
            _command(kind, clock, course, block, first, place[CYCLE])
            place[STEPS], place[NEXT] = 0, STEP
            if place[CYCLE] == clock.cycles:
                return FINISHED
        while place[STEPS] < clock.substeps:
            place[STEPS] += 1
            if code.forward == 0:
                for lane in range(kind.width):
                    leave(block, lane)
            else:
                smooth_rows_step(
                    code, block, kind.width, kind.n, kind.damped, clock.semi_implicit, clock.dt
                )
            if _any(kind, block, LEFT):
                return NEEDS_STEP
        place[CYCLE] += 1
        place[NEXT] = LAW
    return FINISHED


@helper
def _put_terms(kind: Kind, code: OwnCode, references: Array, block: Block, cycle: int) -> None:
    """Reference of a cycle, and terms of computed torque; lanes become LEFT where there is no machine code for them."""
    rows, laws, n = block.rows, block.laws, kind.n
    for lane in range(kind.width):
        for j in range(n):
            k = lane * n + j
            aim, aim_qd = references[cycle, 0, j], references[cycle, 1, j]
            rows[at.AIM_Q, k], rows[at.AIM_QD, k], rows[at.AIM_QDD, k] = aim, aim_qd, references[cycle, 2, j]
            rows[at.CORRECTION, k] = (
                laws[law.GAIN_P, k] * (aim - rows[at.Q, k]) + laws[law.GAIN_D, k] * (aim_qd - rows[at.QD, k])
                + laws[law.GAIN_I, k] * rows[at.INTEGRAL, k]
            )  # fmt: skip
            rows[at.FRICTION, k] = 0.0
            if kind.compensated:
                rows[at.FRICTION, k] = joint_compensation(
                    laws[law.SCALE, k], laws[law.STEEPNESS, k], laws[law.VISCOUS, k], laws[law.FORWARD, k],
                    laws[law.BACKWARD, k], aim_qd,
                )  # fmt: skip
    q, qd, aim_qdd, correction = rows[at.Q], rows[at.QD], rows[at.AIM_QDD], rows[at.CORRECTION]
    if not kind.own_law:
        for lane in range(kind.width):
            block.refused[lane] = 1
    elif code.terms_rows != 0:
        call_rows(code.terms_rows, kind.width, (q, qd, aim_qdd, correction, block.terms, block.refused))
    else:
        block.refused[0] = 1 if call(code.terms, (q, qd, aim_qdd, correction, block.terms)) & REFUSED != 0 else 0
    for lane in range(kind.width):
        if block.refused[lane] != 0:
            leave(block, lane)


@helper
def _command(kind: Kind, clock: Clock, course: Course, block: Block, first: int, cycle: int) -> None:
    """Efforts from the terms, within the limits; figures and rows of the log; the integral."""
    rows, n = block.rows, kind.n
    for lane in range(kind.width):
        if block.lanes[lane] != ACTIVE:
            continue
        s, finite = first + lane, True
        for j in range(n):
            k, m = lane * n + j, 4 * lane * n + j
            rows[at.ERROR, k] = rows[at.AIM_Q, k] - rows[at.Q, k]
            block.terms[m + 3 * n] += block.laws[law.VISCOUS_GAIN, k] * rows[at.ERROR, k]
            asked = (
                block.terms[m] + block.terms[m + n] + block.terms[m + 2 * n] + rows[at.FRICTION, k]
                + block.terms[m + 3 * n]
            )  # fmt: skip
            limit = block.joints[EFFORT, k]
            rows[at.ASKED, k] = asked
            rows[at.EFFORT, k] = limit if asked > limit else (-limit if asked < -limit else asked)
            finite = finite and abs(asked) < np.inf
        if not finite:
            course.status[s], course.at[s, 0], course.at[s, 1] = BAD_EFFORT, cycle, 0
            block.lanes[lane] = OVER
            continue
        for j in range(n):
            k = lane * n + j
            error, effort, cut = rows[at.ERROR, k], rows[at.EFFORT, k], rows[at.EFFORT, k] != rows[at.ASKED, k]
            course.sums[s, SQUARED, j] += error * error
            course.sums[s, LARGEST, j] = max(course.sums[s, LARGEST, j], abs(error))
            course.sums[s, FINAL, j] = error
            course.sums[s, EFFORTS, j] = max(course.sums[s, EFFORTS, j], abs(effort))
            course.sums[s, CUT, j] += 1.0 if cut else 0.0
        if cycle % clock.every == 0:
            _keep(kind, course, block, lane, s, cycle // clock.every)
        for k in range(lane * n, lane * n + n):
            rows[at.INTEGRAL, k] = after_cycle(
                block.laws[law.GAIN_I, k], block.laws[BOUND, k], rows[at.INTEGRAL, k], rows[at.ERROR, k], clock.period,
                rows[at.EFFORT, k] != rows[at.ASKED, k],
            )  # fmt: skip


@helper
def _keep(kind: Kind, course: Course, block: Block, lane: int, s: int, row: int) -> None:
    rows, n = block.rows, kind.n
    if course.states.shape[1] > 0:
        for j in range(n):
            k = lane * n + j
            course.states[0, s, row, j], course.states[1, s, row, j] = rows[at.Q, k], rows[at.QD, k]
            course.states[2, s, row, j] = rows[at.EFFORT, k]
    if course.terms.shape[1] > 0:
        for j in range(n):
            k, m = lane * n + j, 4 * lane * n + j
            for i in range(3):
                course.terms[i, s, row, j] = block.terms[m + i * n]
            course.terms[3, s, row, j] = rows[at.FRICTION, k]
            course.terms[4, s, row, j] = block.terms[m + 3 * n]
