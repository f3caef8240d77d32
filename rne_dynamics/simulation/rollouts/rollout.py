"""Simulations of a controlled arm, one or many."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.control.control_law import (
    ControlLaw,
    TorqueTerms,
    call_own,
    check_law,
    next_integral,
    terms_of,
)
from rne_dynamics.control.parameters import measured
from rne_dynamics.control.trajectory import Trajectory, references
from rne_dynamics.errors import ArgumentError, SimulationError, refuse
from rne_dynamics.model.inertia import Array, Rebuilt, set_fields
from rne_dynamics.simulation.mismatch.different_arm import DifferentArm, phases_of
from rne_dynamics.simulation.mismatch.mismatch import Mismatch
from rne_dynamics.simulation.plant.arrays import NO_WRENCH, OwnCode
from rne_dynamics.simulation.plant.base_motion import check_base_trajectory
from rne_dynamics.simulation.plant.coordinates import State
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.rollouts.closed_loop import DONE, Clock, Columns, closed_loops
from rne_dynamics.simulation.rollouts.many import (
    ManyRollouts,
    Packed,
    course,
    own_code_of,
    packed_loop,
    repeat_failed_step,
    run_many,
)
from rne_dynamics.simulation.rollouts.samples import Samples, rows_of
from rne_dynamics.simulation.runs.log import Log, Recorder, count, log_of, whole
from rne_dynamics.simulation.stepping.stepping import StepMethod, chosen_method, unchecked_step

Case = TypeVar("Case")
Result = TypeVar("Result")


class Client(Protocol):
    """An executor of concurrent.futures, or a client of dask.distributed."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Begin `function(*args)`; the future it returns has a method `result`."""


def sweep(
    function: Callable[[Case], Result],
    cases: Iterable[Case],
    *,
    client: Client | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """`function(case)` for every case, in the order of the cases.

    Parameters
    ----------
    function
        Where it runs in other processes it must be found there by name: a function of a module, not a lambda. What it
        needs it takes from the case: models, plants, laws and rollouts take about 10,000 bytes pickled.
    cases
        One argument each.
    client
        Runs the cases, e.g. ``dask.distributed.Client(address)`` or
        ``concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))``; None does one
        case after the other here, where `Rollout.run_many` uses all cores by itself.
    progress
        Called with the number of finished cases.

    Raises
    ------
    SimulationError
        A case failed; names it, and has its error as the cause. Cases that have not begun are cancelled.
    """
    cases, results = list(cases), []
    futures = None if client is None else [client.submit(function, case) for case in cases]
    try:
        for k, case in enumerate(cases):
            try:
                results.append(function(case) if futures is None else futures[k].result())
            except Exception as error:
                raise SimulationError(f"case {k} of {len(cases)} failed: {type(error).__name__}: {error}") from error
            if progress is not None:
                progress(k + 1)
    finally:
        for future in futures or ():
            future.cancel()
    return results


Progress = Callable[[float], None]

#: Cycles in one call of the kernel. Progress and Ctrl-C are handled between calls.
_CYCLES = 1000


@dataclass(frozen=True, eq=False)
class Rollout(Rebuilt):
    """An arm, its controller and its trajectory, to be run from any start: `run`.

    The torque is held from one control cycle to the next. Under `ComputedTorque` or `PdGravity` a rigid open arm is
    run by one compiled loop (`compiled`), along a trajectory of any kind; everything else (laws of one's own,
    mechanisms, flexible links, a moving base) cycle by cycle from Python, with the same result.

    Parameters
    ----------
    plant
        The arm; it may differ from the controller's model.
    controller, trajectory
        The law, a `ControlLaw` of this package or your own, and the trajectory that it follows. Of an arm with flexible
        links the law receives the joints only, as encoders measure them.
    dt
        Step of the simulation, s.
    control_dt
        Period of the controller, s, a whole multiple of `dt`; `dt` by default.
    seconds
        How long; the trajectory's duration by default.
    method
        See `step`; the robot's own by default.
    base_known
        Whether the law receives the motion of the plant's base. Otherwise it assumes a base at rest.
    mismatch
        What else differs between arm and model, stepped cycle by cycle; see `Mismatch`.

    Raises
    ------
    SimulationError
        Periods that do not fit, an unknown method, or a base motion that contradicts itself.
    ControlError
        A trajectory or a controller for another number of joints, or a controller that is no `ControlLaw`.
    """

    plant: ArmPlant
    controller: ControlLaw
    trajectory: Trajectory
    dt: float = 1e-3
    control_dt: float | None = None
    seconds: float | None = None
    method: StepMethod | None = None
    base_known: bool = True
    mismatch: Mismatch | None = None
    #: the desired motion at every cycle; shape (cycles + 1, 3, n)
    references: Array = field(init=False, repr=False)
    clock: Clock = field(init=False, repr=False)
    _packed: Packed | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        base_moves = self.base_known and self.plant.base_motion is not None
        check_law(self.controller, self.plant.robot, "controller", base_moves=base_moves)
        method = chosen_method(self.plant, self.method)
        period = self.dt if self.control_dt is None else self.control_dt
        substeps = whole(period, self.dt)
        seconds = self.trajectory.duration if self.seconds is None else self.seconds
        cycles = count(seconds, period, substeps, self.plant.robot.nq + 10 * self.plant.robot.n)
        clock = Clock(float(period), float(self.dt), substeps, cycles, 1, method == "semi_implicit")
        if self.plant.base_motion is not None:
            check_base_trajectory(self.plant.base_motion, 0.0, cycles * period)
        packed = packed_loop(self.plant, self.controller) if self.mismatch is None else None
        n, times = self.plant.robot.n, period * np.arange(cycles + 1.0)
        rows = np.zeros((0, 3, n)) if packed is None else references(self.trajectory, times, n)
        set_fields(self, clock=clock, _packed=packed, references=rows)

    @property
    def compiled(self) -> bool:
        """Whether `run` is one compiled loop."""
        return self._packed is not None

    @cached_property
    def _own_code(self) -> tuple[OwnCode, Columns]:
        assert self._packed is not None
        return own_code_of(self.plant, self.controller, self._packed.plants, self._packed.gains, rows=False)

    @property
    def time(self) -> Array:
        """Times at which control cycles begin, s; shape (cycles + 1,)."""
        return np.asarray(self.clock.period * np.arange(self.clock.cycles + 1.0))

    def run(
        self,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        *,
        delta: ArrayLike | None = None,
        deltad: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Log:
        """One simulation.

        Parameters
        ----------
        q, qd
            Where the arm starts; on the trajectory by default.
        delta, deltad
            Deflections of flexible links at the start, as for `checked_state`; those under gravity at rest by default.
        progress
            Called regularly with the simulated time, s.

        Raises
        ------
        SimulationError
            A start outside the stops, an effort or a motion that is not finite; others as `step` raises them.
        """
        plant, clock, first = self.plant, self.clock, self.trajectory.sample(0.0)
        start = plant.start(first.q if q is None else q, first.qd if qd is None else qd, delta=delta, deltad=deltad)
        if self._packed is None:
            return self._cycle_by_cycle(start, progress)
        rows = clock.cycles + 1
        now = course(start.q[None], start.qd[None], rows, terms=True)
        plants, law, _ = self._packed
        for begin in range(0, rows, _CYCLES):
            end = min(begin + _CYCLES, rows)
            closed_loops(plants, law, *self._own_code, clock, self.references, now, (0, 1), (begin, end))
            if now.status[0] != DONE:
                repeat_failed_step(plant, plant.tree, plants, clock, now, 0)
            if progress is not None:
                progress((end - 1) * clock.period)
        (q, qd, effort), terms = now.states[:, 0], now.terms[:, 0]
        desired = self.references.view()
        desired.flags.writeable = False  # of all runs
        arrays = {
            "q": q, "qd": qd, "effort": effort,
            "reference_q": desired[:, 0], "reference_qd": desired[:, 1], "reference_qdd": desired[:, 2],
            **{f"torque_{name}": rows for name, rows in zip(TorqueTerms._fields, terms, strict=True)},
        }  # fmt: skip
        return log_of(plant, self.time, arrays)

    def _cycle_by_cycle(self, state: State, progress: Progress | None) -> Log:
        """`run` from a checked state, where it is not compiled; drives hold the weight until the first effort."""
        plant, law, (_, dt, substeps, cycles, *_) = self.plant, self.controller, self.clock
        method, mismatch = chosen_method(plant, self.method), self.mismatch
        arm = None if mismatch is None else DifferentArm(phases_of(plant, mismatch), mismatch, state, dt, method)
        log, integral = Recorder(plant), np.zeros(plant.robot.n)
        call_own(law, "restart")
        for k in range(cycles + 1):
            t, q, qd = k * (substeps * dt), state.q, state.qd
            if arm is not None:
                arm.pass_to(t)
                q, qd = arm.measured()
            reference = self.trajectory.sample(t)
            base = plant.base_motion.motion(t) if self.base_known and plant.base_motion is not None else None
            terms = terms_of(law, q, qd, reference, integral, state.posture, base)
            wanted = terms.total
            if not np.isfinite(wanted).all():
                raise SimulationError(f"at {t:g} s the law commands {wanted.tolist()}; efforts must be finite")
            effort = applied = plant.limited(wanted)
            integral = next_integral(law, integral, q, reference, substeps * dt, effort != wanted)
            if arm is not None:
                arm.send(k * substeps, effort)
                applied = arm.drive(k * substeps)
            log.add(t, state, applied, reference, terms._asdict())
            for step in range(k * substeps, (k + 1) * substeps if k < cycles else 0):
                if arm is None:
                    state = unchecked_step(plant, state, effort, dt, method, NO_WRENCH)
                else:
                    arm.advance(arm.drive(step))
                    state = arm.body.state
            if progress is not None:
                progress(t)
        return log.done()

    def samples(self, count: int) -> Samples:
        """`count` equal samples of this rollout for `run_many`, from the trajectory's start.

        Raises
        ------
        SimulationError
            Where the rollout is not `compiled`.
        ArgumentError
            A count below 1.
        """
        if self._packed is None:
            raise SimulationError(
                "many samples are run by the compiled loop, for a rigid open arm without surroundings, on a base at "
                "rest, under ComputedTorque or PdGravity; "
                "run this rollout from each start by itself"
            )
        if count < 1:
            raise ArgumentError(f"the number of samples is {count}; it must be at least 1")
        robot = self.plant.tree
        first = self.trajectory.sample(0.0)
        q = rows_of(measured(first.q, robot.nq, "reference.q"), count, (robot.nq,), "q")
        qd = rows_of(measured(first.qd, robot.n, "reference.qd"), count, (robot.n,), "qd")
        return Samples(robot, count, q, qd, self._packed.plants, self._packed.gains)

    def run_many(
        self,
        samples: Samples,
        *,
        threads: int | None = None,
        keep_every: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> ManyRollouts:
        """One simulation for every sample, over the cores; compiles nothing new.

        Parameters
        ----------
        samples
            From `samples` of this rollout, with any changes.
        threads
            The number of cores by default. Results do not depend on it.
        keep_every
            Keep state and effort every so many control cycles; 0 keeps none.
        progress
            Called regularly with the number of finished samples, from this thread.

        Raises
        ------
        ArgumentError
            Samples of another robot, a number of threads below 1, or a negative `keep_every`.
        """
        refuse(
            ArgumentError,
            (self._packed is None or samples.robot.joint_names != self.plant.robot.joint_names,
             "the samples are of another rollout; make them by `samples` of this one"),
            (keep_every < 0, f"keep_every is {keep_every}; it must be 0 or above"),
            (threads is not None and threads < 1, f"threads is {threads}; it must be at least 1"),
        )  # fmt: skip
        assert self._packed is not None
        clock = self.clock._replace(every=int(keep_every))
        code = own_code_of(self.plant, self.controller, samples.plants, samples.gains, rows=True)
        return run_many(
            self.plant, self._packed.law, samples, code, self.references, clock, threads=threads, progress=progress
        )


def simulate(
    plant: ArmPlant,
    controller: ControlLaw,
    trajectory: Trajectory,
    *,
    dt: float = 1e-3,
    control_dt: float | None = None,
    seconds: float | None = None,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
    method: StepMethod | None = None,
    base_known: bool = True,
    progress: Progress | None = None,
) -> Log:
    """Follow a trajectory in closed loop: a `Rollout` made and run once. Parameters and errors as there."""
    rollout = Rollout(plant, controller, trajectory, dt, control_dt, seconds, method, base_known)
    return rollout.run(q, qd, delta=delta, deltad=deltad, progress=progress)
