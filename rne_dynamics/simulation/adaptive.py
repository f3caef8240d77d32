"""Integration with an adaptive step (SciPy's DOP853): for smooth motion, and as a reference for the fixed steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.assembly import assemble
from rne_dynamics.dynamics.arguments import Wrenches, bodies_wrenches
from rne_dynamics.dynamics.forward_dynamics import forward_dynamics
from rne_dynamics.errors import MissingDependencyError, SimulationError
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.simulation.loops import refuse_posture
from rne_dynamics.simulation.motion import accelerations, configuration_rate, normalize_quaternions
from rne_dynamics.simulation.plant import BACKWARD, FORWARD, LOWER, UPPER, VISCOUS, ArmPlant
from rne_dynamics.simulation.state import State, checked_state
from rne_dynamics.simulation.stepping import checked_effort

EffortLaw = Callable[[float, Array, Array], ArrayLike]


def integrate(
    plant: ArmPlant,
    state: State,
    effort: ArrayLike | EffortLaw,
    times: ArrayLike,
    *,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    wrenches: Wrenches | None = None,
) -> list[State]:
    """States at the given times.

    Parameters
    ----------
    plant
        The arm. Viscous friction counts; Coulomb friction is not smooth and is refused.
    state
        The start.
    effort
        Constant, shape (n,), or a function of (t, q, qd); cut at the plant's limits.
    times
        s, increasing, none before ``state.t``.
    rtol, atol
        Tolerances of the integrator.
    wrenches
        As for `step`.

    Raises
    ------
    SimulationError
        Coulomb friction, a joint that reaches a stop (names joint and time), times out of order, or an integrator
        that gave up.
    MissingDependencyError
        SciPy is not installed.
    """
    try:
        from scipy.integrate import solve_ivp
    except ImportError:
        raise MissingDependencyError("adaptive integration needs SciPy; mend: pip install scipy") from None
    robot, joints = plant.robot, plant.joints
    if joints[:, [FORWARD, BACKWARD]].any():
        j = int(np.argmax(joints[:, [FORWARD, BACKWARD]].any(axis=1)))
        raise SimulationError(
            f"joint {robot.joint_names[j]!r} has Coulomb friction, which adaptive integration cannot follow; "
            "use step(), or a plant without friction"
        )
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

    start = checked_state(robot, state.q, state.qd, state.t, state.posture)
    nq, tree, loops = robot.nq, plant.tree, plant.loops(state.posture)
    loads = bodies_wrenches(tree, wrenches, ())[0]
    free = np.zeros(robot.n, dtype=np.bool_)

    def rate(t: float, x: Array) -> Array:
        q, qd = x[:nq].copy(), x[nq:].copy()
        given = plant.limited(checked_effort(plant, law(t, q, qd)))
        out = np.empty_like(x)
        if isinstance(robot, Mechanism):
            assert loops is not None
            out[:nq] = qd
            if not accelerations(
                tree.topology, tree.parameters, loops, tree.base_at_rest, tree.has_mimic, joints, loads, q, qd, given,
                free, out[nq:],
            ):  # fmt: skip
                refuse_posture(robot, loops, t)
            return out
        configuration_rate(robot.topology, q, qd, out[:nq])
        out[nq:] = forward_dynamics(robot, q, qd, given - joints[:, VISCOUS] * qd, wrenches=wrenches)
        return out

    solution = solve_ivp(
        rate, (start.t, float(at[-1])), np.concatenate([start.q, start.qd]), method="DOP853", t_eval=at,
        rtol=rtol, atol=atol, events=_stop_events(plant),
    )  # fmt: skip
    _refuse_failure(plant, solution)
    states: list[State] = []
    posture = start.posture
    for t, x in zip(solution.t, solution.y.T, strict=True):
        q = x[:nq].copy()
        if isinstance(robot, Mechanism):
            posture = assemble(robot, q, start=posture)
        else:
            normalize_quaternions(robot.topology, q)
        states.append(State(float(t), q, x[nq:].copy(), posture))
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
