"""Integration with an adaptive step by SciPy: for smooth motion, and as a reference for the fixed steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches
from rne_dynamics.errors import SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.simulation.plant.arrays import BACKWARD, FORWARD, LOWER, UPPER
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.plant.start import checked_state
from rne_dynamics.simulation.plant.state import State
from rne_dynamics.simulation.stepping.motion import rates
from rne_dynamics.simulation.stepping.stepping import checked_effort

EffortLaw = Callable[[float, Array, Array], ArrayLike]
Solver = Literal["DOP853", "Radau", "BDF"]

#: Step of the differences that an implicit solver takes, rad, m or their rates, or as a part of what is larger.
_DIFFERENCE = 1e-7


def integrate(
    plant: ArmPlant,
    state: State,
    effort: ArrayLike | EffortLaw,
    times: ArrayLike,
    *,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    wrenches: Wrenches | None = None,
    solver: Solver = "DOP853",
) -> list[State]:
    """States at the given times.

    Parameters
    ----------
    plant
        The arm. Viscous friction counts; Coulomb friction is not smooth and is refused.
    state
        The start.
    effort
        Constant, shape (n,), or a function of (t, q, qd), of joints also where links bend; limited as in the plant.
    times
        s, increasing, none before ``state.t``.
    rtol, atol
        Tolerances of the integrator.
    wrenches
        As for `step`.
    solver
        SciPy's. ``"DOP853"`` is explicit, and its steps are as short as the fastest vibration requires; ``"Radau"`` and
        ``"BDF"`` are implicit.

    Raises
    ------
    SimulationError
        Coulomb friction, a joint that reaches a stop (names joint and time), times out of order, an unknown solver, or
        an integrator that failed.

    Warns
    -----
    BendingRangeWarning
        For flexible links that are bent, or turn, beyond the range of the theory at one of the times.
    """
    states = states_at(plant, state, effort, times, rtol=rtol, atol=atol, wrenches=wrenches, solver=solver)
    plant.coordinates.report_findings(states, times)
    return states


def states_at(
    plant: ArmPlant,
    state: State,
    effort: ArrayLike | EffortLaw,
    times: ArrayLike,
    *,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    wrenches: Wrenches | None = None,
    solver: Solver = "DOP853",
) -> list[State]:
    """`integrate` without warnings about the range of the theory."""
    from scipy.integrate import solve_ivp  # here: the ROS nodes start without scipy

    coulomb = plant.joints[:, [FORWARD, BACKWARD]].any(axis=1)
    if coulomb.any():
        name = plant.robot.joint_names[int(np.argmax(coulomb))]
        raise SimulationError(
            f"joint {name!r} has Coulomb friction, which adaptive integration cannot follow; use step(), or a plant "
            "without friction"
        )
    if solver not in get_args(Solver):
        raise SimulationError(f"solver is {solver!r}; it must be one of {', '.join(map(repr, get_args(Solver)))}")
    at = np.asarray(times, dtype=np.float64)
    if at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all() or (np.diff(at) < 0).any() or at[0] < state.t:
        raise SimulationError(f"times must be a row of finite numbers that increase from {state.t} s on")
    law: EffortLaw
    if callable(effort):
        law = effort
    else:
        constant = checked_effort(plant, effort)

        def law(t: float, q: Array, qd: Array) -> ArrayLike:
            return constant

    start = checked_state(plant.robot, state.q, state.qd, state.t, state.posture, state.delta, state.deltad)
    z, zd = plant.coordinates.pack(start)
    nz, n, places, loads = len(z), plant.robot.n, len(start.q), bodies_wrenches(plant.tree, wrenches, ())[0]
    arrays, drive = plant.arrays(start, plant.base_at(start.t), loads), np.zeros(len(zd))

    def rate(t: float, x: Array) -> Array:
        q, qd, out = x[:nz].copy(), x[nz:].copy(), np.empty_like(x)
        drive[:n] = plant.limited(checked_effort(plant, law(t, q[:places], qd[:n])))
        if not rates(arrays._replace(base=plant.base_at(t)), q, qd, drive, out[:nz], out[nz:]):
            plant.coordinates.explain_rates(t, q, qd, drive[:n], arrays, first=np.array_equal(q, z))
            out[nz:] = np.nan  # the integrator takes a shorter step
        return out

    def slopes(t: float, x: Array) -> Array:
        # SciPy's own differences take growing steps along coordinates without influence, such as the first joint
        here, columns = rate(t, x), np.empty((len(x), len(x)))
        for k in range(len(x)):
            there, h = x.copy(), _DIFFERENCE * max(1.0, abs(x[k]))
            there[k] += h
            columns[:, k] = (rate(t, there) - here) / h
        return columns

    implicit = {} if solver == "DOP853" else {"jac": slopes}
    solution = solve_ivp(
        rate, (start.t, float(at[-1])), np.concatenate([z, zd]), method=solver, t_eval=at,
        rtol=rtol, atol=atol, events=_stop_events(plant), **implicit,
    )  # fmt: skip
    _refuse_failure(plant, solution)
    states: list[State] = []
    for at_t, x in zip(solution.t, solution.y.T, strict=True):  # each is assembled from the one before
        start = plant.coordinates.located(float(at_t), x[:nz].copy(), x[nz:].copy(), start)
        states.append(start)
    return states


def _stop_events(plant: ArmPlant) -> list[Any]:
    """One terminal event a finite stop, with the joint's number on it."""
    events = []
    for j, iq in enumerate(plant.positions.tolist()):
        for column, sign in ((UPPER, 1.0), (LOWER, -1.0)):
            bound = plant.joints[j, column]
            if iq < 0 or not np.isfinite(bound):
                continue

            def event(t: float, x: Array, iq: int = iq, bound: float = bound, sign: float = sign) -> float:
                return float(sign * (bound - x[iq]))

            event.terminal = True  # type: ignore[attr-defined]  # SciPy's way to mark an event
            event.direction = -1.0  # type: ignore[attr-defined]
            event.joint = j  # type: ignore[attr-defined]
            events.append(event)
    return events


def _refuse_failure(plant: ArmPlant, solution: Any) -> None:
    if solution.status == 1:
        hits = [(times[0], k) for k, times in enumerate(solution.t_events) if len(times)]
        t, k = min(hits)
        name = plant.robot.joint_names[_stop_events(plant)[k].joint]
        raise SimulationError(
            f"joint {name!r} reaches its stop at t = {t:.6g} s, where adaptive integration ends; use step(), "
            "or a plant without stops"
        )
    if solution.status != 0:
        raise SimulationError(f"adaptive integration gave up: {solution.message}")
