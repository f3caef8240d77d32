"""Whole simulations: an arm under a controller along a trajectory, or left to itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rne_dynamics.closed_chain.coordinates import tree_velocity
from rne_dynamics.control.reference import Reference
from rne_dynamics.control.terms import TorqueTerms
from rne_dynamics.control.trajectory import Trajectory
from rne_dynamics.dynamics.energy import kinetic_energy, potential_energy
from rne_dynamics.errors import SimulationError
from rne_dynamics.flexible.energy import flexible_kinetic_energy, flexible_potential_energy
from rne_dynamics.flexible.poses import tip_deflections
from rne_dynamics.flexible.stiffness import elastic_matrix
from rne_dynamics.model.flexible.arm import FlexibleArm
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism, open_tree
from rne_dynamics.simulation.adaptive import integrate
from rne_dynamics.simulation.log import Log
from rne_dynamics.simulation.plant import ArmPlant
from rne_dynamics.simulation.state import State, checked_state, no_joint_outside
from rne_dynamics.simulation.stepping import StepMethod, step

Progress = Callable[[float], None]


class Controller(Protocol):
    """A tracking law (`ComputedTorque` and `PdGravity` of rne_dynamics.control are such)."""

    def law(
        self, q: Array, qd: Array, reference: Reference, integral: Array | None = None, *, posture: Array | None = None
    ) -> TorqueTerms:
        """The torque for one cycle; `posture` is given where the plant is a mechanism: `State.posture`."""

    def next_integral(
        self, integral: Array, q: Array, reference: Reference, dt: float, saturated: NDArray[np.bool_] | None
    ) -> Array:
        """∫e dt one cycle later."""


def simulate(
    plant: ArmPlant,
    controller: Controller,
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
    progress: Progress | None = None,
) -> Log:
    """Follow a trajectory in closed loop, the torque held from one control cycle to the next.

    Parameters
    ----------
    plant
        The arm; it may differ from the controller's model.
    controller, trajectory
        The law and what it is to follow. Of an arm with flexible links the law is given what encoders see: joints.
    dt
        Step of the simulation, s.
    control_dt
        Period of the controller, s, a whole multiple of `dt`; `dt` by default.
    seconds
        How long; the trajectory's duration by default.
    q, qd
        Where the arm starts; on the trajectory by default.
    delta, deltad
        Deflections of flexible links at the start, as for `checked_state`; those under gravity at rest by default.
    method
        See `step`.
    progress
        Called every control cycle with the simulated time, s.

    Raises
    ------
    SimulationError
        Periods that do not fit, a start outside the stops, an effort or a motion that is not finite.
    """
    first = trajectory.sample(0.0)
    q, qd = first.q if q is None else q, first.qd if qd is None else qd
    state = checked_state(plant.robot, q, qd, delta=delta, deltad=deltad)
    if plant.stops:
        no_joint_outside(plant.robot, state, plant.positions)
    period = dt if control_dt is None else control_dt
    substeps = _whole(period, dt)
    cycles = _count(trajectory.duration if seconds is None else seconds, period)
    log = _Recorder(plant)
    integral = np.zeros(plant.robot.n)
    for k in range(cycles + 1):
        reference = trajectory.sample(k * period)
        if state.posture is None:
            terms = controller.law(state.q, state.qd, reference, integral)
        else:
            terms = controller.law(state.q, state.qd, reference, integral, posture=state.posture)
        asked = terms.total
        given = plant.limited(asked)
        log.add(k * period, state, given, reference, terms._asdict())
        integral = controller.next_integral(integral, state.q, reference, period, given != asked)
        if k < cycles:
            for _ in range(substeps):
                state = step(plant, state, asked, dt, method=method)
        if progress is not None:
            progress(k * period)
    return log.done()


def free_motion(
    plant: ArmPlant,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    seconds: float,
    dt: float = 1e-3,
    record_dt: float | None = None,
    effort: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    deltad: ArrayLike | None = None,
    method: StepMethod | Literal["adaptive"] | None = None,
    progress: Progress | None = None,
) -> Log:
    """Let the arm go from a state, under no effort or a constant one.

    Parameters
    ----------
    plant, q, qd
        The arm and its start.
    seconds, dt, record_dt
        How long, the step, and the time between rows of the log (a whole multiple of `dt`, `dt` by default), s.
    effort
        Constant effort, N·m or N; shape (n,).
    delta, deltad
        As for `simulate`.
    method
        See `step`; ``"adaptive"`` is `integrate`, for smooth motion only, and takes no notice of `dt`.
    progress
        As for `simulate`.

    Raises
    ------
    SimulationError
        As for `simulate`, and as for `integrate`.
    """
    state = checked_state(plant.robot, q, qd, delta=delta, deltad=deltad)
    if plant.stops:
        no_joint_outside(plant.robot, state, plant.positions)
    period = dt if record_dt is None else record_dt
    substeps, rows = _whole(period, dt), _count(seconds, period)
    push = np.zeros(plant.robot.n) if effort is None else np.asarray(effort, dtype=np.float64)
    log = _Recorder(plant)
    if method == "adaptive":
        for k, there in enumerate(integrate(plant, state, push, period * np.arange(rows + 1))):
            log.add(k * period, there, plant.limited(push), None, {})
        return log.done()
    for k in range(rows + 1):
        log.add(k * period, state, plant.limited(push), None, {})
        if k < rows:
            for _ in range(substeps):
                state = step(plant, state, push, dt, method=method)
        if progress is not None:
            progress(k * period)
    return log.done()


class _Recorder:
    """Rows while a simulation runs."""

    def __init__(self, plant: ArmPlant) -> None:
        self._robot = plant.robot
        self._rows: dict[str, list[Array]] = {}
        self._time: list[float] = []

    def add(
        self, t: float, state: State, effort: Array, reference: Reference | None, terms: Mapping[str, Array]
    ) -> None:
        self._time.append(t)
        row = {"q": state.q, "qd": state.qd, "effort": effort}
        if state.posture is not None:
            row["tree_q"] = state.posture
        if state.delta is not None and state.deltad is not None:
            row.update(delta=state.delta, deltad=state.deltad)
        if reference is not None:
            row.update(reference_q=reference.q, reference_qd=reference.qd, reference_qdd=reference.qdd)
        row.update({f"torque_{name}": value for name, value in terms.items()})
        for name, value in row.items():
            self._rows.setdefault(name, []).append(value)

    def done(self) -> Log:
        arrays: dict[str, Any] = {name: np.array(rows) for name, rows in self._rows.items()}
        terms = {name.removeprefix("torque_"): arrays.pop(name) for name in list(arrays) if name.startswith("torque_")}
        if isinstance(self._robot, FlexibleArm):
            return self._bent(self._robot, arrays, terms)
        tree, q, qd = open_tree(self._robot), arrays["q"], arrays["qd"]
        if isinstance(self._robot, Mechanism):
            q = arrays["tree_q"]
            qd = arrays["tree_qd"] = tree_velocity(self._robot, q, qd)
        return Log(
            joint_names=self._robot.joint_names,
            time=np.array(self._time),
            kinetic=kinetic_energy(tree, q, qd),
            potential=potential_energy(tree, q),
            terms=terms,
            tree_names=tree.joint_names if "tree_q" in arrays else (),
            **arrays,
        )

    def _bent(self, arm: FlexibleArm, arrays: dict[str, Any], terms: dict[str, Array]) -> Log:
        q, delta = arrays["q"], arrays["delta"]
        return Log(
            joint_names=arm.joint_names,
            time=np.array(self._time),
            kinetic=flexible_kinetic_energy(arm, q, delta, arrays["qd"], arrays["deltad"]),
            potential=flexible_potential_energy(arm, q, delta),
            terms=terms,
            mode_names=arm.mode_names,
            flexible_links=tuple(link.link for link in arm.links),
            tip=tip_deflections(arm, delta),
            elastic=0.5 * np.einsum("bi,ij,bj->b", delta, elastic_matrix(arm), delta),
            **arrays,
        )


def _whole(period: float, dt: float) -> int:
    for name, value in (("dt", dt), ("the control or record period", period)):
        if not (np.isfinite(value) and value > 0.0):
            raise SimulationError(f"{name} is {value} s; it must be finite and above 0")
    steps = round(period / dt)
    if steps < 1 or abs(steps * dt - period) > 1e-9 * period:
        raise SimulationError(f"a period of {period} s is not a whole multiple of the step of {dt} s; make it one")
    return steps


def _count(seconds: float, period: float) -> int:
    if not (np.isfinite(seconds) and seconds >= 0.0):
        raise SimulationError(f"the time to simulate is {seconds} s; it must be finite and not negative")
    return max(round(seconds / period), 0)
