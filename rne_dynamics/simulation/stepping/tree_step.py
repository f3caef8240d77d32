"""One step of a mechanism in the coordinates of its whole tree, with the loops' constraint forces.

Slower than a step in the actuated joints, which `stepping.py` takes where these determine the motion. It works
everywhere: through singular postures, with idle freedoms, with more or fewer motors than freedoms.

A smooth step is the classical one of fourth order; positions and velocities at its end are projected onto the loops by
the least change in the metric of the mass matrix. A step in which a joint comes to rest, rests, or meets a stop is one
of Moreau's (`implicit_velocities`), of first order.
"""

from __future__ import annotations

import numpy as np

from rne_dynamics.closed_chain.assembly import assemble, starting_velocity
from rne_dynamics.closed_chain.closing import MISFIT
from rne_dynamics.closed_chain.coordinates import passive_singular_value
from rne_dynamics.closed_chain.independence import generic_rank
from rne_dynamics.closed_chain.packed import Packed, pack
from rne_dynamics.closed_chain.tree_coordinates import (
    DETERMINED,
    Tree,
    open_torque,
    settle,
    solve_free,
    tangent,
    tree_accelerations,
    tree_of,
)
from rne_dynamics.compiling.apart import apart
from rne_dynamics.compiling.jit import rare_kernel, routine
from rne_dynamics.errors import SimulationError, no_inertia
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import (
    BASE,
    LOWER,
    NO_CODE,
    UPPER,
    VISCOUS,
    PlantArrays,
    base_at,
)
from rne_dynamics.simulation.plant.coordinates import LEAVE, State
from rne_dynamics.simulation.plant.plant import ArmPlant, free_joints
from rne_dynamics.simulation.stepping.contact import coulomb, held, implicit_velocities, kept_within_stops
from rne_dynamics.simulation.stepping.events import margin
from rne_dynamics.simulation.stepping.motion import (
    STIFF,
    TIMES,
    Piece,
    add_stage,
    damped,
    put_loads,
    speed_friction,
)

#: The last pivot below which the stages of a step are projected onto the loops before they are evaluated: near a
#: posture where branches cross, a small closure error turns the tangent.
NEAR_CROSSING = 0.1
#: Weight, in units of the largest inertia, of joints that the return to the loops must not move.
_FAST = 1e8
#: A joint's largest displacement, rad or lengths of the mechanism, in one part of a step, and the most parts.
STRIDE, _PARTS = 0.1, 64
#: A step is compared with two of half its length where velocities change by more than `CHANGED` times the largest
#: speed, and, times the step, by more than `SUDDEN`, rad or lengths of the mechanism.
CHANGED, SUDDEN = 0.02, 1e-6
#: Part of the speed by which these may differ; beyond, both are halved in turn. Largest numbers of halvings and parts.
DIFFERENT, _HALVINGS, _MOST_PARTS = 1e-6, 14, 500
#: Added to the diagonal of M⁻¹, as a part of its largest entry, so that friction of motors that work against each other
#: is distributed equally.
_SHARED = 1e-9


@routine
def _response(tree: Tree, A: Array) -> int:
    """A = Tᵀ G⁻¹ T: the velocities that unit impulses give; shape (n, n)."""
    n = A.shape[0]
    right = np.empty(n - tree.work.ranks[0])
    A[:, :] = 0.0
    for j in range(n):
        right[:] = tree.memory.T[: right.shape[0], j]
        status = solve_free(tree, right, A[j])
        if status != DETERMINED:
            return status
    return DETERMINED


@routine
def _runge_kutta(
    plant: PlantArrays, tree: Tree, crossing: bool, q: Array, v: Array, drive: Array, h: float, q_new: Array,
    v_new: Array,
) -> int:  # fmt: skip
    n = q.shape[0]
    q_stage, v_stage, a, q_sum, v_sum = q.copy(), v.copy(), np.zeros(n), np.zeros(n), np.zeros(n)
    viscous, here, push = plant.joints[:, VISCOUS].copy(), np.empty(BASE), np.empty(n)
    for stage in range(4):
        base_at(plant.base, TIMES[stage] * h, here)
        for j in range(n):
            push[j] = drive[j] + viscous[j] * v_stage[j] - speed_friction(plant.joints, j, v_stage[j])
        put_loads(plant, q_stage, v_stage)
        given = (tree, here, plant.wrenches, viscous, crossing and stage > 0, q_stage, v_stage, push, a)
        status = apart(tree_accelerations, given)
        if status != DETERMINED:
            return status
        add_stage(stage, h, q, v_stage, q_stage, q_sum)
        add_stage(stage, h, v, a, v_stage, v_sum)
    q_new[:], v_new[:] = q_stage, v_stage
    tree.memory.extra[:] = 0.0
    status, _ = settle(tree, q_new, v_new)
    return status


@routine
def _impulsive(
    plant: PlantArrays, tree: Tree, q: Array, v: Array, effort: Array, dt: float, q_new: Array, v_new: Array
) -> int:
    """Moreau's step: friction and stops as impulses, viscous friction implicit."""
    n, joints, extra = q.shape[0], plant.joints, tree.memory.extra
    for j in range(n):
        extra[j] = dt * joints[j, VISCOUS]
    tangent(tree, q, v)
    A, bias, M, here = np.empty((n, n)), np.empty(n), tree.memory.M.copy(), np.empty(BASE)
    status = _response(tree, A)
    if status != DETERMINED:
        return status
    largest, inertia = 0.0, 0.0
    for j in range(n):
        largest, inertia = max(largest, A[j, j]), max(inertia, M[j, j])
    for j in range(n):
        A[j, j] += _SHARED * largest
    base_at(plant.base, 0.0, here)
    put_loads(plant, q, v)
    open_torque(tree.packed, here, q, v, np.zeros(n), plant.wrenches, bias)
    apart(implicit_velocities, (plant, M, bias, A, q, v, effort, dt, v_new))
    for j in range(n):
        q_new[j] = q[j] + dt * v_new[j]
    kept_within_stops(plant, q, q_new)
    for j in range(n):
        rests = v_new[j] == 0.0 or q_new[j] == joints[j, LOWER] or q_new[j] == joints[j, UPPER]
        extra[j] = _FAST * inertia if rests else 0.0
    at, rate = q_new.copy(), v_new.copy()
    status, _ = settle(tree, q_new, v_new)
    for j in range(n):
        if extra[j] > 0.0 and abs(q_new[j] - at[j]) < 1e-9:
            q_new[j] = at[j]
        if rate[j] == 0.0 and abs(v_new[j]) < 1e-6:
            v_new[j] = 0.0
    return status


@rare_kernel
def tree_step_kernel(
    plant: PlantArrays, tree: Tree, q: Array, v: Array, effort: Array, dt: float, implicit: bool, q_new: Array,
    v_new: Array,
) -> int:  # fmt: skip
    """Fill the state `dt` later from positions, velocities and efforts of all joints of the tree, (tree n,) each.

    `implicit`: whether the step is Moreau's in any case. Returns DETERMINED, or a joint that moves no inertia.
    """
    n, joints, extra = q.shape[0], plant.joints, tree.memory.extra
    direction, drive = v.copy(), effort.copy()
    extra[:] = 0.0
    smooth = not implicit
    if smooth and held(plant, q, v):  # one step of Moreau's finds the direction in which they break loose
        status = _impulsive(plant, tree, q, v, effort, dt, q_new, v_new)
        if status != DETERMINED or held(plant, q_new, v_new):
            return status
        extra[:] = 0.0
        for j in range(n):
            if v[j] == 0.0:
                direction[j] = v_new[j]
    if smooth:
        last = tangent(tree, q, v)
        if damped(joints):
            A = np.empty((n, n))
            status = _response(tree, A)
            if status != DETERMINED:
                return status
            rate = 0.0
            for j in range(n):
                rate += joints[j, VISCOUS] * A[j, j]
            smooth = rate * dt <= STIFF
    if smooth:
        for j in range(n):
            drive[j] -= coulomb(joints, j, direction[j])
        status = _runge_kutta(plant, tree, last < NEAR_CROSSING, q, v, drive, dt, q_new, v_new)
        piece = Piece(q, v, np.zeros(n, dtype=np.bool_), direction, drive)
        if status != DETERMINED or not margin(plant, piece, q_new, v_new) < 0.0:
            return status
    return _impulsive(plant, tree, q, v, effort, dt, q_new, v_new)


def tree_step(
    plant: ArmPlant, state: State, effort: Array, dt: float, implicit: bool, loads: Array, joints: Array | None
) -> State:
    """The state of a mechanism `dt` later; arguments as of `stepping.unchecked_step`, Moreau's step if `implicit`.

    `SimulationError` names joint and time of a motion that is not finite or too fast for the loops;
    `SingularInertiaError`; `ArgumentError`: a state without `State.tree_qd` whose velocities the loops do not allow.
    """
    mechanism = plant.coordinates.mechanism
    assert mechanism is not None
    packed, ranks, robot = pack(mechanism), generic_rank(mechanism), mechanism.robot
    tree = tree_of(packed, ranks.total)
    q = np.array(assemble(mechanism, state.q) if state.posture is None else state.posture)
    v = np.array(starting_velocity(mechanism, q, state.qd)[0] if state.tree_qd is None else state.tree_qd)
    rows, drive = free_joints(robot.n), np.zeros(robot.n)
    rows[:, VISCOUS] = plant.coordinates.passive_viscous
    rows[mechanism.actuated], drive[mechanism.actuated] = plant.joints if joints is None else joints, effort
    wrenches, touch = plant.loads(loads)
    arrays = PlantArrays(
        packed.topology, packed.parameters, robot.has_mimic, robot.base_at_rest, rows, np.arange(robot.n), wrenches,
        None, None, NO_CODE, touch,
    )  # fmt: skip
    strides = np.abs(v / packed.column_scale).max() * dt / STRIDE
    if not strides <= _PARTS:
        raise _too_fast(plant, state, v, dt)
    parts, taken = max(int(np.ceil(strides)), 1), 0

    def part(t: float, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        q_end, v_end = q.copy(), v.copy()
        there = arrays._replace(base=plant.base_over(t, h))
        failed = tree_step_kernel(there, tree, q, v, drive, h, implicit, q_end, v_end)
        if failed != DETERMINED and np.isfinite(v_end).all():
            raise no_inertia(robot.joint_names[failed], mechanism.name)
        return q_end, v_end

    t, q_new, v_new, ahead = state.t, q, v, parts * [(dt / parts, _HALVINGS)]
    while ahead:
        h, halvings = ahead.pop()
        end, taken = part(t, h, q_new, v_new), taken + 1
        change, speed = _apart(packed, v_new, end[1]), max(_apart(packed, v_new), _apart(packed, end[1]))
        if halvings > 0 and not implicit and taken <= _MOST_PARTS and change > CHANGED * speed and change * h > SUDDEN:
            # a velocity jumps, as where a heavy bar throws a light one through its dead point
            middle = part(t, 0.5 * h, q_new, v_new)
            whole, end, taken = end, part(t + 0.5 * h, 0.5 * h, *middle), taken + 2
            if not _apart(packed, end[1], whole[1]) <= DIFFERENT * speed:
                ahead += 2 * [(0.5 * h, halvings - 1)]
                continue
        t, (q_new, v_new) = t + h, end
    lost = np.linalg.norm(packed.row_scale * tree.work.residual)
    if not (np.isfinite(v_new).all() and lost < MISFIT):
        raise _too_fast(plant, state, v, dt)
    stays = not ranks.coordinates or passive_singular_value(mechanism, tree.work, q_new) < LEAVE
    actuated = mechanism.actuated
    return State(state.t + dt, q_new[actuated], v_new[actuated], q_new, tree_qd=v_new, in_tree=stays)


def _apart(packed: Packed, v: Array, other: Array | float = 0.0) -> float:
    """The largest difference of two joints' velocities, rad/s or lengths of the mechanism a second."""
    return float(np.nan_to_num(np.abs((v - other) / packed.column_scale), nan=np.inf).max(initial=0.0))


def _too_fast(plant: ArmPlant, state: State, v: Array, dt: float) -> SimulationError:
    j = int(np.argmax(np.nan_to_num(np.abs(v), nan=np.inf)))
    return SimulationError(
        f"joint {plant.tree.joint_names[j]!r}: its motion is too fast to follow at t = {state.t + dt:.6g} s "
        f"({v[j]:.6g} rad/s or m/s), or not finite any more; take a shorter step than {dt:g} s, or check masses, "
        "inertias and efforts"
    )
