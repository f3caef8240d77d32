"""Many samples of one arm simulated at once."""

from __future__ import annotations

import csv
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rne_dynamics.control.control_law import ControlLaw
from rne_dynamics.control.laws import computed_torque as law
from rne_dynamics.control.laws.computed_torque import ComputedTorque, decay_rate
from rne_dynamics.control.laws.pd_gravity import PdGravity
from rne_dynamics.control.model_terms import rigid_terms_kernel
from rne_dynamics.dynamics.composite.mass_matrix import MASS_MATRIX
from rne_dynamics.dynamics.declared.arguments import Arm
from rne_dynamics.dynamics.declared.specialised import efforts_parameters, kept_code, kept_rows
from rne_dynamics.dynamics.forward_dynamics import FORWARD_DYNAMICS
from rne_dynamics.dynamics.newton_euler.newton_euler import INVERSE_DYNAMICS
from rne_dynamics.errors import ArgumentError, SimulationError, SingularInertiaError
from rne_dynamics.model.dice import Dice, random_configuration
from rne_dynamics.model.friction import joint_friction
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.layout import MASS, ROTOR
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import (
    EFFORT,
    JOINT_COLUMNS,
    LOWER,
    NO_CODE,
    NO_WRENCH,
    UPPER,
    ArmCode,
    OwnCode,
    PlantRows,
)
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts import closed_loop
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
    LawRows,
    closed_loops,
)
from rne_dynamics.simulation.rollouts.samples import Samples, faults
from rne_dynamics.simulation.stepping.lanes import row_of
from rne_dynamics.simulation.stepping.motion import locked_forward
from rne_dynamics.simulation.stepping.stepping import StepMethod, checked_effort, unchecked_step
from rne_dynamics.straight_line.recipe import Recipe
from rne_dynamics.straight_line.threads import available


def packed_loop(plant: ArmPlant, controller: ControlLaw) -> tuple[PlantRows, LawRows] | None:
    """The arrays of the compiled loop, in rows of length 1; None where it cannot run this plant or controller."""
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
    compensation = controller.friction_compensation
    laws = LawRows(
        COMPUTED_TORQUE if isinstance(controller, ComputedTorque) else PD_GRAVITY, model.topology,
        model.parameters[None], model.base_at_rest[None], np.array([gains.p, gains.i, gains.d, gains.i_clamp])[None],
        joint_friction(model).rows[None], np.array([[0.0 if compensation is None else compensation.scale]]),
        controller.steepness[None],
    )  # fmt: skip
    return plants, laws


def own_code_of(
    robot: RobotModel, model: RobotModel, plants: PlantRows, laws: LawRows, *, rows: bool
) -> tuple[OwnCode, Columns]:
    """Machine code for samples of a loop, one at a time or in `rows`, and their numbers as the loop reads them.

    `robot` and `model` are those of the arm and of its law without changes.
    """
    same_arm, same_model = _same(robot, plants.parameters, plants.base), _same(model, laws.parameters, laws.base)
    own = robot, "locked forward", _forward_rows, (robot.has_mimic,), (robot.n,)
    forward = _address(*own, rows, same_arm)
    terms = _address(model, "control terms", _terms_rows, (), (5, robot.n), rows, same_model)
    one, unlocked = NO_CODE, 0
    if robot.specialised and same_arm:
        wanted = (MASS_MATRIX, INVERSE_DYNAMICS) if rows else (MASS_MATRIX, INVERSE_DYNAMICS, FORWARD_DYNAMICS)
        codes = [quantity.code(robot) for quantity in wanted]
        whole = [0 if code is None else code.address for code in codes]
        one = ArmCode(_address(*own, False, True), *whole[:2])
        unlocked = 0 if rows else whole[2]
    columns = Columns(
        joint_columns(plants), law_columns(laws), given(plants.parameters, plants.base, same_arm),
        given(laws.parameters, laws.base, same_model),
    )  # fmt: skip
    return OwnCode(forward, one, unlocked, terms, rows), columns


def _address(
    robot: RobotModel, name: str, kernel: Callable[..., Any], more: tuple[Any, ...], shape: tuple[int, ...],
    rows: bool, same: bool,
) -> int:
    """Address of the code of a kernel of rows of (q, qd, two more, given); 0 where there is none."""

    def recipe() -> Recipe:
        model = robot.topology, efforts_parameters(robot) if same else robot.parameters, robot.base_at_rest, *more
        rng = Dice(1)
        numbers = given(robot.parameters[None], robot.base_at_rest[None], same)[0]
        sample = random_configuration(robot, rng), *(rng.uniform(0.0, 1.0, (robot.n,)) for _ in range(3)), numbers
        return Recipe(name, robot.name, kernel, model, sample, shape)

    if not robot.specialised:
        return 0
    code = kept_rows(robot, (name, same), recipe) if rows else kept_code(robot, (name, same), recipe)
    return 0 if code is None else code.address


def given(parameters: Array, base: Array, same: bool) -> Array:
    """What machine code takes of each sample besides its state: inertias and gravity, if they vary; (S, numbers)."""
    if same:
        return np.zeros((WIDTH, 0))
    count = max(len(parameters), len(base))
    inertia = parameters[:, :, MASS : ROTOR + 1].reshape(len(parameters), -1)
    return np.hstack([np.broadcast_to(x, (count, x.shape[1])) for x in (inertia, base[:, 6:9])])


def _varied(parameters: Array, base: Array, given: Array) -> tuple[Array, Array]:
    """Parameters and base with the numbers of `given`."""
    if len(given) == 0:
        return parameters, base
    parameters, base = parameters.copy(), base.copy()
    parameters[:, MASS : ROTOR + 1] = given[:-3].reshape(len(parameters), -1)
    base[6:9] = given[-3:]
    return parameters, base


def _forward_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, mimic: bool, q: Array, qd: Array, tau: Array,
    lock: Array, given: Array, out: Array,
) -> int:  # fmt: skip
    """`locked_forward` of each state, (B, n); −1, or what moves no inertia."""
    fault = -1
    for b in range(q.shape[0]):
        arm = Arm(topology, *_varied(parameters, base, given[b]), np.zeros((0, 6)))
        fault = max(fault, locked_forward(arm, mimic, q[b], qd[b], tau[b], lock[b], out[b]))
    return fault


def _terms_rows(
    topology: NDArray[np.int64], parameters: Array, base: Array, q: Array, qd: Array, desired: Array,
    correction: Array, given: Array, out: Array,
) -> None:  # fmt: skip
    """The rows of `rigid_terms_kernel` of each state, and one of zeros; (B, 5, n)."""
    for b in range(q.shape[0]):
        here = _varied(parameters, base, given[b])
        rigid_terms_kernel(topology, *here, q[b], qd[b], desired[b], correction[b], out[b])


def joint_columns(plants: PlantRows) -> Array:
    """`Columns.joints`."""
    columns = np.empty((JOINT_COLUMNS, _at_least_a_block(len(plants.joints)), plants.joints.shape[1]))
    columns[:] = np.moveaxis(plants.joints, 2, 0)
    free = plants.positions < 0
    columns[LOWER][:, free], columns[UPPER][:, free] = -np.inf, np.inf
    return columns.reshape(JOINT_COLUMNS, -1)


def law_columns(laws: LawRows) -> Array:
    """`Columns.laws`."""
    p, i, d, clamp = np.moveaxis(laws.gains, 1, 0)
    friction, scale, steepness = np.moveaxis(laws.friction, 1, 0), laws.scale, laws.steepness
    rate = np.vectorize(decay_rate)(p, d) if laws.kind == COMPUTED_TORQUE else np.zeros_like(p)
    with np.errstate(invalid="ignore", over="ignore"):  # samples with such numbers are refused
        answer = scale * friction[0] * rate
    columns = np.empty((law.TABLE_ROWS + 1, _at_least_a_block(max(len(p), len(scale), len(friction[0]))), p.shape[1]))
    for row, numbers in enumerate((p, d, i, *friction, scale, steepness, answer, clamp)):
        columns[row] = numbers
    return columns.reshape(law.TABLE_ROWS + 1, -1)


def _at_least_a_block(count: int) -> int:
    """The number of rows for that of samples that differ."""
    return count if count > 1 else WIDTH


def _same(robot: RobotModel, parameters: Array, base: Array) -> bool:
    """Whether all samples are as the robot."""
    return np.array_equal(parameters, robot.parameters[None]) and np.array_equal(base, robot.base_at_rest[None])


def course(q: Array, qd: Array, rows: int, *, terms: bool) -> Course:
    """Samples at their starts, shapes (S, nq) and (S, n), with room for `rows` of the log (and of the terms)."""
    samples, n = qd.shape
    return Course(
        np.array(q, dtype=np.float64, order="C"),
        np.array(qd, dtype=np.float64, order="C"),
        np.zeros((samples, n)),
        np.zeros((samples, n)),
        np.zeros((samples, SUMS, n)),
        np.full(samples, DONE),
        np.zeros((samples, 2), dtype=np.int64),
        np.full((3, samples if rows else 0, rows, n), np.nan),
        np.empty((5, samples if rows and terms else 0, rows, n)),
    )


#: Approximate number of cycles in one call of the kernel. Progress and Ctrl-C are handled between calls.
_CYCLES = 20_000


class Outcome(IntEnum):
    """Status of a sample."""

    DONE = closed_loop.DONE
    #: invalid numbers: not finite, negative, or a start outside the stops
    REFUSED = closed_loop.INVALID
    #: the law commanded an effort that is not finite
    BAD_EFFORT = closed_loop.BAD_EFFORT
    #: a joint moved no inertia
    NOT_DETERMINED = closed_loop.NOT_DETERMINED
    #: the motion left the finite numbers
    NOT_FINITE = closed_loop.NOT_FINITE


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
    samples: Samples,
    code: OwnCode,
    columns: Columns,
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
        now.status[s], messages[s] = closed_loop.INVALID, why
    if threads is not None and threads < 1:
        raise ArgumentError(f"threads is {threads}; it must be at least 1")
    _run(samples, code, columns, references, clock, now, threads or available(), progress)
    for s in np.flatnonzero(now.status > closed_loop.INVALID).tolist():
        now.status[s], messages[s] = _why(plant, samples, clock, now, s)
    return _results(plant, samples, references, clock, now, messages, rows)


def _run(
    samples: Samples, code: OwnCode, columns: Columns, references: Array, clock: Clock, now: Course, threads: int,
    progress: Callable[[int], None] | None,
) -> None:  # fmt: skip
    # whole blocks: which samples are stepped together does not depend on the threads
    size = WIDTH * max(1, _CYCLES // (WIDTH * (clock.cycles + 1)))

    def part(begin: int) -> int:
        end = min(begin + size, samples.count)
        closed_loops(
            samples.plants, samples.laws, code, columns, clock, references, now, (begin, end), (0, clock.cycles + 1)
        )
        return end - begin

    finished, pool = 0, ThreadPoolExecutor(threads, "rollouts")
    try:
        waiting = {pool.submit(part, begin) for begin in range(0, samples.count, size)}
        while waiting:
            over, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            finished += sum(future.result() for future in over)
            if progress is not None:
                progress(finished)
    finally:  # parts that have not begun are cancelled where the caller is interrupted
        pool.shutdown(wait=True, cancel_futures=True)


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
    over = now.status == closed_loop.DONE
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
