"""Many rollouts over threads, and their results."""

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

from rne_dynamics.errors import ArgumentError, SimulationError, SingularInertiaError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.robot import RobotModel
from rne_dynamics.simulation.plant.arrays import EFFORT, NO_WRENCH, OwnCode, PlantRows
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.rollouts import closed_loop
from rne_dynamics.simulation.rollouts.closed_loop import (
    CUT,
    EFFORTS,
    FINAL,
    LARGEST,
    SQUARED,
    WIDTH,
    Clock,
    Columns,
    Course,
    closed_loops,
)
from rne_dynamics.simulation.rollouts.packed_loop import course
from rne_dynamics.simulation.rollouts.samples import Samples, faults
from rne_dynamics.simulation.stepping.lanes import row_of
from rne_dynamics.simulation.stepping.stepping import StepMethod, checked_effort, unchecked_step
from rne_dynamics.straight_line.threads import available

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
