"""A control law and an open arm in one compiled loop, for one sample or many.

The same kernels as in `rne_dynamics.control` and in `stepping.unchecked_step`, without Python in between. Arrays that
may differ between samples have a leading dimension, of length 1 where all samples share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.compiling.jit import helper, routine, threaded_kernel
from rne_dynamics.control import computed_torque as law
from rne_dynamics.control.computed_torque import decay_rate_helper
from rne_dynamics.control.friction_compensation import compensation_kernel
from rne_dynamics.control.rigid_terms import gravity_only_kernel, rigid_terms_kernel
from rne_dynamics.control.tracking_law import feedback_kernel
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import OwnCode, PlantArrays
from rne_dynamics.simulation.rollouts import block as at
from rne_dynamics.simulation.rollouts.block import LEFT, Block, block_of, put_joints
from rne_dynamics.simulation.rollouts.smooth_cycles import (
    BOUND,
    CYCLE,
    DONE,
    FINISHED,
    LAW,
    NEEDS_TERMS,
    NEXT,
    NOT_DETERMINED,
    NOT_FINITE,
    PLACE,
    STEPS,
    Clock,
    Course,
    Kind,
    smooth_cycles,
)
from rne_dynamics.simulation.stepping.events import smooth_step, step_with_events
from rne_dynamics.simulation.stepping.implicit import semi_implicit_step
from rne_dynamics.simulation.stepping.motion import Memory, Piece, memory_of, piece_of
from rne_dynamics.simulation.stepping.stiffness import damped
from rne_dynamics.spatial.arrays import copy_into

COMPUTED_TORQUE, PD_GRAVITY = range(2)
# rows of `LawRows.gains`
P, I, D, I_CLAMP = range(4)  # noqa: E741  # the gains' own names
#: Samples that are stepped together where the arm has machine code for that.
WIDTH = 8


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


class Room(NamedTuple):
    """Memory of a step: no loads, the new state, and what `smooth_step` takes."""

    none: Array
    q_new: Array
    qd_new: Array
    memory: Memory
    piece: Piece


@helper
def _row(rows: Array, s: int) -> int:
    return s if rows.shape[0] > 1 else 0


@helper
def _put_general_terms(
    laws: LawRows, block: Block, lane: int, s: int, q: Array, qd: Array, reference: Array, integral: Array, terms: Array
) -> None:
    """The terms of one cycle of sample s by the general kernels; `terms`, (5, n), is memory."""
    n = qd.shape[0]
    parameters, base = laws.parameters[_row(laws.parameters, s)], laws.base[_row(laws.base, s)]
    gains, friction = laws.gains[_row(laws.gains, s)], laws.friction[_row(laws.friction, s)]
    if laws.kind == COMPUTED_TORQUE:
        correction = block.rows[at.CORRECTION, lane * n : lane * n + n]
        rigid_terms_kernel(laws.topology, parameters, base, q, qd, reference[2], correction, terms)
    else:
        scale, steepness = laws.compensation[_row(laws.compensation, s)]
        terms[:] = 0.0
        gravity_only_kernel(laws.topology, parameters, base, q, terms[2])
        feedback_kernel(gains[P], gains[I], gains[D], q, qd, reference[0], reference[1], integral, terms[3])
        compensation_kernel(
            scale, steepness, friction[0], friction[1], friction[2], reference[1], terms[0], terms[4]
        )
        for j in range(n):
            block.rows[at.FRICTION, lane * n + j] = terms[4, j]
    for i in range(4):
        for j in range(n):
            block.terms[4 * lane * n + i * n + j] = terms[i, j]


@helper
def _fill(plants: PlantRows, laws: LawRows, code: OwnCode, block: Block, first: int, width: int) -> Kind:
    """Take over friction, stops and gains of the samples of a block."""
    n, is_damped, compensated = plants.joints.shape[1], False, False
    for lane in range(width):
        s = first + lane
        joints = plants.joints[_row(plants.joints, s)]
        put_joints(block, lane, joints, plants.positions)
        gains, friction = laws.gains[_row(laws.gains, s)], laws.friction[_row(laws.friction, s)]
        scale, steepness = laws.compensation[_row(laws.compensation, s)]
        is_damped, compensated = is_damped or damped(joints), compensated or scale != 0.0
        for j in range(n):
            k = lane * n + j
            block.laws[law.GAIN_P, k], block.laws[law.GAIN_D, k] = gains[P, j], gains[D, j]
            block.laws[law.GAIN_I, k], block.laws[BOUND, k] = gains[I, j], gains[I_CLAMP, j]
            for i in range(3):
                block.laws[law.VISCOUS + i, k] = friction[i, j]
            block.laws[law.SCALE, k], block.laws[law.STEEPNESS, k] = scale, steepness
            rate = decay_rate_helper(gains[P, j], gains[D, j]) if laws.kind == COMPUTED_TORQUE else 0.0
            block.laws[law.VISCOUS_GAIN, k] = scale * friction[0, j] * rate
    own_law = code.terms_rows != 0 or (code.terms != 0 and width == 1)
    return Kind(width, n, is_damped, compensated, own_law)


@helper
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


@routine
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

    `code` is of all arms and of all laws, where they are equal but for starts, stops, friction and gains.
    `references` holds q, q̇, q̈ of every cycle, shape (cycles + 1, 3, n). The last cycle is evaluated, not stepped.
    """
    n, nq, most = references.shape[2], course.q.shape[1], WIDTH if code.forward_rows != 0 else 1
    block, terms, place = block_of(most, n), np.empty((5, n)), np.zeros(PLACE, dtype=np.int64)
    memory, piece = memory_of(plants.topology.shape[0], nq, n), piece_of(nq, n)
    room = Room(np.zeros((0, 6)), np.empty(nq), np.empty(n), memory, piece)
    for first in range(samples_from, samples_to, most):
        kind = _fill(plants, laws, code, block, first, min(most, samples_to - first))
        place[CYCLE], place[NEXT] = cycles_from, LAW
        while True:
            reason = smooth_cycles(kind, code, clock, references, course, block, first, place, cycles_to)
            if reason == FINISHED:
                break
            for lane in range(kind.width):
                if block.lanes[lane] != LEFT:
                    continue
                s = first + lane
                q, qd = course.q[s], course.qd[s]
                if reason == NEEDS_TERMS:
                    reference = references[place[CYCLE]]
                    _put_general_terms(laws, block, lane, s, q, qd, reference, course.integral[s], terms)
                    continue
                effort, status = block.rows[at.EFFORT, lane * n : lane * n + n], -1
                if code.forward == 0:
                    status = smooth_plant_step(plants, s, q, qd, effort, clock, code, room)
                if status < 0:
                    status = plant_step(plants, s, q, qd, effort, clock, code, room)
                if status != DONE:
                    course.status[s], course.at[s, 0], course.at[s, 1] = status, place[CYCLE], place[STEPS] - 1
