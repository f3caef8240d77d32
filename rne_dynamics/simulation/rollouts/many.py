"""Many samples of one arm simulated at once."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.laws.computed_torque import ComputedTorque, decay_rate
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.model_terms import rigid_terms_kernel
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.declared.arguments import Arm, arm_of
from rne_dynamics.dynamics.declared.quantity import Quantity
from rne_dynamics.dynamics.declared.specialised import efforts_parameters, kept_code, kept_rows
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.errors import SimulationError, SingularInertiaError
from rne_dynamics.model.dice import Dice, random_configuration
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import (
    EFFORT,
    LOWER,
    NO_WRENCH,
    UPPER,
    ArmCode,
    OwnCode,
    PlantRows,
)
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.closed_loop import (
    COMPUTED_TORQUE,
    CUT,
    DONE,
    EFFORTS,
    FINAL,
    LARGEST,
    PD_GRAVITY,
    SQUARED,
    SUMS,
    WIDTH,
    Clock,
    Columns,
    Course,
    Law,
    closed_loops,
)
from rne_dynamics.simulation.rollouts.samples import Samples, faults
from rne_dynamics.simulation.stepping.lanes import row_of
from rne_dynamics.simulation.stepping.motion import locked_forward
from rne_dynamics.simulation.stepping.stepping import StepMethod, checked_effort, unchecked_step
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.threads import available


class Packed(NamedTuple):
    """What the compiled loop takes of a plant and a controller; arrays of the plant and the gains in one row."""

    plants: PlantRows
    law: Law
    gains: Array


def packed_loop(plant: ArmPlant, controller: ControlLaw) -> Packed | None:
    """The arrays of the compiled loop; None where it cannot run this plant or controller."""
    # a subclass may have a law of its own
    if type(controller) not in (ComputedTorque, PdGravity) or plant.base_motion or plant.surroundings:
        return None
    assert isinstance(controller, (ComputedTorque, PdGravity))
    robot, model, gains = plant.robot, controller.robot, controller.gains
    if robot.kind != "arm" or model.kind != "arm" or robot.nq != robot.n:
        return None
    plants = PlantRows(
        robot.topology, plant.positions, robot.has_mimic, robot.parameters[None], robot.base_at_rest[None],
        plant.joints[None],
    )  # fmt: skip
    kind = COMPUTED_TORQUE if isinstance(controller, ComputedTorque) else PD_GRAVITY
    return Packed(plants, Law(kind, arm_of(model)), np.array([gains.p, gains.i, gains.d, gains.i_clamp])[None])


def own_code_of(
    plant: ArmPlant, controller: ControlLaw, plants: PlantRows, gains: Array, *, rows: bool
) -> tuple[OwnCode, Columns]:
    """Machine code for samples of a loop, one at a time or in `rows`, and their numbers as the loop reads them."""
    robot, model = plant.tree, controller.robot.open_tree
    same = np.array_equal(plants.parameters, robot.parameters[None]) and np.array_equal(
        plants.base, robot.base_at_rest[None]
    )
    own = robot, "locked forward", _forward_rows, (robot.has_mimic,), (robot.n,)
    arm = np.zeros((WIDTH, 0)) if same else given(plants.parameters, plants.base)
    forward, terms = _address(*own, rows, arm), _address(model, "control terms", _terms_rows, (), (5, robot.n), rows)

    def of_arm(quantity: Quantity) -> int:
        code = quantity.code(robot) if robot.specialised and same else None
        return 0 if code is None else code.address

    one = ArmCode(_address(*own, False, arm) if same else 0, of_arm(MASS_MATRIX), of_arm(INVERSE_DYNAMICS))
    unlocked = 0 if rows else of_arm(FORWARD_DYNAMICS)
    columns = Columns(joint_columns(plants), law_columns(controller, gains), arm)
    return OwnCode(forward, one, unlocked, terms, rows), columns


def _address(
    robot: RobotModel, name: str, kernel: Callable[..., Any], more: tuple[Any, ...], shape: tuple[int, ...],
    rows: bool, numbers: Array | None = None,
) -> int:
    """Address of the code of a kernel of rows of (q, qd, two more, numbers if any); 0 where there is none."""
    same = numbers is None or numbers.shape[1] == 0

    def recipe() -> Recipe:
        model = robot.topology, efforts_parameters(robot) if same else robot.parameters, robot.base_at_rest, *more
        rng = Dice(1)
        sample = random_configuration(robot, rng), *(rng.uniform(0.0, 1.0, (robot.n,)) for _ in range(3))
        if numbers is not None:
            sample = *sample, np.zeros(0) if same else given(robot.parameters[None], robot.base_at_rest[None])[0]
        return Recipe(name, robot.name, kernel, model, sample, shape)

    if not robot.specialised:
        return 0
    code = (kept_rows if rows else kept_code)(robot, (name, same), recipe)
    return 0 if code is None else code.address


def given(parameters: Array, base: Array) -> Array:
    """What machine code takes of samples that vary besides their states: inertias and gravity; (S, numbers)."""
    count = max(len(parameters), len(base))
    inertia = parameters[:, :, MASS : ROTOR + 1].reshape(len(parameters), -1)
    return np.hstack([np.broadcast_to(x, (count, x.shape[1])) for x in (inertia, base[:, 6:9])])


def _forward_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, mimic: bool, q: Array, qd: Array, tau: Array,
    lock: Array, given: Array, out: Array,
) -> int:  # fmt: skip
    """`locked_forward` of each state, (B, n), with the numbers of `given`; −1, or what moves no inertia."""
    fault, parameters, base = -1, parameters.copy(), base.copy()
    for b in range(q.shape[0]):
        if len(given[b]) > 0:
            parameters[:, MASS : ROTOR + 1] = given[b, :-3].reshape(len(parameters), -1)
            base[6:9] = given[b, -3:]
        arm = Arm(topology, parameters, base, np.zeros((0, 6)))
        fault = max(fault, locked_forward(arm, mimic, q[b], qd[b], tau[b], lock[b], out[b]))
    return fault


def _terms_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, desired: Array,
    correction: Array, out: Array,
) -> None:  # fmt: skip
    """The rows of `rigid_terms_kernel` of each state, and one of zeros; (B, 5, n)."""
    for b in range(q.shape[0]):
        rigid_terms_kernel(topology, parameters, base, q[b], qd[b], desired[b], correction[b], out[b])


def joint_columns(plants: PlantRows) -> Array:
    """`Columns.joints`."""
    samples, n, _ = plants.joints.shape
    rows, free = np.moveaxis(plants.joints, 2, 0).copy(), plants.positions < 0
    rows[LOWER][:, free], rows[UPPER][:, free] = -np.inf, np.inf
    return _columns(rows, samples, n)


def law_columns(controller: Any, gains: Array) -> Array:
    """`Columns.laws`."""
    p, i, d, clamp = np.moveaxis(gains, 1, 0)
    friction, scale = joint_friction(controller.robot).rows, controller.friction_scale
    rate = np.vectorize(decay_rate)(p, d) if isinstance(controller, ComputedTorque) else 0.0
    return _columns((p, d, i, *friction, scale, controller.steepness, scale * friction[0] * rate, clamp), *p.shape)


def _columns(rows: Iterable[ArrayLike], samples: int, n: int) -> Array:
    """Rows of (samples, n) numbers, or of fewer for all; (rows, samples n), of a block where samples do not differ."""
    shape = samples if samples > 1 else WIDTH, n
    return np.array([np.broadcast_to(row, shape).ravel() for row in rows])


def course(q: Array, qd: Array, rows: int, *, terms: bool) -> Course:
    """Samples at their starts, shapes (S, nq) and (S, n), with room for `rows` of the log (and of the terms)."""
    samples, n = qd.shape
    return Course(
        np.array(q, dtype=np.float64, order="C"), np.array(qd, dtype=np.float64, order="C"), np.zeros((samples, n)),
        np.zeros((samples, n)), np.zeros((samples, SUMS, n)), np.full(samples, DONE),
        np.zeros((samples, 2), dtype=np.int64), np.full((3, samples if rows else 0, rows, n), np.nan),
        np.empty((5, samples if rows and terms else 0, rows, n)),
    )  # fmt: skip


#: Approximate number of cycles in one call of the kernel. Progress and Ctrl-C are handled between calls.
_CYCLES = 20_000


#: Status of a sample: REFUSED for invalid numbers (not finite, negative, or a start outside the stops), BAD_EFFORT of a
#: law whose effort is not finite, NOT_DETERMINED where a joint moved no inertia, NOT_FINITE for a motion that is not.
Outcome = IntEnum("Outcome", "DONE REFUSED BAD_EFFORT NOT_DETERMINED NOT_FINITE", start=DONE)


@dataclass(frozen=True, eq=False)
class ManyRollouts:
    """Results of S samples. Figures of samples that are not DONE are NaN; their kept rows end with NaN."""

    #: Length n.
    joint_names: tuple[str, ...]
    #: `Outcome` of each; shape (S,).
    outcome: NDArray[np.int64]
    #: Why a sample is not DONE; empty where it is; length S.
    messages: tuple[str, ...]
    #: Simulated time of each, s; shape (S,).
    seconds: Array
    #: State at the end; shapes (S, nq), (S, n).
    q: Array
    qd: Array
    #: Desired less actual position over all control cycles; shape (S, n), rad or m.
    rms_error: Array
    largest_error: Array
    final_error: Array
    #: After the limits, N·m or N; shape (S, n).
    largest_effort: Array
    #: Part of the cycles in which the effort was limited; shape (S, n).
    cut: Array
    #: Of the rows that were kept, s; shape (rows,).
    time: Array
    #: Desired there; shape (rows, n).
    reference_q: Array
    #: Kept rows; shapes (S, rows, nq), (S, rows, n), (S, rows, n).
    kept_q: Array
    kept_qd: Array
    kept_effort: Array

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which samples ran to the end; shape (S,)."""
        return np.asarray(self.outcome == Outcome.DONE)

    def save_npz(self, path: str | Path) -> None:
        """The arrays under their own names."""
        arrays: dict[str, Any] = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file, joint_names=np.array(self.joint_names), messages=np.array(self.messages), **arrays
            )

    def save_csv(self, path: str | Path) -> None:
        """One line a sample: outcome, message, and every figure as ``rms_error/<joint>``, …"""
        figures = ("rms_error", "largest_error", "final_error", "largest_effort", "cut", "qd")
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            labels = [f"{figure}/{joint}" for figure in figures for joint in self.joint_names]
            writer.writerow(["sample", "outcome", "message", "seconds", *labels])
            rows = np.hstack([getattr(self, figure) for figure in figures])
            for s, row in enumerate(rows.tolist()):
                what = Outcome(int(self.outcome[s])).name.lower()
                writer.writerow([s, what, self.messages[s], float(self.seconds[s]), *row])


def run_many(
    plant: ArmPlant,
    model: Law,
    samples: Samples,
    code: tuple[OwnCode, Columns],
    references: Array,
    clock: Clock,
    *,
    threads: int | None,
    progress: Callable[[int], None] | None,
) -> ManyRollouts:
    """`Rollout.run_many`; rows are kept every `clock.every` cycles, none where that is 0."""
    rows = 0 if clock.every == 0 else clock.cycles // clock.every + 1
    clock = clock._replace(every=max(clock.every, 1))
    now = course(samples.q, samples.qd, rows, terms=False)
    messages = [""] * samples.count
    for s, why in faults(samples, plant.positions, plant.stops).items():
        now.status[s], messages[s] = Outcome.REFUSED, why
    # whole blocks: which samples are stepped together does not depend on the threads
    size = WIDTH * max(1, _CYCLES // (WIDTH * (clock.cycles + 1)))

    def part(begin: int) -> int:
        end = min(begin + size, samples.count)
        closed_loops(samples.plants, model, *code, clock, references, now, (begin, end), (0, clock.cycles + 1))
        return end - begin

    finished, pool = 0, ThreadPoolExecutor(threads or available(), "rollouts")
    try:
        for over in as_completed([pool.submit(part, begin) for begin in range(0, samples.count, size)]):
            finished += over.result()
            if progress is not None:
                progress(finished)
    finally:  # parts that have not begun are cancelled where the caller is interrupted
        pool.shutdown(wait=True, cancel_futures=True)
    for s in np.flatnonzero(now.status > Outcome.REFUSED).tolist():
        now.status[s], messages[s] = _why(plant, samples, clock, now, s)
    return _results(plant, samples, references, clock, now, messages, rows)


def repeat_failed_step(
    plant: ArmPlant, robot: RobotModel, plants: PlantRows, clock: Clock, now: Course, s: int
) -> NoReturn:
    """Raise for the step at which sample s failed: the error of the same step from Python; `robot` without changes."""
    cycle, done = now.at[s].tolist()
    t = cycle * clock.period + done * clock.dt
    parameters, base, joints = (x[row_of(x, s)] for x in (plants.parameters, plants.base, plants.joints))
    one = replace(plant, robot=replace(robot, parameters=parameters, gravity=-base[6:9], specialised=False))
    method: StepMethod = "semi_implicit" if clock.semi_implicit else "rk4"
    limit = joints[:, EFFORT]
    given = np.clip(checked_effort(one, now.asked[s]), -limit, limit)
    unchecked_step(one, State(t, now.q[s], now.qd[s]), given, clock.dt, method, NO_WRENCH, joints)
    raise SimulationError(f"the simulation failed at t = {t:.6g} s, and its step does not when taken alone")


def _why(plant: ArmPlant, samples: Samples, clock: Clock, now: Course, s: int) -> tuple[int, str]:
    """Outcome and message of the step at which a sample failed."""
    t = now.at[s] @ (clock.period, clock.dt)
    try:
        repeat_failed_step(plant, samples.robot, samples.plants, clock, now, s)
    except SingularInertiaError as error:
        return Outcome.NOT_DETERMINED, f"at t = {t:.6g} s: {error}"
    except SimulationError as error:
        bad = now.status[s] == Outcome.BAD_EFFORT
        return Outcome.BAD_EFFORT if bad else Outcome.NOT_FINITE, f"at t = {t:.6g} s: {error}"


def _results(
    plant: ArmPlant, samples: Samples, references: Array, clock: Clock, now: Course, messages: list[str], rows: int
) -> ManyRollouts:
    sums = now.sums
    over = now.status == DONE
    sums[~over] = np.nan
    cycles = clock.cycles + 1
    seconds = np.where(over, clock.cycles * clock.period, now.at[:, 0] * clock.period + now.at[:, 1] * clock.dt)
    q, qd, effort = now.states if rows else np.zeros((3, samples.count, 0, samples.robot.n))
    at = np.arange(rows) * clock.every
    time: Array = clock.period * at.astype(np.float64)
    return ManyRollouts(
        plant.robot.joint_names, now.status, tuple(messages), seconds, now.q, now.qd,
        np.sqrt(sums[:, SQUARED] / cycles), sums[:, LARGEST], sums[:, FINAL], sums[:, EFFORTS],
        sums[:, CUT] / cycles, time, references[at, 0], q, qd, effort,
    )  # fmt: skip
