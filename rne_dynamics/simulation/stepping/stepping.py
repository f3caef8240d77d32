"""One step of a plant, and integration with an adaptive step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rne_dynamics.closed_chain.independence import generic_rank
from rne_dynamics.dynamics.declared.arguments import Wrenches, bodies_wrenches
from rne_dynamics.errors import SimulationError, refuse
from rne_dynamics.model.inertia import Array
from rne_dynamics.model.mechanism import Mechanism
from rne_dynamics.simulation.plant.arrays import BACKWARD, FORWARD, LOWER, NO_WRENCH, UPPER, PlantArrays, assemble_ahead
from rne_dynamics.simulation.plant.coordinates import Coordinates, State, checked_state, finite_vector
from rne_dynamics.simulation.plant.plant import ArmPlant
from rne_dynamics.simulation.stepping.contact import semi_implicit_step
from rne_dynamics.simulation.stepping.events import step_with_events
from rne_dynamics.simulation.stepping.motion import rates
from rne_dynamics.simulation.stepping.tree_step import STRIDE, tree_step

StepMethod = Literal["rk4", "gauss", "semi_implicit"]


def step_methods(coordinates: Coordinates) -> tuple[StepMethod, ...]:
    """The methods for a robot, its default first."""
    return ("gauss", "rk4", "semi_implicit") if coordinates.has_collocation else ("rk4", "semi_implicit")


def methods_within(method: StepMethod, coordinates: Coordinates) -> tuple[StepMethod, ...]:
    """Methods that steps by `method` may need: too stiff parts of them are stepped by another one."""
    return tuple(m for m in step_methods(coordinates) if m in (method, "semi_implicit") or method == "rk4")


def chosen_method(plant: ArmPlant, method: StepMethod | None) -> StepMethod:
    """`method`, or the robot's default where it is None; `SimulationError` for an unknown one."""
    known = step_methods(plant.coordinates)
    if method is None:
        return known[0]
    if method not in known:
        bends = ", which is for arms with flexible links" if method in get_args(StepMethod) else ""
        raise SimulationError(f"method is {method!r}{bends}; it must be one of {', '.join(map(repr, known))}")
    return method


def step(
    plant: ArmPlant,
    state: State,
    effort: ArrayLike,
    dt: float,
    *,
    method: StepMethod | None = None,
    wrenches: Wrenches | None = None,
) -> State:
    """The state `dt` later, with effort and wrenches held.

    `plant`: the arm. `state`: the present state. `effort`: commanded to the motors, N·m or N, shape (n,); cut at the
    limits where the plant limits efforts. `dt`: s, above 0. `method`: ``"rk4"``, the default for rigid robots: fourth
    order, reversals and stops located within the step; where viscous friction is too stiff for it (decay rate times
    `dt` above 2) the step is taken as ``"semi_implicit"`` does. ``"gauss"``, the default for arms with flexible links,
    and only for these: Gauss–Legendre collocation, the same but stable for any friction, frequency and damping; it does
    not damp modes. Links too stiff for ``"rk4"`` (frequency times `dt` above 2) are stepped by it as well.
    ``"semi_implicit"``: first order, one evaluation, stable for any friction and frequency. Every step divides the
    amplitude of a mode of frequency ω by √(1 + (ω `dt`)²). For small ω `dt` this equals a damping ratio of ω `dt` / 2:
    at 1 kHz 0.03 for 10 Hz, 0.3 for 100 Hz. `wrenches`: link name to (force, moment), shape (6,), at the link frame's
    origin in link axes; N, N·m. Raises SimulationError: a wrong effort, step or method; a state that is not finite any
    more (names the joint and the time); implicit equations of flexible links that do not converge however short the
    step (names the time); a flexible link deflected by more than its length (names link and time).
    SingularInertiaError: a joint that moves no inertia; names it. ModelError: an unknown link in `wrenches`.

    Notes
    -----
    Coulomb friction sticks: a joint at rest does not move while friction can hold it; this is decided for all joints
    together through the mass matrix. Stops are inelastic. Both only remove energy. A joint that breaks loose while the
    effort is held does so at the start of a step, up to `dt` late.

    A mechanism is stepped in its actuated joints. Where these do not determine the motion it is stepped in the
    coordinates of its whole tree (`tree_step`):

    - near singular postures, from a distance (`MotionMap.smallest`) below 0.2 until one above 0.25;
    - where a joint moves by more than 0.1 rad (or m) in a step, which is divided then;
    - always with idle freedoms, and with more or fewer motors than freedoms.
    """
    method = chosen_method(plant, method)
    if not (np.isfinite(dt) and dt > 0.0):
        raise SimulationError(f"the step is {dt} s; it must be finite and above 0")
    given = plant.limited(checked_effort(plant, effort))
    loads = NO_WRENCH if not wrenches else bodies_wrenches(plant.tree, wrenches, ())[0]
    return unchecked_step(plant, state, given, float(dt), method, loads)


def checked_effort(plant: ArmPlant, effort: ArrayLike) -> Array:
    """`effort` as a new array; `SimulationError` for a wrong shape or a number that is not finite (names the joint)."""
    robot = plant.robot
    return finite_vector("the effort", effort, plant.coordinates.names[: robot.n], f"robot {robot.name!r}")


def unchecked_step(
    plant: ArmPlant,
    state: State,
    effort: Array,
    dt: float,
    method: StepMethod,
    loads: Array,
    joints: Array | None = None,
) -> State:
    """`step` without checks: `effort` already limited; `loads` and `joints` as for `ArmPlant.arrays`."""
    parts = plant.parts_of_step(state, dt)
    for _ in range(parts):
        state = _whole_step(plant, state, effort, dt / parts, method, loads, joints)
    return state


def _whole_step(
    plant: ArmPlant, state: State, effort: Array, dt: float, method: StepMethod, loads: Array, joints: Array | None
) -> State:
    coordinates = plant.coordinates
    if coordinates.mechanism is not None and in_tree(coordinates.mechanism, state, dt):
        return tree_step(plant, state, effort, dt, method == "semi_implicit", loads, joints)
    arrays = plant.arrays(state, plant.base_over(state.t, dt), loads, joints, collocation=method == "gauss")
    z, zd = coordinates.pack(state)
    push = np.concatenate([effort, np.zeros(len(zd) - len(effort))])
    left = dt
    while method != "semi_implicit":
        z_new, zd_new = np.empty_like(z), np.empty_like(zd)
        left = step_with_events(arrays, z, zd, push, dt, False, z_new, zd_new)
        if left < dt or arrays.flex is None or arrays.flex.collocation:
            z, zd = z_new, zd_new
            break
        arrays = arrays._replace(flex=arrays.flex._replace(collocation=True))  # too stiff for Runge–Kutta
    solved = left >= 0.0
    if left > 0.0:
        z_new, zd_new = np.empty_like(z), np.empty_like(zd)
        arrays = arrays._replace(base=plant.base_at(state.t + dt - left))
        solved = semi_implicit_step(arrays, z, zd, push, left, z_new, zd_new)
        z, zd = z_new, zd_new
    if arrays.loops is not None and np.isfinite(z).all() and not (solved and assemble_ahead(arrays.loops, z)):
        # the actuated joints do not determine the motion, here or at a stage of the step
        return tree_step(plant, state, effort, dt, method == "semi_implicit", loads, joints)
    if not (solved and np.isfinite(zd).all() and np.isfinite(z).all()):
        _explain(plant, state, arrays, zd, effort, dt, solved)
    return coordinates.unpack(state.t + dt, z, zd, arrays)


def in_tree(mechanism: Mechanism, state: State, dt: float) -> bool:
    """Whether the step from a state is taken in the coordinates of the mechanism's whole tree."""
    fast = state.tree_qd is not None and bool(np.abs(state.tree_qd).max() * dt > STRIDE)
    return state.in_tree or fast or not generic_rank(mechanism).coordinates


def _explain(
    plant: ArmPlant, state: State, arrays: PlantArrays, zd: Array, effort: Array, dt: float, solved: bool
) -> None:
    """Raise for a step that failed."""
    before, rates = plant.coordinates.pack(state)
    if not solved and np.isfinite(before).all() and np.isfinite(rates).all():
        plant.coordinates.explain_failure(state, effort, dt, arrays)
    finite = np.isfinite(zd) if solved else np.isfinite(rates)
    j = int(np.argmin(finite))
    unit = "rad/s or m/s" if j < plant.robot.n else "a second"
    raise SimulationError(
        f"{plant.coordinates.names[j]}: its motion is not finite any more at t = {state.t + dt:.6g} s "
        f"(it was {rates[j]:.6g} {unit} one step before); take a shorter step than {dt:g} s, or check "
        "masses, inertias and gains"
    )


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
    """States at the given times, by SciPy's DOP853, whose steps are as short as the fastest vibration requires.

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

    Raises
    ------
    SimulationError
        Coulomb friction, a joint that reaches a stop (names joint and time), times out of order, or an integrator that
        failed.

    Warns
    -----
    BendingRangeWarning
        For flexible links that are bent, or turn, beyond the range of the theory at one of the times.
    """
    states = states_at(plant, state, effort, times, rtol=rtol, atol=atol, wrenches=wrenches)
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
) -> list[State]:
    """`integrate` without warnings about the range of the theory."""
    from scipy.integrate import solve_ivp  # here: the ROS nodes start without scipy

    coulomb = plant.joints[:, [FORWARD, BACKWARD]].any(axis=1)
    at = np.asarray(times, dtype=np.float64)
    refuse(
        SimulationError,
        (coulomb.any(),
         f"{plant.coordinates.names[int(np.argmax(coulomb))]} has Coulomb friction, which adaptive integration cannot "
         "follow; use step(), or a plant without friction"),
        (at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all() or (np.diff(at) < 0).any() or at[0] < state.t,
         f"times must be a row of finite numbers that increase from {state.t} s on"),
    )  # fmt: skip
    law: EffortLaw = effort if callable(effort) else lambda t, q, qd: effort
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

    moving = np.flatnonzero(plant.positions >= 0)
    lower, upper = plant.joints[moving][:, [LOWER, UPPER]].T

    def room(x: Array) -> Array:
        """Distance of each joint from its nearer stop."""
        q = x[plant.positions[moving]]
        return np.asarray(np.minimum(upper - q, q - lower))

    def stop(t: float, x: Array) -> float:
        return float(room(x).min(initial=np.inf))

    stop.terminal, stop.direction = True, -1.0  # type: ignore[attr-defined]  # as SciPy takes events
    solution = solve_ivp(
        rate, (start.t, float(at[-1])), np.concatenate([z, zd]), method="DOP853", t_eval=at, rtol=rtol, atol=atol,
        events=stop,
    )  # fmt: skip
    if solution.status == 1:
        name = plant.coordinates.names[moving[np.argmin(room(solution.y_events[0][0]))]]
        raise SimulationError(
            f"{name} reaches its stop at t = {solution.t_events[0][0]:.6g} s, where adaptive integration ends; use "
            "step(), or a plant without stops"
        )
    if solution.status != 0:
        raise SimulationError(f"adaptive integration gave up: {solution.message}")
    states: list[State] = []
    for at_t, x in zip(solution.t, solution.y.T, strict=True):  # each is assembled from the one before
        start = plant.coordinates.located(float(at_t), x[:nz].copy(), x[nz:].copy(), start)
        states.append(start)
    return states
